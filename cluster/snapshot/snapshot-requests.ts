import type { Subscription } from '@nats-io/transport-node';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';

/** A request for snapshots. */
export interface SnapshotRequest {
  /** Undefined for every partition. */
  readonly partition: number | undefined;
  /** Whether no stored file may be reused, because it may be damaged. */
  readonly isWhole: boolean;
}

/**
 * Sends requests for snapshots to all members; the member that is to take the next one of a partition does. A request
 * may be lost: a member that needs the result asks again.
 */
export class SnapshotRequests {
  readonly #sealed: SealedLink;
  readonly #subject: string;
  #subscription: Subscription | undefined;

  constructor(sealed: SealedLink, subject: string) {
    this.#sealed = sealed;
    this.#subject = subject;
  }

  /** @param hear called for every request, including one's own; must not throw */
  listen(hear: (request: SnapshotRequest) => void): void {
    this.#subscription = this.#sealed.subscribe(this.#subject, (message) => {
      const request = parsed(message.string());
      if (request !== undefined) hear(request);
    });
  }

  /** Sends a request; without a connection nothing happens. */
  send({ isWhole, partition }: SnapshotRequest): void {
    this.#sealed.publish(this.#subject, JSON.stringify({ partition: partition ?? null, whole: isWhole }));
  }

  /** Stops receiving requests. */
  close(): void {
    this.#subscription?.unsubscribe();
  }
}

/** Messages from the network may be of another version. */
function parsed(text: string): SnapshotRequest | undefined {
  try {
    const { partition, whole } = JSON.parse(text) as { partition?: unknown; whole?: unknown };
    if (partition !== null && !Number.isSafeInteger(partition)) return undefined;
    return { partition: (partition as number | null) ?? undefined, isWhole: whole === true };
  } catch {
    return undefined;
  }
}
