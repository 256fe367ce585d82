/** A message of a stream as it is stored. */
export interface StoredMessage {
  /** Position in the stream, from 1. */
  readonly sequence: number;
  readonly bytes: Buffer;
  /** Set for one that no member stored there: it has no seal of the cluster, or one for something else. */
  readonly isForged?: true;
  /** When the stream stored it, milliseconds since the Unix epoch by the clock of the server that led it. */
  readonly storedMs: number;
}

/** What became of an append. */
export type AppendOutcome =
  /** It is stored at this sequence, in the durability class of the servers. */
  | { readonly kind: 'stored'; readonly sequence: number }
  /**
   * The stream does not end where it expected, as the server that leads sees it. Where that one has less space than the
   * others they may have stored it all the same, so that only the stream tells.
   */
  | { readonly kind: 'wrong-sequence' }
  /** It is not stored and will not be: there is no space. */
  | { readonly kind: 'full'; readonly reason: string }
  /**
   * It may be stored, now or some time later.
   *
   * `isRefused`: the server that leads has no space for it, and refused it when the others may have stored it already.
   */
  | { readonly kind: 'unknown'; readonly reason: string; readonly isRefused?: true };

/** Where a stream stands, as its leader says. */
export interface StreamState {
  /** Changes when the stream is deleted and made again; empty when there is none. */
  readonly identity: string;
  /** The oldest message that is still there; above `lastSequence` when there is none. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** What its messages take on each server, in bytes. */
  readonly bytes: number;
  /** The server that leads it; a wait counts only as long as one does. Empty for a server that is alone. */
  readonly leader: string;
  /** All servers that are to have a copy, the one that leads among them, whether they run or not. */
  readonly servers: readonly string[];
}

/**
 * One partition's stream as one member sees it: the only way the replicated log touches NATS, so that a simulation
 * can take its place.
 *
 * Promises, of which everything else is made:
 * 1. Sequences rise by one a message and never restart while the identity stays.
 * 2. An append is stored only directly behind the message with the expected sequence, so at most one append that
 *    expects the same sequence is ever stored.
 * 3. That `append` reports `stored` or `full` is true for ever, also when a copy of the append is delivered later.
 * 4. What {@link LogStream.truncate} removed stays away, and nothing else ever goes.
 */
export interface LogStream {
  /** Whether the member is connected; while it is not, nothing is worth trying. */
  readonly isConnected: boolean;
  /**
   * Stores a message behind the one with sequence `expected`. Appends go out in call order, many may be under way.
   *
   * @param bytes stay as they are for ever: a copy of them may go out later
   */
  append(expected: number, bytes: Buffer): Promise<AppendOutcome>;
  /**
   * Where the stream stands. An answer may be old, never made up.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE` without a leader
   */
  state(): Promise<StreamState>;
  /**
   * The message at a sequence, from the leader; undefined when the leader has none there.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE`
   */
  fetch(sequence: number): Promise<StoredMessage | undefined>;
  /**
   * The messages from one sequence to another, both included, in order, from the leader. Ends early, without an
   * error, at the first one the leader does not have.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE`
   */
  range(first: number, last: number): AsyncIterable<StoredMessage>;
  /**
   * The messages from a sequence on, as they come, until the signal is aborted. Any replica may answer; whoever
   * reads looks at the sequences.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE` when it cannot go on; start again behind the last message
   */
  follow(first: number, signal: AbortSignal): AsyncIterable<StoredMessage>;
  /**
   * Removes every message before a sequence, which itself stays. Whoever reads what is gone finds nothing there.
   *
   * @param before not above the last sequence
   * @throws {ServiceError} `LOG_UNAVAILABLE`; it may have happened, and doing it again does no harm
   */
  truncate(before: number): Promise<void>;
  /**
   * Has the server that leads the stream leave that to another one, whose copy may be whole where its own is not.
   * Nothing is changed but who answers.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE`, also where there is no other server; it may have happened
   */
  stepDown(): Promise<void>;
}
