import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { levelAfter, type SpaceLevel, spaceLevels, type SpaceMarks } from './space-level.ts';

/** What a command does to space: `ends` takes something away, or brings to its end what was begun. */
export type SpaceUse = 'grows' | 'ends';

/**
 * What a place holds: everything of the member with or without its backups, the backups, or the log of one partition,
 * by its number. Whatever belongs to a partition needs the member's places as well.
 */
export type SpaceScope = 'everything' | 'member' | 'backups' | number;

/** Room of a place, in bytes. */
export interface SpaceUsage {
  readonly usedBytes: number;
  /** What may still be written. */
  readonly freeBytes: number;
}

/** A place that has left the lowest level. */
export interface ShortPlace {
  /** For people: `the volume of /var/lib/grove`. */
  readonly place: string;
  readonly level: SpaceLevel;
  /** Rounded down. */
  readonly usedPercent: number;
}

/** Says whether a write may be begun. */
export interface SpaceGuard {
  /** @returns why not: `STORAGE_FULL`; undefined when it may */
  refusal(use: SpaceUse): ServiceError | undefined;
}

/** A place went to another level. */
export interface SpaceChange extends ShortPlace {
  readonly before: SpaceLevel;
}

interface Place extends ShortPlace {
  readonly scope: SpaceScope;
  readonly exactPercent: number;
}

/** Places a member has at most: a log for each partition, its volumes, the NATS servers. */
const PLACES_MAX = 1_024;

/**
 * The one place where it is decided whether there is room for a write. Whoever measures tells it, and every surface
 * that writes asks it; asking costs a comparison as long as there is room everywhere.
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
   * @param onChange told whenever a place changes its level
   * @param onRefused told of every write that is refused
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

  /** How full the fullest place is, in percent. */
  get usedPercent(): number {
    return Math.max(0, ...[...this.#places.values()].map(({ exactPercent }) => exactPercent));
  }

  /** Takes note of how full a place is. @param place its name for people, which stays the same */
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

  /** A place is of no concern any more: somebody else owns the log, the volume is gone. */
  forget(place: string): void {
    this.#places.delete(place);
    this.#compare();
  }

  /** Everything that is short of room, the worst first. */
  get short(): readonly ShortPlace[] {
    return [...this.#places.values()]
      .filter(({ level }) => level !== 'enough')
      .sort((a, b) => b.exactPercent - a.exactPercent);
  }

  /** What decides for everything in a scope. */
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
