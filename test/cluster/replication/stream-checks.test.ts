import { beforeEach, expect, it } from 'vitest';
import type { StreamState } from '#cluster/replication/log-stream.ts';
import { messagesUpTo, stateReaching } from '#cluster/replication/stream-checks.ts';
import { MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const PARTITION = 1;

/** Servers of which the first that is asked knows nothing of the stream. */
class UnawareLink extends MemoryLink {
  isAware = false;

  override async state(): Promise<StreamState> {
    const state = await super.state();
    return this.isAware ? state : { ...state, identity: '', lastSequence: 0 };
  }
}

let clock: TestClock;
let stream: MemoryStream;

beforeEach(() => {
  clock = new TestClock();
  stream = new MemoryStream();
  for (const sequence of [0, 1, 2]) stream.append(sequence, Buffer.from([sequence]));
});

it('retries while no server knows the stream, where any stream would do', async () => {
  const link = new UnawareLink(stream);
  const reached = stateReaching(link, PARTITION, { identity: '', sequence: 0 }, clock);
  await settle();
  link.isAware = true;
  clock.advance(250);
  expect(await reached).toMatchObject({ identity: 'memory', lastSequence: 3, isAtOnce: false });
});

it('reports at once that a log begins behind the requested position', async () => {
  stream.firstSequence = 3;
  const known = { identity: 'memory', sequence: 3 };
  let told: unknown;
  void messagesUpTo(stream.link(), PARTITION, 2, known, clock)
    .next()
    .catch((error: unknown) => {
      told = error;
    });
  await settle();
  expect(told).toMatchObject({ code: 'NOT_FOUND' });
});
