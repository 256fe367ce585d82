import type { FileSystem } from '#runtime/base/file-system.ts';
import { replaceFile } from '#runtime/base/replace-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';

/** What the file holds. */
interface StoredPosition {
  readonly format: 1;
  readonly identity: string;
  readonly sequence: number;
  readonly epoch: number;
  readonly chain: string;
}

const FORMAT = 1;

const NAME = 'position.json';

/**
 * Where a member's shards of one partition stand in the log, on its disk. `position.json` may lag behind what they
 * have, because an effect that is applied twice gives the same bytes; it is never ahead of it.
 */
export class PositionFile {
  readonly #files: FileSystem;
  readonly #folder: string;
  #stored: LogPosition | undefined;

  /** @param folder of the partition; made when it is missing */
  constructor(files: FileSystem, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /**
   * @returns undefined when there is none: the member has nothing
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
      this.#stored = parse(bytes.toString(), path, this.#folder);
      return this.#stored;
    } finally {
      await file.close();
    }
  }

  /** Forgets the position: the member has nothing. On disk when it resolves. */
  async remove(): Promise<void> {
    this.#stored = undefined;
    if (!(await this.#files.readdir(this.#folder)).includes(NAME)) return;
    await this.#files.unlink(`${this.#folder}/${NAME}`);
    await this.#files.syncDirectory(this.#folder);
  }

  /** Stores a position; on disk when it resolves. One call at a time. */
  async write(position: LogPosition): Promise<void> {
    if (this.#stored?.sequence === position.sequence && this.#stored.identity === position.identity) return;
    const { identity, sequence, epoch, chain } = position;
    const stored: StoredPosition = {
      format: FORMAT,
      identity,
      sequence,
      epoch,
      chain: chain.toString('hex'),
    };
    const bytes = Buffer.from(JSON.stringify(stored));
    await replaceFile(this.#files, `${this.#folder}/${NAME}`, bytes);
    this.#stored = position;
  }
}

function parse(text: string, path: string, folder: string): LogPosition {
  try {
    const { format, identity, sequence, epoch, chain } = JSON.parse(text) as StoredPosition;
    if (format === FORMAT && Number.isSafeInteger(sequence) && Number.isSafeInteger(epoch))
      return { identity, sequence, epoch, chain: Buffer.from(chain, 'hex') };
  } catch {
    // Told below.
  }
  throw new ServiceError(
    'DATA_CORRUPTED',
    `${path} is damaged; remove the folder ${folder}, and this member takes the partition from the others again`,
  );
}
