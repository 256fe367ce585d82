import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { MemberFinding, MissingPart } from '#protocols/rest/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { checkRepeatedly } from './repeated-check.ts';

const { R_OK, W_OK, X_OK } = constants;

/** Maximum number of folders named in one message. */
const NAMED_MAX = 3;

/** An existing folder that cannot be used. */
interface RefusedFolder {
  readonly path: string;
  /** Error code of the system, such as `EROFS`. */
  readonly code: string;
}

/**
 * Checks every second whether the folders of actors can be written to. Without this, removed permissions, or a volume
 * that became read-only after a disk error, would be detected only when an actor is created or opened, possibly days
 * later.
 */
export class FolderWatch {
  readonly #dataDir: string;
  readonly #end: () => void;
  #refused: readonly RefusedFolder[] = [];

  private constructor(dataDir: string, clock: Clock) {
    this.#dataDir = dataDir;
    this.#end = checkRepeatedly(clock, () => this.check());
  }

  /** Checks now, and periodically from now on. */
  static async start(dataDir: string, clock: Clock): Promise<FolderWatch> {
    const watch = new FolderWatch(dataDir, clock);
    await watch.check();
    return watch;
  }

  stop(): void {
    this.#end();
  }

  /** The status findings about them. */
  get findings(): readonly MemberFinding[] {
    const message = this.#message;
    return message === undefined ? [] : [{ code: 'folder-refused', message }];
  }

  /** The parts that the member lacks because of them. */
  get missing(): readonly MissingPart[] {
    const message = this.#message;
    return message === undefined ? [] : [{ part: 'folder', message, partitions: [] }];
  }

  /** Checks once. Never rejects. */
  async check(): Promise<void> {
    const refused: RefusedFolder[] = [];
    for (const path of await this.#folders()) {
      const code = await refusalOf(path);
      if (code !== undefined) refused.push({ path, code });
    }
    this.#refused = refused;
  }

  get #message(): string | undefined {
    if (this.#refused.length === 0) return undefined;
    const named = this.#refused.slice(0, NAMED_MAX).map(({ code, path }) => `${path} (${code})`);
    const more = this.#refused.length - named.length;
    return (
      `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''} cannot be written: give the user of the server the right to read ` +
      'and write it (chown, chmod), or mount its volume writable; until then nothing can be made or opened there'
    );
  }

  /** Returns the data folder, and those of actors: of the member itself, or of each partition. */
  async #folders(): Promise<readonly string[]> {
    const partitions = join(this.#dataDir, 'partitions');
    const names = await readdir(partitions).catch((): string[] => []);
    const ofPartitions = names.map((name) => join(partitions, name, 'actors'));
    return [this.#dataDir, join(this.#dataDir, 'actors'), partitions, ...ofPartitions];
  }
}

/** @returns the system's error code; undefined when it is usable or missing: then it is created, or missed elsewhere */
async function refusalOf(path: string): Promise<string | undefined> {
  try {
    await access(path, R_OK | W_OK | X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : code;
  }
}
