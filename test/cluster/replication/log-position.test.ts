import { beforeEach, expect, it } from 'vitest';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { type LogPosition, positionOf, stateAt } from '#cluster/replication/log-position.ts';
import { openPartition } from '#cluster/replication/partition-log.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const PARTITION = 1;

/** Asked for a message, a server that has none of them; where the stream ends another one tells. */
class ForgetfulLink extends MemoryLink {
  isForgetful = true;

  override async fetch(sequence: number): Promise<StoredMessage | undefined> {
    return this.isForgetful ? undefined : super.fetch(sequence);
  }
}

let clock: TestClock;
let link: ForgetfulLink;
let position: LogPosition;

beforeEach(async () => {
  const stream = new MemoryStream();
  clock = new TestClock();
  link = new ForgetfulLink(stream);
  const log = await openPartition({
    stream: stream.link(),
    partition: PARTITION,
    member: 'm1',
    position: undefined,
    leaseMs: 4000,
    clock,
    random: systemRandom,
    report: () => {},
  });
  await log.barrier();
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) decoder.take(message);
  position = positionOf('memory', decoder.fold.state);
});

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    clock.advance(250);
    await settle();
  }
}

it('looks for a message again that one server did not have', async () => {
  const state = stateAt(link, PARTITION, position, clock);
  await settle();
  await pass(5000);
  link.isForgetful = false;
  await pass(250);
  const { fold, isAtOnce } = await state;
  expect([fold.sequence, isAtOnce]).toEqual([position.sequence, false]);
});

it('believes that a message is missing when that lasts', async () => {
  const state = stateAt(link, PARTITION, position, clock);
  const told = expect(state).rejects.toThrow('it is missing in the stream');
  await settle();
  await pass(12_250);
  await told;
});

/** What a member that stands at a position is told. */
async function toldAt(changed: Partial<LogPosition>): Promise<unknown> {
  link.isForgetful = false;
  const state = stateAt(link, PARTITION, { ...position, ...changed }, clock);
  const told = state.then(
    () => 'nothing',
    (error: unknown) => error,
  );
  await settle();
  // What may be a server that was cut off has to last.
  await pass(12_250);
  return told;
}

it.each<[string, Partial<LogPosition>]>([
  ['of another stream', { identity: 'another' }],
  ['of another epoch', { epoch: 9 }],
  ['with another chain', { chain: Buffer.alloc(16, 1) }],
])('does not resume after a record %s', async (_, changed) => {
  expect(await toldAt(changed)).toMatchObject({ code: 'DATA_CORRUPTED' });
});

it('reports that a log begins behind a known position, or lacks its beginning', async () => {
  await link.truncate(position.sequence + 1);
  expect(await toldAt({})).toMatchObject({ code: 'NOT_FOUND' });
  expect(await toldAt({ sequence: 0 })).toMatchObject({ code: 'NOT_FOUND' });
});
