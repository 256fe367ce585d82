import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { replaceFile } from '#runtime/base/files/replace-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';

/** Content of the file. */
interface StoredPosition {
  readonly format: 1;
  readonly identity: string;
  readonly sequence: number;
  readonly epoch: number;
  readonly chain: string;
  /** Name of the catalogue of the actors. */
  readonly catalogue?: string;
  /** Number of actors, where no catalogue contains it. An earlier version does not store it. */
  readonly actors?: number;
}

const FORMAT = 1;

const NAME = 'position.json';

/**
 * Position of a member's shards of one partition in the log, on its disk. `position.json` may lag behind the shards,
 * because an effect that is applied twice gives the same bytes; it is never ahead of them.
 */
export class PositionFile {
  readonly #files: FileSystem;
  readonly #folder: string;
  #stored: LogPosition | undefined;
  #catalogue: string | undefined;
  #actors: number | undefined;

  /** @param folder of the partition; created when it is missing */
  constructor(files: FileSystem, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /**
   * @returns undefined when there is none: the member has no data
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async read(): Promise<LogPosition | undefined> {
    await this.#files.makeDirectory(this.#folder);
    if (!(await this.#files.readdir(this.#folder)).includes(NAME)) return undefined;
    const path = `${this.#folder}/${NAME}`;
    const file = await this.#files.open(path, 'read');
    try {
      const bytes = Buffer.alloc(await file.size());
      await file.read(bytes, 0, bytes.length, 0);
      const stored = parse(bytes.toString(), path, this.#folder);
      this.#stored = positionOf(stored);
      this.#catalogue = stored.catalogue;
      this.#actors = stored.actors;
      return this.#stored;
    } finally {
      await file.close();
    }
  }

  /** Removes the position: the member has no data. On disk when it resolves. */
  async remove(): Promise<void> {
    this.#stored = undefined;
    this.#catalogue = undefined;
    this.#actors = undefined;
    // The whole folder may have been removed.
    await this.#files.makeDirectory(this.#folder);
    if (!(await this.#files.readdir(this.#folder)).includes(NAME)) return;
    await this.#files.unlink(`${this.#folder}/${NAME}`);
    await this.#files.syncDirectory(this.#folder);
  }

  /** Name of the catalogue that was read or written with the position. */
  get catalogue(): string | undefined {
    return this.#catalogue;
  }

  /** Number of actors that was read or written with the position. */
  get actors(): number | undefined {
    return this.#actors;
  }

  /**
   * Stores a position; on disk when it resolves. One call at a time.
   *
   * @param catalogue name of the actors' catalogue, which must exist from now on; undefined when there is none
   * @param actors their number, where no catalogue contains it
   */
  async write(position: LogPosition, catalogue?: string, actors?: number): Promise<void> {
    const isSame =
      this.#stored?.sequence === position.sequence && this.#stored.identity === position.identity;
    if (isSame && this.#catalogue === catalogue && this.#actors === actors) return;
    const { identity, sequence, epoch, chain } = position;
    const stored: StoredPosition = {
      format: FORMAT,
      identity,
      sequence,
      epoch,
      chain: chain.toString('hex'),
      ...(catalogue === undefined ? {} : { catalogue }),
      ...(actors === undefined ? {} : { actors }),
    };
    const bytes = Buffer.from(JSON.stringify(stored));
    await replaceFile(this.#files, `${this.#folder}/${NAME}`, bytes);
    this.#stored = position;
    this.#catalogue = catalogue;
    this.#actors = actors;
  }
}

function positionOf({ chain, epoch, identity, sequence }: StoredPosition): LogPosition {
  return { identity, sequence, epoch, chain: Buffer.from(chain, 'hex') };
}

function parse(text: string, path: string, folder: string): StoredPosition {
  try {
    const stored = JSON.parse(text) as StoredPosition;
    const { format, sequence, epoch } = stored;
    if (format === FORMAT && Number.isSafeInteger(sequence) && Number.isSafeInteger(epoch)) {
      // Throws for an invalid position.
      positionOf(stored);
      return stored;
    }
  } catch {
    // Reported below.
  }
  throw new ServiceError(
    'DATA_CORRUPTED',
    `${path} is damaged; remove the folder ${folder}, and this member copies the partition from the others again`,
  );
}
