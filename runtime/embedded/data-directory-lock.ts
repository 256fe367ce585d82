import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  readFileSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { openRegularSync } from '#runtime/base/regular-file.ts';
import { isWithoutRoom, refusedFile, unusableFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const { O_APPEND, O_CREAT, O_RDWR } = constants;

/** The lock file in a data directory. It stays there: without it only the name of the directory keeps others out. */
export const LOCK_FILE_NAME = 'lock';

/**
 * Claims a name for this process among the processes of the machine, until it ends.
 *
 * @returns gives the name back, at once; undefined: another process has it
 */
export type ClaimName = (name: string) => Promise<(() => void) | undefined>;

/** For a directory whose content nobody could lose: the lock alone. */
export const claimNothing: ClaimName = () => Promise.resolve(() => {});

/** A held data directory. */
export interface DataDirectoryLock {
  /**
   * Makes sure that the lock file is still the one that is held: where it was removed or replaced, another process may
   * have taken the directory. To be called after a write and before anybody is told of it: whoever takes the directory
   * after that finds the write. It costs one look at a name the system remembers (measured: 1 µs).
   *
   * @throws {ServiceError} `CONFLICT` once it is not; from then on always, for nobody can say what happened meanwhile
   * @throws the error of the system when it cannot be told
   */
  requireHeld(): void;
  /**
   * Says where this process answers, for programs that find the directory in use. Nothing depends on it.
   *
   * @param url of the process on this machine, without a trailing slash
   */
  announce(url: string): void;
  /** Lets others have the directory; the lock file is as it was found. Idempotent. */
  release(): void;
}

/** Rights of the group and of all others. */
const OTHERS_MAY_WRITE = 0o022;

/** Errors of opening the lock file for writing where the volume is read-only, or this user may only read it. */
const readOnlyCodes: ReadonlySet<string> = new Set(['EROFS', 'EACCES', 'EPERM']);

/** Errors of making a folder where something else has its name, or where the system makes none, as in `/proc`. */
const notMadeCodes: ReadonlySet<string> = new Set(['EEXIST', 'ENOTDIR', 'ENOENT']);

/**
 * Makes this process the only one that uses a data directory. Two would write one journal and tear each
 * other's shards.
 *
 * The lock is one of the operating system on the open file, so it ends with the process however that dies,
 * also by SIGKILL; no stale lock is ever left behind, and no process id is ever trusted. The id in the file
 * only tells a person who holds it.
 *
 * A file can be removed under its holder, and the next process would lock another one. So the holder also claims a name
 * made of the directory itself, where the system has such names, and looks at the file again and again
 * ({@link DataDirectoryLock.requireHeld}).
 *
 * @param path of the data directory; made when it is not there
 * @param claim where there are no such names it claims nothing and says that it did
 * @throws {ServiceError} `CONFLICT` naming the directory and the process that holds it, when there is one;
 *   `INTERNAL_SERVER_ERROR` when the file system has no locks; `WRITES_STOPPED` naming what the system refuses
 * @see docs/decisions/0040-data-directory-lock.md
 */
export async function acquireDataDirectory(path: string, claim: ClaimName): Promise<DataDirectoryLock> {
  const directory = resolve(path);
  await makeDirectory(directory);
  const lockPath = join(directory, LOCK_FILE_NAME);
  // A plain descriptor: an object of Node that holds it could be collected, and the lock would go with it.
  const descriptor = openLockFile(lockPath);
  let before: Buffer;
  let releaseName: () => void;
  try {
    if (!lock(descriptor, directory)) throw heldBy(directory, descriptor);
    const name = await claim(nameOf(directory));
    if (name === undefined) throw heldWithoutFile(directory);
    releaseName = name;
    before = readFileSync(descriptor);
    write(descriptor, `${process.pid}\n`);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  const own = fstatSync(descriptor);
  let isHeld = true;
  let lost: ServiceError | undefined;
  return {
    requireHeld() {
      if (lost !== undefined) throw lost;
      const found = statSync(lockPath, { throwIfNoEntry: false });
      if (found !== undefined && found.ino === own.ino && found.dev === own.dev) return;
      lost = lockFileLost(lockPath, found !== undefined);
      throw lost;
    },
    announce(url) {
      if (isHeld) say(descriptor, `${url}\n`);
    },
    release() {
      if (!isHeld) return;
      isHeld = false;
      write(descriptor, before);
      closeSync(descriptor);
      releaseName();
    },
  };
}

/** @throws {ServiceError} `WRITES_STOPPED` naming it when the system refuses it */
async function makeDirectory(path: string): Promise<void> {
  try {
    await realFileSystem.makeDirectory(path);
  } catch (cause) {
    throw noDirectory(path, cause) ?? refusedFile(path, cause) ?? cause;
  }
}

/** @returns what somebody is told who names something that is no folder and can be none; undefined: that is not what is wrong */
function noDirectory(path: string, cause: unknown): ServiceError | undefined {
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (!notMadeCodes.has(code)) return undefined;
  const remedy =
    'it is no folder, and none can be made there: set SVC_DATA_DIR, or the option it was given with, to a folder on a local ' +
    'disk; one that is missing is made where the one above it can be written to';
  return unusableFile(path, code, remedy, cause);
}

/** @throws {ServiceError} `WRITES_STOPPED` when something that is no file has its name, or the system refuses it */
function openLockFile(path: string): number {
  try {
    return openRegularSync(path, O_RDWR | O_CREAT | O_APPEND, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EISDIR' && code !== 'EFTYPE' && code !== 'ENXIO')
      throw noDirectory(dirname(path), error) ?? refusedFile(path, error) ?? error;
    const remedy = 'it should be a file: move what is there away, and start again, which makes a new one';
    throw unusableFile(path, code, remedy, error);
  }
}

/** @throws {ServiceError} `WRITES_STOPPED` naming it when the system refuses it */
function openForReading(path: string): number {
  try {
    return openRegularSync(path);
  } catch (cause) {
    throw refusedFile(path, cause) ?? cause;
  }
}

/** A data directory that is read while nobody writes to it. */
export interface ReadingLock {
  /** Whether the file of the lock is locked; if not, only processes of this machine are kept away, where it has names. */
  readonly hasFile: boolean;
  /** Lets others have the directory. */
  release(): void;
}

/**
 * Keeps writers away from a data directory while this process reads it. Where the directory cannot be written to, the
 * lock is a shared one on a descriptor that only reads, and the file of the lock is not changed.
 *
 * @param claim as for {@link acquireDataDirectory}
 * @throws {ServiceError} as {@link acquireDataDirectory}
 */
export async function acquireForReading(path: string, claim: ClaimName): Promise<ReadingLock> {
  try {
    const lock = await acquireDataDirectory(path, claim);
    return { hasFile: true, release: () => lock.release() };
  } catch (error) {
    const cause = error instanceof ServiceError ? error.cause : error;
    if (!readOnlyCodes.has((cause as NodeJS.ErrnoException | undefined)?.code ?? '')) throw error;
  }
  const directory = resolve(path);
  const file = join(directory, LOCK_FILE_NAME);
  const descriptor = existsSync(file) ? openForReading(file) : undefined;
  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
  };
  try {
    if (descriptor !== undefined && !lock(descriptor, directory, { shared: true }))
      throw heldBy(directory, descriptor);
    const releaseName = await claim(nameOf(directory));
    if (releaseName === undefined) throw heldWithoutFile(directory);
    const release = (): void => {
      close();
      releaseName();
    };
    return { hasFile: descriptor !== undefined, release };
  } catch (error) {
    close();
    throw error;
  }
}

/** The process that has a data directory. */
export interface DirectoryHolder {
  /** Of the process; undefined where it has not said so. */
  readonly pid: number | undefined;
  /** Where it answers; undefined where it has not said so yet, or is a program that does not listen. */
  readonly url: string | undefined;
}

/**
 * Who has a data directory, as the lock file in it says, which only tells of whoever holds the lock. Nothing is made or
 * changed.
 *
 * @returns undefined when nobody has it
 * @throws {ServiceError} `WRITES_STOPPED` when the system refuses the lock file; `INTERNAL_SERVER_ERROR` when the file
 *   system has no locks
 */
export function holderOf(path: string): DirectoryHolder | undefined {
  const directory = resolve(path);
  const file = join(directory, LOCK_FILE_NAME);
  if (!existsSync(file)) return undefined;
  const descriptor = openForReading(file);
  try {
    if (lock(descriptor, directory, { shared: true })) return undefined;
    return writtenBy(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** What the lock file says of where its holder answers. */
export interface HolderAddress {
  /** As it is in the file: any characters. */
  readonly text: string;
  /**
   * The same without a path, where passwords and tokens may be sent to it: it is on this machine, and nobody but this user
   * and root can have written the file.
   */
  readonly trustedUrl: string | undefined;
}

/**
 * Where the process that holds a data directory answers.
 *
 * @param error what taking the directory failed with
 * @returns undefined when it failed with something else, or the holder has not said so
 */
export function addressOfHolder(error: unknown): HolderAddress | undefined {
  if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') return undefined;
  const { isOwn, url } = (error.details ?? {}) as { readonly isOwn?: unknown; readonly url?: unknown };
  if (typeof url !== 'string') return undefined;
  return { text: url, trustedUrl: isOwn === true ? loopbackOrigin(url) : undefined };
}

/**
 * Whether nobody but a user, and root, can have written a file.
 *
 * @param user id of the user; undefined where the system has none: then nobody can tell
 */
export function isWrittenOnlyBy(
  user: number | undefined,
  { mode, uid }: Pick<Stats, 'mode' | 'uid'>,
): boolean {
  return user !== undefined && (uid === user || uid === 0) && (mode & OTHERS_MAY_WRITE) === 0;
}

/** @returns origin of an address on this machine; undefined: it is another, or none */
function loopbackOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { hostname, origin, protocol } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
  return isLoopback ? origin : undefined;
}

/** The same for every path that leads to a directory, and for no other directory. */
function nameOf(directory: string): string {
  const { dev, ino } = statSync(directory, { bigint: true });
  return `grove-data-directory-${dev}-${ino}`;
}

/** Who dies meanwhile leaves the name of a process that is gone, which nobody trusts. */
function write(descriptor: number, content: string | Buffer): void {
  ftruncateSync(descriptor, 0);
  if (content.length > 0) say(descriptor, content);
}

/** Where there is no room the file says less; nothing depends on it. @throws the error of the system for anything else */
function say(descriptor: number, content: string | Buffer): void {
  try {
    writeSync(descriptor, content as string);
  } catch (error) {
    if (!isWithoutRoom(error)) throw error;
  }
}

function lock(descriptor: number, directory: string, how?: { readonly shared: true }): boolean {
  try {
    return tryLock(descriptor, how);
  } catch (cause) {
    throw new ServiceError(
      'INTERNAL_SERVER_ERROR',
      `The data directory ${directory} cannot be locked; network file systems are not supported. Use a local disk.`,
      { cause },
    );
  }
}

/** What the lock file says of its holder. */
function writtenBy(descriptor: number): DirectoryHolder {
  const [first = '', url = ''] = readFileSync(descriptor, 'latin1').split('\n');
  const pid = Number.parseInt(first, 10);
  return { pid: Number.isNaN(pid) ? undefined : pid, url: url === '' ? undefined : url };
}

function heldBy(directory: string, descriptor: number): ServiceError {
  const { pid = null, url } = writtenBy(descriptor);
  const isOwn = isWrittenOnlyBy(process.getuid?.(), fstatSync(descriptor));
  const holder = pid === null ? 'another process' : `process ${pid}`;
  return new ServiceError(
    'CONFLICT',
    `The data directory ${directory} is in use by ${holder}. Stop that one, or start this one with another SVC_DATA_DIR.`,
    { details: { directory, pid, ...(url === undefined ? {} : { url, isOwn }) } },
  );
}

function heldWithoutFile(directory: string): ServiceError {
  return new ServiceError(
    'CONFLICT',
    `The data directory ${directory} is in use by a process whose lock file in it was removed. ` +
      'Stop that process (Linux: ss -xlp | grep grove-data-directory shows it) before you start another one.',
    { details: { directory, pid: null } },
  );
}

function lockFileLost(path: string, isReplaced: boolean): ServiceError {
  return new ServiceError(
    'CONFLICT',
    `the lock file ${path} was ${isReplaced ? 'replaced' : 'removed'} under the running server, so another process may ` +
      'use the data directory: make sure that none does, then restart this one',
    { details: { path } },
  );
}
