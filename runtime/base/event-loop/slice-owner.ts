/** The caller of sliced work, as the scheduler sees it. Used only when the work has to wait. */
export interface SliceOwner {
  /** Identifies the caller, for example a principal: the callers of a class share its time by this key. */
  readonly sliceKey: string;
  /** Throws when the caller has gone; the wait of the work then ends with that error. */
  requireWaiting(): void;
}
