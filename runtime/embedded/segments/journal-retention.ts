import type { LogBeginning, LogRetention, PendingRange } from '#runtime/log/ports.ts';
import { SEGMENT_HEADER_BYTES, type SegmentHeader } from './journal-format.ts';

interface Range {
  first: number;
  last: number;
}

/** A segment of the running journal. */
export class Segment {
  readonly path: string;
  readonly header: SegmentHeader;
  /** Offset after the last complete record, in bytes. */
  end = SEGMENT_HEADER_BYTES;
  /** Sequence of the last record; one less than the first while there is none. */
  lastSequence: number;
  /** Whether records of it are lost, so that it is read by a survey. */
  isDamaged = false;
  /** Whether it belongs to another journal and is never read. */
  isForeign = false;
  /** Whether its file was truncated while it was being written, which its length may no longer show. */
  isCut = false;
  /** Whether its file is missing or truncated and not needed any more, so that it is not checked. */
  isLost = false;
  /** Actors with unreleased entries in it. */
  readonly actors = new Map<string, Range>();
  /** Newest record of each actor in it, released or not. */
  readonly newest = new Map<string, number>();

  constructor(path: string, header: SegmentHeader) {
    this.path = path;
    this.header = header;
    this.lastSequence = header.firstSequence - 1;
  }

  /** Adds the actors of one more record. */
  add(sequence: number, actors: Iterable<string>, end: number): void {
    for (const actor of actors) {
      const range = this.actors.get(actor);
      if (range === undefined) this.actors.set(actor, { first: sequence, last: sequence });
      else range.last = sequence;
      this.newest.set(actor, sequence);
    }
    this.lastSequence = sequence;
    this.end = end;
  }
}

/** The beginning of a journal with this oldest segment. */
export function beginningOf({ header: { chain, firstSequence } }: Segment): LogBeginning {
  return { firstSequence, chain: chain.toString('hex') };
}

/** The retention of a journal. @param beforeLeaving registers the callback for removed records */
export function retentionOf(
  retention: Retention,
  beforeLeaving: LogRetention['beforeLeaving'],
): LogRetention {
  return {
    get beginning() {
      const [oldest] = retention.segments;
      return oldest === undefined ? undefined : beginningOf(oldest);
    },
    chainBefore(sequence) {
      const segment = retention.segments.find(({ header }) => header.firstSequence === sequence);
      return segment === undefined ? undefined : beginningOf(segment).chain;
    },
    newestOf: (actor) => retention.newestOf(actor),
    beforeLeaving,
  };
}

/** Prevents the removal of segments that a running reader needs. */
export interface Pin {
  /** Next sequence of the reader. */
  sequence: number;
}

/**
 * Tracks which segments exist and which are still needed. Segments are removed from the oldest on and the newest one
 * stays, so that sequences stay contiguous and never restart. This class removes no files itself. Segments kept
 * because of damage are skipped: a hole may follow them.
 */
export class Retention {
  /** Oldest first. */
  #segments: Segment[];
  /** Segments that begin up to here are kept, see {@link Retention.keepThrough}. */
  #keptThrough = 0;
  readonly #pins = new Set<Pin>();

  constructor(segments: readonly Segment[]) {
    this.#segments = [...segments];
  }

  /** Oldest first. */
  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** Adds the new segment to be written. It replaces an empty one of the same name. */
  add(segment: Segment): void {
    this.#segments = this.#segments.filter((older) => older.path !== segment.path);
    this.#segments.push(segment);
  }

  /** @see Log.released */
  released(actor: string, sequence: number): void {
    for (const segment of this.#segments) {
      if (segment.header.firstSequence > sequence) return;
      const range = segment.actors.get(actor);
      if (range === undefined) continue;
      if (range.last <= sequence) segment.actors.delete(actor);
      else range.first = Math.max(range.first, sequence + 1);
    }
  }

  /** @see Log.pending */
  pending(): Map<string, PendingRange> {
    const pending = new Map<string, PendingRange>();
    for (const { actors } of this.#segments) {
      for (const [actor, { first, last }] of actors) {
        pending.set(actor, { first: pending.get(actor)?.first ?? first, last });
      }
    }
    return pending;
  }

  /** Newest record of an actor in the journal, released or not. */
  newestOf(actor: string): number | undefined {
    return this.#segments.findLast(({ newest }) => newest.has(actor))?.newest.get(actor);
  }

  /** Keeps everything from `sequence` on until {@link unpin}. */
  pin(sequence: number): Pin {
    const pin = { sequence };
    this.#pins.add(pin);
    return pin;
  }

  unpin(pin: Pin): void {
    this.#pins.delete(pin);
  }

  /** See {@link keepThrough}. */
  get keptThrough(): number {
    return this.#keptThrough;
  }

  /** Keeps the segments that begin up to a sequence, regardless of releases; 0 ends it. */
  keepThrough(sequence: number): void {
    this.#keptThrough = sequence;
  }

  /** Whether a segment, or one that is removed before it, is still needed. */
  isNeeded(segment: Segment): boolean {
    const { firstSequence } = segment.header;
    return this.#segments.some((each) => {
      const { header, actors, lastSequence } = each;
      if (header.firstSequence > firstSequence) return false;
      if (each !== segment && header.firstSequence <= this.#keptThrough) return false;
      return actors.size > 0 || [...this.#pins].some(({ sequence }) => sequence <= lastSequence);
    });
  }

  /** Removes the oldest segment from the list when it is no longer needed. @returns it, or undefined */
  takeRemovable(): Segment | undefined {
    const at = this.#segments.findIndex(({ header }) => header.firstSequence > this.#keptThrough);
    const oldest = this.#segments[at];
    if (oldest === undefined || at === this.#segments.length - 1 || oldest.actors.size > 0) return undefined;
    for (const pin of this.#pins) if (pin.sequence <= oldest.lastSequence) return undefined;
    this.#segments.splice(at, 1);
    return oldest;
  }

  /** Puts back a segment that could not be removed. */
  putBack(segment: Segment): void {
    this.#segments.push(segment);
    this.#segments.sort((a, b) => a.header.firstSequence - b.header.firstSequence);
  }
}
