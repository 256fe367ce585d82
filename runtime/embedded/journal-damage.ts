import { isDeepStrictEqual } from 'node:util';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { LogDamage, LostRecords } from '#runtime/log/ports.ts';
import { type DamageNote, removeDamageNote, type SequenceRange, writeDamageNote } from './damage-note.ts';
import type { Retention } from './journal-retention.ts';

/** What {@link JournalDamage} works with. */
export interface JournalDamageEnvironment {
  readonly files: FileSystem;
  readonly folder: string;
  readonly retention: Retention;
  /** Newest sequence when the journal was opened. */
  readonly lastSequence: number;
  /** What was found at this opening. */
  readonly lost: readonly LostRecords[];
  /** What an earlier opening decided. */
  readonly note: DamageNote | undefined;
}

const nobody: ReadonlyMap<string, string> = new Map();

/**
 * The damage a journal was opened with. While an actor depends on what is lost, every segment there was is kept, so that
 * it can be put back from a copy; later segments come and go as ever. The decision is in a file beside the segments:
 * it is made once, because actors that come later must not be taken for ones that have lost something.
 */
export class JournalDamage implements LogDamage {
  readonly lost: readonly LostRecords[];
  readonly refused: ReadonlyMap<string, string>;
  readonly #environment: JournalDamageEnvironment;
  /** What is noted as lost. */
  readonly #ranges: readonly SequenceRange[];
  #through: number;
  #isNoted: boolean;
  /** What the file says. */
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
    // What is decided anew is decided about everything there is.
    this.#through = this.lost.length > 0 ? lastSequence : decided;
    this.#isNoted = note !== undefined;
    this.#note = note;
    retention.keepThrough(this.#through);
  }

  async decide(refused: ReadonlyMap<string, string>): Promise<void> {
    const { files, folder, retention } = this.#environment;
    // Segments behind a hole have to be told from segments that are missing, as long as any is left.
    const note: DamageNote = { through: this.#through, lost: this.#ranges, refused: new Map(refused) };
    // What it says already needs no room.
    if (!isDeepStrictEqual(note, this.#note)) await writeDamageNote(files, folder, note);
    this.#note = note;
    this.#isNoted = true;
    if (refused.size > 0) return;
    retention.keepThrough(0);
    await this.segmentRemoved();
  }

  /** Forgets the decision when nothing is left that it is about. */
  async segmentRemoved(): Promise<void> {
    const { files, folder, retention } = this.#environment;
    if (!this.#isNoted || retention.keptThrough > 0) return;
    if (retention.segments.some(({ header }) => header.firstSequence <= this.#through)) return;
    this.#isNoted = false;
    this.#note = undefined;
    await removeDamageNote(files, folder);
  }
}

/** Whether everything that was lost when it was decided can be read now. */
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
