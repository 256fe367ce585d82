import { dirname } from 'node:path';
import type {
  FileFacts,
  FileSystem,
  OpenFile,
  OpenMode,
  VolumeSpace,
} from '#runtime/base/files/file-system.ts';

/** Operations that can be made to fail. */
export type FileOperation =
  | 'open'
  | 'write'
  | 'read'
  | 'datasync'
  | 'sync'
  | 'truncate'
  | 'unlink'
  | 'rename'
  | 'syncDirectory';

/** What is left after a crash. */
export type CrashMode =
  /** The process died: everything it wrote is in the memory of the operating system. */
  | 'process-kill'
  /** Power cut; nothing arrived that was not flushed. */
  | 'drop-unsynced'
  /** Power cut; of what was not flushed, any sectors and any changes of names and lengths arrived. */
  | 'torn';

/** A number in [0, 1). */
export type Dice = () => number;

const SECTOR_BYTES = 512;

type Change =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly length: number };

type NameChange =
  | { readonly kind: 'link'; readonly path: string; readonly inode: Inode }
  | { readonly kind: 'unlink'; readonly path: string }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string; readonly inode: Inode };

/** A file's bytes, growing in place. */
class Image {
  #bytes: Buffer = Buffer.alloc(0);
  length = 0;

  get content(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  apply(change: Change): void {
    if (change.kind === 'truncate') this.resize(change.length);
    else {
      this.resize(Math.max(this.length, change.position + change.bytes.length));
      change.bytes.copy(this.#bytes, change.position);
    }
  }

  resize(length: number): void {
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#bytes.length));
      this.content.copy(larger);
      this.#bytes = larger;
    } else if (length < this.length) this.#bytes.fill(0, length, this.length);
    this.length = length;
  }
}

/** A file apart from its name: what a reader sees, what is on the disk, and the changes in between. */
class Inode {
  static #made = 0;
  readonly number: number;
  readonly live = new Image();
  readonly disk = new Image();
  unsynced: Change[] = [];

  constructor() {
    Inode.#made += 1;
    this.number = Inode.#made;
  }

  change(change: Change): void {
    this.live.apply(change);
    this.unsynced.push(change);
  }

  sync(): void {
    for (const change of this.unsynced) this.disk.apply(change);
    this.unsynced = [];
  }
}

function inodeOf(content: Buffer): Inode {
  const inode = new Inode();
  inode.change({ kind: 'write', position: 0, bytes: Buffer.from(content) });
  inode.sync();
  return inode;
}

interface Fault {
  readonly operation: FileOperation;
  countdown: number;
  readonly code: string;
  readonly partialBytes: number;
}

function fileError(code: string, operation: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${operation} '${path}'`), { code });
}

/**
 * A file system in memory that keeps what a crash would leave apart from what a process sees, and fails on
 * request. It is as forgetful as the interface allows: a file's content is on its disk after `datasync` or
 * `sync` only (or a write of a file that syncs them), a name after `syncDirectory` only.
 */
export class FaultyFileSystem implements FileSystem {
  /** Bytes files may still grow by. */
  freeBytes = Number.POSITIVE_INFINITY;
  /** How often each operation was called. */
  readonly calls = new Map<FileOperation, number>();
  #names = new Map<string, Inode>();
  #diskNames = new Map<string, Inode>();
  #nameChanges: NameChange[] = [];
  #faults: Fault[] = [];
  #changesUntilFreeze = Number.POSITIVE_INFINITY;
  #frozen = Promise.withResolvers<void>();
  readonly #delay: () => Promise<void>;

  /** @param delay how long an operation takes; by default it is answered in the next turn of the event loop */
  constructor(delay: () => Promise<void> = () => new Promise((resolve) => setImmediate(resolve))) {
    this.#delay = delay;
  }

  /**
   * Makes a coming operation fail.
   *
   * @param options.after how many of the kind succeed before it, default 0
   * @param options.partialBytes of a write: how many bytes arrive all the same, default 0
   */
  fail(
    operation: FileOperation,
    code: string,
    options: { after?: number; partialBytes?: number } = {},
  ): void {
    const { after = 0, partialBytes = 0 } = options;
    this.#faults.push({ operation, countdown: after, code, partialBytes });
  }

  /** Forgets the faults that have not happened. */
  disarm(): void {
    this.#faults = [];
  }

  /**
   * Stops the world at the nth change from now: it may be half done, and it and everything after it never
   * answers. `frozen` resolves then; go on with {@link crash}.
   */
  freezeAfter(changes: number): void {
    this.#changesUntilFreeze = changes;
  }

  get frozen(): Promise<void> {
    return this.#frozen.promise;
  }

  /** What a fresh start finds. This one is not to be used any more. */
  crash(mode: CrashMode, dice: Dice = () => 0.5): FaultyFileSystem {
    const after = new FaultyFileSystem(this.#delay);
    const names = mode === 'process-kill' ? this.#names : this.#namesAfter(mode, dice);
    for (const [path, inode] of names) {
      const content =
        mode === 'process-kill'
          ? inode.live.content
          : mode === 'torn'
            ? tear(inode, dice)
            : inode.disk.content;
      after.put(path, content);
    }
    return after;
  }

  /** Paths of all files, sorted. */
  paths(): string[] {
    return [...this.#names.keys()].sort();
  }

  /** A copy of a file's bytes. */
  content(path: string): Buffer {
    return Buffer.from(this.#inode(path, 'open').live.content);
  }

  /** Puts a file there as if it had always been. */
  put(path: string, content: Buffer): void {
    const inode = inodeOf(content);
    this.#names.set(path, inode);
    this.#diskNames.set(path, inode);
  }

  /** Takes a file away as if it had never been. */
  remove(path: string): void {
    this.#names.delete(path);
    this.#diskNames.delete(path);
  }

  /** Changes bytes of a file as if somebody else did. */
  alter(path: string, content: Buffer): void {
    const inode = this.#inode(path, 'write');
    this.#change(inode, { kind: 'write', position: 0, bytes: Buffer.from(content) });
    inode.sync();
  }

  /** Cuts a file as if somebody else did. */
  cut(path: string, length: number): void {
    const inode = this.#inode(path, 'truncate');
    this.#change(inode, { kind: 'truncate', length });
    inode.sync();
  }

  /** Gives a file another name as if somebody else did. */
  move(from: string, to: string): void {
    const inode = this.#inode(from, 'rename');
    this.remove(from);
    this.#names.set(to, inode);
    this.#diskNames.set(to, inode);
  }

  /** A copy with the same files, all on its disk. */
  copy(): FaultyFileSystem {
    return this.crash('process-kill');
  }

  async open(path: string, mode: OpenMode): Promise<OpenFile> {
    await this.#begin('open', path);
    if (mode === 'create' || mode === 'create-synced') {
      await this.#changed(() => {});
      const existing = this.#names.get(path);
      if (existing !== undefined) this.#change(existing, { kind: 'truncate', length: 0 });
      else {
        const inode = new Inode();
        this.#names.set(path, inode);
        this.#nameChanges.push({ kind: 'link', path, inode });
      }
    }
    const inode = this.#inode(path, 'open');
    const file = this.#fileOf(inode, path);
    if (mode !== 'create-synced') return file;
    return {
      ...file,
      // A write and then a flush, so that either may fail and a crash may come in between.
      write: async (buffer, offset, length, position) => {
        await file.write(buffer, offset, length, position);
        await file.datasync();
      },
    };
  }

  async readdir(path: string): Promise<string[]> {
    return this.paths()
      .filter((file) => dirname(file) === path)
      .map((file) => file.slice(path.length + 1));
  }

  async makeDirectory(): Promise<void> {}

  /** There is no time here: everything is as old as can be. */
  async stat(path: string): Promise<FileFacts> {
    const inode = this.#inode(path, 'stat');
    return { size: inode.live.length, modifiedMs: 0, inode: inode.number, isFile: true };
  }

  async unlink(path: string): Promise<void> {
    await this.#begin('unlink', path);
    this.#inode(path, 'unlink');
    const unlink = () => {
      this.freeBytes += this.#inode(path, 'unlink').live.length;
      this.#names.delete(path);
      this.#nameChanges.push({ kind: 'unlink', path });
    };
    await this.#changed(unlink);
    unlink();
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#begin('rename', from);
    const inode = this.#inode(from, 'rename');
    const rename = () => {
      this.#names.delete(from);
      this.#names.set(to, inode);
      this.#nameChanges.push({ kind: 'rename', from, to, inode });
    };
    await this.#changed(rename);
    rename();
  }

  async syncDirectory(path: string): Promise<void> {
    await this.#begin('syncDirectory', path);
    await this.#changed(() => {});
    for (const name of this.#diskNames.keys()) if (dirname(name) === path) this.#diskNames.delete(name);
    for (const [name, inode] of this.#names) if (dirname(name) === path) this.#diskNames.set(name, inode);
    this.#nameChanges = this.#nameChanges.filter((change) => {
      return dirname(change.kind === 'rename' ? change.to : change.path) !== path;
    });
  }

  async statfs(): Promise<VolumeSpace> {
    return { freeBytes: this.freeBytes, usedBytes: 0 };
  }

  #inode(path: string, operation: string): Inode {
    const inode = this.#names.get(path);
    if (inode === undefined) throw fileError('ENOENT', operation, path);
    return inode;
  }

  /** Counts the call, leaves the present turn as a real file would, and fails when told to. */
  async #begin(operation: FileOperation, path: string): Promise<Fault | undefined> {
    this.calls.set(operation, (this.calls.get(operation) ?? 0) + 1);
    await this.#delay();
    const fault = this.#faults.find((armed) => armed.operation === operation && armed.countdown-- === 0);
    if (fault === undefined) return undefined;
    this.#faults = this.#faults.filter((armed) => armed !== fault);
    if (fault.partialBytes === 0) throw fileError(fault.code, operation, path);
    return fault;
  }

  /** Asked before every change. At the freezing point the change may happen, and nobody hears of it. */
  async #changed(apply: () => void): Promise<void> {
    this.#changesUntilFreeze -= 1;
    if (this.#changesUntilFreeze > 0) return;
    if (this.#changesUntilFreeze === 0) apply();
    this.#frozen.resolve();
    await new Promise<never>(() => {});
  }

  #change(inode: Inode, change: Change): void {
    const before = inode.live.length;
    inode.change(change);
    this.freeBytes -= inode.live.length - before;
  }

  #fileOf(inode: Inode, path: string): OpenFile {
    const fileSystem = this;
    return {
      async write(buffer, offset, length, position) {
        const bytes = Buffer.from(buffer.subarray(offset, offset + length));
        const fault = await fileSystem.#begin('write', path);
        await fileSystem.#changed(() => fileSystem.#change(inode, { kind: 'write', position, bytes }));
        const room = Math.max(0, inode.live.length - position) + fileSystem.freeBytes;
        const arriving = wholeSectors(
          position,
          length,
          Math.min(length, room, fault?.partialBytes ?? length),
        );
        if (arriving > 0) {
          fileSystem.#change(inode, { kind: 'write', position, bytes: bytes.subarray(0, arriving) });
        }
        if (fault !== undefined) throw fileError(fault.code, 'write', path);
        if (arriving < length) throw fileError('ENOSPC', 'write', path);
      },
      async read(buffer, offset, length, position) {
        await fileSystem.#begin('read', path);
        const bytes = inode.live.content.subarray(position, position + length);
        buffer.set(bytes, offset);
        return bytes.length;
      },
      datasync: () => fileSystem.#flush(inode, 'datasync', path),
      sync: () => fileSystem.#flush(inode, 'sync', path),
      async truncate(length) {
        await fileSystem.#begin('truncate', path);
        await fileSystem.#changed(() => fileSystem.#change(inode, { kind: 'truncate', length }));
        fileSystem.#change(inode, { kind: 'truncate', length });
      },
      size: async () => inode.live.length,
      look() {
        const names = [...fileSystem.#names.values()].filter((named) => named === inode).length;
        return { size: inode.live.length, inode: inode.number, names };
      },
      close: async () => {},
    };
  }

  async #flush(inode: Inode, operation: 'datasync' | 'sync', path: string): Promise<void> {
    try {
      await this.#begin(operation, path);
    } catch (error) {
      // As Linux does: what could not be written counts as clean from now on, and a second flush says all is well.
      inode.unsynced = [];
      throw error;
    }
    await this.#changed(() => inode.sync());
    inode.sync();
  }

  #namesAfter(mode: CrashMode, dice: Dice): Map<string, Inode> {
    const names = new Map(this.#diskNames);
    if (mode !== 'torn') return names;
    for (const change of this.#nameChanges) {
      if (dice() < 0.5) continue;
      if (change.kind === 'unlink') names.delete(change.path);
      else if (change.kind === 'link') names.set(change.path, change.inode);
      else {
        names.delete(change.from);
        names.set(change.to, change.inode);
      }
    }
    return names;
  }
}

/** A write that is cut short ends where a sector of the file does: that is how volumes hand out space. */
function wholeSectors(position: number, length: number, arriving: number): number {
  if (arriving === length) return length;
  return Math.max(0, arriving - ((position + arriving) % SECTOR_BYTES));
}

/**
 * What a power cut may leave: every sector as it was in memory at some moment since the last flush, each at one of
 * its own, and a length the file had at some time. A sector is written wholly, so it never shows a later change
 * without the earlier ones.
 */
function tear(inode: Inode, dice: Dice): Buffer {
  const { unsynced } = inode;
  const image = new Image();
  image.apply({ kind: 'write', position: 0, bytes: Buffer.from(inode.disk.content) });
  const keep = dice();
  const lengthChanges = Math.floor(dice() * (unsynced.length + 1));
  const moments = new Map<number, number>();
  const isInSector = (sector: number, index: number): boolean => {
    let moment = moments.get(sector);
    if (moment === undefined) {
      moment = dice() < keep ? unsynced.length : Math.floor(dice() * (unsynced.length + 1));
      moments.set(sector, moment);
    }
    return index < moment;
  };
  let length = image.length;
  for (const [index, change] of unsynced.entries()) {
    const start = change.kind === 'truncate' ? change.length : change.position;
    const end = change.kind === 'truncate' ? Math.max(start, image.length) : start + change.bytes.length;
    if (index < lengthChanges) length = change.kind === 'truncate' ? start : Math.max(length, end);
    for (let at = start; at < end; ) {
      const next = Math.min(end, at + SECTOR_BYTES - (at % SECTOR_BYTES));
      const bytes =
        change.kind === 'truncate'
          ? Buffer.alloc(next - at)
          : change.bytes.subarray(at - start, next - start);
      if (isInSector(Math.floor(at / SECTOR_BYTES), index))
        image.apply({ kind: 'write', position: at, bytes });
      at = next;
    }
  }
  image.resize(length);
  return Buffer.from(image.content);
}
