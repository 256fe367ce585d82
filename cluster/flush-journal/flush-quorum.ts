import type { Clock, Timer } from '#runtime/base/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { DurabilityGate, GateListener } from '#cluster/replication/durability-gate.ts';
import type { FoldState } from '#cluster/replication/log-fold.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { RecordKind } from '#cluster/replication/record-format.ts';
import type { FlushChannel, FlushConfirmation } from './flush-channel.ts';
import type { FlushJournal } from './flush-journal.ts';
import { encodeKeepers, isJoint, type Keepers, majorityReached, noKeepers, sameNames } from './keepers.ts';

/** Between two questions to followers that have not told enough, in milliseconds: what a lost answer costs. */
const ASK_MS = 250;

/** Between two looks whether the keepers should change, in milliseconds. */
const KEEPERS_MS = 1000;

/** Members whose early words are kept; a partition has fewer followers. */
const EARLY_MAX = 64;

/** Fewest members that keep a partition in this class: its owner and a follower. */
const KEEPERS_MIN = 2;

/** What a quorum works with. */
export interface FlushQuorumOptions {
  readonly partition: number;
  /** Name of this member, the owner. */
  readonly member: string;
  readonly journal: FlushJournal;
  readonly channel: FlushChannel;
  readonly clock: Clock;
  /** How long writes wait for a follower before new ones are refused, in milliseconds. */
  readonly stallMs: number;
  /** Members that should keep the partition at present, this one among them. */
  readonly wanted: () => readonly string[];
  /** What others know of the keepers, where the journal does not reach back to any. */
  readonly learned: () => Keepers | undefined;
}

/** The part of a log that a quorum writes. */
export interface StatementLog {
  /** Why it takes nothing more; undefined while it does. */
  readonly ended: ServiceError | undefined;
  state(statement: Uint8Array): Promise<number>;
  probe(): void;
}

/**
 * Decides for the owner of a partition what is durable in class `replica-disk`: what its own journal has on the disk,
 * at least one follower's, and those of a majority of the keepers.
 *
 * Invariants:
 * 1. A confirmation counts only for the very record it names, by its chain: one of another epoch, or of a log that was
 *    lost, names another.
 * 2. Nothing is confirmed before the record that opened the newest epoch is: what an earlier owner left counts with it
 *    (as an entry of an earlier term in Raft).
 * 3. While the keepers change, majorities of the old and of the new ones are needed; they change once at a time.
 *
 * Enforcement: test/cluster/flush-journal/flush-quorum.test.ts, test/cluster/replication/partition-log.sim.test.ts.
 *
 * @see Reliability: Durability classes
 */
export class FlushQuorum implements DurabilityGate {
  readonly #options: FlushQuorumOptions;
  /** How far each follower is, as it told and this member could verify. */
  readonly #reached = new Map<string, number>();
  /** What followers said of records of which this member does not know yet that they are stored, newest of each. */
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
  /** Since when nothing was confirmed although something waits. */
  #waitingSinceMs: number | undefined;
  #isStating = false;
  /** When it last asked the log whether this member still owns it. */
  #probedMs = 0;
  #askTimer: Timer | undefined;
  #keepersTimer: Timer | undefined;
  #waiters: (() => void)[] = [];
  #stopListening: () => void;
  #isClosed = false;

  constructor(options: FlushQuorumOptions) {
    this.#options = options;
    this.#stopListening = options.channel.onTold(options.partition, (told) => this.#told(told));
  }

  get confirmed(): number {
    return this.#confirmed;
  }

  /** How long something has waited to be confirmed, in milliseconds; 0 when nothing does. */
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
    // While the log is only read, of what others wrote, the record that opens it stands for all before.
    if (this.#listener === undefined && !isOpening) return;
    if (isOpening) this.#opened = message.sequence;
    this.#chains.set(message.sequence, state.chain);
    this.#newest = message.sequence;
    for (const told of this.#early.values()) if (told.sequence <= this.#newest) this.#take(told);
    this.#waitingSinceMs ??= this.#options.clock.monotonicMs();
    this.#askTimer ??= this.#options.clock.after(ASK_MS, () => this.#askAgain());
  }

  /** This member's own journal has more on the disk. */
  flushed(): void {
    this.#evaluate();
  }

  /** This member's own disk failed. */
  failed(cause: unknown): void {
    this.#listener?.failed(cause);
  }

  refusal(): ServiceError | undefined {
    const { journal } = this.#options;
    if (journal.isFull) {
      journal.trim();
      return new ServiceError(
        'STORAGE_FULL',
        'More was written to this partition than its flush journal may hold ([cluster] flush_journal_bytes_max); try again later.',
      );
    }
    return this.stalled();
  }

  stalled(): ServiceError | undefined {
    if (this.waitedMs <= this.#options.stallMs) return undefined;
    return new ServiceError(
      'LOG_UNAVAILABLE',
      'No second member has the last writes on its disk, which durability replica-disk asks for; nothing was written, try again.',
    );
  }

  listen(listener: GateListener): void {
    this.#listener = listener;
  }

  /** From now on it sees to the keepers. */
  begin(log: StatementLog): void {
    this.#log = log;
    this.#seeToKeepers();
  }

  /** Resolves when everything up to the opening of the partition is durable, or with it being closed. */
  async whenOpened(): Promise<void> {
    while (!this.#isClosed && this.#confirmed < this.#opened)
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /**
   * {@link begin}s, and waits until what was opened is durable and can be shown.
   *
   * @returns false when the log ended meanwhile, or the opening was given up, which may have been before
   */
  async opens(log: StatementLog, signal: AbortSignal): Promise<boolean> {
    const giveUp = (): void => this.close();
    signal.addEventListener('abort', giveUp, { once: true });
    // While the record that opened it was under way: a signal tells that once.
    if (signal.aborted) giveUp();
    else this.begin(log);
    await this.whenOpened();
    signal.removeEventListener('abort', giveUp);
    return log.ended === undefined && !signal.aborted;
  }

  /** Lets go of everything. */
  close(): void {
    this.#isClosed = true;
    this.#log = undefined;
    this.#stopListening();
    this.#askTimer?.cancel();
    this.#keepersTimer?.cancel();
    for (const wake of this.#waiters.splice(0)) wake();
  }

  /** A follower may hear of a record before its owner hears that it is stored. */
  #told(told: FlushConfirmation): void {
    const { member, sequence } = told;
    if (member === this.#options.member) return;
    if (sequence > this.#newest) {
      if (this.#early.has(member) || this.#early.size < EARLY_MAX) this.#early.set(member, told);
      return;
    }
    this.#take(told);
    this.#evaluate();
  }

  #take({ chain, member, sequence }: FlushConfirmation): void {
    this.#early.delete(member);
    // The chain of a record is over its epoch and all before it.
    if (this.#chains.get(sequence)?.equals(chain) !== true) return;
    if (sequence > (this.#reached.get(member) ?? 0)) this.#reached.set(member, sequence);
  }

  get #keepers(): Keepers {
    return this.#options.journal.keepers ?? this.#options.learned() ?? noKeepers;
  }

  #evaluate(): void {
    const { journal, member } = this.#options;
    const own = journal.flushed?.sequence ?? 0;
    const keepers = this.#keepers;
    if (this.#isClosed || keepers.new.length === 0) return;
    const follower = Math.max(0, ...this.#reached.values());
    const all = new Map(this.#reached).set(member, own);
    const durable = Math.min(
      own,
      follower,
      majorityReached(keepers.old, all),
      majorityReached(keepers.new, all),
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
    this.#changeKeepers();
  }

  #askAgain(): void {
    this.#askTimer = undefined;
    if (this.#isClosed || this.#newest <= this.#confirmed) return;
    this.#options.channel.ask(this.#options.partition);
    this.#probe();
    this.#askTimer = this.#options.clock.after(ASK_MS, () => this.#askAgain());
  }

  /** Followers that confirm nothing may follow somebody else: the log tells. */
  #probe(): void {
    const { clock, stallMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.waitedMs <= stallMs || nowMs - this.#probedMs <= stallMs) return;
    this.#probedMs = nowMs;
    this.#log?.probe();
  }

  #seeToKeepers(): void {
    if (this.#isClosed) return;
    this.#changeKeepers();
    this.#keepersTimer = this.#options.clock.after(KEEPERS_MS, () => this.#seeToKeepers());
  }

  #changeKeepers(): void {
    const next = this.#nextKeepers();
    if (next === undefined || this.#log === undefined || this.#isStating) return;
    this.#isStating = true;
    this.#log.state(encodeKeepers(next)).then(
      () => {
        this.#isStating = false;
        this.#evaluate();
        this.#changeKeepers();
      },
      () => {
        // The next look tries again; a log that has ended tells its owner.
        this.#isStating = false;
      },
    );
  }

  /** @returns undefined when there is nothing to state */
  #nextKeepers(): Keepers | undefined {
    const { journal, wanted } = this.#options;
    const keepers = this.#keepers;
    const { keepersSequence } = journal;
    if (isJoint(keepers)) {
      const isConfirmed = keepersSequence > 0 && this.#confirmed >= keepersSequence;
      if (isConfirmed) return { old: keepers.new, new: keepers.new };
    }
    const members = wanted();
    if (keepers.new.length === 0)
      return members.length >= KEEPERS_MIN ? { old: [], new: members } : undefined;
    // Each epoch says it once, so that who has only the newest records knows it too.
    if (keepersSequence < this.#opened) return keepers;
    if (isJoint(keepers) || this.#confirmed < this.#opened) return undefined;
    // A member that is away is no reason for fewer: it comes back, or another takes its place.
    const isChange = members.length >= keepers.new.length && !sameNames(members, keepers.new);
    return isChange ? { old: keepers.new, new: members } : undefined;
  }
}
