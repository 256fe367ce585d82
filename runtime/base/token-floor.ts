import { assert } from './assert.ts';

/**
 * Margin between the highest fence token of a backup and the first one after its restore: tokens granted between the
 * two are not known. At 50,000 grants a second it is used up after 250 days, and 8,000 restores one after another stay
 * below 2^53.
 */
export const RESTORE_MARGIN: number = 2 ** 40;

/**
 * Minimum margin between the floor of a removed repository and that of the next one with its name. It matters when the
 * removed one existed for less than 72 minutes, or when the clock was set back meanwhile: then one branch needs a day
 * of 50,000 grants a second to use it up. 2,000,000 removals of one name stay below 2^53.
 */
export const REMOVAL_MARGIN: number = 2 ** 32;

/** Microseconds of a millisecond: locks are not granted more often. */
const TOKENS_PER_MS = 1_000;

/**
 * The lower bound of fence tokens granted after a restore. It is a wide margin above the backup's highest token, and
 * rises with time: a second restore of the same backup must not grant the tokens that were granted after the first.
 *
 * @param highest token in the backup
 * @param wallMs time of the restore, in milliseconds since the Unix epoch
 */
export function restoredTokenFloor(highest: number, wallMs: number): number {
  return checked(Math.max(highest + RESTORE_MARGIN, Math.floor(wallMs) * TOKENS_PER_MS));
}

/**
 * The lower bound of fence tokens granted in the next repository of a name. It does not read the tokens of the removed
 * branches, because one of them may be damaged, and some may still grant locks. It relies on the fact that no branch
 * grants more than one lock per microsecond.
 *
 * @param floor of the removed repository, 0 when it was the first of its name
 * @param lifeMs lifetime of the removed one by the wall clock, in milliseconds; negative when the clock was set back
 */
export function removedTokenFloor(floor: number, lifeMs: number): number {
  return checked(floor + Math.max(REMOVAL_MARGIN, Math.ceil(lifeMs) * TOKENS_PER_MS));
}

function checked(floor: number): number {
  assert(Number.isSafeInteger(floor), 'tokens stay below 2^53');
  return floor;
}
