import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { FoldState } from './log-fold.ts';
import type { StoredMessage } from './log-stream.ts';

/** Callbacks of a gate to the log of a partition. */
export interface GateListener {
  /** More is durable than before. */
  confirmed(): void;
  /** No more will ever be durable: the disk of this member failed. */
  failed(cause: unknown): void;
}

/**
 * Condition for the acknowledgement of a write besides the reply of the stream, in a durability class with a stronger
 * guarantee than that of the servers.
 *
 * @see docs/interface/guarantees.md#durability-classes
 */
export interface DurabilityGate {
  /**
   * The stream has a message. Called for every message in order, once, from the opening of the log on, also for void
   * ones.
   *
   * @param state of the log up to and including it
   */
  stored(identity: string, message: Omit<StoredMessage, 'storedMs'>, state: FoldState): void;
  /** Everything up to this sequence is durable in the class. Never falls. */
  readonly confirmed: number;
  /** Why nothing new should be written at present; undefined in normal operation. */
  refusal(): ServiceError | undefined;
  /** Why nothing is confirmed at present, so that no request is needed; undefined in normal operation. */
  stalled(): ServiceError | undefined;
  /** Registers the listener. */
  listen(listener: GateListener): void;
}

/** Position of a replica of a partition. */
export interface ReplicaPosition {
  readonly member: string;
  /** Identity of the stream it knows. */
  readonly identity: string;
  /** Epoch of the log up to its newest message. */
  readonly epoch: number;
  readonly sequence: number;
}

/** Requests to the replicas of a partition. */
export interface ReplicaCheck {
  /**
   * Resolves when as many replicas have answered as the durability class requires.
   *
   * @param position of this member
   * @returns the positions of the other members
   */
  ask(
    position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
    signal: AbortSignal | undefined,
  ): Promise<readonly ReplicaPosition[]>;
}

/** Returns whether a position is ahead of another: the epoch is compared before the sequence. */
export function isAhead(
  position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
  other: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
): boolean {
  return position.epoch === other.epoch ? position.sequence > other.sequence : position.epoch > other.epoch;
}
