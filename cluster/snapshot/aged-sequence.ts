import type { LogStream } from '#cluster/replication/log-stream.ts';

/**
 * Finds the newest message that was stored before a moment, by binary search.
 *
 * @param first the oldest message of the log
 * @param last the end of the search
 * @param beforeMs milliseconds since the Unix epoch, by the clocks of the servers
 * @returns 0 when even the oldest is younger, or was removed meanwhile
 * @throws {ServiceError} `LOG_UNAVAILABLE`
 */
export async function agedSequence(
  stream: LogStream,
  first: number,
  last: number,
  beforeMs: number,
): Promise<number> {
  const isAged = async (sequence: number): Promise<boolean> => {
    const message = await stream.fetch(sequence);
    return message !== undefined && message.storedMs <= beforeMs;
  };
  if (last < first) return 0;
  if (await isAged(last)) return last;
  // Everything up to `low` is old enough, and nothing from `high` on.
  let low = first - 1;
  let high = last;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isAged(middle)) low = middle;
    else high = middle;
  }
  return low < first ? 0 : low;
}
