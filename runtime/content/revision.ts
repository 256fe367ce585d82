import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * A point in the history of a repository: a hybrid logical clock value. Written `<milliseconds>-<counter>`, ordered by
 * milliseconds, then counter. `0-0` is the smallest value.
 *
 * @see docs/interface/revisions.md#revision-numbers
 */
export interface Revision {
  /** Milliseconds since the Unix epoch, at most 2^48 - 1. */
  readonly ms: number;
  /** Rises within one millisecond, at most 2^32 - 1. */
  readonly counter: number;
}

/** The smallest value, before all revisions. */
export const revisionZero: Revision = Object.freeze({ ms: 0, counter: 0 });

/** The largest value that can be stored; a read at it includes everything. */
export const revisionMax: Revision = Object.freeze({ ms: 2 ** 48 - 1, counter: 2 ** 32 - 1 });

const shape = /^(\d{1,20})-(\d{1,20})$/;

const MILLION = 1_000_000;

/** The texts of three digits. */
const threeDigits = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, '0'));

/**
 * The text form. Every read of a node makes it, so the milliseconds are put together from parts: to write a number of more
 * than 31 bits takes five times as long.
 */
export function formatRevision({ counter, ms }: Revision): string {
  if (ms < MILLION) return `${ms}-${counter}`;
  const millions = Math.floor(ms / MILLION);
  const rest = ms - millions * MILLION;
  const thousands = Math.floor(rest / 1_000);
  return `${millions}${threeDigits[thousands] as string}${threeDigits[rest - thousands * 1_000] as string}-${counter}`;
}

/**
 * Parses the text form. Parts are unsigned 64-bit on the wire. A value above the storable maximum is after every stored
 * revision, so it is clamped, which does not change comparisons.
 *
 * @throws {ServiceError} `INVALID_REVISION_NUMBER`
 */
export function parseRevision(text: string): Revision {
  const match = shape.exec(text);
  if (match === null) {
    throw new ServiceError(
      'INVALID_REVISION_NUMBER',
      `'${text.slice(0, 60)}' is not a revision; it reads <milliseconds>-<counter>`,
    );
  }
  const ms = Number(match[1]);
  const counter = Number(match[2]);
  if (ms > revisionMax.ms) return revisionMax;
  return { ms, counter: Math.min(counter, revisionMax.counter) };
}

/** Negative when `a` is earlier, positive when later, 0 when equal. */
export function compareRevisions(a: Revision, b: Revision): number {
  return a.ms - b.ms || a.counter - b.counter;
}

/** Length of {@link encodeRevision}. */
export const REVISION_BYTES = 10;

/** The ten bytes (48-bit milliseconds, 32-bit counter, big endian) as a binary string: sorts like the value. */
export function encodeRevision(revision: Revision): string {
  const high = Math.floor(revision.ms / 0x100000000);
  const low = revision.ms >>> 0;
  const c = revision.counter;
  return String.fromCharCode(
    (high >>> 8) & 255,
    high & 255,
    low >>> 24,
    (low >>> 16) & 255,
    (low >>> 8) & 255,
    low & 255,
    c >>> 24,
    (c >>> 16) & 255,
    (c >>> 8) & 255,
    c & 255,
  );
}

/** As {@link encodeRevision} with every bit inverted: sorts newest first. */
export function encodeRevisionDescending(revision: Revision): string {
  return encodeRevision({
    ms: revisionMax.ms - revision.ms,
    counter: revisionMax.counter - revision.counter,
  });
}

/** Reads {@link encodeRevision} at `offset` of a binary string. */
export function decodeRevision(bytes: string, offset: number): Revision {
  const at = (index: number): number => bytes.charCodeAt(offset + index);
  const low = ((at(2) << 24) | (at(3) << 16) | (at(4) << 8) | at(5)) >>> 0;
  const ms = (at(0) * 256 + at(1)) * 0x100000000 + low;
  const counter = ((at(6) << 24) | (at(7) << 16) | (at(8) << 8) | at(9)) >>> 0;
  return { ms, counter };
}

/** Reads {@link encodeRevisionDescending} at `offset` of a binary string. */
export function decodeRevisionDescending(bytes: string, offset: number): Revision {
  const turned = decodeRevision(bytes, offset);
  return { ms: revisionMax.ms - turned.ms, counter: revisionMax.counter - turned.counter };
}
