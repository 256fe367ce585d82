/** The percentile of ascending values at `share`; NaN without values. */
export function percentile(rising: readonly number[], share: number): number {
  return rising[Math.max(0, Math.ceil(rising.length * share) - 1)] ?? Number.NaN;
}

/** Values in ascending order. */
export function rising(values: Iterable<number>): number[] {
  return [...values].sort((a, b) => a - b);
}
