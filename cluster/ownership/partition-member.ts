import { assert } from '#runtime/base/assert.ts';
import type { ActorHost } from '#runtime/actor/host/actor-host.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { ReplicaReads } from '#runtime/actor/reads/replica-reads.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import { Replica, type StillShards } from '#runtime/commit/replica.ts';
import type { SupersededEnd } from '#cluster/replica-durability/superseded-end.ts';
import type { ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import { isDamage, type ServiceError } from '#runtime/errors/service-error.ts';
import { isOtherRecord, isShorter, isTruncated } from '#cluster/replication/log-errors.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import type { LogNews } from '#cluster/replication/log-reader.ts';
import { ColdStarter } from './cold-start.ts';
import { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { type CandidateOutcome, PartitionCandidate } from './partition-candidate.ts';
import type { OwnedPartition, PartitionEnvironment, PartitionRole } from './partition-environment.ts';
import { IntervalPurge } from './interval-purge.ts';
import { mayPass } from './passing-failure.ts';
import { PartitionFollowing } from './partition-following.ts';
import type { PartitionHost } from './partition-host.ts';
import { PositionKeeper } from './position-keeper.ts';
import { PartitionBackoff } from './partition-backoff.ts';
import { ShardDamage } from './shard-damage.ts';
import { ShardFailure } from './shard-failure.ts';
import { ShardPositions } from '#cluster/replication/shard-positions.ts';
import { StreamRepair } from './stream-repair.ts';
import { SupersededWatch } from './superseded-watch.ts';

/**
 * Time for completing replies that began before a hand-over, in milliseconds. The successor serves meanwhile; this
 * member follows only when they are complete.
 */
const READS_MS_MAX = 10_000;

/** Time before a position is stored again after an error, in milliseconds. */
const RETRY_MS = 1000;

/** Time for pending writes when a partition is given up, in milliseconds. */
const LEAVE_MS_MAX = 10_000;

/**
 * One partition on one member: follows its log, opens it, owns it, hands it over. Changes of the role run one after the
 * other, in the order of the requests.
 *
 * Invariants:
 * 1. The shards of the partition are used by one thing at a time: a replica or a host.
 * 2. The stored position is never ahead of the shards on disk.
 * 3. While it is owned the host answers; once the log has ended nothing is answered any more.
 *
 * @see docs/partition-log.md#opening-a-partition; docs/partition-log.md#followers
 */
export class PartitionMember<Host extends PartitionHost = ActorHost> {
  readonly #environment: PartitionEnvironment<Host>;
  readonly #positions: PositionKeeper;
  readonly #flushed: FlushedReplica | undefined;
  readonly #shards: ShardPositions;
  #role: PartitionRole = 'idle';
  #following: PartitionFollowing | undefined;
  /** Answers queries while it is not owned. */
  #reads: ReplicaReads | undefined;
  #owned: OwnedPartition<Host> | undefined;
  #opening: AbortController | undefined;
  /** Ends replies early that are still being sent after a hand-over. */
  #longReads: AbortController | undefined;
  readonly #coldStart: ColdStarter;
  /** The member that opened it last, according to the records read so far. */
  #owner: string | undefined;
  #isClosed = false;
  readonly #rest: PartitionBackoff;
  readonly #damage: ShardDamage;
  /** The log of a partition that is being given up. */
  #closing: PartitionLog | undefined;
  /** The reason for quarantine or for a failed opening. */
  #trouble: string | undefined;
  readonly #repair: StreamRepair | undefined;
  readonly #superseded: SupersededWatch | undefined;
  #turns: Promise<void> = Promise.resolve();
  readonly #purging: IntervalPurge;
  /** A restart of the partition that is requested and not complete. */
  #startingOver: Promise<void> | undefined;
  /** Requests to give it up that have not started. It is not opened before: no member may be left to confirm it. */
  #leaving = 0;

  constructor(environment: PartitionEnvironment<Host>) {
    this.#environment = environment;
    const { clock, replicas, store } = environment;
    this.#purging = new IntervalPurge(clock, () => store.purge?.());
    this.#rest = new PartitionBackoff(clock);
    const onDiskFailure = (cause: unknown): void => void this.startOver(cause);
    const shards = new ShardPositions(environment.store, clock, environment.random);
    this.#shards = shards;
    const flushed = replicas && new FlushedReplica({ ...environment, ...replicas, shards, onDiskFailure });
    this.#flushed = flushed;
    this.#positions = new PositionKeeper({ ...environment, flushed, shards });
    this.#coldStart = new ColdStarter(environment.coldStart, this.#positions, shards);
    this.#damage = new ShardDamage({
      ...environment,
      positions: this.#positions,
      shards,
      coldStart: this.#coldStart,
      onCurable: (cause) => this.#inTurn(() => this.#cure(cause)),
    });
    this.#repair =
      flushed &&
      new StreamRepair({
        flushed,
        clock,
        random: environment.random,
        position: () => this.#following?.taken ?? this.#positions.current,
        hear: (trouble) => {
          this.#trouble = trouble;
        },
        onWhole: (signal) => void this.#inTurn(() => this.#followMended(signal)),
        onFailure: (cause) => this.#quarantine(cause),
      });
    this.#superseded =
      flushed &&
      new SupersededWatch({
        flushed,
        clock,
        onSuperseded: (end, signal) => void this.#inTurn(() => this.#setAside(end, signal)),
        onPassing: (cause) => environment.report({ kind: 'shards-failed', isDamaged: false, cause }),
        onFailure: (cause) => this.#quarantine(cause),
      });
  }

  get role(): PartitionRole {
    return this.#role;
  }

  /** The partition while this member owns it; undefined as soon as another owner is known. */
  get owned(): OwnedPartition<Host> | undefined {
    return this.#owned?.log.ended === undefined ? this.#owned : undefined;
  }

  /**
   * Answers queries from this member's copy of the actors while it does not own them: that of a follower, or of a
   * candidate while it waits. `changing` between two roles; undefined when nothing can be answered.
   */
  get reads(): ReplicaReads | 'changing' | undefined {
    if (this.#role === 'idle' || this.#role === 'quarantined') return undefined;
    return this.#reads ?? 'changing';
  }

  /** The member that opened the partition last, according to the records read so far; it may have lost it since. */
  get owner(): string | undefined {
    return this.#owner;
  }

  /** Whether it is left to others for a while because the disk failed here: then {@link own} fails. */
  get isResting(): boolean {
    return this.#rest.isOn;
  }

  /** State of damage of its shards. */
  get damage(): Pick<ShardDamage, 'contained' | 'isReading' | 'rebuilt' | 'wasRebuilt'> {
    return this.#damage;
  }

  /** The newest epoch this member knows of. */
  get epoch(): number {
    return this.#owned?.log.epoch ?? this.#following?.position?.epoch ?? this.#positions.current?.epoch ?? 0;
  }

  /** Whether its last owner released it, so that no lease must be waited for. */
  get isGivenUp(): boolean {
    return this.#isClosed;
  }

  /** Newest message of the log that this member has read. */
  get sequence(): number {
    return (
      this.#owned?.log.lastSequence ?? this.#following?.sequence ?? this.#positions.current?.sequence ?? 0
    );
  }

  /** Newest record that, with all before it, is in the shards on this member's disk; 0 without any. */
  get storedSequence(): number {
    return this.#positions.current?.sequence ?? 0;
  }

  /**
   * Runs `work` on the shards of a follower while no record is applied to them. The follower falls behind by that time.
   *
   * @param work receives the position that the shards have reached, and a signal that asks it to stop because the
   *   partition is needed for something else
   * @returns the result of `work`; undefined when nothing is followed or was read yet
   */
  async still<Result>(
    work: (shards: StillShards, position: LogPosition, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | undefined> {
    const following = this.#following;
    return following?.still(
      () => this.#positions.current,
      () => this.#following === following,
      work,
    );
  }

  /** Returns every actor that should be on this member's disk, whether it is or not. */
  actors(): Promise<readonly ActorId[]> {
    return this.#shards.actors();
  }

  /** The reason why the partition accepts no writes, for operators; undefined when it does. */
  get trouble(): string | undefined {
    const { leaseMs } = this.#environment;
    if (this.#role === 'opening') return this.#trouble ?? this.#flushed?.missingVoters;
    if (this.owned === undefined) return this.#trouble;
    if (this.#flushed?.journal?.isFull === true)
      return 'its flush journal is full ([cluster] flush_journal_bytes_max): new writes are answered 507';
    const waitedMs = this.#flushed?.waitedMs ?? 0;
    if (waitedMs <= leaseMs) return undefined;
    return `no second member has confirmed the last writes for ${Math.round(waitedMs / 1000)} s; new writes are refused`;
  }

  /** Returns this member's status for other members, whether it follows the partition or only has it on its disk. */
  async status(): Promise<ReplicaStatus | undefined> {
    const isKept = this.#flushed?.isKept === true;
    const known = this.#owned?.log.storedPosition ?? this.#following?.position;
    // Where there is a journal, only records on the disk count.
    const position = (isKept ? undefined : known) ?? (await this.#positions.read());
    return this.#flushed?.status(position);
  }

  /** Makes this member a follower; an owner hands the partition over. */
  follow(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#giveUp();
      const isWanted = this.#following === undefined && this.#role !== 'quarantined';
      if (isWanted && !this.isResting) await this.#startFollowing();
    });
  }

  /**
   * Opens the partition.
   *
   * @returns whether this member owns it; false when another one opened it, or when it was given up with {@link leave}
   *   or {@link follow} meanwhile: then it is followed
   */
  own(): Promise<boolean> {
    this.#longReads?.abort();
    return this.#inTurn(async () => {
      if (this.owned !== undefined) return true;
      if (this.#role === 'quarantined' || this.isResting) return false;
      await this.#giveUp();
      return this.#open();
    });
  }

  /**
   * Gives up the partition because its shards or its flush journal failed here: another member takes over an owned
   * one. A partition that cannot be written is left to the others for a while, see {@link PartitionBackoff}. Damaged
   * shards are discarded when the log or a snapshot is certain to be complete, and otherwise stay, see
   * {@link ShardDamage}.
   */
  startOver(cause: unknown): Promise<void> {
    // Every read that meets the same damage requests this; afterwards the data they read no longer exists.
    this.#startingOver ??= this.#inTurn(() => this.#startOver(cause)).finally(() => {
      this.#startingOver = undefined;
    });
    return this.#startingOver;
  }

  /** Cancels an opening that is under way. */
  cancelOpening(): void {
    this.#opening?.abort();
    this.#coldStart.cancel();
  }

  /** Leaves an opening that is under way to another member, and follows. */
  giveWay(): void {
    this.#opening?.abort();
  }

  /**
   * Gives up everything; an owned partition is handed over.
   *
   * @param graceMs time for the servers to answer pending writes, in milliseconds; then their outcome is unknown
   */
  async leave(graceMs: number = LEAVE_MS_MAX): Promise<void> {
    this.cancelOpening();
    this.#repair?.stop();
    this.#superseded?.stop();
    this.#leaving += 1;
    const hurry = this.#environment.clock.after(graceMs, () =>
      (this.#owned?.log ?? this.#closing)?.abandon(),
    );
    try {
      await this.#inTurn(async () => {
        this.#leaving -= 1;
        this.#damage.end();
        await this.#giveUp();
        await this.#stopFollowing();
        // Otherwise the next start does.
        await this.#coldStart.tidy().catch(() => undefined);
        await this.#flushed?.close();
        await this.#shards.close();
        this.#become('idle');
      });
    } finally {
      hurry.cancel();
    }
  }

  async #startOver(cause: unknown): Promise<void> {
    const { report } = this.#environment;
    if (this.isResting || this.#role === 'quarantined' || this.#role === 'idle') return;
    const isDamaged = isDamage(cause);
    if (!isDamaged) {
      report({ kind: 'shards-failed', isDamaged, cause });
      this.#rest.begin();
    }
    const owned = this.#owned;
    this.#owned = undefined;
    await this.#positions.end();
    // Failed records are read from the log again, from the last stored position.
    await owned?.host.close().catch(() => undefined);
    this.#become('idle');
    await owned?.log.close().catch(() => undefined);
    this.#flushed?.stopOwning();
    await this.#stopFollowing();
    if (!isDamaged) return;
    try {
      if (!(await this.#makeAnew(cause))) this.#damage.contain(cause);
      await this.#startFollowing();
    } catch (failure) {
      // No caller waits for this: a disk on which damaged data cannot even be removed is left alone for a while.
      report({ kind: 'shards-failed', isDamaged: false, cause: failure });
      this.#rest.begin();
    }
  }

  /** Stops the served data only for the time of replacing it by a complete snapshot. */
  async #cure(cause: ServiceError): Promise<void> {
    if (this.#damage.contained !== undefined) await this.#startOver(cause);
  }

  /** A change of the role that fails leaves no role behind that nobody has: then the manager tries again. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(work).catch((cause: unknown) => {
      const isWithout = this.#following === undefined && this.#owned === undefined;
      if (isWithout && this.#role !== 'quarantined') this.#become('idle');
      throw cause;
    });
    this.#turns = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  #become(role: PartitionRole): void {
    if (this.#role === role) return;
    this.#role = role;
    this.#environment.onRole(role);
  }

  /** @param isCut whether the log is known to begin after the position; otherwise its reader finds out */
  async #startFollowing(isCut = false): Promise<void> {
    const flushed = this.#flushed;
    await this.#positions.load();
    // Servers may have lost records meanwhile: in class replica-disk the wait for the lease begins again now.
    if (flushed?.isKept === true) this.#positions.forgetReceived();
    await this.#coldStart.tidy();
    await this.#environment.store.sweep();
    await this.#environment.store.beginNoting?.();
    // Either the partition never had an actor, or it lost all its data: the log shows which.
    const isUnlisted = this.#positions.catalogue === undefined && this.#positions.actors === undefined;
    if (isUnlisted && (await this.#shards.isBare()) && (await this.#damage.isLogWhole()))
      await this.#positions.remove();
    if (!(await this.#openShards())) return;
    if ((isCut || this.#positions.current === undefined) && !(await this.#coldStart.run())) return;
    // Opened again where they were replaced.
    if (!(await this.#openShards()) || !(await this.#openJournal())) return;
    // Otherwise the next start would make a list again, from the actors that are left by then.
    await this.#positions.name();
    this.#damage.beginReading();
    const following = new PartitionFollowing({
      ...this.#environment,
      position: this.#positions.current,
      flushed,
      makeReplica: (newest) => this.#replica(newest),
      hear: (news) => this.#hear(news),
      onCaughtUp: () => void this.#judge(),
      onFailure: (failed, cause) => this.#onFollowingFailure(failed, cause),
    });
    this.#reads = this.#environment.openReads?.(following.replica);
    this.#following = following;
    flushed?.startReporting();
    this.#positions.begin(() => this.#storeNow());
    this.#become('following');
  }

  /** Rebuilds shards whose set of actors is unknown. @returns false when the disk cannot be read or written */
  async #openShards(): Promise<boolean> {
    const open = (): Promise<void> =>
      this.#shards.open(this.#positions.current, this.#positions.catalogue, this.#positions.actors);
    try {
      await open();
      return true;
    } catch (cause) {
      const isDamaged = isDamage(cause);
      if (!isDamaged) this.#environment.report({ kind: 'shards-failed', isDamaged, cause });
      // Downloading a snapshot delays no service here.
      if (isDamaged && !(await this.#damage.isLogWhole())) await this.#coldStart.bring();
      if (isDamaged && (await this.#makeAnew(cause))) {
        await open();
        return true;
      }
      // The set of actors is unknown: the data is neither served nor discarded.
      if (isDamaged) this.#trouble = `${cause.message}, and ${this.#damage.obstacleToMakeAnew}`;
      this.#rest.begin();
      this.#become('idle');
      return false;
    }
  }

  /** Called when the log was read to its end as of the start. Detects missing files before they are requested. */
  async #judge(): Promise<void> {
    const cause = await this.#damage.endReading();
    if (cause !== undefined) void this.startOver(cause);
  }

  /** @returns false when no source is certain to be complete: then nothing was changed */
  async #makeAnew(cause: ServiceError): Promise<boolean> {
    const isMade = await this.#damage.makeAnew(cause, () => this.#clearShards());
    if (isMade) this.#trouble = undefined;
    return isMade;
  }

  /** Removes all data of the partition except the flush journal. When it throws nothing was removed. */
  async #clearShards(): Promise<void> {
    await this.#shards.suspend();
    try {
      await this.#positions.removeWith(() => this.#environment.store.clear());
    } finally {
      this.#shards.resume();
    }
  }

  /** @returns false when it cannot be used: members that rely on records this member flushed must not lose them */
  async #openJournal(): Promise<boolean> {
    try {
      await this.#flushed?.open(this.#positions.current);
      return true;
    } catch (cause) {
      if (isDamage(cause)) {
        this.#quarantine(cause);
        return false;
      }
      this.#environment.report({ kind: 'shards-failed', isDamaged: false, cause });
      this.#rest.begin();
      this.#become('idle');
      return false;
    }
  }

  /** @param newest position after everything it was given */
  #replica(newest: () => LogPosition | undefined): Replica {
    const { clock, store } = this.#environment;
    return new Replica(store, clock, () => {}, {
      before: async (sequence, actor) =>
        this.#flushed?.beforeShards(sequence, () => newest() as LogPosition, actor),
      applied: (actor, sequence, mark) => this.#shards.applied(actor, sequence, mark),
      skipped: (actor, sequence, mark) => this.#shards.skipped(actor, sequence, mark),
    });
  }

  #hear(news: LogNews): void {
    if (news.kind === 'opened') {
      this.#owner = news.opening.member;
      this.#isClosed = false;
      this.#trouble = undefined;
    } else if (news.kind === 'closed') this.#isClosed = true;
  }

  /** An error that prevents following puts the partition into quarantine. */
  #onFollowingFailure(following: PartitionFollowing, cause: unknown): void {
    const failure = cause instanceof ShardFailure ? cause.cause : this.#flushed?.journal?.failure;
    if (failure !== undefined) void this.startOver(failure);
    else if (isTruncated(cause) && this.#coldStart.isPossible)
      void this.#inTurn(() => this.#followAnew(following));
    else this.#quarantine(cause);
  }

  /** Stops all work on the partition except the repair of a stream that lost its end. */
  #quarantine(cause: unknown): void {
    this.#environment.report({ kind: 'quarantined', cause });
    this.#trouble = cause instanceof Error ? cause.message : String(cause);
    this.#flushed?.stopReporting();
    this.#become('quarantined');
    if (isShorter(cause)) this.#repair?.begin();
    if (isOtherRecord(cause)) this.#superseded?.begin();
  }

  /** Called when the stream has its lost records again. */
  async #followMended(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#role !== 'quarantined') return;
    this.#superseded?.stop();
    try {
      await this.#stopFollowing();
      await this.#startFollowing();
    } catch (cause) {
      this.#quarantine(cause);
      if (mayPass(cause)) this.#repair?.begin();
    }
  }

  /** Called when the end of this member's log was overwritten and never acknowledged: it adopts the stream's end. */
  async #setAside(end: SupersededEnd, signal: AbortSignal): Promise<void> {
    const { report } = this.#environment;
    const canBeginAnew = await this.#damage.canBeginAnew();
    // It may have been left meanwhile, or be followed again.
    if (signal.aborted || this.#flushed === undefined) return;
    this.#superseded?.stop();
    if (!canBeginAnew) {
      this.#trouble = `its records from log record ${end.first} on were overwritten in the log, and ${this.#damage.obstacle}`;
      this.#superseded?.begin();
      return;
    }
    this.#repair?.stop();
    try {
      await this.#stopFollowing();
      const path = await this.#flushed.setAside(end, () => this.#clearShards());
      report({ kind: 'set-aside', ...end, path });
      await this.#startFollowing();
    } catch (cause) {
      this.#quarantine(cause);
      if (mayPass(cause)) this.#superseded?.begin();
    }
  }

  /** Called when the log was truncated before this member had read it. */
  async #followAnew(following: PartitionFollowing): Promise<void> {
    if (this.#following !== following) return;
    try {
      await this.#stopFollowing();
      await this.#startFollowing(true);
      if (this.#following === undefined && this.role !== 'quarantined') this.#become('idle');
    } catch (cause) {
      this.#quarantine(cause);
    }
  }

  /** @returns the error that prevents following; undefined without one */
  async #stopFollowing(): Promise<unknown> {
    const following = this.#following;
    if (following === undefined) return undefined;
    this.#following = undefined;
    await following.stop();
    this.#flushed?.stopReporting();
    await this.#positions.end();
    await following.drain();
    try {
      await this.#settle(following);
    } catch (cause) {
      // Only the stored position counts: later records are read again.
      this.#environment.report({ kind: 'shards-failed', isDamaged: false, cause });
    }
    await this.#abandon(following.replica);
    return following.failure;
  }

  /** Releases a replica and its readers. */
  async #abandon(replica: Replica): Promise<void> {
    const reads = this.#reads;
    this.#reads = undefined;
    await reads?.close();
    await replica.abandon();
  }

  /** Writes the records read so far to the shards, then stores the position after them. */
  async #settle(following: PartitionFollowing): Promise<void> {
    const position = await following.settle();
    if (position !== undefined) await this.#positions.store(position);
  }

  async #storeNow(): Promise<void> {
    this.#purging.runWhenDue();
    try {
      this.#shards.requireCatalogue();
      if (this.#following !== undefined) await this.#settle(this.#following);
      else if (this.#owned !== undefined) await this.#positions.store(this.#owned.log.releasedPosition);
    } catch (cause) {
      // A replica that failed once is unusable. An owner continues without a stored position: its shards store their
      // own, and a restart replays more. But without its catalogue it does not know its actors.
      if (this.#owned === undefined || isDamage(cause)) void this.startOver(cause);
      else await sleep(this.#environment.clock, RETRY_MS);
    }
  }

  async #open(): Promise<boolean> {
    if (this.#following === undefined) await this.#startFollowing();
    if (this.#following === undefined) return false;
    const failure = await this.#stopFollowing();
    if (this.#role === 'quarantined' || this.#leaving > 0) return false;
    if (isShorter(failure)) {
      // The stream was checked for long enough. Other members may wait for this member to restore its records.
      this.#quarantine(failure);
      return false;
    }
    this.#become('opening');
    // Another candidate may have opened it. That one waits for this member's reports while this one waits for its
    // lease.
    this.#flushed?.startReporting();
    const opening = new AbortController();
    this.#opening = opening;
    const candidate = new PartitionCandidate({
      environment: this.#environment,
      positions: this.#positions,
      flushed: this.#flushed,
      shards: this.#shards,
      makeReplica: (newest) => this.#replica(newest),
      requireSound: () => this.#damage.requireSound(),
      abandon: (replica) => this.#abandon(replica),
      report: (event) => this.#onLogEvent(event),
      signal: opening.signal,
    });
    this.#reads = this.#environment.openReads?.(candidate.replica);
    try {
      return await this.#settleOpening(await candidate.run());
    } finally {
      this.#opening = undefined;
    }
  }

  /** @returns whether this member owns the partition */
  async #settleOpening(outcome: CandidateOutcome<Host>): Promise<boolean> {
    if (outcome.kind === 'owned') {
      this.#flushed?.stopReporting();
      this.#owned = outcome.owned;
      this.#owner = this.#environment.member;
      this.#isClosed = false;
      this.#trouble = undefined;
      this.#positions.begin(() => this.#storeNow());
      this.#flushed?.releaseVoters(outcome.owned.log);
      this.#become('owning');
      void this.#judge();
      return true;
    }
    const { cause, kind } = outcome;
    if (kind === 'regressed') {
      this.#quarantine(cause);
      return false;
    }
    this.#trouble = isShorter(cause) ? (cause as Error).message : undefined;
    await this.#startFollowing(isTruncated(cause));
    if (kind === 'failed') void this.startOver(cause);
    return false;
  }

  #onLogEvent(event: LogEvent): void {
    this.#environment.report(event);
    // From now on reads must not be answered from a state that may be outdated.
    const { kind } = event;
    const hasFailed = kind === 'flush-failed';
    const hasEnded = hasFailed || kind === 'fenced' || kind === 'left-behind' || kind === 'quarantined';
    if (!hasEnded) return;
    // Candidates that wait for a follower's confirmation stop waiting.
    if (this.#owned === undefined) this.#flushed?.stopOwning();
    if (hasFailed) return void this.startOver(event.cause);
    const given = kind === 'quarantined' ? this.#inTurn(() => this.#giveUp(event.cause)) : this.follow();
    // The manager tries again when it finds no role.
    given.catch((cause: unknown) =>
      this.#environment.report({ kind: 'shards-failed', isDamaged: isDamage(cause), cause }),
    );
  }

  /**
   * Stops owning; releases the partition in the log unless another member has opened it already.
   *
   * @param cause why the log cannot be trusted; undefined when it can
   */
  async #giveUp(cause?: unknown): Promise<void> {
    const owned = this.#owned;
    if (owned === undefined) return;
    await this.#positions.end();
    // Waiting commands are answered or refused by the log.
    await owned.host.drain();
    this.#owned = undefined;
    this.#become('following');
    this.#closing = owned.log;
    await owned.log.close();
    this.#closing = undefined;
    // The successor writes. Replies under way are completed from their pinned snapshots.
    this.#longReads = new AbortController();
    await owned.host.close(READS_MS_MAX, this.#longReads.signal);
    this.#longReads = undefined;
    this.#flushed?.stopOwning();
    // Without it more records are read again.
    await this.#positions.store(owned.log.releasedPosition).catch(() => undefined);
    assert(this.#following === undefined, 'what is owned is not followed');
    // As a follower it would repeat the long check of the stream before it restored its records.
    if (isShorter(cause)) this.#quarantine(cause);
    else await this.#startFollowing();
  }
}
