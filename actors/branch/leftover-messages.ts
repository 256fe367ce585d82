/**
 * Removes a part of what a fork has of its source's later revisions, which nobody sees; for the engine only, and
 * no revision. Result: `LeftoversRemoved`.
 */
export interface RemoveLeftovers {
  readonly type: 'RemoveLeftovers';
  /** Rows after which it stops. */
  readonly rowsMax: number;
}

/**
 * How many revisions of its source a fork still has leftovers of, for the engine only. Answer: a number. Cost follows
 * it.
 */
export interface CountLeftovers {
  readonly type: 'CountLeftovers';
}
