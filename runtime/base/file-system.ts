import * as fs from 'node:fs';
import { dirname, resolve } from 'node:path';
import { NEVER_WAIT, requireRegular } from './regular-file.ts';

/**
 * How a file is opened. `create` makes a new empty one, replacing an older file of that name; with `create-synced`
 * every write is on the disk when it resolves, as after a {@link OpenFile.datasync} of its own.
 */
export type OpenMode = 'read' | 'read-write' | 'create' | 'create-synced';

/** Room on the volume of a path, in bytes. */
export interface VolumeSpace {
  /** What an ordinary process may still write. */
  readonly freeBytes: number;
  /** What is written. Together with what is free it may be less than the volume: some is kept for the system. */
  readonly usedBytes: number;
}

/** What a folder says of a file. */
export interface FileFacts {
  /** In bytes. */
  readonly size: number;
  /** When its content changed last, in milliseconds since the Unix epoch. */
  readonly modifiedMs: number;
  /** Which file it is among those of its volume, whatever it is called. */
  readonly inode: number;
  /** Whether it is a file, and not a folder, a pipe or the like. */
  readonly isFile: boolean;
}

/** What an open file says of itself. */
export interface OpenFileFacts {
  /** In bytes. */
  readonly size: number;
  /** Which file it is, see {@link FileFacts.inode}. */
  readonly inode: number;
  /** How many names it has; 0 after it was removed. */
  readonly names: number;
}

/** An open file. Operations of one file may overlap; the caller orders those that must not. */
export interface OpenFile {
  /**
   * Writes all of `length` bytes of `buffer` from `offset` at `position`. When it fails, any part of them may
   * have been written.
   */
  write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<void>;
  /** Reads up to `length` bytes; fewer only at the end of the file. @returns how many were read */
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** Brings the content to the disk, and the length as far as reading the content needs it. */
  datasync(): Promise<void>;
  /** Brings the content and everything about the file to the disk; not its name in the folder. */
  sync(): Promise<void>;
  /** Cuts the file, or fills it up with zeros, to `length` bytes. */
  truncate(length: number): Promise<void>;
  /** @returns the length in bytes */
  size(): Promise<number>;
  /** What the system has in memory of it, at once (measured: 0.5 µs). */
  look(): OpenFileFacts;
  close(): Promise<void>;
}

/**
 * Files as the engine sees them. What is written is on the disk only after `datasync` or `sync` of the file,
 * and, where a name changed, `syncDirectory` of its folder. A simulation passes one that forgets the rest.
 *
 * Errors are those of Node with their `code` (`ENOSPC`, `EIO`, `ENOENT`, ...). What is no file is not opened (`EISDIR`,
 * `EFTYPE`), and no open waits for somebody else.
 */
export interface FileSystem {
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  /** Names in a folder, sorted. */
  readdir(path: string): Promise<string[]>;
  /** Makes a folder and those above it; no error when it is there. New ones are on the disk afterwards. */
  makeDirectory(path: string): Promise<void>;
  /** @returns what there is to know of a file without opening it */
  stat(path: string): Promise<FileFacts>;
  unlink(path: string): Promise<void>;
  /** Replaces what is at `to` in one step. */
  rename(from: string, to: string): Promise<void>;
  /** Brings the names in a folder to the disk. */
  syncDirectory(path: string): Promise<void>;
  statfs(path: string): Promise<VolumeSpace>;
}

/** Whether a file operation failed for want of space: then nothing is broken. */
export function isOutOfSpace(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

const { O_CREAT, O_DSYNC, O_RDONLY, O_RDWR, O_TRUNC } = fs.constants;

/**
 * Whether the system flushes within the write all that a `datasync` would. Linux says so; where a flush proper is
 * something else than what the flag does, as on macOS, the write is followed by one.
 */
const flushesInWrites = process.platform === 'linux';

const NEW_FILE = O_RDWR | O_CREAT | O_TRUNC;

const flagsOf: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY,
  'read-write': O_RDWR,
  create: NEW_FILE,
  'create-synced': flushesInWrites ? NEW_FILE | O_DSYNC : NEW_FILE,
};

/** Rights of new files and folders: content is nobody else's to read. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

type Callback<Result> = (error: NodeJS.ErrnoException | null, result: Result) => void;

/** Callbacks, not `fs/promises`: measured, those cost half as much processor time again, and the journal lives here. */
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
      // A nearly full disk takes a part first; the error comes with the next call.
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

/** A file whose writes are followed by a flush, where the system does not do that itself. */
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
 * Makes a folder and those above it. Node's own way of that never ends where the system makes none although the folder above
 * is there, as in `/proc`.
 *
 * @returns the folders that were made, from the top
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
      // Somebody else may have made it meanwhile.
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

/** The files of the operating system. Nothing of it holds the event loop. */
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
    // From the innermost outwards, every folder that got a new name in it.
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
