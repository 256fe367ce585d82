/** What happens around snapshots. Whoever keeps them logs and counts these. */
export type SnapshotEvent =
  /** A snapshot is verified and stands in the index; `storedBytes` of its `bytes` are new. */
  | {
      readonly kind: 'taken';
      readonly partition: number;
      readonly sequence: number;
      readonly actors: number;
      readonly bytes: number;
      readonly storedBytes: number;
      readonly tookMs: number;
    }
  /** None was taken; the next look tries again. */
  | { readonly kind: 'not-taken'; readonly partition: number; readonly cause: unknown }
  /** Nobody knows what is to be done; the next look tries again. */
  | { readonly kind: 'look-failed'; readonly cause: unknown }
  /** A log begins at a later record now. */
  | { readonly kind: 'log-cut'; readonly partition: number; readonly firstSequence: number }
  /** A log could not be cut; the next look tries again. */
  | { readonly kind: 'log-not-cut'; readonly partition: number; readonly cause: unknown }
  /** A snapshot cannot be begun with: it is damaged, or not of this log. Another one is taken. */
  | {
      readonly kind: 'unusable';
      readonly partition: number;
      readonly sequence: number;
      readonly cause: unknown;
    }
  /** There is none to begin with; the others were asked for one. */
  | { readonly kind: 'awaited'; readonly partition: number }
  /** A partition was begun with a snapshot. */
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
