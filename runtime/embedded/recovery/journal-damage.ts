import { isDeepStrictEqual } from 'node:util';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { LogDamage, LostRecords } from '#runtime/log/ports.ts';
import {
  type DamageNote,
  expectedHoles,
  type Hole,
  removeDamageNote,
  type LostRange,
  writeDamageNote,
} from './damage-note.ts';
import type { Retention } from '../segments/journal-retention.ts';

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
  readonly #ranges: readonly LostRange[];
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
    // When the others are back, what nobody depended on stays decided: a new decision would concern later actors.
    const earlier = stillLost ? note.lost : (note?.lost ?? []).filter((range) => isLostNow(lost, range));
    this.lost = lost.filter((one) => !isDecided(earlier, one));
    this.refused = stillLost ? note.refused : nobody;
    const ranges = this.lost.map(({ first, isAtMost = false, last }) => ({ first, last, isAtMost }));
    this.#ranges = [...(stillLost ? openRanges(note, ranges, lost) : earlier), ...ranges];
    const firsts = retention.segments.map(({ header }) => header.firstSequence);
    const holes = note === undefined ? [] : expectedHoles(note, firsts);
    this.appliedThrough = holes.at(-1)?.last ?? 0;
    this.#removed = this.lost.length > 0 ? holes : (note?.removed ?? []);
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

/** Whether a decision covers lost records. Segments that were kept by it may be damaged later. */
function isDecided(decided: readonly LostRange[], { first, last }: LostRecords): boolean {
  return decided.some((range) => range.first <= first && range.last >= last);
}

/** Whether some records of a range are lost now. */
function isLostNow(present: readonly LostRecords[], { first, last }: LostRange): boolean {
  return present.some((one) => one.first <= last && one.last >= first);
}

/**
 * The ranges of an earlier decision that a new one continues. Where nobody was refused any more, the segments of a range
 * may have left, so it would never be back, and neither would those who depend on new ranges alone. For the same reason
 * what is still lost of them is marked.
 */
function openRanges(
  { lost, refused }: DamageNote,
  added: readonly LostRange[],
  present: readonly LostRecords[],
): readonly LostRange[] {
  if (refused.size > 0 || added.length === 0) return lost;
  return lost.filter((range) => isLostNow(present, range)).map((range) => ({ ...range, isNobodys: true }));
}

/**
 * Whether everything that was lost at the time of the decision is readable again; while somebody is refused, what
 * somebody depends on.
 */
function isBackAgain(
  { lost, refused }: DamageNote,
  present: readonly LostRecords[],
  { segments }: Retention,
): boolean {
  const needed = refused.size > 0 ? lost.filter(({ isNobodys }) => isNobodys !== true) : lost;
  return needed.every(
    (range) =>
      !isLostNow(present, range) &&
      segments.some(
        ({ header, lastSequence }) =>
          header.firstSequence <= range.first && lastSequence >= (range.isAtMost ? range.first : range.last),
      ),
  );
}
