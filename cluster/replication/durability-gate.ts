import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { FoldState } from './log-fold.ts';
import type { StoredMessage } from './log-stream.ts';

/** What the log of a partition wants to hear from its gate. */
export interface GateListener {
  /** More is durable than before. */
  confirmed(): void;
  /** Nothing more will ever be: the disk of this member failed. */
  failed(cause: unknown): void;
}

/**
 * What has to happen besides the answer of the stream before a write is acknowledged, in a durability class that asks
 * for more than the servers promise.
 *
 * @see Reliability: Durability classes
 */
export interface DurabilityGate {
  /**
   * The stream holds a message: every one in order, each once, from where the log was opened, void ones too.
   *
   * @param state of the log up to and including it
   */
  stored(identity: string, message: Omit<StoredMessage, 'storedMs'>, state: FoldState): void;
  /** Everything up to this sequence is durable in the class. Never falls. */
  readonly confirmed: number;
  /** Why nothing new should be written at present; undefined while all is well. */
  refusal(): ServiceError | undefined;
  /** Why nothing is confirmed at present, so that nothing needs to be asked; undefined while all is well. */
  stalled(): ServiceError | undefined;
  /** From now on somebody listens. */
  listen(listener: GateListener): void;
}

/** Where a replica of a partition stands. */
export interface ReplicaPosition {
  readonly member: string;
  /** Of the stream it knows. */
  readonly identity: string;
  /** Of the log up to its newest message. */
  readonly epoch: number;
  readonly sequence: number;
}

/** Asks the replicas of a partition. */
export interface ReplicaCheck {
  /**
   * Resolves when as many told where they stand as the durability class asks for.
   *
   * @param position of this member
   * @returns what they told, this member not among them
   */
  ask(
    position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
    signal: AbortSignal | undefined,
  ): Promise<readonly ReplicaPosition[]>;
}

/** Whether a position is ahead of another: an epoch counts more than a sequence. */
export function isAhead(
  position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
  other: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
): boolean {
  return position.epoch === other.epoch ? position.sequence > other.sequence : position.epoch > other.epoch;
}
