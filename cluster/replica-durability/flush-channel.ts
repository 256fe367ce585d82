/** A follower confirms that it has all records of a partition's log up to one record on its disk. */
export interface FlushConfirmation {
  readonly member: string;
  /** Epoch of the record. */
  readonly epoch: number;
  /** Sequence of the record: the newest one that counts. */
  readonly sequence: number;
  /** Chain of the record: distinguishes it from a record of another log with the same sequence. */
  readonly chain: Buffer;
}

/** Confirmations of followers to the owner of a partition. They may be lost, duplicated and reordered. */
export interface FlushChannel {
  tell(partition: number, confirmation: FlushConfirmation): void;
  /** Asks all followers to repeat their confirmations. */
  ask(partition: number): void;
  /** @returns stops listening */
  onConfirmation(partition: number, listener: (confirmation: FlushConfirmation) => void): () => void;
  /** @returns stops listening */
  onRequest(partition: number, listener: () => void): () => void;
}
