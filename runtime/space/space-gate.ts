import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { levelAfter, type SpaceLevel, spaceLevels, type SpaceMarks } from './space-level.ts';

/** The effect of a command on space: `ends` removes data, or completes work in progress. */
export type SpaceUse = 'grows' | 'ends';

/**
 * The writes that depend on a place: all writes of the member with or without its backups, the backups, or the log of
 * one partition, by its number. Writes to a partition depend on the places of the member as well.
 */
export type SpaceScope = 'everything' | 'member' | 'backups' | number;

/** Space of a place, in bytes. */
export interface SpaceUsage {
  readonly usedBytes: number;
  /** Bytes still available for writes. */
  readonly freeBytes: number;
}

/** A place above the lowest level. */
export interface ShortPlace {
  /** For people: `the volume of /var/lib/grove`. */
  readonly place: string;
  readonly level: SpaceLevel;
  /** Rounded down. */
  readonly usedPercent: number;
}

/** Decides whether a write may begin. */
export interface SpaceGuard {
  /** @returns the error `STORAGE_FULL`; undefined when the write may begin */
  refusal(use: SpaceUse): ServiceError | undefined;
}

/** A place changed its level. */
export interface SpaceChange extends ShortPlace {
  readonly before: SpaceLevel;
}

interface Place extends ShortPlace {
  readonly scope: SpaceScope;
  readonly exactPercent: number;
}

/** Limit of places of a member: a log for each partition, its volumes, the NATS servers. */
const PLACES_MAX = 1_024;

/**
 * Decides for the whole process whether there is space for a write. The monitors report space to it, and every protocol
 * that writes checks it. While there is space everywhere a check costs a comparison.
 *
 * @see docs/decisions/0023-disk-space-limits.md
 */
export class SpaceGate {
  readonly #marks: SpaceMarks;
  readonly #onChange: (change: SpaceChange) => void;
  readonly #places = new Map<string, Place>();
  #worst: SpaceLevel = 'enough';
  readonly #onRefused: () => void;

  /**
   * @param onChange called when a place changes its level
   * @param onRefused called for every refused write
   */
  constructor(marks: SpaceMarks, onChange: (change: SpaceChange) => void, onRefused: () => void) {
    this.#marks = marks;
    this.#onChange = onChange;
    this.#onRefused = onRefused;
  }

  /** The worst level of all places. */
  get level(): SpaceLevel {
    return this.#worst;
  }

  /** Use of the fullest place, in percent. */
  get usedPercent(): number {
    return Math.max(0, ...[...this.#places.values()].map(({ exactPercent }) => exactPercent));
  }

  /** Records the use of a place. @param place its name for people, which must stay the same */
  note(place: string, scope: SpaceScope, { usedBytes, freeBytes }: SpaceUsage): void {
    const totalBytes = usedBytes + freeBytes;
    const exactPercent = totalBytes <= 0 ? 0 : (100 * usedBytes) / totalBytes;
    const before = this.#places.get(place)?.level ?? 'enough';
    const level = levelAfter(before, exactPercent, this.#marks);
    const usedPercent = Math.floor(exactPercent);
    this.#places.set(place, { place, scope, level, usedPercent, exactPercent });
    assert(this.#places.size <= PLACES_MAX, 'a member has only so many places');
    this.#compare();
    if (level !== before) this.#onChange({ place, level, before, usedPercent });
  }

  /** Removes a place: another member owns the log, or the volume is gone. */
  forget(place: string): void {
    this.#places.delete(place);
    this.#compare();
  }

  /** All places short of space, the worst first. */
  get short(): readonly ShortPlace[] {
    return [...this.#places.values()]
      .filter(({ level }) => level !== 'enough')
      .sort((a, b) => b.exactPercent - a.exactPercent);
  }

  /** The guard of a scope. */
  at(scope: SpaceScope): SpaceGuard {
    return { refusal: (use) => this.#refusal(use, scope) };
  }

  #refusal(use: SpaceUse, scope: SpaceScope): ServiceError | undefined {
    if (this.#worst === 'enough' || this.#worst === 'low') return undefined;
    for (const place of this.#places.values()) {
      if (!concerns(place.scope, scope) || !refuses(place.level, use)) continue;
      this.#onRefused();
      return new ServiceError('STORAGE_FULL', this.#sentence(place));
    }
    return undefined;
  }

  #sentence({ place, level, usedPercent }: Place): string {
    const { refusePercent, readOnlyPercent } = this.#marks;
    const head = place.charAt(0).toUpperCase() + place.slice(1);
    return level === 'read-only'
      ? `${head} is ${usedPercent} % full: from ${readOnlyPercent} % on nothing is written; free space, then writes go on`
      : `${head} is ${usedPercent} % full: from ${refusePercent} % on only what deletes or releases something is written; free space, then writes go on`;
  }

  #compare(): void {
    let worst = 0;
    for (const { level } of this.#places.values()) worst = Math.max(worst, spaceLevels.indexOf(level));
    this.#worst = spaceLevels[worst] as SpaceLevel;
  }
}

function concerns(place: SpaceScope, scope: SpaceScope): boolean {
  if (place === 'everything' || place === scope) return true;
  return place === 'member' && scope !== 'backups';
}

function refuses(level: SpaceLevel, use: SpaceUse): boolean {
  return level === 'read-only' || (level === 'refusing' && use === 'grows');
}
