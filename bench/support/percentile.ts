/** The value that a share of rising ones does not exceed; not a number when there are none. */
export function percentile(rising: readonly number[], share: number): number {
  return rising[Math.max(0, Math.ceil(rising.length * share) - 1)] ?? Number.NaN;
}

/** Values in rising order. */
export function rising(values: Iterable<number>): number[] {
  return [...values].sort((a, b) => a - b);
}
