import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { JournalReport } from '../journal-events.ts';

/**
 * When an append is acknowledged: `local` after the flush, so that a power failure loses nothing acknowledged;
 * `relaxed` after the write, so that a process crash loses nothing, and a power failure the last moments.
 */
export type JournalDurability = 'local' | 'relaxed';

/** Options for opening a journal. */
export interface JournalOptions {
  /** Folder of the journal; created when missing. It belongs to one process at a time. */
  readonly folder: string;
  readonly durability: JournalDurability;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: JournalReport;
  /**
   * Whether a damaged journal is opened with the parts that verify; `Journal.damage` lists the rest. Default: opening
   * fails.
   */
  readonly containsDamage?: boolean;
  /**
   * Throws when another process may hold the folder. Called around every record, so it must be cheap. Default: never
   * throws.
   */
  readonly requireHeld?: () => void;
  /** Size of a segment in bytes; a larger record gets a segment of its own. Default 64 MiB. */
  readonly segmentBytes?: number;
}
