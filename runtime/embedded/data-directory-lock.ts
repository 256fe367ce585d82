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
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { openRegularSync } from '#runtime/base/files/regular-file.ts';
import { isWithoutRoom, refusedFile, unusableFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const { O_APPEND, O_CREAT, O_RDWR } = constants;

/** The lock file in a data directory. It is never removed: without it only the directory's name excludes others. */
export const LOCK_FILE_NAME = 'lock';

/**
 * Claims a name for this process among the processes of the machine, until the process ends.
 *
 * @returns releases the name at once; undefined: another process has it
 */
export type ClaimName = (name: string) => Promise<(() => void) | undefined>;

/** Claims no name: for a directory whose content can be lost. */
export const claimNothing: ClaimName = () => Promise.resolve(() => {});

/** A held data directory. */
export interface DataDirectoryLock {
  /**
   * Checks that the lock file is still the one held by this process: if it was removed or replaced, another process may
   * have taken the directory. Must be called after a write and before it is acknowledged: a process that takes the
   * directory later then finds the write. It costs one look-up of a cached name (measured: 1 µs).
   *
   * @throws {ServiceError} `CONFLICT` once the lock was lost; it stays lost, because changes meanwhile are unknown
   * @throws the error of the system when it cannot be determined
   */
  requireHeld(): void;
  /**
   * Stores the address of this process, for programs that find the directory in use. Informational only.
   *
   * @param url of the process on this machine, without a trailing slash
   */
  announce(url: string): void;
  /** Releases the directory and restores the lock file's content. Idempotent. */
  release(): void;
}

/** Write permissions of the group and of others. */
const OTHERS_MAY_WRITE = 0o022;

/** Errors of opening the lock file for writing on a read-only volume, or without write permission. */
const readOnlyCodes: ReadonlySet<string> = new Set(['EROFS', 'EACCES', 'EPERM']);

/** Errors of creating a folder where something else has its name, or where none can be created, as in `/proc`. */
const notMadeCodes: ReadonlySet<string> = new Set(['EEXIST', 'ENOTDIR', 'ENOENT']);

/**
 * Makes this process the only user of a data directory. Two would write one journal and corrupt each other's shards.
 *
 * The lock is an operating system lock on the open file, so it ends with the process in any case, also by SIGKILL. No
 * stale lock is ever left behind, and no process id is trusted. The id in the file is only for the operator.
 *
 * A file can be removed while it is locked, and the next process would lock a new one. So the holder also claims a name
 * derived from the directory itself, if the system supports such names, and rechecks the file regularly
 * ({@link DataDirectoryLock.requireHeld}).
 *
 * @param path of the data directory; created when missing
 * @param claim without support for such names it claims nothing and reports success
 * @throws {ServiceError} `CONFLICT` naming the directory and the process that holds it, when there is one;
 *   `INTERNAL_SERVER_ERROR` when the file system has no locks; `WRITES_STOPPED` naming what the system refuses
 * @see docs/decisions/0040-data-directory-lock.md
 */
export async function acquireDataDirectory(path: string, claim: ClaimName): Promise<DataDirectoryLock> {
  const directory = resolve(path);
  await makeDirectory(directory);
  const lockPath = join(directory, LOCK_FILE_NAME);
  // A plain descriptor: a Node object that holds it could be garbage-collected, which would release the lock.
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

/** @throws {ServiceError} `WRITES_STOPPED` naming the folder when the system refuses it */
async function makeDirectory(path: string): Promise<void> {
  try {
    await realFileSystem.makeDirectory(path);
  } catch (cause) {
    throw noDirectory(path, cause) ?? refusedFile(path, cause) ?? cause;
  }
}

/** @returns the error for a path that is not a folder and cannot become one; undefined: the cause is another */
function noDirectory(path: string, cause: unknown): ServiceError | undefined {
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (!notMadeCodes.has(code)) return undefined;
  const remedy =
    'it is not a folder, and cannot be created as one: set SVC_DATA_DIR, or the option that names the folder, to a folder on a ' +
    'local disk. A missing folder is created if its parent exists and is writable';
  return unusableFile(path, code, remedy, cause);
}

/** @throws {ServiceError} `WRITES_STOPPED` when something other than a file has the name, or the system refuses it */
function openLockFile(path: string): number {
  try {
    return openRegularSync(path, O_RDWR | O_CREAT | O_APPEND, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EISDIR' && code !== 'EFTYPE' && code !== 'ENXIO')
      throw noDirectory(dirname(path), error) ?? refusedFile(path, error) ?? error;
    const remedy = 'it must be a file: move it away and start again; a new file is then created';
    throw unusableFile(path, code, remedy, error);
  }
}

/** @throws {ServiceError} `WRITES_STOPPED` naming the file when the system refuses it */
function openForReading(path: string): number {
  try {
    return openRegularSync(path);
  } catch (cause) {
    throw refusedFile(path, cause) ?? cause;
  }
}

/** A data directory that is read while no process writes to it. */
export interface ReadingLock {
  /** Whether the lock file is locked; if not, only processes of this machine are excluded, by name. */
  readonly hasFile: boolean;
  /** Releases the directory. */
  release(): void;
}

/**
 * Excludes writers from a data directory while this process reads it. If the directory is not writable, the lock is a
 * shared one on a read-only descriptor, and the lock file is not changed.
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

/** The process that holds a data directory. */
export interface DirectoryHolder {
  /** Process id; undefined when it is not recorded. */
  readonly pid: number | undefined;
  /** Address; undefined when it is not recorded yet, or the program does not listen. */
  readonly url: string | undefined;
}

/**
 * Reads the holder of a data directory from its lock file, which is valid only while the lock is held. Nothing is
 * created or changed.
 *
 * @returns undefined when no process holds it
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

/** The address of the holder in the lock file. */
export interface HolderAddress {
  /** The text in the file, unverified. */
  readonly text: string;
  /**
   * The origin of the address, if passwords and tokens may be sent to it: it is on this machine, and only this user and
   * root can have written the file.
   */
  readonly trustedUrl: string | undefined;
}

/**
 * The address of the process that holds a data directory.
 *
 * @param error of taking the directory
 * @returns undefined for any other error, or when the holder has not stored an address
 */
export function addressOfHolder(error: unknown): HolderAddress | undefined {
  if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') return undefined;
  const { isOwn, url } = (error.details ?? {}) as { readonly isOwn?: unknown; readonly url?: unknown };
  if (typeof url !== 'string') return undefined;
  return { text: url, trustedUrl: isOwn === true ? loopbackOrigin(url) : undefined };
}

/**
 * Whether only a given user and root can have written a file.
 *
 * @param user id of the user; undefined when the system has none: it is then unknown
 */
export function isWrittenOnlyBy(
  user: number | undefined,
  { mode, uid }: Pick<Stats, 'mode' | 'uid'>,
): boolean {
  return user !== undefined && (uid === user || uid === 0) && (mode & OTHERS_MAY_WRITE) === 0;
}

/** @returns origin of an address on this machine; undefined for any other text */
function loopbackOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return undefined;
  const { hostname, origin, protocol } = url;
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
  return isLoopback ? origin : undefined;
}

/** A name that is the same for every path to a directory, and different for every other directory. */
function nameOf(directory: string): string {
  const { dev, ino } = statSync(directory, { bigint: true });
  return `grove-data-directory-${dev}-${ino}`;
}

/** A crash during the write leaves the id of an ended process, which nobody trusts. */
function write(descriptor: number, content: string | Buffer): void {
  ftruncateSync(descriptor, 0);
  if (content.length > 0) say(descriptor, content);
}

/** Writes without failing on a full disk, because the content is informational. @throws any other system error */
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

/** Parses the holder from the lock file. */
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
