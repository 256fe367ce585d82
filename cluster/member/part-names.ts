import type { Random } from '#runtime/base/random.ts';

/** Random bytes of the suffix that tells two repositories or branches of one name apart. */
const UID_BYTES = 5;

/** Separates a name from its suffix in actor ids; no name holds it. */
const UID_SEPARATOR = '~';

/** A suffix for something new. */
export function newUid(random: Random): string {
  return Buffer.from(random.bytes(UID_BYTES)).toString('hex');
}

/** The part of actor ids that stands for a repository or branch. */
export function partOf(name: string, uid: string): string {
  return `${name}${UID_SEPARATOR}${uid}`;
}

/** The name in {@link partOf}. */
export function nameOfPart(part: string): string {
  return part.slice(0, part.lastIndexOf(UID_SEPARATOR));
}

/** The suffix in {@link partOf}. */
export function uidOfPart(part: string): string {
  return part.slice(part.lastIndexOf(UID_SEPARATOR) + 1);
}
