import type { Random } from '#runtime/base/random.ts';
import { OptionError } from '#runtime/config/option.ts';
import { checkAdminPassword } from '#runtime/config/text-checks.ts';

/** Characters of a generated password; 16 of these 70 are 98 bits. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*';
const PASSWORD_CHARACTERS = 16;

/** A random password that satisfies the rule for administrators. */
export function randomPassword(random: Random): string {
  for (;;) {
    const password = Array.from({ length: PASSWORD_CHARACTERS }, () => randomCharacter(random)).join('');
    try {
      return checkAdminPassword(password);
    } catch (error) {
      // One in nine lacks a required kind of character.
      if (!(error instanceof OptionError)) throw error;
    }
  }
}

function randomCharacter(random: Random): string {
  const fair = 256 - (256 % alphabet.length);
  for (;;) {
    const byte = random.bytes(1)[0] as number;
    if (byte < fair) return alphabet.charAt(byte % alphabet.length);
  }
}
