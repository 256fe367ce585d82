import { assert } from '#runtime/base/assert.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { logCorrupted, logRegressed, logTruncated } from './log-errors.ts';
import type { LogStream, StoredMessage, StreamState } from './log-stream.ts';

/**
 * Time for which a stream must appear shorter, or another one, before this is accepted, in milliseconds. A server
 * that was cut off considers itself the leader for up to ten seconds, and answers with its old state.
 */
export const REGRESSION_CONFIRM_MS = 12_000;

/** Interval of the checks, in milliseconds. */
export const REGRESSION_POLL_MS = 250;

/** A stream that has at least the expected records. */
export interface ReachedState extends StreamState {
  /** Whether the first check showed it. */
  readonly isAtOnce: boolean;
}

/**
 * Returns the state of the stream, once it has at least the known records.
 *
 * @param known identity and sequence that were seen before; an empty identity matches any
 * @throws {ServiceError} `DATA_CORRUPTED` when it persistently lacks them, `LOG_UNAVAILABLE`
 * @see docs/partition-log.md#a-log-that-lost-its-end
 */
export async function stateReaching(
  stream: LogStream,
  partition: number,
  known: { readonly identity: string; readonly sequence: number },
  clock: Clock,
): Promise<ReachedState> {
  const startedMs = clock.monotonicMs();
  for (let isAtOnce = true; ; isAtOnce = false) {
    const state = await stream.state();
    const isSame = state.identity !== '' && (known.identity === '' || known.identity === state.identity);
    if (isSame && state.lastSequence >= known.sequence) return { ...state, isAtOnce };
    if (clock.monotonicMs() - startedMs >= REGRESSION_CONFIRM_MS) {
      throw logRegressed(
        partition,
        isSame ? 'shorter' : 'other-stream',
        isSame
          ? `it ends at record ${state.lastSequence}, and this member has ${known.sequence}`
          : `its stream is '${state.identity}', and this member knows it as '${known.identity}'`,
      );
    }
    await sleep(clock, REGRESSION_POLL_MS);
  }
}

/**
 * Yields the messages from one sequence to another, both included, without a gap.
 *
 * @param known identity of the stream, and the last sequence: known to be in it
 * @throws {ServiceError} `DATA_CORRUPTED` when one is persistently missing, `NOT_FOUND` when the log begins after the
 *   first, `LOG_UNAVAILABLE`
 * @see docs/partition-log.md#followers
 */
export async function* messagesUpTo(
  stream: LogStream,
  partition: number,
  first: number,
  known: { readonly identity: string; readonly sequence: number },
  clock: Clock,
): AsyncGenerator<StoredMessage, void, void> {
  let next = first;
  let missingSinceMs: number | undefined;
  while (next <= known.sequence) {
    const before = next;
    for await (const message of stream.range(next, known.sequence)) {
      assert(message.sequence === next, `message ${message.sequence} in the place of ${next}`);
      next += 1;
      yield message;
    }
    if (next > before) {
      missingSinceMs = undefined;
      continue;
    }
    const nowMs = clock.monotonicMs();
    missingSinceMs ??= nowMs;
    const { firstSequence } = await stateReaching(stream, partition, known, clock);
    if (firstSequence > next) throw logTruncated(partition, next, firstSequence);
    if (nowMs - missingSinceMs >= REGRESSION_CONFIRM_MS)
      throw logCorrupted(partition, next, 'it is missing in the stream');
    await sleep(clock, REGRESSION_POLL_MS);
  }
}
