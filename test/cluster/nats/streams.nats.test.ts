import { jetstreamManager, StorageType, type StreamConfig } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { ensureCommitStream, lostCommitStreams } from '#cluster/nats/streams.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const cluster = sharedNatsCluster(1);
const subjects = new Subjects('streams');
const settings = { replicas: 1, bytesMax: 1024 * 1024 };
let connection: NatsConnection;
let partition = 0;

beforeAll(async () => {
  connection = await connectToNats({ urls: cluster().urls, name: 'm1' });
});

afterAll(async () => {
  await connection.close();
});

function ensure(overrides: Partial<typeof settings> = {}): Promise<void> {
  return ensureCommitStream(connection, subjects, partition, { ...settings, ...overrides }, systemClock);
}

/** Makes the stream of the next partition by hand. */
async function make(config: Partial<StreamConfig>): Promise<void> {
  partition += 1;
  const manager = await jetstreamManager(connection);
  await manager.streams.add({
    name: subjects.logStream(partition),
    subjects: [subjects.log(partition)],
    storage: StorageType.File,
    ...config,
  });
}

describe('the stream of a partition', () => {
  it('is made so that nothing removes, replaces or copies a message', async () => {
    partition += 1;
    await ensure();
    const manager = await jetstreamManager(connection);
    const { config } = await manager.streams.info(subjects.logStream(partition));
    expect(config).toMatchObject({
      subjects: [subjects.log(partition)],
      retention: 'limits',
      storage: 'file',
      discard: 'new',
      max_bytes: settings.bytesMax,
      max_msgs: -1,
      max_age: 0,
      deny_delete: true,
      allow_rollup_hdrs: false,
      duplicate_window: 120_000_000_000,
    });
    expect(config.allow_direct ?? false).toBe(false);
    await expect(manager.streams.deleteMessage(config.name, 1)).rejects.toThrow();
  });

  it('is asked for by each member in its own words, so that servers grant one of several requests', async () => {
    const other = await connectToNats({ urls: cluster().urls, name: 'm2' });
    try {
      const manager = await jetstreamManager(connection);
      const describedBy = async (by: NatsConnection): Promise<string | undefined> => {
        partition += 1;
        await ensureCommitStream(by, subjects, partition, settings, systemClock);
        return (await manager.streams.info(subjects.logStream(partition))).config.description;
      };
      const described = [
        await describedBy(connection),
        await describedBy(connection),
        await describedBy(other),
      ];
      expect(described[0]).toMatch(/^made by \w+\/\d+$/);
      expect(described[1]).toBe(described[0]);
      expect(described[2]).not.toBe(described[0]);
      partition += 1;
      const race = [connection, other, connection].map((by) =>
        ensureCommitStream(by, subjects, partition, settings, systemClock),
      );
      await Promise.all(race);
    } finally {
      await other.close();
    }
  });

  it('is found by the next member, and may have become larger', async () => {
    partition += 1;
    await Promise.all([ensure(), ensure(), ensure()]);
    await ensure({ bytesMax: 1024 });
    await expect(ensure({ bytesMax: 2 * settings.bytesMax })).rejects.toThrow(
      /max_bytes 1048576, and needs 2097152/,
    );
  });

  it('is made once by members that start together', async () => {
    const members = await Promise.all(
      ['m1', 'm2', 'm3'].map((name) => connectToNats({ urls: cluster().urls, name })),
    );
    for (let round = 0; round < 12; round += 1) {
      const partitions = Array.from({ length: 16 }, () => ++partition);
      await Promise.all(
        partitions.flatMap((each) =>
          members.map((member) => ensureCommitStream(member, subjects, each, settings, systemClock)),
        ),
      );
    }
    await Promise.all(members.map((member) => member.close()));
  });

  it.each<[string, Partial<StreamConfig>]>([
    ['max_age', { max_age: 60_000_000_000 }],
    ['storage', { storage: StorageType.Memory }],
    ['subjects', { subjects: ['elsewhere.>'] }],
    ['allow_direct', { allow_direct: true }],
    ['deny_delete', {}],
  ])('is refused when its %s is another', async (key, config) => {
    await make(config);
    await expect(ensure()).rejects.toThrow(new RegExp(`${subjects.logStream(partition)} has ${key} `));
  });

  it('names the remedy when it cannot have its replicas, or its space', async () => {
    partition += 1;
    await expect(ensure({ replicas: 3 })).rejects.toThrow(/as many NATS servers/);
    await expect(ensure({ bytesMax: 2 ** 50 })).rejects.toThrow(/max_file_store/);
  });
});

describe('the streams of all partitions', () => {
  it('distinguishes a lost stream from those of a cluster that is being created', async () => {
    const own = new Subjects('gone');
    const ensureOwn = (number: number): Promise<void> =>
      ensureCommitStream(connection, own, number, settings, systemClock);
    expect(await lostCommitStreams(connection, own, 3)).toEqual([]);
    await ensureOwn(0);
    expect(await lostCommitStreams(connection, own, 3)).toEqual([]);
    for (const number of [1, 2]) await ensureOwn(number);
    await connection.request(own.log(2), 'a record');
    expect(await lostCommitStreams(connection, own, 3)).toEqual([]);
    const manager = await jetstreamManager(connection);
    await manager.streams.delete(own.logStream(1));
    expect(await lostCommitStreams(connection, own, 3)).toEqual([1]);
  });
});
