import type { EntryBatch } from './entry-batch.ts';
import type { Moment, ReadLease } from './read-lease.ts';

/** A record in the stream that is to renew the lease. */
interface Renewal {
  readonly sequence: number;
  /** Time at which it was sent. */
  readonly sent: Moment;
  /** Barriers that pass with it. */
  readonly barrier: EntryBatch | undefined;
}

/**
 * Records of an owner that renew its read lease, and let its barriers pass, once they are durable in the class. Their
 * storage in the stream is not sufficient where servers may lose the opening record of another owner: then the stream
 * accepts records of this one again, and only members with that opening on their disks do not confirm them.
 *
 * @see docs/partition-log.md#the-read-lease
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

  /** Adds a record that the stream has. Its sequence is above all earlier ones. */
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

  /** Rejects all waiting barriers. */
  reject(error: unknown): void {
    for (const { barrier } of this.#waiting.splice(0)) barrier?.reject(error);
  }
}
