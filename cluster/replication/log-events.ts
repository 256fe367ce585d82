/** Events of the replicated log of a partition. The code that opened it logs and counts them. */
export type LogEvent =
  /** This member owns the partition under an epoch; it waited `waitedMs` for the lease of the previous owner. */
  | { readonly kind: 'opened'; readonly epoch: number; readonly waitedMs: number }
  /** A record that does not count, left by a former owner or by appends that were given up. */
  | { readonly kind: 'void-record'; readonly sequence: number; readonly reason: string }
  /** The outcome of an append is unknown; nothing is acknowledged until it is known. */
  | { readonly kind: 'outcome-unknown'; readonly sequence: number; readonly reason: string }
  /** The outcome is known; `sentAgain` batches were sent again under `epoch`. */
  | { readonly kind: 'resolved'; readonly epoch: number; readonly sentAgain: number; readonly tookMs: number }
  /** Another member owns the partition. */
  | { readonly kind: 'fenced'; readonly member: string; readonly epoch: number }
  /** Others wrote and truncated the log while this member was away as its owner; it starts from a snapshot. */
  | { readonly kind: 'left-behind'; readonly cause: unknown }
  /** The stream has no space; this number of batches was refused. */
  | { readonly kind: 'storage-full'; readonly batches: number; readonly reason: string }
  /**
   * The disk of this member accepts no more of the log, which its durability class requires: other members continue.
   */
  | { readonly kind: 'flush-failed'; readonly cause: unknown }
  /**
   * The shards or the flush journal failed on this member: it gives up the partition and starts again; damaged shards
   * are discarded.
   */
  | { readonly kind: 'shards-failed'; readonly isDamaged: boolean; readonly cause: unknown }
  /** Shards are damaged and no source is certain to be complete: damaged actors are refused, and the data is kept. */
  | { readonly kind: 'damage-contained'; readonly cause: unknown }
  /** The stream had lost its end, and has it again: this member appended the messages from `first` to `last`. */
  | { readonly kind: 'reseeded'; readonly first: number; readonly last: number }
  /** The stream ends at `lastSequence` on the leading server, and this member has more: another leader is requested. */
  | { readonly kind: 'leader-doubted'; readonly leader: string; readonly lastSequence: number }
  /**
   * This member's records from `first` to `last` were never acknowledged, and were overwritten in the log: a copy of
   * them is at `path`, and the member starts again with the records of the log.
   */
  | {
      readonly kind: 'set-aside';
      readonly first: number;
      readonly last: number;
      readonly confirmedBy: readonly string[];
      readonly path: string;
    }
  /** The log cannot be trusted; all work on the partition stops. */
  | { readonly kind: 'quarantined'; readonly cause: unknown };

/** Receives the events of a log; must not throw. */
export type LogReport = (event: LogEvent) => void;
