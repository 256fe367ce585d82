import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ActorFolders } from '#runtime/actor/store/actor-folders.ts';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { readWholeFile } from '#runtime/base/files/read-whole-file.ts';
import { replaceFile } from '#runtime/base/files/replace-file.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';

const FORMAT = 1;

/** Folder of the actors of a partition, and of those of a snapshot. */
const ACTORS = 'actors';

/** Folder for the replaced actors, in the working folder. */
const REPLACED = 'replaced';

/** Record of a swap, in the folder of the snapshot's actors: the place of that folder shows what is done. */
const RECORD = '.swap.json';

/** Content of the record. */
interface StoredSwap {
  readonly format: typeof FORMAT;
  /** Whether the replaced data is damaged: then it is kept for a while. */
  readonly hasDamage: boolean;
  /** Position of the snapshot's actors. */
  readonly identity: string;
  readonly sequence: number;
  readonly epoch: number;
  readonly chain: string;
}

/** Dependencies of a swap. */
export interface SwapEnvironment {
  /** Folder of the partition. */
  readonly folder: string;
  /** Contains the snapshot's actors, in `actors`; on the same volume. */
  readonly workFolder: string;
  readonly store: ActorStore;
  readonly files: FileSystem;
  readonly clock: Clock;
}

/**
 * Replaces the folder of a partition's actors by that of a snapshot: two renames, with a record of them that is on
 * the disk before the first. After an error in between the first one is undone. When the process dies, or undoing
 * fails too, the next start uses the record to do the rest. The record moves with the snapshot's actors, so it always
 * belongs to them, and it stays until their position is stored.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export class SnapshotSwap {
  readonly #environment: SwapEnvironment;

  constructor(environment: SwapEnvironment) {
    this.#environment = environment;
  }

  /** Returns whether a swap is incomplete: {@link finish} and {@link end} must be called before anything else. */
  async isUnfinished(): Promise<boolean> {
    const { folder, workFolder } = this.#environment;
    if ((await this.#recordIn(workFolder)) || (await this.#recordIn(folder))) return true;
    return (await this.#has(workFolder, REPLACED)) && !(await this.#has(folder, ACTORS));
  }

  /**
   * Swaps the folders; no other code uses the actors meanwhile.
   *
   * @param position of the snapshot's actors
   * @param hasDamage whether the replaced data is damaged: then it is kept for a while
   * @throws {ServiceError} `STORAGE_FULL` when there is no space to keep the damaged data. After any error nothing was
   *   changed, unless {@link isUnfinished} returns true
   */
  async make(position: LogPosition, hasDamage: boolean): Promise<void> {
    const { files, store, workFolder } = this.#environment;
    if (hasDamage) store.requireRoomForDamaged();
    await rm(join(workFolder, REPLACED), { recursive: true, force: true });
    const { chain, epoch, identity, sequence } = position;
    const stored: StoredSwap = {
      format: FORMAT,
      hasDamage,
      identity,
      sequence,
      epoch,
      chain: chain.toString('hex'),
    };
    const record = join(workFolder, ACTORS, RECORD);
    await replaceFile(files, record, Buffer.from(JSON.stringify(stored)));
    try {
      await this.#rename();
    } catch (cause) {
      await this.#undo();
      throw cause;
    }
    await this.#flush();
    crashPoint('after-snapshot-adopt');
  }

  /**
   * Completes an interrupted swap. No other code uses the actors meanwhile.
   *
   * @returns the new position of the actors, to be stored before {@link end}; undefined when the former ones are in
   *   place
   * @throws {ServiceError} `DATA_CORRUPTED` when the record is damaged
   */
  async finish(): Promise<LogPosition | undefined> {
    const { files, folder, workFolder } = this.#environment;
    if (await this.#recordIn(workFolder)) {
      await this.#read(workFolder);
      await this.#rename();
    }
    if (await this.#recordIn(folder)) {
      const { chain, epoch, identity, sequence } = await this.#read(folder);
      await this.#flush();
      crashPoint('after-snapshot-adopt');
      return { identity, sequence, epoch, chain: Buffer.from(chain, 'hex') };
    }
    // A version without records died between the two renames, before the snapshot was in place.
    if ((await this.#has(workFolder, REPLACED)) && !(await this.#has(folder, ACTORS))) {
      await files.rename(join(workFolder, REPLACED), join(folder, ACTORS));
      await this.#flush();
    }
    return undefined;
  }

  /**
   * Keeps the replaced data that must be kept, and removes the record. To be called when the position of the new
   * actors is on the disk; without a swap it does nothing. May be called again after an error.
   */
  async end(): Promise<void> {
    const { clock, files, folder, store, workFolder } = this.#environment;
    const isRecorded = await this.#recordIn(folder);
    const replaced = new ActorFolders(join(workFolder, REPLACED), clock);
    // Earlier removed data is in the replaced folder, which is about to be deleted.
    store.folders.takeKept(replaced);
    if (!isRecorded) return;
    if ((await this.#read(folder)).hasDamage) store.folders.takeDamaged(replaced);
    await files.unlink(join(folder, ACTORS, RECORD));
    await files.syncDirectory(join(folder, ACTORS));
  }

  async #rename(): Promise<void> {
    const { files, folder, workFolder } = this.#environment;
    const actors = join(folder, ACTORS);
    if (await this.#has(folder, ACTORS)) await files.rename(actors, join(workFolder, REPLACED));
    crashPoint('mid-snapshot-adopt');
    await files.rename(join(workFolder, ACTORS), actors);
  }

  /** @throws the error of the disk: then the record still exists */
  async #undo(): Promise<void> {
    const { files, folder, workFolder } = this.#environment;
    const isMoved = await this.#has(workFolder, REPLACED);
    if (isMoved) await files.rename(join(workFolder, REPLACED), join(folder, ACTORS));
    if (isMoved) await this.#flush();
    await files.unlink(join(workFolder, ACTORS, RECORD));
    await files.syncDirectory(join(workFolder, ACTORS));
  }

  /** Flushes both folders to the disk. */
  async #flush(): Promise<void> {
    const { files, folder, workFolder } = this.#environment;
    await files.syncDirectory(folder);
    await files.syncDirectory(workFolder);
  }

  /** Returns whether the actors in a folder are those of a snapshot that is being swapped in. */
  #recordIn(folder: string): Promise<boolean> {
    return this.#has(join(folder, ACTORS), RECORD);
  }

  async #has(folder: string, name: string): Promise<boolean> {
    try {
      return (await this.#environment.files.readdir(folder)).includes(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  async #read(folder: string): Promise<StoredSwap> {
    const path = join(folder, ACTORS, RECORD);
    const bytes = await readWholeFile(this.#environment.files, path);
    const stored = parsed(bytes.toString());
    if (stored !== undefined) return stored;
    throw new ServiceError(
      'DATA_CORRUPTED',
      `${path} is damaged; move the folder ${this.#environment.folder} away, and this member copies the partition from the ` +
        'others again',
    );
  }
}

function parsed(text: string): StoredSwap | undefined {
  try {
    const stored = JSON.parse(text) as StoredSwap;
    const { chain, epoch, format, hasDamage, identity, sequence } = stored;
    const isWhole =
      format === FORMAT &&
      typeof hasDamage === 'boolean' &&
      typeof identity === 'string' &&
      /^([0-9a-f]{2})+$/.test(chain) &&
      Number.isSafeInteger(sequence) &&
      Number.isSafeInteger(epoch);
    return isWhole ? stored : undefined;
  } catch {
    return undefined;
  }
}
