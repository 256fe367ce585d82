import type { Clock } from '#runtime/base/time/clock.ts';
import { BatchDecoder } from './batch-decoder.ts';
import { isTruncated } from './log-errors.ts';
import { foldStart } from './log-fold.ts';
import type { LogStream } from './log-stream.ts';
import { messagesUpTo } from './stream-checks.ts';

/**
 * Returns whether it is certain that an actor was never created: the log is complete, and has no entry of the actor.
 * Reads up to its first entry, so the whole log if there is none.
 *
 * @param partition of the actor
 * @throws {ServiceError} `LOG_UNAVAILABLE`; `DATA_CORRUPTED` when the log cannot be trusted
 */
export async function wasNeverMade(
  stream: LogStream,
  partition: number,
  actor: string,
  clock: Clock,
): Promise<boolean> {
  const known = await stream.state();
  if (known.firstSequence > 1) return false;
  const { identity, lastSequence: sequence } = known;
  const decoder = new BatchDecoder(partition, foldStart);
  try {
    for await (const message of messagesUpTo(stream, partition, 1, { identity, sequence }, clock)) {
      const step = decoder.take(message);
      if (step.kind === 'batch' && step.batch.entries.some((entry) => entry.actor === actor)) return false;
    }
  } catch (error) {
    // Truncated meanwhile.
    if (isTruncated(error)) return false;
    throw error;
  }
  return true;
}
