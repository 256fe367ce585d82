import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { DurabilityGate, GateListener } from '#cluster/replication/durability-gate.ts';
import type { FoldState } from '#cluster/replication/log-fold.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { RecordKind } from '#cluster/replication/record-format.ts';
import type { FlushChannel, FlushConfirmation } from './flush-channel.ts';
import type { FlushJournal } from './flush-journal.ts';
import { encodeVoters, isJoint, type Voters, majorityReached, noVoters, sameNames } from './voters.ts';

/** Interval of requests to followers whose confirmations are missing, in milliseconds: the cost of a lost one. */
const ASK_MS = 250;

/** Interval of the checks whether the voters should change, in milliseconds. */
const VOTERS_MS = 1000;

/** Maximum number of members whose early confirmations are kept; a partition has fewer followers. */
const EARLY_MAX = 64;

/** Minimum number of voters of a partition in this class: its owner and a follower. */
const VOTERS_MIN = 2;

/** Dependencies of a quorum. */
export interface FlushQuorumOptions {
  readonly partition: number;
  /** Name of this member, the owner. */
  readonly member: string;
  readonly journal: FlushJournal;
  readonly channel: FlushChannel;
  readonly clock: Clock;
  /** Time for which writes wait for a follower before new ones are refused, in milliseconds. */
  readonly stallMs: number;
  /** Returns the members that should be voters at present, this one among them. */
  readonly wanted: () => readonly string[];
  /** Returns the voters according to other members, where the journal does not reach back to any. */
  readonly learned: () => Voters | undefined;
}

/** The part of a log that a quorum writes to. */
export interface StatementLog {
  /** Why it accepts nothing more; undefined while it does. */
  readonly ended: ServiceError | undefined;
  state(statement: Uint8Array): Promise<number>;
  probe(): void;
}

/**
 * Decides for the owner of a partition which records are durable in class `replica-disk`: those that its own journal,
 * at least one follower's, and the journals of a majority of the voters have on the disk.
 *
 * Invariants:
 * 1. A confirmation counts only for the exact record that it names by its chain. One of another epoch, or of a lost
 *    log, names another record.
 * 2. Nothing is confirmed before the record that opened the newest epoch is: the records of an earlier owner count
 *   with it (like an entry of an earlier term in Raft).
 * 3. While the voters change, majorities of the old and of the new ones are needed; one change runs at a time.
 *
 * Enforcement: test/cluster/replica-durability/flush-quorum.test.ts,
 * test/cluster/replication/partition-log.sim.test.ts.
 *
 * @see docs/interface/guarantees.md#durability-classes
 */
export class FlushQuorum implements DurabilityGate {
  readonly #options: FlushQuorumOptions;
  /** Position of each follower, as confirmed and verified. */
  readonly #reached = new Map<string, number>();
  /** Confirmations of records that this member does not yet know to be stored, the newest of each follower. */
  readonly #early = new Map<string, FlushConfirmation>();
  /** Chains of records that are not confirmed. */
  readonly #chains = new Map<number, Buffer>();
  #listener: GateListener | undefined;
  #log: StatementLog | undefined;
  /** The record that opened the epoch. */
  #opened = 0;
  /** The newest record that counts. */
  #newest = 0;
  #confirmed = 0;
  /** Time since which nothing was confirmed although a record waits. */
  #waitingSinceMs: number | undefined;
  #isStating = false;
  /** Time of the last probe whether this member still owns the log. */
  #probedMs = 0;
  #askTimer: Timer | undefined;
  #votersTimer: Timer | undefined;
  #waiters: (() => void)[] = [];
  #stopListening: () => void;
  #isClosed = false;

  constructor(options: FlushQuorumOptions) {
    this.#options = options;
    this.#stopListening = options.channel.onConfirmation(options.partition, (confirmation) =>
      this.#onConfirmation(confirmation),
    );
  }

  get confirmed(): number {
    return this.#confirmed;
  }

  /** Time for which a record has waited for its confirmation, in milliseconds; 0 when none waits. */
  get waitedMs(): number {
    const since = this.#waitingSinceMs;
    return since === undefined ? 0 : this.#options.clock.monotonicMs() - since;
  }

  stored(identity: string, message: Omit<StoredMessage, 'storedMs'>, state: FoldState): void {
    try {
      this.#options.journal.add(identity, message, state);
    } catch (error) {
      if (this.#listener === undefined) throw error;
      this.#listener.failed(error);
      return;
    }
    if (state.validSequence !== message.sequence) return;
    const isOpening = message.bytes[5] === RecordKind.open;
    // During the opening the log is only read. Its records are of other owners, and the opening record stands for them.
    if (this.#listener === undefined && !isOpening) return;
    if (isOpening) this.#opened = message.sequence;
    this.#chains.set(message.sequence, state.chain);
    this.#newest = message.sequence;
    for (const confirmation of this.#early.values())
      if (confirmation.sequence <= this.#newest) this.#take(confirmation);
    this.#waitingSinceMs ??= this.#options.clock.monotonicMs();
    this.#askTimer ??= this.#options.clock.after(ASK_MS, () => this.#askAgain());
  }

  /** Called when this member's own journal has more on the disk. */
  flushed(): void {
    this.#evaluate();
  }

  /** Called when this member's own disk failed. */
  failed(cause: unknown): void {
    this.#listener?.failed(cause);
  }

  refusal(): ServiceError | undefined {
    const { journal } = this.#options;
    if (journal.isFull) {
      journal.trim();
      return new ServiceError(
        'STORAGE_FULL',
        'The flush journal of this partition is full ([cluster] flush_journal_bytes_max); try again later.',
      );
    }
    return this.stalled();
  }

  stalled(): ServiceError | undefined {
    if (this.waitedMs <= this.#options.stallMs) return undefined;
    return new ServiceError(
      'LOG_UNAVAILABLE',
      'No second member has the last writes on its disk, which durability replica-disk requires; nothing was written, try again.',
    );
  }

  listen(listener: GateListener): void {
    this.#listener = listener;
  }

  /** Starts to maintain the voters. */
  begin(log: StatementLog): void {
    this.#log = log;
    this.#seeToVoters();
  }

  /** Resolves when everything up to the opening of the partition is durable, or when it is closed. */
  async whenOpened(): Promise<void> {
    while (!this.#isClosed && this.#confirmed < this.#opened)
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /**
   * Calls {@link begin}, and waits until the opening is durable and visible.
   *
   * @returns false when the log ended meanwhile, or the opening was cancelled, possibly before the call
   */
  async opens(log: StatementLog, signal: AbortSignal): Promise<boolean> {
    const giveUp = (): void => this.close();
    signal.addEventListener('abort', giveUp, { once: true });
    // The signal may have been aborted while the opening record was under way; it fires only once.
    if (signal.aborted) giveUp();
    else this.begin(log);
    await this.whenOpened();
    signal.removeEventListener('abort', giveUp);
    return log.ended === undefined && !signal.aborted;
  }

  /** Stops everything. */
  close(): void {
    this.#isClosed = true;
    this.#log = undefined;
    this.#stopListening();
    this.#askTimer?.cancel();
    this.#votersTimer?.cancel();
    for (const wake of this.#waiters.splice(0)) wake();
  }

  /** A follower may receive a record before its owner knows that it is stored. */
  #onConfirmation(confirmation: FlushConfirmation): void {
    const { member, sequence } = confirmation;
    if (member === this.#options.member) return;
    if (sequence > this.#newest) {
      if (this.#early.has(member) || this.#early.size < EARLY_MAX) this.#early.set(member, confirmation);
      return;
    }
    this.#take(confirmation);
    this.#evaluate();
  }

  #take({ chain, member, sequence }: FlushConfirmation): void {
    this.#early.delete(member);
    // The chain of a record covers its epoch and all before it.
    if (this.#chains.get(sequence)?.equals(chain) !== true) return;
    if (sequence > (this.#reached.get(member) ?? 0)) this.#reached.set(member, sequence);
  }

  get #voters(): Voters {
    return this.#options.journal.voters ?? this.#options.learned() ?? noVoters;
  }

  #evaluate(): void {
    const { journal, member } = this.#options;
    const own = journal.flushed?.sequence ?? 0;
    const voters = this.#voters;
    if (this.#isClosed || voters.new.length === 0) return;
    const follower = Math.max(0, ...this.#reached.values());
    const all = new Map(this.#reached).set(member, own);
    const durable = Math.min(
      own,
      follower,
      majorityReached(voters.old, all),
      majorityReached(voters.new, all),
    );
    if (durable < this.#opened || durable <= this.#confirmed) return;
    this.#confirmed = durable;
    for (const sequence of this.#chains.keys()) {
      if (sequence > durable) break;
      this.#chains.delete(sequence);
    }
    this.#waitingSinceMs = this.#newest > durable ? this.#options.clock.monotonicMs() : undefined;
    for (const wake of this.#waiters.splice(0)) wake();
    this.#listener?.confirmed();
    this.#changeVoters();
  }

  #askAgain(): void {
    this.#askTimer = undefined;
    if (this.#isClosed || this.#newest <= this.#confirmed) return;
    this.#options.channel.ask(this.#options.partition);
    this.#probe();
    this.#askTimer = this.#options.clock.after(ASK_MS, () => this.#askAgain());
  }

  /** Followers that confirm nothing may follow another owner: the log shows this. */
  #probe(): void {
    const { clock, stallMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.waitedMs <= stallMs || nowMs - this.#probedMs <= stallMs) return;
    this.#probedMs = nowMs;
    this.#log?.probe();
  }

  #seeToVoters(): void {
    if (this.#isClosed) return;
    this.#changeVoters();
    this.#votersTimer = this.#options.clock.after(VOTERS_MS, () => this.#seeToVoters());
  }

  #changeVoters(): void {
    const next = this.#nextVoters();
    if (next === undefined || this.#log === undefined || this.#isStating) return;
    this.#isStating = true;
    this.#log.state(encodeVoters(next)).then(
      () => {
        this.#isStating = false;
        this.#evaluate();
        this.#changeVoters();
      },
      () => {
        // The next check tries again; a log that has ended notifies its owner.
        this.#isStating = false;
      },
    );
  }

  /** @returns undefined when the voters need no change */
  #nextVoters(): Voters | undefined {
    const { journal, wanted } = this.#options;
    const voters = this.#voters;
    const { votersSequence } = journal;
    if (isJoint(voters)) {
      const isConfirmed = votersSequence > 0 && this.#confirmed >= votersSequence;
      if (isConfirmed) return { old: voters.new, new: voters.new };
    }
    const members = wanted();
    if (voters.new.length === 0) return members.length >= VOTERS_MIN ? { old: [], new: members } : undefined;
    // Each epoch repeats the voters once, so that a member with only the newest records knows them too.
    if (votersSequence < this.#opened) return voters;
    if (isJoint(voters) || this.#confirmed < this.#opened) return undefined;
    // The number of voters does not fall when a member is missing: it returns, or another one takes its place.
    const isChange = members.length >= voters.new.length && !sameNames(members, voters.new);
    return isChange ? { old: voters.new, new: members } : undefined;
  }
}
