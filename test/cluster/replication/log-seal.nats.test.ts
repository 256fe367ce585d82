import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogStream, StoredMessage } from '#cluster/replication/log-stream.ts';
import { STORED_SEAL_HEADER } from '#cluster/seal/log-seal.ts';
import { type LogClient, logClient, newPartition, subjectOf } from '#test/support/log-partition.ts';
import { testLogSeal } from '#test/support/member-seals.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const nats = sharedNatsCluster(1);
let client: LogClient;

beforeAll(async () => {
  client = await logClient(nats());
});

afterAll(() => client.close());

/** Every message of a stream, as each way of reading gives it: its text, and whether it is forged. */
async function readings(stream: LogStream, last: number): Promise<readonly (readonly string[])[]> {
  const shown = ({ bytes, isForged }: StoredMessage): string => `${isForged ? '!' : ''}${bytes.toString()}`;
  const fetched: string[] = [];
  for (let sequence = 1; sequence <= last; sequence++) {
    const message = await stream.fetch(sequence);
    if (message !== undefined) fetched.push(shown(message));
  }
  const ranged: string[] = [];
  for await (const message of stream.range(1, last)) ranged.push(shown(message));
  const followed: string[] = [];
  const enough = new AbortController();
  for await (const message of stream.follow(1, enough.signal)) {
    followed.push(shown(message));
    if (followed.length === last) enough.abort();
  }
  return [fetched, ranged, followed];
}

describe('what members store in a stream', () => {
  it('is distinguished from messages of others, for every way to read them', async () => {
    const partition = await newPartition(client, 1);
    const stream = client.stream(partition, testLogSeal());
    for (const [at, text] of ['one', 'two'].entries())
      expect(await stream.append(at, Buffer.from(text))).toEqual({ kind: 'stored', sequence: at + 1 });
    const { connection } = client;
    await connection.request(subjectOf(partition), 'unsigned');
    // A genuine message with its seal, at another place.
    const seal = testLogSeal().seal(`TEST_LOG_${String(partition).padStart(3, '0')}`, 1, Buffer.from('one'));
    const sealed = headers();
    sealed.set(STORED_SEAL_HEADER, seal);
    await connection.request(subjectOf(partition), 'one', { headers: sealed, timeout: 5_000 });
    // Of members with another key.
    const foreign = testLogSeal({ masterKey: new Uint8Array(32).fill(8) });
    await client.stream(partition, foreign).append(4, Buffer.from('foreign'));
    await stream.append(5, Buffer.from('six'));
    const expected = ['one', 'two', '!unsigned', '!one', '!foreign', 'six'];
    expect(await readings(stream, 6)).toEqual([expected, expected, expected]);
    // While an upgrade lasts what has no seal counts; what has a wrong one never does.
    const lenient = ['one', 'two', 'unsigned', '!one', '!foreign', 'six'];
    expect((await readings(client.stream(partition, testLogSeal({ acceptsUnsigned: true })), 6))[0]).toEqual(
      lenient,
    );
    // A tool that has no key takes all of it, as a member of an older version does.
    expect((await readings(client.stream(partition), 6))[0]).toEqual(
      expected.map((each) => each.replace('!', '')),
    );
  });
});
