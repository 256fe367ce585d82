import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FlushJournal } from '#cluster/replica-durability/flush-journal.ts';
import { ShardPositions } from '#cluster/replication/shard-positions.ts';
import { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { StreamRepair } from '#cluster/ownership/stream-repair.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { type LogPosition, positionOf } from '#cluster/replication/log-position.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { MemoryShardFiles } from '#test/support/memory-shard-files.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { numberedEntry } from '#test/support/log-entries.ts';
import {
  hurriedClock,
  type LogClient,
  logClient,
  newPartition,
  streamOf,
} from '#test/support/log-partition.ts';
import { type NatsServer, sharedNatsCluster } from '#test/support/nats-cluster.ts';

const ENTRIES = 60;

/** Elections after which a server that did not win any is given up. */
const ELECTIONS_MAX = 40;

const FOLDER = '/partition';

/** Fifteen seconds of waiting are one. */
const clock = hurriedClock(15);

const cluster = sharedNatsCluster(3);
let client: LogClient;
let damaged: NatsServer;

/** A log that lost its end on the server that leads it. */
interface DamagedLog {
  readonly partition: number;
  /** All it had. */
  readonly messages: readonly StoredMessage[];
  readonly position: LogPosition;
}

const logs: DamagedLog[] = [];

/** A log of so many entries, with what members know of it. */
async function writtenLog(): Promise<DamagedLog> {
  const partition = await newPartition(client, 3);
  const log = await client.open(partition, 'm1');
  for (let number = 0; number < ENTRIES; number += 1)
    await log.append(numberedEntry('t/r/main/branch', number));
  await log.close();
  const messages = await messagesOf(partition);
  const decoder = new BatchDecoder(partition);
  for (const message of messages) decoder.take(message);
  const { identity } = await client.stream(partition).state();
  return { partition, messages, position: positionOf(identity, decoder.fold.state) };
}

async function messagesOf(partition: number): Promise<readonly StoredMessage[]> {
  const stream = client.stream(partition);
  const messages: StoredMessage[] = [];
  for await (const message of stream.range(1, (await stream.state()).lastSequence)) messages.push(message);
  return messages;
}

/** Cuts the last two thirds of each block of a log off. The server does not run. */
function cutBlocks(server: NatsServer, partition: number): void {
  const blocks = join(server.store, 'jetstream/GROVE/streams', streamOf(partition), 'msgs');
  for (const name of readdirSync(blocks).filter((each) => each.endsWith('.blk'))) {
    const bytes = readFileSync(join(blocks, name));
    writeFileSync(join(blocks, name), bytes.subarray(0, Math.floor(bytes.length / 3)));
  }
}

/** Has the leader of a log step down until a certain server leads. @returns where the log ends then */
async function lead(partition: number, server: NatsServer): Promise<number> {
  const stream = client.stream(partition);
  for (let elections = 0; elections < ELECTIONS_MAX; ) {
    const state = await stream.state().catch(() => undefined);
    if (state?.leader === server.name) return state.lastSequence;
    if (state !== undefined) {
      elections += 1;
      await stream.stepDown().catch(() => undefined);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${server.name} never led the log of partition ${partition}`);
}

/** Keeps all messages of a log in the flush journal of a member. */
async function keep(files: FaultyFileSystem, { messages, partition, position }: DamagedLog): Promise<void> {
  const folder = `${FOLDER}/flush-journal`;
  const journal = await FlushJournal.open({ files, folder, clock: systemClock, random: systemRandom });
  const decoder = new BatchDecoder(partition);
  for (const message of messages) {
    decoder.take(message);
    journal.add(position.identity, message, decoder.fold.state);
  }
  await journal.close();
}

/** What a member that has all of a log does in quarantine, until the log is whole. @returns what it told */
async function mend(
  files: FaultyFileSystem,
  { partition, position }: DamagedLog,
): Promise<readonly LogEvent[]> {
  const events: LogEvent[] = [];
  const { chain, identity, epoch, sequence } = position;
  const other = { member: 'm2', identity, epoch, sequence, chain: chain.toString('hex'), voters: undefined };
  const flushed = new FlushedReplica({
    partition,
    member: 'm1',
    folder: FOLDER,
    shards: new ShardPositions(new MemoryShardFiles(), clock, systemRandom),
    stream: client.stream(partition),
    files,
    clock,
    random: systemRandom,
    report: (event) => events.push(event),
    onDiskFailure: (cause) => expect(cause).toBeUndefined(),
    statuses: {
      ask: async (_, hear) => {
        hear(other);
      },
    },
    others: () => 1,
    flush: undefined,
  });
  try {
    await new Promise<void>((resolve, reject) => {
      const hear = (): void => {};
      const options = { flushed, clock, random: systemRandom, hear, position: () => position };
      new StreamRepair({ ...options, onWhole: () => resolve(), onFailure: reject }).begin();
    });
  } finally {
    await flushed.close();
  }
  return events;
}

beforeAll(async () => {
  client = await logClient(cluster());
  for (let count = 0; count < 2; count += 1) logs.push(await writtenLog());
  damaged = cluster().servers[0] as NatsServer;
  await Promise.all(cluster().servers.map((server) => server.stop()));
  for (const { partition } of logs) cutBlocks(damaged, partition);
  for (const server of cluster().servers) server.start();
  await cluster().ready();
  for (const { partition, position } of logs)
    expect(await lead(partition, damaged)).toBeLessThan(position.sequence);
}, 60_000);

afterAll(async () => {
  await client.close();
});

describe('a log led by a server that lost the end of it', () => {
  it('gets it back from a flush journal, and then every server has the same [CLU-008]', async () => {
    const log = logs[0] as DamagedLog;
    const files = new FaultyFileSystem();
    await keep(files, log);
    const events = await mend(files, log);
    expect(events.map(({ kind }) => kind)).toEqual(['reseeded']);
    for (const server of cluster().servers) {
      await lead(log.partition, server);
      expect((await messagesOf(log.partition)).map(({ bytes }) => bytes)).toEqual(
        log.messages.map(({ bytes }) => bytes),
      );
    }
    const next = await client.open(log.partition, 'm2', { position: log.position });
    await next.append(numberedEntry('t/r/main/branch', ENTRIES));
    await next.close();
  });

  it('has it again when another server leads, which members without journals ask for', async () => {
    const log = logs[1] as DamagedLog;
    const events = await mend(new FaultyFileSystem(), log);
    // A server that names its successor leads on when that one does not take over, and is asked again.
    expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(['leader-doubted']));
    expect((await messagesOf(log.partition)).map(({ bytes }) => bytes)).toEqual(
      log.messages.map(({ bytes }) => bytes),
    );
  });
});
