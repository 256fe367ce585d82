import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomPassword } from '#runtime/access/random-password.ts';
import type { Random } from '#runtime/base/random.ts';

/**
 * The password of the first administrator of a cluster that may take several starts to come about. It is kept in a
 * file until it has been shown to work, so that a start that failed half-way does not leave an account nobody knows
 * the password of; then only the person who read it has it.
 */
export class FirstPassword {
  readonly #file: string;
  readonly #shown: string;

  constructor(folder: string) {
    this.#file = join(folder, 'first-admin-password');
    this.#shown = join(folder, 'first-admin-shown');
  }

  /** The password to start with; undefined when it has been shown before. */
  toStartWith(random: Random): string | undefined {
    if (existsSync(this.#shown)) return undefined;
    if (existsSync(this.#file)) return readFileSync(this.#file, 'utf8').trim();
    const password = randomPassword(random);
    writeFileSync(this.#file, `${password}\n`, { mode: 0o600 });
    return password;
  }

  /** Forgets it: from now on it is not used or shown any more. */
  forget(): void {
    writeFileSync(this.#shown, '');
    if (existsSync(this.#file)) unlinkSync(this.#file);
  }
}
