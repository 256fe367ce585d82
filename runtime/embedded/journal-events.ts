/**
 * What a journal tells about itself. The one who opened it logs and counts these; none of them needs an answer.
 */
export type JournalEvent =
  /** Opening found everything whole. */
  | {
      readonly kind: 'recovered';
      readonly segments: number;
      readonly records: number;
      readonly lastSequence: number;
    }
  /**
   * The newest segment ended in a write that a crash had cut off, or, in class `relaxed`, in writes that were
   * not flushed yet. It was cut there. A file that was cut by hand, or a disk that lost the end of a record that was
   * flushed, looks the same, so this says nothing of what was acknowledged.
   */
  | {
      readonly kind: 'tail-discarded';
      readonly segment: string;
      /** Where the segment ends now, in bytes. */
      readonly offset: number;
      /** Bytes cut off, without the zeros of space taken ahead. */
      readonly bytes: number;
      /** Sequence the unfinished record would have had; the next record takes it. */
      readonly sequence: number;
      /** How it was recognized. */
      readonly reason: string;
    }
  | { readonly kind: 'segment-created'; readonly segment: string; readonly firstSequence: number }
  | { readonly kind: 'segment-removed'; readonly segment: string; readonly lastSequence: number }
  /** A segment nobody needs could not be removed; it is tried again with the next release. */
  | { readonly kind: 'removal-failed'; readonly segment: string; readonly cause: unknown }
  /** The volume is full: so many entries were refused. Writing goes on when there is space. */
  | { readonly kind: 'storage-full'; readonly entries: number; readonly cause: unknown }
  /** The journal takes nothing: until it has healed, or until it is opened again. */
  | { readonly kind: 'writes-stopped'; readonly cause: unknown; readonly heals: boolean }
  /** What stopped it has passed: its end is on the disk again, without what was refused. */
  | { readonly kind: 'writes-resumed'; readonly stoppedMs: number };

/** Receives the events of a journal; must not throw. */
export type JournalReport = (event: JournalEvent) => void;
