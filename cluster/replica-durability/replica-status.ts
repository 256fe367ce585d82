import type { ReplicaPosition } from '#cluster/replication/durability-gate.ts';
import { type Voters, votersOf } from './voters.ts';

/** Status of a member for a partition: of its flush journal if it has one, else of its shards. */
export interface ReplicaStatus extends ReplicaPosition {
  /** Chain of its newest valid record, as text; empty when it is unknown. */
  readonly chain: string;
  /** Voters as far as it knows them. */
  readonly voters: Voters | undefined;
}

/** Requests for the {@link ReplicaStatus} of members. Answers may be lost. */
export interface ReplicaStatusChannel {
  /**
   * Asks all members.
   *
   * @param hear called for each answer; returns true when they are sufficient
   * @param maxMs time after which no more answers are awaited, in milliseconds
   */
  ask(partition: number, hear: (status: ReplicaStatus) => boolean, maxMs: number): Promise<void>;
}

/** Returns the status of a member without data of the partition. */
export function noReplicaStatus(member: string): ReplicaStatus {
  return { member, identity: '', epoch: 0, sequence: 0, chain: '', voters: undefined };
}

/** Encodes an answer; the key of the voters is that of the first version. */
export function encodeReplicaStatus({ voters, ...position }: ReplicaStatus): string {
  return JSON.stringify({ ...position, keepers: voters });
}

/** Messages from the network may be of another version. */
export function parseReplicaStatus(text: string): ReplicaStatus | undefined {
  try {
    const { chain, epoch, identity, keepers, member, sequence } = JSON.parse(text) as Record<string, unknown>;
    if (typeof member !== 'string' || typeof identity !== 'string' || typeof chain !== 'string')
      return undefined;
    if (!Number.isSafeInteger(epoch) || !Number.isSafeInteger(sequence)) return undefined;
    return {
      member,
      identity,
      epoch: epoch as number,
      sequence: sequence as number,
      chain,
      voters: votersOf(keepers),
    };
  } catch {
    return undefined;
  }
}
