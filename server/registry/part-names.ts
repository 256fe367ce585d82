import type { Random } from '#runtime/base/random.ts';

/** Random bytes of the suffix that distinguishes two repositories or branches with one name. */
const UID_BYTES = 5;

/** Separates a name from its suffix in actor ids; names do not contain it. */
export const UID_SEPARATOR = '~';

/** Returns a new suffix. */
export function newUid(random: Random): string {
  return Buffer.from(random.bytes(UID_BYTES)).toString('hex');
}

/** Returns the part of actor ids for a repository or branch. */
export function partOf(name: string, uid: string): string {
  return `${name}${UID_SEPARATOR}${uid}`;
}

/** Returns the name in {@link partOf}. */
export function nameOfPart(part: string): string {
  return part.slice(0, part.lastIndexOf(UID_SEPARATOR));
}

/** Returns the suffix in {@link partOf}. */
export function uidOfPart(part: string): string {
  return part.slice(part.lastIndexOf(UID_SEPARATOR) + 1);
}
