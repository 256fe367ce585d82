import { hkdfSync } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import { readRegularSync } from '#runtime/base/files/regular-file.ts';
import type { Secret } from '#runtime/config/secret.ts';
import type { FoundSecrets } from '#runtime/config/secrets.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';

/** The file beside the keys that tells which signing key was used last. */
export const SIGNING_KEY_CHECK = 'signing-key-check';

/** Purpose of the derived value: nothing else is derived with the same text. */
const CHECK_PURPOSE = 'grove signing key, 1';

const CHECK_BYTES = 8;

/** Nobody can compute the key from the file; it has the mode of the others in the folder. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

const ended =
  'every token of a login that was issued before is refused, so all administrators and people have to log in again';

/** What {@link SigningKeyRecord} looks at. */
export interface SigningKeyEnvironment {
  readonly dataDir: string;
  readonly secrets: Pick<FoundSecrets, 'jwtSecret' | 'jwtSecretSource' | 'isJwtSecretNew' | 'isMasterKeyNew'>;
  /** The signing key before it, whose tokens are still accepted. */
  readonly previous: Secret | undefined;
}

/**
 * Tells whether a member signs with another key than at its last start. A lost key is replaced by a new one, because it
 * protects nothing that is stored; but all logins end with it, which must not happen unnoticed: the file may only have been
 * forgotten in a copy.
 *
 * The key itself is not kept here, only a value that is derived from it.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export class SigningKeyRecord {
  readonly #folder: string;
  readonly #check: string;
  readonly #recorded: string | undefined;
  readonly #warning: string | undefined;

  /** Reads what is recorded, and changes nothing. */
  constructor({ dataDir, previous, secrets }: SigningKeyEnvironment) {
    const { isJwtSecretNew, isMasterKeyNew, jwtSecret, jwtSecretSource: source } = secrets;
    this.#folder = join(dataDir, 'secrets');
    this.#check = checkOf(jwtSecret);
    this.#recorded = readCheck(join(this.#folder, SIGNING_KEY_CHECK));
    const isKnown = [jwtSecret, previous].some((key) => key !== undefined && checkOf(key) === this.#recorded);
    // A directory of an earlier version has no record. Its other key tells that it was used before.
    const wasUsed = this.#recorded !== undefined || (isJwtSecretNew && !isMasterKeyNew);
    if (wasUsed && !isKnown)
      this.#warning = isJwtSecretNew
        ? `${source} was missing, and a new signing key was made: ${ended}. If there is a copy of the file, stop the server, put it back and start again`
        : `${source} is another signing key than at the last start: ${ended}. If that was not intended, put the former one back; JWT_SECRET_PREVIOUS accepts the tokens of a former one`;
  }

  /** The status findings about it, until the next start. */
  get findings(): readonly MemberFinding[] {
    return this.#warning === undefined ? [] : [{ code: 'signing-key-changed', message: this.#warning }];
  }

  /**
   * Records the key that is used from now on. Must be called when the key is stored, and the start cannot be refused any
   * more.
   *
   * @throws the error of the system
   */
  store(log: Pick<Log, 'warn'>): void {
    if (this.#warning !== undefined) log.warn(this.#warning);
    if (this.#recorded === this.#check) return;
    mkdirSync(this.#folder, { recursive: true, mode: FOLDER_MODE });
    const path = join(this.#folder, SIGNING_KEY_CHECK);
    const temporary = `${path}.new`;
    rmSync(temporary, { force: true });
    const file = openSync(temporary, 'wx', FILE_MODE);
    try {
      writeSync(file, `${this.#check}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  }
}

function checkOf(key: Secret): string {
  const derived = hkdfSync('sha256', key.reveal(), new Uint8Array(0), CHECK_PURPOSE, CHECK_BYTES);
  return Buffer.from(derived).toString('hex');
}

/** A record that cannot be read is replaced: nothing but a warning depends on it. */
function readCheck(path: string): string | undefined {
  try {
    return readRegularSync(path).trim();
  } catch {
    return undefined;
  }
}
