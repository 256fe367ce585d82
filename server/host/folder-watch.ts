import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MemberFinding, MissingPart } from '#protocols/rest/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { checkRepeatedly } from './repeated-check.ts';

const { R_OK, W_OK, X_OK } = constants;

/** Folders in the data folder that are made once. */
const LASTING: readonly string[] = ['actors', 'journal', 'partitions', 'unsettled'];

/** Maximum number of folders named in one message. */
const NAMED_MAX = 3;

/** An existing folder that cannot be used. */
interface RefusedFolder {
  readonly path: string;
  /** Error code of the system, such as `EROFS`. */
  readonly code: string;
}

/** A folder that was there, by what the file system knows it by. */
interface KnownFolder {
  readonly device: bigint;
  readonly inode: bigint;
}

/**
 * Checks every second whether the folders of actors can be written to, and are still the same ones. Without this, removed
 * permissions, or a volume that became read-only after a disk error, would be detected only when an actor is created or
 * opened, possibly days later. Of a folder that was moved away the open files still work, so that nothing else would
 * notice: new actors would be made in another folder, and a start would find half of the data.
 */
export class FolderWatch {
  readonly #dataDir: string;
  readonly #end: () => void;
  #refused: readonly RefusedFolder[] = [];
  /** Folders that were removed, moved away or replaced. */
  #lost: readonly string[] = [];
  readonly #known = new Map<string, KnownFolder>();

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
    const lost: string[] = [];
    for (const path of this.#lasting()) if (await this.#isLost(path)) lost.push(path);
    // What is in a folder that is gone is gone with it.
    this.#lost = lost.slice(0, 1);
  }

  get #message(): string | undefined {
    const [lost] = this.#lost;
    if (lost !== undefined)
      return (
        `${lost} was removed, moved away or replaced under the running server, which still uses the former folder: stop the ` +
        'server, bring that one back and start again; what is made until then may be in neither'
      );
    if (this.#refused.length === 0) return undefined;
    const named = this.#refused.slice(0, NAMED_MAX).map(({ code, path }) => `${path} (${code})`);
    const more = this.#refused.length - named.length;
    return (
      `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''} cannot be written: give the user of the server the right to read ` +
      'and write it (chown, chmod), or mount its volume writable; until then nothing can be made or opened there'
    );
  }

  /** Folders that a member creates once and never replaces; those of single partitions come and go. */
  #lasting(): readonly string[] {
    return [this.#dataDir, ...LASTING.map((name) => join(this.#dataDir, name))];
  }

  /** Whether a folder is not the one that was there at first. One that was never there is not lost. */
  async #isLost(path: string): Promise<boolean> {
    let found: KnownFolder | undefined;
    try {
      const { dev, ino } = await stat(path, { bigint: true });
      found = { device: dev, inode: ino };
    } catch (error) {
      // Any other error is about whether it can be used.
      if (!isMissing(error)) return false;
    }
    const known = this.#known.get(path);
    if (known !== undefined) return found?.inode !== known.inode || found.device !== known.device;
    if (found !== undefined) this.#known.set(path, found);
    return false;
  }

  /** Returns the data folder, and those of actors: of the member itself, or of each partition. */
  async #folders(): Promise<readonly string[]> {
    const partitions = join(this.#dataDir, 'partitions');
    const names = await readdir(partitions).catch((): string[] => []);
    const ofPartitions = names.map((name) => join(partitions, name, 'actors'));
    return [this.#dataDir, join(this.#dataDir, 'actors'), partitions, ...ofPartitions];
  }
}

/** @returns the system's error code; undefined when it is usable or missing: see `#isLost` */
async function refusalOf(path: string): Promise<string | undefined> {
  try {
    await access(path, R_OK | W_OK | X_OK);
    return undefined;
  } catch (error) {
    return isMissing(error) ? undefined : (error as NodeJS.ErrnoException).code;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
