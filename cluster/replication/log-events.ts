/** What the replicated log of a partition tells about itself. Whoever opened it logs and counts these. */
export type LogEvent =
  /** The partition is this member's under an epoch; `waitedMs` of it for the lease of the owner before. */
  | { readonly kind: 'opened'; readonly epoch: number; readonly waitedMs: number }
  /** A record that does not count, left by a former owner or by appends that were given up. */
  | { readonly kind: 'void-record'; readonly sequence: number; readonly reason: string }
  /** What became of an append is not known; nothing is acknowledged until it is. */
  | { readonly kind: 'outcome-unknown'; readonly sequence: number; readonly reason: string }
  /** It is known again; `sentAgain` batches went out once more, under `epoch`. */
  | { readonly kind: 'resolved'; readonly epoch: number; readonly sentAgain: number; readonly tookMs: number }
  /** Another member owns the partition. */
  | { readonly kind: 'fenced'; readonly member: string; readonly epoch: number }
  /** The log was written and cut by others while this member was away as its owner; it begins with a snapshot. */
  | { readonly kind: 'left-behind'; readonly cause: unknown }
  /** The stream has no space; so many batches were refused. */
  | { readonly kind: 'storage-full'; readonly batches: number; readonly reason: string }
  /** The disk of this member takes nothing more of the log, which its durability class asks for: others go on. */
  | { readonly kind: 'flush-failed'; readonly cause: unknown }
  /** The shards or the flush journal failed on this member: it lets go of the partition and begins anew; damaged ones are thrown away. */
  | { readonly kind: 'shards-failed'; readonly isDamaged: boolean; readonly cause: unknown }
  /** Shards are damaged and nothing is certain to have everything again: what is damaged is refused, the rest stays. */
  | { readonly kind: 'damage-contained'; readonly cause: unknown }
  /** The stream had lost its end, and has it again: this member appended the messages from `first` to `last`. */
  | { readonly kind: 'reseeded'; readonly first: number; readonly last: number }
  /** The stream ends at `lastSequence` on the server that leads it, and this member has more: another one is to lead. */
  | { readonly kind: 'leader-doubted'; readonly leader: string; readonly lastSequence: number }
  /**
   * What this member had from `first` to `last` was never acknowledged, and others wrote over it: a copy of it is at
   * `path`, and the member begins anew with what they have.
   */
  | {
      readonly kind: 'set-aside';
      readonly first: number;
      readonly last: number;
      readonly confirmedBy: readonly string[];
      readonly path: string;
    }
  /** The log cannot be trusted; the partition does nothing more. */
  | { readonly kind: 'quarantined'; readonly cause: unknown };

/** Receives the events of a log; must not throw. */
export type LogReport = (event: LogEvent) => void;
