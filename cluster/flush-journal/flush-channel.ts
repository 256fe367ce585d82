/** A follower has everything up to a record of a partition's log on its disk. */
export interface FlushConfirmation {
  readonly member: string;
  /** Of the record. */
  readonly epoch: number;
  /** Of the record: the newest one that counts. */
  readonly sequence: number;
  /** Of the record: which one it is, whatever other log had the same sequence. */
  readonly chain: Buffer;
}

/** How followers tell the owner of a partition what they have on their disks. It may lose, double and reorder. */
export interface FlushChannel {
  tell(partition: number, confirmation: FlushConfirmation): void;
  /** Asks all followers to tell again. */
  ask(partition: number): void;
  /** @returns stops listening */
  onTold(partition: number, listener: (confirmation: FlushConfirmation) => void): () => void;
  /** @returns stops listening */
  onAsked(partition: number, listener: () => void): () => void;
}
