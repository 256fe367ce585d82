import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { hkdfSync, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { inspect } from 'node:util';

import type { Random } from '#runtime/base/random.ts';
import { readRegularSync } from '#runtime/base/files/regular-file.ts';
import { OptionError } from './option.ts';
import type { Options } from './options.ts';
import { Secret } from './secret.ts';
import { decodeMasterKey } from './text-checks.ts';

/** Random bytes of a generated signing key: more than the hash it is used with (RFC 7518 section 3.2). */
const jwtSecretBytes = 48;

/** Random bytes of a generated master key: one AES-256 key. */
const masterKeyBytes = 32;

/** Purpose of the derived value: nothing else is derived with the same text. */
const CHECK_PURPOSE = 'grove data directory, 1';

const CHECK_BYTES = 8;

/** Only the owner of the process may read a secret. */
const fileMode = 0o600;
const folderMode = 0o700;

/** The 32 bytes that encrypt stored secrets; conversion of the object to text does not show them. */
export class MasterKey {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    Object.freeze(this);
  }

  /** A copy of the key. */
  bytes(): Uint8Array {
    return this.#bytes.slice();
  }

  /** Identifies this key without disclosing it: derived with HKDF (RFC 5869), in hexadecimal digits. */
  get checkValue(): string {
    const derived = hkdfSync('sha256', this.#bytes, new Uint8Array(0), CHECK_PURPOSE, CHECK_BYTES);
    return Buffer.from(derived).toString('hex');
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/** The keys of a member. */
export interface Secrets {
  /** Signs access tokens. */
  readonly jwtSecret: Secret;
  /** Encrypts stored secrets, and derives the keys that sign backups and the messages of a cluster. */
  readonly masterKey: MasterKey;
  /** The master key before that one: accepted, and never used for anything new; undefined when none is given. */
  readonly previousMasterKey: MasterKey | undefined;
}

/** The keys of a member, with their origin. */
export interface FoundSecrets extends Secrets {
  /** Origin of the signing key, for people: the variable, or the path of its file. */
  readonly jwtSecretSource: string;
  /** Whether the signing key was generated now, because there was none. */
  readonly isJwtSecretNew: boolean;
  /** Origin of the master key, for people: the variable, or the path of its file. */
  readonly masterKeySource: string;
  /** As {@link masterKeySource}, of the previous key; where it is looked for when there is none. */
  readonly previousMasterKeySource: string;
  /** Whether the master key was generated now, because there was none. */
  readonly isMasterKeyNew: boolean;
  /**
   * Path of a master key in the data folder that is neither the one in the variable nor the previous one; undefined: there
   * is none.
   *
   * @throws {OptionError} when that key is damaged or readable by others
   */
  otherMasterKey(): string | undefined;
  /** Makes generated keys durable. Must be called before the keys are used. Idempotent. */
  store(): void;
}

type KeyOptions = Pick<Options['server'], 'dataDir' | 'jwtSecret' | 'masterKey'> &
  Partial<Pick<Options['server'], 'masterKeyPrevious'>>;

/** Names of the files of the keys in the folder of the secrets. */
const JWT_SECRET_FILE = 'jwt-secret';
const MASTER_KEY_FILE = 'master-key';
const PREVIOUS_MASTER_KEY_FILE = 'master-key-previous';

/**
 * The keys of a member: those of the environment, else those in the data folder. Missing keys are generated, and the
 * disk is not changed before {@link FoundSecrets.store}. The caller must have exclusive use of the data folder.
 *
 * @param server the options with the keys of the environment and the data folder
 * @throws {OptionError} when a stored key is damaged or readable by others, or the previous master key is the present one;
 *   it names the file and the remedy
 */
export function findSecrets(server: KeyOptions, random: Random): FoundSecrets {
  const folder = join(server.dataDir, 'secrets');
  const made = new Map<string, string>();
  const stored = (name: string, bytes: number): { readonly path: string; readonly text: string } => {
    const path = join(folder, name);
    const text = readStored(path);
    if (text !== undefined) return { path, text };
    const fresh = Buffer.from(random.bytes(bytes)).toString('hex');
    made.set(path, fresh);
    return { path, text: fresh };
  };
  const masterKeyPath = join(folder, MASTER_KEY_FILE);
  const masterKey =
    server.masterKey === undefined
      ? storedMasterKey(stored(MASTER_KEY_FILE, masterKeyBytes))
      : decodeMasterKey(server.masterKey.reveal());
  const masterKeySource = server.masterKey === undefined ? masterKeyPath : 'SVC_MASTER_KEY';
  const previous = previousMasterKeyOf(server);
  const isSame = (key: MasterKey | undefined): boolean =>
    key !== undefined && timingSafeEqual(key.bytes(), masterKey);
  if (isSame(previous.key)) throw new OptionError([sameKeysOf(masterKeySource, previous.source)]);
  const jwtSecretPath = join(folder, JWT_SECRET_FILE);
  const jwtSecret = server.jwtSecret ?? new Secret(storedJwtSecret(stored(JWT_SECRET_FILE, jwtSecretBytes)));
  return Object.freeze({
    jwtSecret,
    jwtSecretSource: server.jwtSecret === undefined ? jwtSecretPath : 'JWT_SECRET',
    isJwtSecretNew: made.has(jwtSecretPath),
    masterKey: new MasterKey(masterKey),
    masterKeySource,
    previousMasterKey: previous.key,
    previousMasterKeySource: previous.source,
    isMasterKeyNew: made.has(masterKeyPath),
    otherMasterKey() {
      const inFolder = storedMasterKeyOf({ dataDir: server.dataDir, masterKey: undefined });
      if (inFolder === undefined || isSame(inFolder)) return undefined;
      const isPrevious =
        previous.key !== undefined && timingSafeEqual(inFolder.bytes(), previous.key.bytes());
      return isPrevious ? undefined : masterKeyPath;
    },
    store() {
      for (const [path, text] of made) if (!existsSync(path)) createStored(folder, path, text, random);
    },
  });
}

/**
 * As {@link findSecrets}, and stores the keys at once. A file is complete on disk before it gets its name, and an
 * existing one is never replaced. So neither a crash nor a second process can lose a key that was already used.
 *
 * @throws {OptionError} as {@link findSecrets}
 */
export function loadSecrets(server: KeyOptions, random: Random): Secrets {
  findSecrets(server, random).store();
  // Of two processes that generate keys at once one wins, and both use its keys.
  return findSecrets(server, random);
}

/**
 * The existing master key of a member: of the environment, else of the data folder. None is generated.
 *
 * @throws {OptionError} when it is damaged or readable by others
 */
export function storedMasterKeyOf(
  server: Pick<Options['server'], 'dataDir' | 'masterKey'>,
): MasterKey | undefined {
  if (server.masterKey !== undefined) return new MasterKey(decodeMasterKey(server.masterKey.reveal()));
  return masterKeyIn(join(server.dataDir, 'secrets', MASTER_KEY_FILE));
}

/**
 * The previous master key of a member: of the environment, else of the data folder.
 *
 * @returns it, if there is one, and its origin for people
 * @throws {OptionError} when it is damaged or readable by others
 */
export function previousMasterKeyOf(
  server: Pick<Options['server'], 'dataDir'> & Partial<Pick<Options['server'], 'masterKeyPrevious'>>,
): { readonly key: MasterKey | undefined; readonly source: string } {
  if (server.masterKeyPrevious !== undefined) {
    const key = new MasterKey(decodeMasterKey(server.masterKeyPrevious.reveal()));
    return { key, source: 'SVC_MASTER_KEY_PREVIOUS' };
  }
  const path = join(server.dataDir, 'secrets', PREVIOUS_MASTER_KEY_FILE);
  return { key: masterKeyIn(path), source: path };
}

/** Otherwise an operator would believe that the key had been replaced. */
function sameKeysOf(source: string, previousSource: string): string {
  return (
    `${previousSource} is the same key as ${source}: the key has not been replaced. Set ${source} to the new key, or remove ` +
    `${previousSource}`
  );
}

function masterKeyIn(path: string): MasterKey | undefined {
  const text = readStored(path);
  return text === undefined ? undefined : new MasterKey(storedMasterKey({ path, text }));
}

/** A key in a data folder. */
export interface StoredKey {
  readonly name: string;
  readonly path: string;
  /** Why a member could not use it; undefined when it can. */
  readonly problem: string | undefined;
}

/** The master keys that a data folder needs, by their check values. */
export interface NeededKeys {
  /** Undefined when it is not known. */
  readonly keyCheck: string | undefined;
  /** The key before it; undefined when nothing is encrypted with that one. */
  readonly previousKeyCheck: string | undefined;
}

/**
 * Checks the keys in a data folder; none before the first start of a member. None is generated.
 *
 * @param needed what the folder needs of them
 */
export function storedKeys(
  dataDir: string,
  { keyCheck, previousKeyCheck }: NeededKeys,
): readonly StoredKey[] {
  const look = (
    name: string,
    use: (stored: { readonly path: string; readonly text: string }) => unknown,
  ): StoredKey => {
    const path = join(dataDir, 'secrets', name);
    try {
      const text = readStored(path);
      if (text === undefined) return { name, path, problem: 'it is missing' };
      use({ path, text });
      return { name, path, problem: undefined };
    } catch (error) {
      return { name, path, problem: (error as Error).message };
    }
  };
  const masterKeyOf =
    (check: string | undefined, what: string) =>
    (stored: { readonly path: string; readonly text: string }): void => {
      const key = new MasterKey(storedMasterKey(stored));
      if (check !== undefined && key.checkValue !== check)
        throw new OptionError([`it is another key than the one ${what}`]);
    };
  const current = masterKeyOf(keyCheck, 'the data directory was made with');
  const keys = [look(JWT_SECRET_FILE, storedJwtSecret), look(MASTER_KEY_FILE, current)];
  if (!keys.some(({ path }) => existsSync(path))) return [];
  if (previousKeyCheck === undefined) return keys;
  const previous = masterKeyOf(previousKeyCheck, 'that some of the data directory is encrypted with');
  return [...keys, look(PREVIOUS_MASTER_KEY_FILE, previous)];
}

function storedJwtSecret({ path, text }: { readonly path: string; readonly text: string }): string {
  if (/^[0-9a-f]{96}$/.test(text)) return text;
  throw new OptionError([
    `${path} is damaged; restore it from a backup, or remove it to get a new key, which ends every session`,
  ]);
}

function storedMasterKey({ path, text }: { readonly path: string; readonly text: string }): Uint8Array {
  if (/^[0-9a-f]{64}$/.test(text)) return decodeMasterKey(text);
  throw new OptionError([
    `${path} is damaged; restore it from a backup: what was encrypted with it cannot be read without it`,
  ]);
}

function readStored(path: string): string | undefined {
  let text: string;
  try {
    text = readRegularSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new OptionError([`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new OptionError([`${path} can be read by others; take that away with: chmod 600 ${path}`]);
  }
  return text.trim();
}

function createStored(folder: string, path: string, text: string, random: Random): void {
  mkdirSync(folder, { recursive: true, mode: folderMode });
  const temporary = `${path}.${Buffer.from(random.bytes(8)).toString('hex')}`;
  const file = openSync(temporary, 'wx', fileMode);
  try {
    writeSync(file, `${text}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    // A link fails where a rename would replace an existing file.
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(temporary);
  }
  syncFolder(folder);
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
