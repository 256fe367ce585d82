import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { CheckInfo } from '#protocols/rest/management/check-ports.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { replaceFile } from '#runtime/base/files/replace-file.ts';
import type { Clock } from '#runtime/base/time/clock.ts';

/** Maximum number of characters of the first damage in a finding, which must fit into a message between members. */
const CHARACTERS_MAX = 300;

/** The last time that a date can have, in milliseconds since the Unix epoch. */
const TIME_MS_MAX = 8_640_000_000_000_000;

/** What is kept of a check. */
interface KeptCheck {
  /** When it ended, in milliseconds since the Unix epoch. */
  readonly finishedMs: number;
  readonly damageTotal: number;
  /** The first damage, for people; empty when there was none. */
  readonly first: string;
}

/**
 * What the last complete check of a member's stored data found. It is a file of the data directory, so that a restart forgets
 * neither the damage nor when the next check is due.
 */
export class CheckResults {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #isMissing: boolean;
  /** Whether there is a file that could not be read. */
  readonly isUnreadable: boolean;
  #last: KeptCheck;
  /** The running write; it never rejects. */
  #writing: Promise<void> = Promise.resolve();

  /**
   * Reads what is kept. Where nothing is, as in a new directory, the next check is due as if one had ended now. Where the file
   * cannot be read, a check is due: what the last one found is not known.
   */
  constructor(files: FileSystem, dataDir: string, clock: Clock) {
    this.#files = files;
    this.#path = join(dataDir, 'last-check.json');
    const kept = read(this.#path);
    this.#isMissing = kept === undefined;
    this.isUnreadable = kept === 'unreadable';
    const sinceMs = this.isUnreadable ? 0 : clock.wallMs();
    this.#last = typeof kept === 'object' ? kept : { finishedMs: sinceMs, damageTotal: 0, first: '' };
  }

  /** Writes the file if there is none. @throws the errors of the disk, as a promise */
  async begin(): Promise<void> {
    if (this.#isMissing) await this.#write();
  }

  /** When the last complete check ended, or the directory was new, in milliseconds since the Unix epoch. */
  get sinceMs(): number {
    return this.#last.finishedMs;
  }

  /** The status findings: the damage that the last complete check found. */
  get findings(): readonly MemberFinding[] {
    if (this.#last.damageTotal === 0) return [];
    const { damageTotal, finishedMs, first } = this.#last;
    const places = damageTotal === 1 ? 'one place' : `${damageTotal} places`;
    const when = new Date(finishedMs).toISOString();
    return [
      {
        code: 'stored-damage',
        message: `the check of ${when} found ${places} where stored data does not verify, the first: ${first}`,
      },
    ];
  }

  /**
   * Keeps the result of a complete check.
   *
   * @throws the errors of the disk, as a promise; the result is known until the process ends nevertheless
   */
  note({ damage, damageTotal, finishedAt }: CheckInfo): Promise<void> {
    const [found] = damage;
    const first = found === undefined ? '' : `${found.file}: ${found.what}`.slice(0, CHARACTERS_MAX);
    this.#last = { finishedMs: Date.parse(finishedAt ?? ''), damageTotal, first };
    return this.#write();
  }

  #write(): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(this.#last));
    const written = this.#writing.then(() => replaceFile(this.#files, this.#path, bytes));
    this.#writing = written.catch(() => {});
    return written;
  }
}

/** @returns undefined for a file that is missing, `unreadable` for one that is not of this form */
function read(path: string): KeptCheck | 'unreadable' | undefined {
  try {
    const { damageTotal, finishedMs, first } = JSON.parse(readFileSync(path, 'utf8')) as KeptCheck;
    const isSound =
      isCount(finishedMs, TIME_MS_MAX) &&
      isCount(damageTotal, Number.MAX_SAFE_INTEGER) &&
      typeof first === 'string' &&
      first.length <= CHARACTERS_MAX;
    return isSound ? { damageTotal, finishedMs, first } : 'unreadable';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'unreadable';
  }
}

function isCount(value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most;
}
