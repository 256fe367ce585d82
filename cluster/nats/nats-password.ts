import type { Random } from '#runtime/base/random.ts';

/** Random bytes of a password. */
const PASSWORD_BYTES = 24;

/** A password for a user of NATS. A digit at its beginning would make a number of it in the servers' configuration. */
export function newNatsPassword(random: Random): string {
  return `p${Buffer.from(random.bytes(PASSWORD_BYTES)).toString('hex')}`;
}
