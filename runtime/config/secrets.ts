import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';

import type { Random } from '#runtime/base/random.ts';
import { OptionError } from './option.ts';
import type { Options } from './options.ts';
import { Secret } from './secret.ts';
import { decodeMasterKey } from './text-checks.ts';

/** Random bytes of a generated signing key: more than the hash it is used with (RFC 7518 section 3.2). */
const jwtSecretBytes = 48;

/** Random bytes of a generated master key: one AES-256 key. */
const masterKeyBytes = 32;

/** Nobody but the owner of the process may read a secret. */
const fileMode = 0o600;
const folderMode = 0o700;

/** The 32 bytes that encrypt stored secrets; turning the object into text does not show them. */
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
  /** Encrypts stored secrets and derives the key of signed links. */
  readonly masterKey: MasterKey;
}

/**
 * The keys of a member: those of the environment, else those in the data folder, which are generated at the
 * first start. A file is complete on disk before it has its name, and an existing one is never replaced, so
 * that neither a crash nor a second process can lose a key that something was already encrypted with.
 *
 * @param server the options with the keys of the environment and the data folder
 * @throws {OptionError} when a stored key is damaged or readable by others; it names the file and the remedy
 */
export function loadSecrets(
  server: Pick<Options['server'], 'dataDir' | 'jwtSecret' | 'masterKey'>,
  random: Random,
): Secrets {
  const folder = join(server.dataDir, 'secrets');
  const stored = (name: string, bytes: number): { readonly path: string; readonly text: string } => {
    const path = join(folder, name);
    const text = readStored(path) ?? createStored(folder, path, random, bytes);
    return { path, text };
  };
  return Object.freeze({
    jwtSecret: server.jwtSecret ?? new Secret(storedJwtSecret(stored('jwt-secret', jwtSecretBytes))),
    masterKey: new MasterKey(
      server.masterKey === undefined
        ? storedMasterKey(stored('master-key', masterKeyBytes))
        : decodeMasterKey(server.masterKey.reveal()),
    ),
  });
}

/**
 * The master key a member would have, where there is one: of the environment, else of the data folder. Nothing is made.
 *
 * @throws {OptionError} when it is damaged or readable by others
 */
export function storedMasterKeyOf(
  server: Pick<Options['server'], 'dataDir' | 'masterKey'>,
): MasterKey | undefined {
  if (server.masterKey !== undefined) return new MasterKey(decodeMasterKey(server.masterKey.reveal()));
  const path = join(server.dataDir, 'secrets', 'master-key');
  const text = readStored(path);
  return text === undefined ? undefined : new MasterKey(storedMasterKey({ path, text }));
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
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new OptionError([`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new OptionError([`${path} can be read by others; take that away with: chmod 600 ${path}`]);
  }
  return text.trim();
}

function createStored(folder: string, path: string, random: Random, bytes: number): string {
  mkdirSync(folder, { recursive: true, mode: folderMode });
  const text = Buffer.from(random.bytes(bytes)).toString('hex');
  const temporary = `${path}.${Buffer.from(random.bytes(8)).toString('hex')}`;
  const file = openSync(temporary, 'wx', fileMode);
  try {
    writeSync(file, `${text}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    // A link fails where a rename would replace: of two first starts one wins, and both use its key.
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(temporary);
  }
  syncFolder(folder);
  const kept = readStored(path);
  if (kept === undefined) throw new OptionError([`${path} vanished while it was created; start again`]);
  return kept;
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
