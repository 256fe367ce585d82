import { isDeepStrictEqual } from 'node:util';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { LogDamage, LostRecords } from '#runtime/log/ports.ts';
import {
  type DamageNote,
  type Hole,
  removeDamageNote,
  type SequenceRange,
  writeDamageNote,
} from './damage-note.ts';
import type { Retention, Segment } from '../segments/journal-retention.ts';

/** Dependencies of {@link JournalDamage}. */
export interface JournalDamageEnvironment {
  readonly files: FileSystem;
  readonly folder: string;
  readonly retention: Retention;
  /** Newest sequence when the journal was opened. */
  readonly lastSequence: number;
  /** Damage found by this opening. */
  readonly lost: readonly LostRecords[];
  /** Decision of an earlier opening. */
  readonly note: DamageNote | undefined;
}

const nobody: ReadonlyMap<string, string> = new Map();

/**
 * The damage found when a journal was opened. While an actor depends on lost records, every segment of that time is
 * kept, so that lost ones can be restored from a copy; later segments are removed as usual. The decision is stored in a
 * file beside the segments. It is made only once, because later actors must not be considered affected.
 */
export class JournalDamage implements LogDamage {
  readonly lost: readonly LostRecords[];
  readonly refused: ReadonlyMap<string, string>;
  readonly appliedThrough: number;
  readonly #environment: JournalDamageEnvironment;
  /** Lost ranges in the decision. */
  readonly #ranges: readonly SequenceRange[];
  /** Expected holes before the segments that are kept since the newest decision. */
  readonly #removed: readonly Hole[];
  #through: number;
  #isNoted: boolean;
  /** The stored decision. */
  #note: DamageNote | undefined;

  constructor(environment: JournalDamageEnvironment) {
    const { lastSequence, lost, note, retention } = environment;
    this.#environment = environment;
    const stillLost = note !== undefined && !isBackAgain(note, lost, retention);
    const decided = note?.through ?? 0;
    this.lost = stillLost ? lost.filter(({ last }) => last > decided) : lost;
    this.refused = stillLost ? note.refused : nobody;
    const ranges = this.lost.map(({ first, isAtMost = false, last }) => ({ first, last, isAtMost }));
    this.#ranges = stillLost ? [...note.lost, ...ranges] : ranges;
    this.appliedThrough = lastBeforeHole(retention.segments);
    this.#removed = [...(note?.removed ?? []), ...(this.lost.length > 0 ? holesAt(decided, retention) : [])];
    // A new decision covers all existing records.
    this.#through = this.lost.length > 0 ? lastSequence : decided;
    this.#isNoted = note !== undefined;
    this.#note = note;
    retention.keepThrough(this.#through);
  }

  async decide(refused: ReadonlyMap<string, string>): Promise<void> {
    const { files, folder, retention } = this.#environment;
    // As long as a kept segment is left, an expected hole has to be distinguished from a missing segment.
    const note: DamageNote = {
      through: this.#through,
      lost: this.#ranges,
      removed: this.#removed,
      refused: new Map(refused),
    };
    // An unchanged note needs no write, so no space.
    if (!isDeepStrictEqual(note, this.#note)) await writeDamageNote(files, folder, note);
    this.#note = note;
    this.#isNoted = true;
    if (refused.size > 0) return;
    retention.keepThrough(0);
    await this.segmentRemoved();
  }

  /** Removes the decision when no segment is left that it concerns. */
  async segmentRemoved(): Promise<void> {
    const { files, folder, retention } = this.#environment;
    if (!this.#isNoted || retention.keptThrough > 0) return;
    if (retention.segments.some(({ header }) => header.firstSequence <= this.#through)) return;
    this.#isNoted = false;
    this.#note = undefined;
    await removeDamageNote(files, folder);
  }
}

/** The hole behind the segments that were kept up to a sequence, if segments behind them were removed. */
function holesAt(keptThrough: number, { segments }: Retention): readonly Hole[] {
  const kept = segments.filter(({ header }) => header.firstSequence <= keptThrough);
  const next = segments[kept.length]?.header.firstSequence;
  if (kept.length === 0 || next === undefined || next === keptThrough + 1) return [];
  return [{ first: keptThrough + 1, last: next - 1 }];
}

/**
 * The last sequence before a segment that does not continue the one before it; 0 when all do. The records in between were
 * removed or lost. Actors that depend on lost ones are refused.
 */
function lastBeforeHole(segments: readonly Segment[]): number {
  const behind = segments.findLast(({ header }, index) => {
    const before = segments[index - 1];
    return before !== undefined && header.firstSequence > before.lastSequence + 1;
  });
  return behind === undefined ? 0 : behind.header.firstSequence - 1;
}

/** Whether everything that was lost at the time of the decision is readable again. */
function isBackAgain(note: DamageNote, lost: readonly LostRecords[], { segments }: Retention): boolean {
  return note.lost.every(
    ({ first, isAtMost, last }) =>
      !lost.some((one) => one.first <= last && one.last >= first) &&
      segments.some(
        ({ header, lastSequence }) =>
          header.firstSequence <= first && lastSequence >= (isAtMost ? first : last),
      ),
  );
}
