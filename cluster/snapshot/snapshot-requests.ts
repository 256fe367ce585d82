import type { Subscription } from '@nats-io/transport-node';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';

/** Asks for snapshots. */
export interface SnapshotRequest {
  /** Undefined: of every partition. */
  readonly partition: number | undefined;
  /** Nothing that is stored may be used again: it may be damaged. */
  readonly isWhole: boolean;
}

/**
 * Takes requests for snapshots to all members; whoever is to take the next one of a partition does. A request may be
 * lost: whoever needs its result asks again.
 */
export class SnapshotRequests {
  readonly #sealed: SealedLink;
  readonly #subject: string;
  #subscription: Subscription | undefined;

  constructor(sealed: SealedLink, subject: string) {
    this.#sealed = sealed;
    this.#subject = subject;
  }

  /** @param hear called for every request, one's own included; must not throw */
  listen(hear: (request: SnapshotRequest) => void): void {
    this.#subscription = this.#sealed.subscribe(this.#subject, (message) => {
      const request = parsed(message.string());
      if (request !== undefined) hear(request);
    });
  }

  /** Asks; without a connection nothing happens. */
  send({ isWhole, partition }: SnapshotRequest): void {
    this.#sealed.publish(this.#subject, JSON.stringify({ partition: partition ?? null, whole: isWhole }));
  }

  /** Hears nothing any more. */
  close(): void {
    this.#subscription?.unsubscribe();
  }
}

/** What comes over the network may be of another version. */
function parsed(text: string): SnapshotRequest | undefined {
  try {
    const { partition, whole } = JSON.parse(text) as { partition?: unknown; whole?: unknown };
    if (partition !== null && !Number.isSafeInteger(partition)) return undefined;
    return { partition: (partition as number | null) ?? undefined, isWhole: whole === true };
  } catch {
    return undefined;
  }
}
