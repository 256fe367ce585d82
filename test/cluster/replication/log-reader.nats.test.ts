import { systemRandom } from '#runtime/base/random.ts';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { type LogNews, LogReader, type LogReaderOptions } from '#cluster/replication/log-reader.ts';
import { numberedEntry, numberOf } from '#test/support/log-entries.ts';
import {
  hurriedClock,
  type LogClient,
  logClient,
  newPartition,
  streamOf,
  subjectOf,
} from '#test/support/log-partition.ts';
import { type NatsServer, sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { TcpProxy } from '#test/support/tcp-proxy.ts';

const cluster = sharedNatsCluster(1);
const ACTOR = 't/r/main/branch';
let client: LogClient;
let follower: LogClient;

beforeAll(async () => {
  client = await logClient(cluster());
  follower = await logClient(cluster());
});

afterAll(async () => {
  await client.close();
  await follower.close();
});

function readerOf(partition: number, options: Partial<LogReaderOptions> = {}): LogReader {
  return new LogReader({
    stream: follower.stream(partition),
    partition,
    position: undefined,
    clock: systemClock,
    random: systemRandom,
    report: () => undefined,
    ...options,
  });
}

/** What a reader tells until it comes to an entry. */
async function until(reader: LogReader, number: number, seen: LogNews[] = []): Promise<LogNews[]> {
  const controller = new AbortController();
  for await (const news of reader.read(controller.signal)) {
    seen.push(news);
    if (numbersOf([news]).includes(number)) controller.abort();
  }
  return seen;
}

function numbersOf(news: readonly LogNews[]): number[] {
  return news.flatMap((each) => (each.kind === 'batch' ? each.batch.entries.map(numberOf) : []));
}

describe('following a log', () => {
  it('delivers stored and new records in order, with the owner', async () => {
    const partition = await newPartition(client, 1);
    const first = await client.open(partition, 'm1');
    for (const number of [1, 2, 3]) await first.append(numberedEntry(ACTOR, number));
    const seen: LogNews[] = [];
    const told = until(readerOf(partition), 6, seen);
    while (numbersOf(seen).length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await first.append(numberedEntry(ACTOR, 4));
    await first.close();
    const second = await client.open(partition, 'm2');
    await second.append(numberedEntry(ACTOR, 5, 2_000_000));
    await second.append(numberedEntry(ACTOR, 6));
    expect(numbersOf(await told)).toEqual([1, 2, 3, 4, 5, 6]);
    const others = seen.flatMap((news) =>
      news.kind === 'opened' ? [news.opening.member] : news.kind === 'closed' ? ['-'] : [],
    );
    expect(others).toEqual(['m1', '-', 'm2']);
    await second.close();
  });

  it('goes on at its last position, with which the partition can be opened', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    for (let number = 0; number < 20; number += 1) await log.append(numberedEntry(ACTOR, number));
    const reader = readerOf(partition);
    await until(reader, 9);
    const { position } = reader;
    expect(numbersOf(await until(readerOf(partition, { position }), 19))).toEqual(
      Array.from({ length: 10 }, (_, index) => index + 10),
    );
    await log.close();
    const next = await client.open(partition, 'm2', { position });
    expect(next.pending().get(ACTOR)?.first).toBeGreaterThan(position?.sequence ?? 0);
    await next.close();
  });

  it('resumes when the servers come back', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    await log.append(numberedEntry(ACTOR, 1));
    const seen: LogNews[] = [];
    const told = until(readerOf(partition), 2, seen);
    while (numbersOf(seen).length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await cluster().servers[0]?.restart();
    await cluster().ready();
    while (!client.stream(partition).isConnected) await new Promise((resolve) => setTimeout(resolve, 5));
    await log.append(numberedEntry(ACTOR, 2));
    expect(numbersOf(await told)).toEqual([1, 2]);
    await log.close();
  });

  it('has what was on its way when its connection was lost, although nothing more is written', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    await log.append(numberedEntry(ACTOR, 1));
    const proxy = await TcpProxy.to((cluster().servers[0] as NatsServer).port);
    const behind = await logClient(cluster(), [`nats://127.0.0.1:${proxy.port}`]);
    const seen: LogNews[] = [];
    const told = until(readerOf(partition, { stream: behind.stream(partition) }), 2, seen);
    while (numbersOf(seen).length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    // The server gives it to a consumer that nobody hears, once.
    proxy.silence();
    await log.append(numberedEntry(ACTOR, 2));
    await client.connection.flush();
    proxy.restore();
    expect(numbersOf(await told)).toEqual([1, 2]);
    await behind.close();
    await proxy.close();
    await log.close();
  });

  it('stops at a record that does not verify', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    await log.append(numberedEntry(ACTOR, 1));
    await client.connection.request(subjectOf(partition), 'not a record');
    const seen: LogNews[] = [];
    await expect(until(readerOf(partition), 2, seen)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(numbersOf(seen)).toEqual([1]);
    await log.close();
  });

  it('stops when the stream is deleted during the read, instead of starting again', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    await log.append(numberedEntry(ACTOR, 1));
    const seen: LogNews[] = [];
    const told = until(readerOf(partition, { clock: hurriedClock(50) }), 2, seen);
    while (numbersOf(seen).length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    const manager = await jetstreamManager(client.connection);
    const { config } = await manager.streams.info(streamOf(partition));
    await manager.streams.delete(config.name);
    await manager.streams.add(config);
    await expect(told).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it('asks for a snapshot where the log begins behind what is wanted', async () => {
    const partition = await newPartition(client, 1);
    const log = await client.open(partition, 'm1');
    const sequence = await log.append(numberedEntry(ACTOR, 1));
    const manager = await jetstreamManager(client.connection);
    await manager.streams.purge(streamOf(partition), { seq: sequence });
    await expect(until(readerOf(partition), 1)).rejects.toThrow(/start from a snapshot/);
    await log.close();
  });
});
