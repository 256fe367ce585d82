import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { isUnavailable } from './log-errors.ts';
import type { LogStream } from './log-stream.ts';

/** Interval of the checks of the leader, in milliseconds. */
const POLL_MS = 50;

/** Maximum time of an election before the leader is asked again, in milliseconds. */
const ELECTION_MS_MAX = 10_000;

/** Time after which a single server is tried again, in milliseconds. */
const PAUSE_MS = 500;

/**
 * Requests another leader of a stream after the current one refused an append for lack of space. Servers before 2.12
 * refuse after the others may have stored it. The copy of that leader then ends before theirs, and as soon as it has
 * space it acknowledges alone what the others refuse. So nothing may be appended until this function returns.
 *
 * It returns when another server leads, and after a pause when there is only one.
 *
 * @param requireWanted throws when no caller waits for it any more
 */
export async function leaveRefusingLeader(
  stream: LogStream,
  clock: Clock,
  requireWanted: () => void,
): Promise<void> {
  let refusing = await leaderOf(stream);
  while (refusing === undefined) {
    await sleep(clock, POLL_MS);
    requireWanted();
    refusing = await leaderOf(stream);
  }
  if (refusing === '') return sleep(clock, PAUSE_MS);
  for (;;) {
    requireWanted();
    await stream.stepDown().catch(requireUnavailable);
    const untilMs = clock.monotonicMs() + ELECTION_MS_MAX;
    while (clock.monotonicMs() < untilMs) {
      await sleep(clock, POLL_MS);
      requireWanted();
      const leader = await leaderOf(stream);
      if (leader !== undefined && leader !== refusing) return;
    }
  }
}

/** @returns empty for a single server; undefined when no server answers */
async function leaderOf(stream: LogStream): Promise<string | undefined> {
  try {
    return (await stream.state()).leader;
  } catch (error) {
    requireUnavailable(error);
    return undefined;
  }
}

function requireUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}
