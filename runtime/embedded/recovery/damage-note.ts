import { hash } from 'node:crypto';
import { join } from 'node:path';
import { InvariantError } from '#runtime/base/assert.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { readWholeFile } from '#runtime/base/files/read-whole-file.ts';
import { replaceFile } from '#runtime/base/files/replace-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** File beside the segments that stores the decision about damage of the journal. */
const NOTE_FILE = 'damage.json';

const NOTE_FORMAT = 1;

/** An inclusive range of sequences. */
export interface SequenceRange {
  readonly first: number;
  readonly last: number;
  /** Whether `last` is an upper bound. */
  readonly isAtMost: boolean;
}

/** Lost records of a decision. */
export interface LostRange extends SequenceRange {
  /**
   * Whether nobody depended on them when others were decided, so that those who are refused do not wait for them.
   * Missing in notes of earlier versions, which ignore it.
   */
  readonly isNobodys?: true;
}

/** An inclusive range of sequences that no segment has, although nothing is lost. */
export type Hole = Pick<SequenceRange, 'first' | 'last'>;

/** The decision about the damage of a journal. */
export interface DamageNote {
  /** Newest sequence at the time of the decision; segments that begin up to it are kept. */
  readonly through: number;
  /** Lost records. */
  readonly lost: readonly LostRange[];
  /** Records that were removed as usual between earlier decisions and this one, so that a hole is expected there. */
  readonly removed: readonly Hole[];
  /** Actors that depend on lost records, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Path of a journal's note. */
export function damageNotePath(folder: string): string {
  return join(folder, NOTE_FILE);
}

/** File names in a journal's folder; empty before it is created. @throws {ServiceError} `DATA_CORRUPTED` */
export async function namesIn(files: FileSystem, folder: string): Promise<readonly string[]> {
  return await files.readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    if (error.code === undefined) throw error;
    throw new ServiceError(
      'DATA_CORRUPTED',
      `${folder} should be the folder of the journal and cannot be read (${error.code}); nothing was changed; ` +
        'give the user of the server the right to read and write it, or put it back from a copy, and start again',
      { cause: error },
    );
  });
}

/** @throws {ServiceError} `DATA_CORRUPTED` when the note exists and cannot be read */
export async function readDamageNote(files: FileSystem, folder: string): Promise<DamageNote | undefined> {
  if (!(await namesIn(files, folder)).includes(NOTE_FILE)) return undefined;
  const path = damageNotePath(folder);
  try {
    const text = (await readWholeFile(files, path)).toString('utf8');
    const { sha256, ...body } = JSON.parse(text) as Record<string, unknown>;
    if (sha256 !== checksumOf(body) || body.format !== NOTE_FORMAT)
      throw new InvariantError('it does not verify');
    // Notes of earlier versions have no list of what was removed.
    const {
      lost,
      refused,
      removed = [],
      through,
    } = body as {
      through: number;
      lost: readonly LostRange[];
      removed?: readonly Hole[];
      refused: Readonly<Record<string, string>>;
    };
    return { through, lost, removed, refused: new Map(Object.entries(refused)) };
  } catch (cause) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      `${path} lists the actors whose writes a damaged journal has lost, and cannot be read (${(cause as Error).message}). ` +
        'Put it back from a copy. If there is none, move it away: the next start lists them again from the journal',
      { cause },
    );
  }
}

/** The note is on disk when the promise resolves. */
export async function writeDamageNote(files: FileSystem, folder: string, note: DamageNote): Promise<void> {
  const { lost, refused, removed, through } = note;
  const body = { format: NOTE_FORMAT, through, lost, removed, refused: Object.fromEntries(refused) };
  const text = `${JSON.stringify({ ...body, sha256: checksumOf(body) }, null, 2)}\n`;
  await replaceFile(files, damageNotePath(folder), Buffer.from(text));
}

/** A missing note is no error. */
export async function removeDamageNote(files: FileSystem, folder: string): Promise<void> {
  if (!(await files.readdir(folder)).includes(NOTE_FILE)) return;
  await files.unlink(damageNotePath(folder));
  await files.syncDirectory(folder);
}

/**
 * The holes between the segments of a journal that are expected: later segments were removed while earlier ones were
 * kept because of damage.
 *
 * @param firsts first sequences of all segments, oldest first
 */
export function expectedHoles(
  { removed, through }: Pick<DamageNote, 'removed' | 'through'>,
  firsts: readonly number[],
): readonly Hole[] {
  const kept = firsts.filter((first) => first <= through);
  const next = firsts[kept.length];
  if (kept.length === 0 || next === undefined || next === through + 1) return removed;
  return [...removed, { first: through + 1, last: next - 1 }];
}

function checksumOf(body: object): string {
  return hash('sha256', JSON.stringify(body), 'hex');
}
