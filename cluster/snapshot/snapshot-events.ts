/** Events of snapshots. Their observer logs and counts them. */
export type SnapshotEvent =
  /** A snapshot is verified and in the index; `storedBytes` of its `bytes` are new. */
  | {
      readonly kind: 'taken';
      readonly partition: number;
      readonly sequence: number;
      readonly actors: number;
      readonly bytes: number;
      readonly storedBytes: number;
      readonly tookMs: number;
    }
  /** None was taken; the next check tries again. */
  | { readonly kind: 'not-taken'; readonly partition: number; readonly cause: unknown }
  /** The pending work could not be determined; the next check tries again. */
  | { readonly kind: 'check-failed'; readonly cause: unknown }
  /** A log begins at a later record now. */
  | { readonly kind: 'log-cut'; readonly partition: number; readonly firstSequence: number }
  /** A log could not be truncated; the next check tries again. */
  | { readonly kind: 'log-not-cut'; readonly partition: number; readonly cause: unknown }
  /** A snapshot is unusable: it is damaged, or not of this log. Another one is used. */
  | {
      readonly kind: 'unusable';
      readonly partition: number;
      readonly sequence: number;
      readonly cause: unknown;
    }
  /** There is no usable snapshot; the other members were asked for one. */
  | { readonly kind: 'awaited'; readonly partition: number }
  /** The actors of a snapshot are in place: an earlier swap had been interrupted. */
  | { readonly kind: 'swap-finished'; readonly partition: number; readonly sequence: number }
  /** A partition was started from a snapshot. */
  | {
      readonly kind: 'restored';
      readonly partition: number;
      readonly sequence: number;
      readonly actors: number;
      readonly bytes: number;
      readonly tookMs: number;
    };

/** Receives the events; must not throw. */
export type SnapshotReport = (event: SnapshotEvent) => void;
