import { systemClock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import type { JournalOptions } from '#runtime/embedded/journal/journal-options.ts';
import type { JournalEvent } from '#runtime/embedded/journal-events.ts';

/** Where journals of tests lie in a file system in memory. */
export const FOLDER = '/journal';

/** A journal with everything it said. */
export interface OpenedJournal {
  readonly journal: Journal;
  readonly events: JournalEvent[];
}

/** Opens a journal with the clock and randomness of the machine. */
export async function openJournal(
  files: FileSystem,
  options: Partial<JournalOptions> = {},
): Promise<OpenedJournal> {
  const events: JournalEvent[] = [];
  const journal = await Journal.open({
    folder: FOLDER,
    durability: 'local',
    files,
    clock: systemClock,
    random: systemRandom,
    report: (event) => void events.push(event),
    ...options,
  });
  return { journal, events };
}

/** The kinds of what a journal said, without what it always says. */
export function notableKinds(events: readonly JournalEvent[]): string[] {
  return events.map(({ kind }) => kind).filter((kind) => kind !== 'recovered' && kind !== 'segment-created');
}
