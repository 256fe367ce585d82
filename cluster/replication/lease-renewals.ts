import type { EntryBatch } from './entry-batch.ts';
import type { Moment, ReadLease } from './read-lease.ts';

/** A record the stream has that is to renew the lease. */
interface Renewal {
  readonly sequence: number;
  /** When it was sent. */
  readonly sent: Moment;
  /** Barriers that are passed with it. */
  readonly barrier: EntryBatch | undefined;
}

/**
 * Records of an owner that renew its read lease, and let its barriers pass, once they are durable in the class. That the
 * stream has them does not do where its servers may lose the record of another owner's epoch: then it takes records of
 * this one again, and only members that have that record on their disks do not confirm them.
 *
 * @see Reliability: R11
 */
export class LeaseRenewals {
  readonly #lease: ReadLease;
  /** Oldest first. */
  #waiting: Renewal[] = [];

  constructor(lease: ReadLease) {
    this.#lease = lease;
  }

  /** Records that are not durable yet. */
  get length(): number {
    return this.#waiting.length;
  }

  /** The stream has a record. Its sequence is above all earlier ones. */
  add(sequence: number, sent: Moment, barrier?: EntryBatch): void {
    this.#waiting.push({ sequence, sent, barrier });
  }

  /** Everything up to a sequence is durable. */
  confirm(confirmed: number): void {
    const first = this.#waiting.findIndex(({ sequence }) => sequence > confirmed);
    const count = first < 0 ? this.#waiting.length : first;
    for (const { barrier, sent, sequence } of this.#waiting.splice(0, count)) {
      this.#lease.renew(sent);
      barrier?.resolve(sequence);
    }
  }

  /** None of them will be. */
  reject(error: unknown): void {
    for (const { barrier } of this.#waiting.splice(0)) barrier?.reject(error);
  }
}
