/** What the scheduler asks of whoever a piece of work is done for. Asked only when the work has to wait. */
export interface SliceOwner {
  /** Who the work is done for, such as a principal: the works of a class share its time by this key. */
  readonly sliceKey: string;
  /** Throws when nobody waits for the result any more; that ends the wait of the work with the error. */
  requireWaiting(): void;
}
