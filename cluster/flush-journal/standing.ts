import type { ReplicaPosition } from '#cluster/replication/durability-gate.ts';
import { type Keepers, keepersOf } from './keepers.ts';

/** What a member says of its side of a partition: of its flush journal where it has one, else of its shards. */
export interface Standing extends ReplicaPosition {
  /** Of the newest valid record it has, as text; empty when it is not known. */
  readonly chain: string;
  /** As far as it knows. */
  readonly keepers: Keepers | undefined;
}

/** How members ask each other for their {@link Standing}. Answers may be lost. */
export interface StandingChannel {
  /**
   * Asks all members.
   *
   * @param hear told of each answer; true: it is enough
   * @param maxMs time after which no more answers are waited for, in milliseconds
   */
  ask(partition: number, hear: (standing: Standing) => boolean, maxMs: number): Promise<void>;
}

/** A member without anything of the partition. */
export function noStanding(member: string): Standing {
  return { member, identity: '', epoch: 0, sequence: 0, chain: '', keepers: undefined };
}

/** What comes over the network may be of another version. */
export function parseStanding(text: string): Standing | undefined {
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
      keepers: keepersOf(keepers),
    };
  } catch {
    return undefined;
  }
}
