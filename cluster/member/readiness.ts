import type { MissingPart } from '#protocols/rest/ports.ts';
import type { Directory } from '#runtime/directory/ports.ts';

/** What a member needs to know whether it is ready. */
export interface ReadinessSources {
  readonly directory: Directory;
  /** Whether there is a connection to NATS. */
  readonly isConnected: () => boolean;
  /** Why this member cannot open a partition, for people; undefined: nothing keeps it from that. */
  readonly troubleOf: (partition: number) => string | undefined;
  /** Whether it serves a partition without actors that are damaged here, and follows it as well as it can. */
  readonly isContained: (partition: number) => boolean;
}

/**
 * Whether a member of a cluster serves as well as the others.
 *
 * Owners and followers count only until they were all there once: what is missing later is missing on all members
 * alike (a partition between two owners, a follower that is being moved), and a member that then called itself not
 * ready would be taken out together with all the others. The connection counts always: who lost it alone can only
 * answer 503.
 */
export class Readiness {
  readonly #sources: ReadinessSources;
  #knewOwners = false;
  #hadCaughtUp = false;

  constructor(sources: ReadinessSources) {
    this.#sources = sources;
  }

  /** What this member lacks. */
  missing(): readonly MissingPart[] {
    const missing: MissingPart[] = [];
    if (!this.#sources.isConnected())
      missing.push({ part: 'nats', message: 'There is no connection to NATS', partitions: [] });
    const unknown = this.#knewOwners ? [] : this.#partitionsWithoutOwner();
    if (unknown.length === 0) this.#knewOwners = true;
    else missing.push({ part: 'owners', message: this.#whyUnknown(unknown), partitions: unknown });
    // Who should follow what is known only once it is known who is there.
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

  /** Partitions this member should follow and does not follow closely yet. */
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
