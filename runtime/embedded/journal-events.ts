/**
 * Events of a journal, for logs and metrics. None of them needs a reaction.
 */
export type JournalEvent =
  /** Opening found no damage. */
  | {
      readonly kind: 'recovered';
      readonly segments: number;
      readonly records: number;
      readonly lastSequence: number;
    }
  /**
   * The newest segment ended in a write that a crash had interrupted or, in class `relaxed`, in unflushed writes. It
   * was truncated there. A file truncated by hand, or a disk that lost the end of a flushed record, looks the same, so
   * acknowledged records may be affected.
   */
  | {
      readonly kind: 'tail-discarded';
      readonly segment: string;
      /** New end of the segment, in bytes. */
      readonly offset: number;
      /** Bytes removed, without preallocated zeros. */
      readonly bytes: number;
      /** Sequence of the unfinished record; the next record reuses it. */
      readonly sequence: number;
      /** Why it was considered unfinished. */
      readonly reason: string;
    }
  | { readonly kind: 'segment-created'; readonly segment: string; readonly firstSequence: number }
  | { readonly kind: 'segment-removed'; readonly segment: string; readonly lastSequence: number }
  /** An unneeded segment could not be removed; retried with the next release. */
  | { readonly kind: 'removal-failed'; readonly segment: string; readonly cause: unknown }
  /** The volume is full, and this number of entries was refused. Writing resumes when there is space. */
  | { readonly kind: 'storage-full'; readonly entries: number; readonly cause: unknown }
  /** The journal refuses all entries, until it has healed or is reopened. */
  | { readonly kind: 'writes-stopped'; readonly cause: unknown; readonly heals: boolean }
  /** The journal has healed: its end is on disk again, without the refused entries. */
  | { readonly kind: 'writes-resumed'; readonly stoppedMs: number };

/** Receives the events of a journal; must not throw. */
export type JournalReport = (event: JournalEvent) => void;
