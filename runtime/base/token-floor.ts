import { assert } from './assert.ts';

/**
 * How far above the highest fence token of a backup those after its restore begin: what was handed out between the
 * two is not known. At 50,000 grants a second it is reached after 250 days, and 8,000 restores one after another
 * stay below 2^53.
 */
export const RESTORE_MARGIN: number = 2 ** 40;

/**
 * How far above the floor of a removed repository that of the next one by its name lies at least. It counts where the
 * removed one was there for less than 72 minutes, or where the clock was put back meanwhile: then it takes a day of
 * 50,000 grants a second with one branch to reach it. 2,000,000 removals of one name stay below 2^53.
 */
export const REMOVAL_MARGIN: number = 2 ** 32;

/** Microseconds of a millisecond: nobody is granted a lock more often. */
const TOKENS_PER_MS = 1_000;

/**
 * The fence token everything granted after a restore is above. It lies a wide margin above the backup's, and rises
 * with time by itself: a backup that is restored a second time must not hand out again what was handed out after
 * the first time.
 *
 * @param highest token in the backup
 * @param wallMs time of the restore, in milliseconds since the Unix epoch
 */
export function restoredTokenFloor(highest: number, wallMs: number): number {
  return checked(Math.max(highest + RESTORE_MARGIN, Math.floor(wallMs) * TOKENS_PER_MS));
}

/**
 * The fence token everything granted in the next repository of a name is above. The branches of the removed one are
 * not asked what they granted, because one of them may be damaged, and some may be granting still: no branch grants
 * more locks than microseconds pass.
 *
 * @param floor of the removed repository, 0 when it was the first of its name
 * @param lifeMs how long it was there by the wall clock, in milliseconds; negative when that was put back
 */
export function removedTokenFloor(floor: number, lifeMs: number): number {
  return checked(floor + Math.max(REMOVAL_MARGIN, Math.ceil(lifeMs) * TOKENS_PER_MS));
}

function checked(floor: number): number {
  assert(Number.isSafeInteger(floor), 'tokens stay below 2^53');
  return floor;
}
