import type { Clock } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { JournalReport } from './journal-events.ts';

/**
 * When an append is acknowledged: `local` after the flush, so that a power cut loses nothing acknowledged;
 * `relaxed` after the write, so that the death of the process loses nothing and a power cut the last moments.
 */
export type JournalDurability = 'local' | 'relaxed';

/** How a journal is opened. */
export interface JournalOptions {
  /** Folder of the journal; made when it is not there. It belongs to one process at a time. */
  readonly folder: string;
  readonly durability: JournalDurability;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: JournalReport;
  /**
   * Whether a damaged journal is opened with what verifies of it; `Journal.damage` names the rest. Default: it is
   * not opened.
   */
  readonly containsDamage?: boolean;
  /**
   * Throws when the folder may belong to another process by now. Asked around every record, so it costs next to nothing.
   * Default: it never does.
   */
  readonly requireHeld?: () => void;
  /** Size of a segment in bytes; a larger single record is a segment of its own. Default 64 MiB. */
  readonly segmentBytes?: number;
}
