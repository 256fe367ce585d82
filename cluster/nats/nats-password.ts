import type { Random } from '#runtime/base/random.ts';

/** Random bytes of a password. */
const PASSWORD_BYTES = 24;

/** Returns a password for a NATS user. The servers' configuration would parse one with a leading digit as a number. */
export function newNatsPassword(random: Random): string {
  return `p${Buffer.from(random.bytes(PASSWORD_BYTES)).toString('hex')}`;
}
