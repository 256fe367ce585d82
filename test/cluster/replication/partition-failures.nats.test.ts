import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import {
  hurriedClock,
  type LogClient,
  logClient,
  newPartition,
  streamOf,
  subjectOf,
  TEST_LEASE_MS,
} from '#test/support/log-partition.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const cluster = sharedNatsCluster(1);
const ACTOR = 't/r/main/branch';
let client: LogClient;

beforeAll(async () => {
  client = await logClient(cluster());
});

afterAll(async () => {
  await client.close();
});

function kindsOf(events: readonly LogEvent[]): string[] {
  return events.map(({ kind }) => kind);
}

/** A log with three entries, closed; and where it stood after the first two. */
async function written(partition: number): Promise<LogPosition> {
  const log = await client.open(partition, 'm1');
  for (const number of [1, 2]) log.released(ACTOR, await log.append(numberedEntry(ACTOR, number)));
  const position = log.releasedPosition;
  await log.append(numberedEntry(ACTOR, 3));
  await log.close();
  return position;
}

describe('opening a partition', () => {
  it('waits the lease of an owner that died, and that of one that closed not', async () => {
    const partition = await newPartition(client, 1);
    const events: LogEvent[] = [];
    const options = { report: (event: LogEvent) => events.push(event) };
    await client.open(partition, 'm1', options);
    const second = await client.open(partition, 'm2', options);
    await second.close();
    const third = await client.open(partition, 'm3', options);
    const waited = events.flatMap((event) => (event.kind === 'opened' ? [event.waitedMs] : []));
    expect(waited).toEqual([0, expect.any(Number), 0]);
    expect(waited[1]).toBeGreaterThanOrEqual(TEST_LEASE_MS);
    await third.close();
  });

  it('counts the time a follower has waited already', async () => {
    const partition = await newPartition(client, 1);
    const first = await client.open(partition, 'm1');
    first.released(ACTOR, await first.append(numberedEntry(ACTOR, 1)));
    const receivedMs = systemClock.monotonicMs() - 10 * TEST_LEASE_MS;
    const position = { ...first.releasedPosition, receivedMs };
    const startedMs = systemClock.monotonicMs();
    const second = await client.open(partition, 'm2', { position });
    expect(systemClock.monotonicMs() - startedMs).toBeLessThan(TEST_LEASE_MS);
    await second.close();
  });

  it('passes every batch behind the position to its consumer, before it opens', async () => {
    const partition = await newPartition(client, 1);
    const position = await written(partition);
    const taken: number[] = [];
    const log = await client.open(partition, 'm2', {
      position,
      take: ({ entries }) => void taken.push(...entries.map(numberOf)),
    });
    expect(taken).toEqual([3]);
    expect([...log.pending().keys()]).toEqual([ACTOR]);
    expect(log.lastClock).toEqual({ ms: 1003, counter: 0 });
    await log.close();
  });

  it('is cancelled when it is no longer wanted', async () => {
    const partition = await newPartition(client, 1);
    await client.open(partition, 'm1');
    const signal = AbortSignal.timeout(20);
    await expect(client.open(partition, 'm2', { signal })).rejects.toMatchObject({
      code: 'REQUEST_CANCELLED',
    });
  });

  it('refuses a stream that ends before what this member has, or is another, and changes nothing', async () => {
    const partition = await newPartition(client, 1);
    const position = await written(partition);
    const options = { clock: hurriedClock(50) };
    const ahead = { ...position, sequence: 99 };
    await expect(client.open(partition, 'm2', { ...options, position: ahead })).rejects.toThrow(
      /ends at record 5, and this member has 99/,
    );
    const other = { ...position, identity: 'other' };
    await expect(client.open(partition, 'm2', { ...options, position: other })).rejects.toThrow(
      /knows it as 'other'/,
    );
    const differs = { ...position, chain: Buffer.alloc(16, 1) };
    await expect(client.open(partition, 'm2', { ...options, position: differs })).rejects.toThrow(
      /record 3 differs from that of this member/,
    );
    expect((await client.stream(partition).state()).lastSequence).toBe(5);
  });

  it('refuses a stream that was deleted, or deleted and made again', async () => {
    const partition = await newPartition(client, 1);
    const position = await written(partition);
    const options = { position, clock: hurriedClock(50) };
    const manager = await jetstreamManager(client.connection);
    const { config } = await manager.streams.info(streamOf(partition));
    await manager.streams.delete(config.name);
    await expect(client.open(partition, 'm2', options)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await manager.streams.add(config);
    await expect(client.open(partition, 'm2', options)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it('asks for a snapshot where the log begins behind the position', async () => {
    const partition = await newPartition(client, 1);
    const position = await written(partition);
    const manager = await jetstreamManager(client.connection);
    await manager.streams.purge(streamOf(partition), { seq: position.sequence });
    const kept = await client.open(partition, 'm2', { position });
    await kept.close();
    await manager.streams.purge(streamOf(partition), { seq: position.sequence + 1 });
    await expect(client.open(partition, 'm2', { position })).rejects.toThrow(/start from a snapshot/);
    await expect(client.open(partition, 'm2')).rejects.toThrow(/begins at record 4/);
  });

  it('refuses a log with a record that does not verify', async () => {
    const partition = await newPartition(client, 1);
    await written(partition);
    await client.connection.request(subjectOf(partition), 'not a record');
    await expect(client.open(partition, 'm2')).rejects.toThrow(
      expect.objectContaining({
        code: 'DATA_CORRUPTED',
        message: expect.stringMatching(/record 6: .*quarantine/),
      }),
    );
  });
});

describe('an owner', () => {
  it('stops permanently, with the reason, when another client writes into its log', async () => {
    const partition = await newPartition(client, 1);
    const events: LogEvent[] = [];
    const log = await client.open(partition, 'm1', { report: (event) => events.push(event) });
    await client.connection.request(subjectOf(partition), 'not a record');
    await expect(log.append(numberedEntry(ACTOR, 1))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    expect(log.lease.isValid()).toBe(false);
    await expect(log.append(numberedEntry(ACTOR, 2))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    await expect(log.barrier()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    expect(kindsOf(events)).toEqual(['opened', 'outcome-unknown', 'quarantined']);
    expect(String((events[2] as { cause: unknown }).cause)).toMatch(/record 2/);
    await log.close();
    expect((await client.stream(partition).state()).lastSequence).toBe(2);
  });

  it('refuses entries while there is no space, and resumes when there is', async () => {
    const partition = await newPartition(client, 1, 64 * 1024);
    const log = await client.open(partition, 'm1');
    const entries = Array.from({ length: 20 }, (_, number) => numberedEntry(ACTOR, number, 10_000));
    const kept: number[] = [];
    for (const entry of entries) {
      const outcome = await log.append(entry).then(
        () => 'done',
        ({ code }: { code: string }) => code,
      );
      if (outcome === 'done') kept.push(numberOf(entry));
      else expect(outcome).toBe('STORAGE_FULL');
    }
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.length).toBeLessThan(10);
    expect((await entriesOf(log)).map(numberOf)).toEqual(kept);
    const manager = await jetstreamManager(client.connection);
    log.released(ACTOR, log.lastSequence);
    const position = log.releasedPosition;
    await manager.streams.purge(streamOf(partition), { seq: position.sequence });
    const sequence = await log.append(numberedEntry(ACTOR, 77));
    expect((await entriesOf(log, position.sequence)).map(numberOf)).toEqual([77]);
    expect(sequence).toBeGreaterThan(position.sequence);
    await log.close();
    const next = await client.open(partition, 'm2', { position });
    expect((await entriesOf(next, position.sequence)).map(numberOf)).toEqual([77]);
    await next.close();
  });

  it('renews its lease by a barrier, which holds no entries', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    while (log.lease.isValid()) await new Promise((resolve) => setTimeout(resolve, 10));
    const sequence = await log.barrier();
    expect(log.lease.isValid()).toBe(true);
    expect(sequence).toBe(2);
    expect(log.lastSequence).toBe(0);
    const both = await Promise.all([log.append(numberedEntry(ACTOR, 1)), log.barrier(), log.barrier()]);
    expect(both).toEqual([3, 3, 3]);
    await log.close();
  });

  it('resolves the outcome of its appends when the server comes back, and has lost nothing', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1', { leaseMs: 4000 });
    await log.append(numberedEntry(ACTOR, 0));
    const [server] = cluster().servers;
    const under = Array.from({ length: 200 }, (_, number) =>
      log.append(numberedEntry(ACTOR, number + 1, 5000)),
    );
    await server?.restart();
    await Promise.all(under);
    expect((await entriesOf(log)).map(numberOf)).toEqual(Array.from({ length: 201 }, (_, number) => number));
    await log.close();
  });

  it('refuses at once what it certainly cannot write, and takes it again later', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    const [server] = cluster().servers;
    await server?.kill();
    while (client.stream(partition).isConnected) await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(log.append(numberedEntry(ACTOR, 1))).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
    server?.start();
    await cluster().ready();
    while (!client.stream(partition).isConnected) await new Promise((resolve) => setTimeout(resolve, 5));
    await log.append(numberedEntry(ACTOR, 2));
    expect((await entriesOf(log)).map(numberOf)).toEqual([2]);
    await log.close();
  });

  it('leaves a position behind from which everything not released is read', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    const sequences: number[] = [];
    for (let number = 0; number < 700; number += 1)
      sequences.push(await log.append(numberedEntry(ACTOR, number)));
    log.released(ACTOR, sequences[599] as number);
    const position = log.releasedPosition;
    expect(position.sequence).toBeLessThanOrEqual(sequences[599] as number);
    expect(position.sequence).toBeGreaterThan(sequences[200] as number);
    await log.close();
    const next = await client.open(partition, 'm2', { position });
    const read = (await entriesOf(next, sequences[599])).map(numberOf);
    expect(read).toEqual(Array.from({ length: 100 }, (_, index) => 600 + index));
    await next.close();
  });
});
