/** An interval without acknowledgements, in milliseconds on one clock. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * The longest time between two acknowledgements around an event. A gap that began before `fromMs` counts from its
 * beginning, because a client waits for all of it.
 *
 * @param risingMs when writes were acknowledged
 * @param fromMs gaps that end earlier do not count
 * @param toMs gaps that begin later do not count
 * @throws {Error} when nothing was acknowledged before or after, so that the length of the gap is unknown
 */
export function longestGap(risingMs: readonly number[], fromMs: number, toMs: number): Gap {
  let longest: Gap | undefined;
  for (let index = 1; index < risingMs.length; index++) {
    const gap = { fromMs: risingMs[index - 1] as number, toMs: risingMs[index] as number };
    if (gap.toMs < fromMs || gap.fromMs > toMs) continue;
    if (longest === undefined || lengthOf(gap) > lengthOf(longest)) longest = gap;
  }
  const isAround = (risingMs[0] ?? Number.NaN) <= fromMs && (risingMs.at(-1) ?? Number.NaN) >= toMs;
  if (longest === undefined || !isAround)
    throw new Error('nothing was acknowledged before or after what was measured');
  return longest;
}

/** How long a gap is, in milliseconds. */
export function lengthOf({ fromMs, toMs }: Gap): number {
  return toMs - fromMs;
}
