import type { MissingPart } from '#protocols/rest/ports.ts';
import type { Directory } from '#runtime/directory/ports.ts';
import type { DuplicateMember } from '#cluster/directory/duplicate-members.ts';
import { duplicateMemberText } from './member-findings.ts';

/** Sources of a member's readiness. */
export interface ReadinessSources {
  readonly directory: Directory;
  /** Returns the names that two processes use. */
  readonly duplicates: () => readonly DuplicateMember[];
  /** Returns whether there is a connection to NATS. */
  readonly isConnected: () => boolean;
  /** Returns why this member cannot open a partition, for operators; undefined when it can. */
  readonly troubleOf: (partition: number) => string | undefined;
  /** Returns whether it serves a partition without some damaged actors, and follows it as far as possible. */
  readonly isContained: (partition: number) => boolean;
}

/**
 * Decides whether a member of a cluster serves as well as the others.
 *
 * Owners and followers count only until they were all present once: later absences affect all members alike (a
 * partition between two owners, a follower that is being moved), and a member that called itself not ready then would
 * be taken out together with all the others. The connection always counts: a member that lost it alone can only
 * answer 503. So does its name: the others accept only one of two processes with it, and not always the same.
 */
export class Readiness {
  readonly #sources: ReadinessSources;
  #knewOwners = false;
  #hadCaughtUp = false;

  constructor(sources: ReadinessSources) {
    this.#sources = sources;
  }

  /** Returns what this member lacks. */
  missing(): readonly MissingPart[] {
    const missing: MissingPart[] = [];
    if (!this.#sources.isConnected())
      missing.push({ part: 'nats', message: 'There is no connection to NATS', partitions: [] });
    const { directory, duplicates } = this.#sources;
    for (const other of duplicates())
      if (other.member === directory.self)
        missing.push({ part: 'name', message: duplicateMemberText(other), partitions: [] });
    const unknown = this.#knewOwners ? [] : this.#partitionsWithoutOwner();
    if (unknown.length === 0) this.#knewOwners = true;
    else missing.push({ part: 'owners', message: this.#whyUnknown(unknown), partitions: unknown });
    // The intended followers are known only once the members are known.
    if (!this.#knewOwners) return missing;
    const cold = this.#hadCaughtUp ? [] : this.#coldPartitions();
    if (cold.length === 0) this.#hadCaughtUp = true;
    else
      missing.push({ part: 'followers', message: 'Logs that are followed are being read', partitions: cold });
    return missing;
  }

  #partitionsWithoutOwner(): number[] {
    const { directory } = this.#sources;
    return allOf(directory).filter((partition) => directory.ownerOf(partition) === undefined);
  }

  #whyUnknown(partitions: readonly number[]): string {
    const what = 'The owners are not known yet';
    for (const partition of partitions) {
      const trouble = this.#sources.troubleOf(partition);
      if (trouble !== undefined) return `${what}; partition ${partition}: ${trouble}`;
    }
    return what;
  }

  /** Returns partitions that this member should follow and does not follow closely yet. */
  #coldPartitions(): number[] {
    const { directory, isContained } = this.#sources;
    const self = directory.members().find(({ isSelf }) => isSelf);
    const has = new Set([...(self?.warm ?? []), ...(self?.owned ?? [])]);
    return allOf(directory).filter(
      (partition) =>
        !has.has(partition) &&
        !isContained(partition) &&
        directory.followersOf(partition).some(({ id }) => id === directory.self),
    );
  }
}

function allOf({ partitions }: Directory): number[] {
  return Array.from({ length: partitions }, (_, partition) => partition);
}
