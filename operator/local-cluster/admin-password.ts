import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomPassword } from '#runtime/access/random-password.ts';
import type { Random } from '#runtime/base/random.ts';

/**
 * The password of the first administrator of a cluster. It is kept in a file until a start has succeeded and the
 * password has been shown. A failed start thus leaves no account with an unknown password. Afterwards the file is
 * removed.
 */
export class FirstPassword {
  readonly #file: string;
  readonly #shown: string;

  constructor(folder: string) {
    this.#file = join(folder, 'first-admin-password');
    this.#shown = join(folder, 'first-admin-shown');
  }

  /** The password for this start; undefined when it has been shown before. */
  toStartWith(random: Random): string | undefined {
    if (existsSync(this.#shown)) return undefined;
    if (existsSync(this.#file)) return readFileSync(this.#file, 'utf8').trim();
    const password = randomPassword(random);
    writeFileSync(this.#file, `${password}\n`, { mode: 0o600 });
    return password;
  }

  /** Removes the password, so that it is no longer used or shown. */
  forget(): void {
    writeFileSync(this.#shown, '');
    if (existsSync(this.#file)) unlinkSync(this.#file);
  }
}
