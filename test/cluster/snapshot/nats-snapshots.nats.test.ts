import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { agedSequence } from '#cluster/snapshot/aged-sequence.ts';
import { truncateLog } from '#cluster/snapshot/log-truncation.ts';
import { NatsSnapshotIndex } from '#cluster/snapshot/nats-snapshot-index.ts';
import { encodeRecords, type SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';
import { readManifest } from '#cluster/snapshot/stored-manifest.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { numberedEntry } from '#test/support/log-entries.ts';
import { type LogClient, logClient, newPartition } from '#test/support/log-partition.ts';
import { testLogSeal } from '#test/support/member-seals.ts';
import { NatsBlobsStore } from '#test/support/nats-blobs-store.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { SnapshotWorld } from '#test/support/snapshot-world.ts';

const nats = sharedNatsCluster(1);
const ACTOR = actorId('acme', 'site~1', 'a', 'notes');
let client: LogClient;
let connections: readonly NatsConnection[];
let made = 0;

beforeAll(async () => {
  client = await logClient(nats());
  const connect = () => connectToNats({ urls: nats().urls, name: 'index' });
  connections = await Promise.all([connect(), connect()]);
});

afterAll(async () => {
  await client.close();
  await Promise.all(connections.map((connection) => connection.close()));
});

/** An index as two members see it. */
async function newIndex(): Promise<readonly [NatsSnapshotIndex, NatsSnapshotIndex]> {
  made += 1;
  const subjects = new Subjects(`index-${made}`);
  const common = {
    subjects,
    partitions: 20,
    replicas: 1,
    clock: systemClock,
    random: systemRandom,
    seal: testLogSeal(),
  };
  const [one, other] = connections as [NatsConnection, NatsConnection];
  // At the same time, as members that start together do.
  return Promise.all([
    NatsSnapshotIndex.open({ ...common, connection: one }),
    NatsSnapshotIndex.open({ ...common, connection: other }),
  ]);
}

function recordOf(partition: number, sequence: number, identity = 'log', member = 'm'): SnapshotRecord {
  return {
    partition,
    position: { identity, sequence, epoch: 1, chain: Buffer.alloc(32, sequence % 256) },
    takenAtMs: sequence,
    member,
    actors: 1,
    bytes: 10,
    manifest: { hash: String(sequence).padStart(64, '0'), size: 10 },
  };
}

describe('the index of snapshots', () => {
  it('is the same for all, and empty at first', async () => {
    const [one, other] = await newIndex();
    expect(await one.read(3)).toEqual({ records: [], version: 0 });
    expect(await one.replace(3, 0, [recordOf(3, 7)])).toBe(true);
    const entry = await other.read(3);
    expect(entry.records).toEqual([recordOf(3, 7)]);
    expect(await other.replace(3, entry.version, [recordOf(3, 8), recordOf(3, 7)])).toBe(true);
    expect((await one.read(3)).records.map(({ position }) => position.sequence)).toEqual([8, 7]);
    expect([...(await one.all()).entries()].filter(([, { records }]) => records.length > 0)).toEqual([
      [3, await one.read(3)],
    ]);
  });

  it('is what members wrote, and nothing else', async () => {
    const [one, other] = await newIndex();
    const subjects = new Subjects(`index-${made}`);
    const [connection] = connections as [NatsConnection];
    expect(await one.replace(3, 0, [recordOf(3, 7)])).toBe(true);
    connection.publish(subjects.snapshots(3), encodeRecords([recordOf(3, 999)]));
    await connection.flush();
    await expect.poll(async () => (await other.read(3)).records).toEqual([]);
    // The next snapshot takes its place.
    const { version } = await other.read(3);
    expect(await other.replace(3, version, [recordOf(3, 8)])).toBe(true);
    expect((await one.read(3)).records).toEqual([recordOf(3, 8)]);
  });

  it('is changed by one of several concurrent writers, independent of changes to other partitions', async () => {
    const [one, other] = await newIndex();
    const attempts = Array.from({ length: 20 }, (_, at) =>
      (at % 2 === 0 ? one : other).replace(at < 8 ? 5 : at, 0, [recordOf(at < 8 ? 5 : at, 100 + at)]),
    );
    const done = await Promise.all(attempts);
    expect(done.slice(0, 8).filter(Boolean)).toHaveLength(1);
    expect(done.slice(8)).toEqual(Array.from({ length: 12 }, () => true));
    const winner = done.indexOf(true);
    expect((await other.read(5)).records).toEqual([recordOf(5, 100 + winner)]);
  });

  it('confirms a repeated change whose answer was lost', async () => {
    const [one, other] = await newIndex();
    expect(await one.replace(1, 0, [recordOf(1, 9)])).toBe(true);
    expect(await one.replace(1, 0, [recordOf(1, 9)])).toBe(true);
    expect(await other.replace(1, 0, [recordOf(1, 10)])).toBe(false);
  });
});

describe('the log of a partition', () => {
  it('is cut in JetStream before a record that stays, and is opened again from there only', async () => {
    const partition = await newPartition(client, 1);
    const stream = client.stream(partition);
    const log = await client.open(partition, 'a');
    for (let number = 0; number < 20; number += 1) await log.append(numberedEntry(ACTOR, number, 500));
    const middle = log.lastSequence;
    for (const [actor, { last }] of log.pending()) log.released(actor, last);
    const position = log.releasedPosition;
    for (let number = 20; number < 30; number += 1) await log.append(numberedEntry(ACTOR, number, 500));
    const before = await stream.state();
    await log.close();
    const records = [position.sequence, position.sequence].map((sequence) =>
      recordOf(partition, sequence, before.identity),
    );
    const facts = { partition, stream, state: before, records, followers: [], ownerStored: middle };
    const rules = { bytesMax: 1e9, keepMs: 0, gainBytes: 1_000 };
    expect(await truncateLog(facts, { ...rules, keepMs: 3_600_000 }, systemClock)).toBeUndefined();
    expect(await truncateLog(facts, { ...rules, gainBytes: 1e9 }, systemClock)).toBeUndefined();
    expect(await truncateLog(facts, rules, systemClock)).toBe(middle);
    const after = await stream.state();
    expect([after.firstSequence, after.identity]).toEqual([middle, before.identity]);
    expect(after.bytes).toBeLessThan(before.bytes);
    expect(await stream.fetch(middle - 1)).toBeUndefined();
    expect((await stream.fetch(middle))?.sequence).toBe(middle);
    await expect(client.open(partition, 'b')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      details: { firstSequence: middle },
    });
    const again = await client.open(partition, 'b', { position });
    expect([...again.pending()]).toEqual([[ACTOR, { first: middle + 1, last: after.lastSequence - 1 }]]);
    // Cutting once more, or where it was cut already, changes nothing.
    await stream.truncate(middle);
    await stream.truncate(3);
    expect((await stream.state()).firstSequence).toBe(middle);
    await again.close();
  });

  it('finds by bisection how much of it is old enough', async () => {
    const partition = await newPartition(client, 1);
    const stream = client.stream(partition);
    const log = await client.open(partition, 'a');
    for (let number = 0; number < 25; number += 1) await log.append(numberedEntry(ACTOR, number, 50));
    const { lastSequence: last } = await stream.state();
    const times = await Promise.all(
      Array.from({ length: last }, async (_, at) => (await stream.fetch(at + 1))?.storedMs ?? 0),
    );
    for (const [first, at] of [
      [1, 0],
      [1, 7],
      [4, 20],
      [1, last - 1],
    ] as const) {
      const beforeMs = times[at] as number;
      const wanted = times.findLastIndex((time) => time <= beforeMs) + 1;
      expect(await agedSequence(stream, first, last, beforeMs)).toBe(wanted < first ? 0 : wanted);
    }
    expect(await agedSequence(stream, 1, last, (times[0] as number) - 1)).toBe(0);
    await log.close();
  });
});

describe('snapshots in the object store of NATS', () => {
  it('are verified, and one whose file is damaged there is not begun with', async () => {
    const store = await NatsBlobsStore.open(nats().urls, 1);
    const [index] = await newIndex();
    const world = await SnapshotWorld.open({ blobs: store.blobs, index });
    try {
      const [owner, follower] = [world.side('a'), world.side('b')];
      await owner.member.own();
      await owner.host.create(ACTOR);
      await owner.write(ACTOR, 'one');
      await follower.caughtUp();
      const first = await follower.snapshot();
      await owner.write(ACTOR, 'two');
      await follower.caughtUp();
      const second = await follower.snapshot();
      await owner.write(ACTOR, 'three');
      const { actors } = await readManifest(store.blobs, second as SnapshotRecord);
      await store.damage(actors[0]?.hash as string, 'flip');
      await world.stream.link().truncate(first?.position.sequence as number);
      const fresh = world.side('c');
      await fresh.caughtUp();
      expect(fresh.told('unusable')).toMatchObject([{ cause: { code: 'DATA_CORRUPTED' } }]);
      expect(fresh.told('restored')).toMatchObject([{ sequence: first?.position.sequence }]);
      for (const side of [owner, fresh]) await side.member.leave();
      expect(await fresh.rows()).toEqual(await owner.rows());
    } finally {
      await world.close();
      await store.close();
    }
  });
});
