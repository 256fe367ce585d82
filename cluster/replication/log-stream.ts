/** A stored message of a stream. */
export interface StoredMessage {
  /** Position in the stream, from 1. */
  readonly sequence: number;
  readonly bytes: Buffer;
  /** Set for a message that no member stored there: it has no seal of the cluster, or one for another place. */
  readonly isForged?: true;
  /** Time at which the stream stored it, milliseconds since the Unix epoch by the clock of its leader. */
  readonly storedMs: number;
}

/** Outcome of an append. */
export type AppendOutcome =
  /** It is stored at this sequence, in the durability class of the servers. */
  | { readonly kind: 'stored'; readonly sequence: number }
  /**
   * According to the leader, the stream does not end at the expected sequence. When the leader has less space than the
   * others, these may have stored the append nevertheless, so only the stream shows the outcome.
   */
  | { readonly kind: 'wrong-sequence' }
  /** It is not stored and will not be: there is no space. */
  | { readonly kind: 'full'; readonly reason: string }
  /**
   * It may be stored, now or some time later.
   *
   * `isRefused`: the leader has no space for it, and refused it when the others may have stored it already.
   */
  | { readonly kind: 'unknown'; readonly reason: string; readonly isRefused?: true };

/** State of a stream, according to its leader. */
export interface StreamState {
  /** Changes when the stream is deleted and created again; empty when there is none. */
  readonly identity: string;
  /** The oldest message; above `lastSequence` when there is none. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Size of its messages on each server, in bytes. */
  readonly bytes: number;
  /** The leading server; a wait counts only while there is one. Empty for a single server. */
  readonly leader: string;
  /** All servers that should have a copy, including the leader, whether they run or not. */
  readonly servers: readonly string[];
}

/**
 * One partition's stream as one member sees it: the only access of the replicated log to NATS, so that a simulation
 * can replace it.
 *
 * Guarantees on which everything else is based:
 * 1. Sequences rise by one a message and never restart while the identity stays.
 * 2. An append is stored only directly after the message with the expected sequence, so at most one append that
 *    expects the same sequence is ever stored.
 * 3. When `append` reports `stored` or `full`, this stays true, also when a copy of the append is delivered later.
 * 4. Messages removed by {@link LogStream.truncate} stay removed, and no others are ever removed.
 */
export interface LogStream {
  /** Whether the member is connected; while it is not, requests are useless. */
  readonly isConnected: boolean;
  /**
   * Stores a message directly after the one with sequence `expected`. Appends are sent in call order, many may be
   * under way.
   *
   * @param bytes must never change: a copy of them may be sent later
   */
  append(expected: number, bytes: Buffer): Promise<AppendOutcome>;
  /**
   * Returns the state of the stream. A reply may be outdated, but never wrong.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE` without a leader
   */
  state(): Promise<StreamState>;
  /**
   * Returns the message at a sequence, from the leader; undefined when the leader has none there.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE`
   */
  fetch(sequence: number): Promise<StoredMessage | undefined>;
  /**
   * Yields the messages from one sequence to another, both included, in order, from the leader. Ends early, without an
   * error, at the first one that the leader does not have.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE`
   */
  range(first: number, last: number): AsyncIterable<StoredMessage>;
  /**
   * Yields the messages from a sequence on, as they arrive, until the signal is aborted. Any replica may send them, so
   * readers must check the sequences.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE` when it is interrupted; start again after the last message
   */
  follow(first: number, signal: AbortSignal): AsyncIterable<StoredMessage>;
  /**
   * Removes every message before a sequence, which itself stays. Readers of removed messages find nothing there.
   *
   * @param before not above the last sequence
   * @throws {ServiceError} `LOG_UNAVAILABLE`; it may have happened, and a repetition is harmless
   */
  truncate(before: number): Promise<void>;
  /**
   * Asks the leader of the stream to step down in favour of another server, whose copy may be intact when its own is
   * not. This changes only which server answers.
   *
   * @throws {ServiceError} `LOG_UNAVAILABLE`, also when there is no other server; it may have happened
   */
  stepDown(): Promise<void>;
}
