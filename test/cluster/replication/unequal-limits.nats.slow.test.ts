import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { isUnavailable } from '#cluster/replication/log-errors.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { type LogClient, logClient, newPartition } from '#test/support/log-partition.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

/** The server that leads may store less than the others: it refuses what those have stored. */
const cluster = sharedNatsCluster(3, { fileStore: (index) => (index === 0 ? '8MB' : '400MB') });
const LIMITED = 'n1';

const WRITERS = 64;
const ENTRY_BYTES = 16 * 1024;

/** More than the limited server takes. */
const ENTRIES_DONE = 700;

let client: LogClient;

beforeAll(async () => {
  client = await logClient(cluster());
});

afterAll(async () => {
  await client.close();
});

/** Stops the limited server when it has refused something and leads no more. */
async function stopLimited(partition: number, hasRefused: () => boolean): Promise<void> {
  while (!hasRefused()) await new Promise((resolve) => setTimeout(resolve, 20));
  for (;;) {
    const leader = await client
      .stream(partition)
      .state()
      .then(({ leader: name }) => name)
      .catch(() => 'none');
    if (leader !== LIMITED) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await cluster().servers[0]?.kill();
}

async function leaderOf(partition: number): Promise<string> {
  for (;;) {
    try {
      return (await client.stream(partition).state()).leader;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it('refuses no stored record, and goes on, when the leading server has less space than the others', async () => {
  // Without a bound of its own: a stream is made on no server that could not hold it whole.
  const partition = await newPartition(client, 3, -1);
  while ((await leaderOf(partition)) !== LIMITED)
    await client
      .stream(partition)
      .stepDown()
      .catch(() => undefined);
  const events: LogEvent[] = [];
  const log = await client.open(partition, 'm1', {
    report: (event) => events.push(event),
    leaseMs: 4000,
    // So that many records are under way when one of them is refused.
    bodyBytesMax: ENTRY_BYTES + 1024,
  });
  const done: number[] = [];
  const refused: number[] = [];
  let next = 0;
  const write = async (): Promise<void> => {
    while (done.length < ENTRIES_DONE && log.ended === undefined) {
      const number = next++;
      try {
        await log.append(numberedEntry('t/r/main/branch', number, ENTRY_BYTES));
        done.push(number);
      } catch (error) {
        const { code } = error as ServiceError;
        expect(['STORAGE_FULL', 'LOG_UNAVAILABLE']).toContain(code);
        refused.push(number);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  // The limited server answers that it has no space, or stops leading and answers nothing.
  const isUnknown = (): boolean => events.some(({ kind }) => kind === 'outcome-unknown');
  // Servers of 2.9 may find no leader for minutes while one without space takes part in the elections.
  const stopped = stopLimited(partition, isUnknown);
  await Promise.all(Array.from({ length: WRITERS }, write));
  expect(isUnknown()).toBe(true);
  await stopped;
  expect(log.ended).toBeUndefined();
  const kept = (await entriesOf(log)).map(numberOf);
  expect(kept).toHaveLength(new Set(kept).size);
  expect(new Set(kept)).toEqual(new Set(done));
  expect(refused.filter((number) => kept.includes(number))).toEqual([]);
  await log.close();
});
