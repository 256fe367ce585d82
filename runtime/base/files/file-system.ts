import * as fs from 'node:fs';
import { dirname, resolve } from 'node:path';
import { NEVER_WAIT, requireRegular } from './regular-file.ts';

/**
 * How a file is opened. `create` makes a new empty file and replaces an older one of that name. With `create-synced`
 * every write is durable when it resolves, as after a {@link OpenFile.datasync} of its own.
 */
export type OpenMode = 'read' | 'read-write' | 'create' | 'create-synced';

/** Space on the volume of a path, in bytes. */
export interface VolumeSpace {
  /** Bytes available to an ordinary process. */
  readonly freeBytes: number;
  /**
   * Bytes in use. Used and free together may be less than the volume, because some space is reserved for the system.
   */
  readonly usedBytes: number;
}

/** Metadata of a file. */
export interface FileFacts {
  /** In bytes. */
  readonly size: number;
  /** Time of the last change of its content, in milliseconds since the Unix epoch. */
  readonly modifiedMs: number;
  /** Identifies the file on its volume, whatever its name. */
  readonly inode: number;
  /** Whether it is a regular file. */
  readonly isFile: boolean;
}

/** Metadata of an open file. */
export interface OpenFileFacts {
  /** In bytes. */
  readonly size: number;
  /** Identifies the file, see {@link FileFacts.inode}. */
  readonly inode: number;
  /** Number of its names; 0 after it was removed. */
  readonly names: number;
}

/** An open file. Operations of one file may overlap; the caller orders those that must not overlap. */
export interface OpenFile {
  /**
   * Writes all of `length` bytes of `buffer` from `offset` at `position`. When it fails, any part of them may
   * have been written.
   */
  write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<void>;
  /** Reads up to `length` bytes; fewer only at the end of the file. @returns how many were read */
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** Makes the content durable, and the length as far as reading the content needs it. */
  datasync(): Promise<void>;
  /** Makes the content and all metadata of the file durable; not its name in the folder. */
  sync(): Promise<void>;
  /** Truncates the file, or extends it with zeros, to `length` bytes. */
  truncate(length: number): Promise<void>;
  /** @returns the length in bytes */
  size(): Promise<number>;
  /** Its metadata, synchronously from the memory of the system (measured: 0.5 µs). */
  look(): OpenFileFacts;
  close(): Promise<void>;
}

/**
 * The file system of the engine. Written data is durable only after `datasync` or `sync` of the file, and after a name
 * change `syncDirectory` of its folder. A simulation passes one that loses all other data.
 *
 * Errors are those of Node with their `code` (`ENOSPC`, `EIO`, `ENOENT`, ...). Only regular files are opened (otherwise
 * `EISDIR`, `EFTYPE`), and no open blocks.
 */
export interface FileSystem {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  /** Names in a folder, sorted. */
  readdir(path: string): Promise<string[]>;
  /** Creates a folder and its parents durably; no error when it exists. */
  makeDirectory(path: string): Promise<void>;
  /** @returns the metadata of a file without opening it */
  stat(path: string): Promise<FileFacts>;
  unlink(path: string): Promise<void>;
  /** Atomically replaces the file at `to`. */
  rename(from: string, to: string): Promise<void>;
  /** Makes the names in a folder durable. */
  syncDirectory(path: string): Promise<void>;
  statfs(path: string): Promise<VolumeSpace>;
}

/** Whether a file operation failed for lack of space: then nothing is damaged. */
export function isOutOfSpace(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

const { O_CREAT, O_DSYNC, O_RDONLY, O_RDWR, O_TRUNC } = fs.constants;

/**
 * Whether a synced write flushes all that a `datasync` would. Linux guarantees it. Where the flag is weaker than a
 * flush, as on macOS, each write is followed by one.
 */
const flushesInWrites = process.platform === 'linux';

const NEW_FILE = O_RDWR | O_CREAT | O_TRUNC;

const flagsOf: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY,
  'read-write': O_RDWR,
  create: NEW_FILE,
  'create-synced': flushesInWrites ? NEW_FILE | O_DSYNC : NEW_FILE,
};

/** Permissions of new files and folders: only the owner may read content. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

type Callback<Result> = (error: NodeJS.ErrnoException | null, result: Result) => void;

/** Callbacks instead of `fs/promises`: measured, promises cost half as much processor time again in the journal. */
function called<Result>(start: (callback: Callback<Result>) => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    start((error, result) => (error === null || error === undefined ? resolve(result) : reject(error)));
  });
}

class RealFile implements OpenFile {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  async write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<void> {
    let done = 0;
    while (done < length) {
      // A nearly full disk accepts a part first; the next call fails.
      done += await called<number>((callback) =>
        fs.write(this.#descriptor, buffer, offset + done, length - done, position + done, callback),
      );
    }
  }

  async read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    let done = 0;
    while (done < length) {
      const count = await called<number>((callback) =>
        fs.read(this.#descriptor, buffer, offset + done, length - done, position + done, callback),
      );
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  datasync(): Promise<void> {
    return called((callback: Callback<void>) =>
      fs.fdatasync(this.#descriptor, callback as fs.NoParamCallback),
    );
  }

  sync(): Promise<void> {
    return called((callback: Callback<void>) => fs.fsync(this.#descriptor, callback as fs.NoParamCallback));
  }

  truncate(length: number): Promise<void> {
    return called((callback: Callback<void>) =>
      fs.ftruncate(this.#descriptor, length, callback as fs.NoParamCallback),
    );
  }

  async size(): Promise<number> {
    return (await called<fs.Stats>((callback) => fs.fstat(this.#descriptor, callback))).size;
  }

  look(): OpenFileFacts {
    const { ino: inode, nlink: names, size } = fs.fstatSync(this.#descriptor);
    return { size, inode, names };
  }

  close(): Promise<void> {
    return called((callback: Callback<void>) => fs.close(this.#descriptor, callback as fs.NoParamCallback));
  }
}

/** A file whose writes are followed by a flush, where the system does not flush within the write. */
class FlushedFile extends RealFile {
  override async write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<void> {
    await super.write(buffer, offset, length, position);
    await this.datasync();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const folder = await fs.promises.open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Creates a folder and its parents. Node's recursive mode never ends where the system creates none although the parent
 * exists, as in `/proc`.
 *
 * @returns the folders that were created, outermost first
 * @throws {Error} of Node, with its `code`
 */
async function makeFolders(path: string): Promise<readonly string[]> {
  try {
    await fs.promises.mkdir(path, FOLDER_MODE);
    return [path];
  } catch (error) {
    if (await isFolder(path)) return [];
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error;
    const made = await makeFolders(above);
    await fs.promises.mkdir(path, FOLDER_MODE).catch(async (cause: unknown) => {
      // Another process may have created it meanwhile.
      if (!(await isFolder(path))) throw cause;
    });
    return [...made, path];
  }
}

async function isFolder(path: string): Promise<boolean> {
  return await fs.promises.stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/** The files of the operating system. No operation blocks the event loop. */
export const realFileSystem: FileSystem = {
  async open(path, mode) {
    const flags = flagsOf[mode] | NEVER_WAIT;
    const descriptor = await called<number>((callback) => fs.open(path, flags, FILE_MODE, callback));
    try {
      requireRegular(fs.fstatSync(descriptor), path);
    } catch (error) {
      fs.closeSync(descriptor);
      throw error;
    }
    return mode === 'create-synced' && !flushesInWrites
      ? new FlushedFile(descriptor)
      : new RealFile(descriptor);
  },
  readdir: async (path) => (await fs.promises.readdir(path)).sort(),
  async makeDirectory(path) {
    const made = await makeFolders(resolve(path));
    // Every folder with a new entry, innermost first.
    for (const folder of made.toReversed()) await syncDirectory(dirname(folder));
  },
  async stat(path) {
    const stats = await called<fs.Stats>((callback) => fs.stat(path, callback));
    return { size: stats.size, modifiedMs: stats.mtimeMs, inode: stats.ino, isFile: stats.isFile() };
  },
  unlink: (path) => fs.promises.unlink(path),
  rename: (from, to) => fs.promises.rename(from, to),
  syncDirectory,
  async statfs(path) {
    const { bsize, bavail, bfree, blocks } = await fs.promises.statfs(path);
    return { freeBytes: bsize * bavail, usedBytes: bsize * (blocks - bfree) };
  },
};
