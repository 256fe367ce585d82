import { assert } from '#runtime/base/assert.ts';
import type { ActorHost } from '#runtime/actor/actor-host.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { ReplicaReads } from '#runtime/actor/replica-reads.ts';
import { sleep } from '#runtime/base/clock.ts';
import { Replica, type StillShards } from '#runtime/commit/replica.ts';
import type { SupersededEnd } from '#cluster/flush-journal/superseded-end.ts';
import type { Standing } from '#cluster/flush-journal/standing.ts';
import { isStorageFull } from '#runtime/embedded/journal-errors.ts';
import { isDamage, type ServiceError } from '#runtime/errors/service-error.ts';
import { isOtherRecord, isShorter, isTruncated } from '#cluster/replication/log-errors.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import type { LogNews } from '#cluster/replication/log-reader.ts';
import { ColdStarter } from './cold-start.ts';
import { FlushedReplica } from './flushed-replica.ts';
import { type CandidateOutcome, PartitionCandidate } from './partition-candidate.ts';
import type { OwnedPartition, PartitionEnvironment, PartitionRole } from './partition-environment.ts';
import { PartitionFollowing } from './partition-following.ts';
import type { PartitionHost } from './partition-host.ts';
import { PositionKeeper } from './position-keeper.ts';
import { Rest } from './rest.ts';
import { ShardDamage } from './shard-damage.ts';
import { ShardFailure } from './shard-failure.ts';
import { ShardPositions } from './shard-positions.ts';
import { StreamMending } from './stream-mending.ts';
import { SupersededWatch } from './superseded-watch.ts';

/**
 * Time answers that were begun before a hand-over have to be told to their end, in milliseconds. The heir serves
 * meanwhile; this member follows only when they are over.
 */
const READS_MS_MAX = 10_000;

/** Between two looks for what is kept no longer, in milliseconds. */
const PURGE_MS = 600_000;

/** Time before a position is stored again after an error, in milliseconds. */
const RETRY_MS = 1000;

/** Time writes under way have when a partition is let go of, in milliseconds. */
const LEAVE_MS_MAX = 10_000;

/**
 * One partition on one member: follows its log, opens it, owns it, hands it over. Changes of the role happen one
 * after the other, in the order they were asked for.
 *
 * Invariants:
 * 1. The shards of the partition are open for one thing at a time: a replica or a host.
 * 2. The stored position is never ahead of the shards on disk.
 * 3. While it is owned the host answers; once the log has ended nothing is answered any more.
 *
 * @see Reliability: R2, R5, R7, R17
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
  /** Cuts the answers short that are still being told of what was handed over. */
  #longReads: AbortController | undefined;
  readonly #coldStart: ColdStarter;
  /** Who opened it last, of those this member has read. */
  #owner: string | undefined;
  #isClosed = false;
  readonly #rest: Rest;
  readonly #damage: ShardDamage;
  /** The log of a partition that is being given up. */
  #closing: PartitionLog | undefined;
  /** Why it is in quarantine, or could not be opened. */
  #trouble: string | undefined;
  readonly #mending: StreamMending | undefined;
  readonly #superseded: SupersededWatch | undefined;
  #turns: Promise<void> = Promise.resolve();
  /** When it was last looked for what is kept no longer, on the monotonic clock. */
  #purgedMs = 0;
  /** A start anew that is asked for and not done. */
  #startingOver: Promise<void> | undefined;
  /** Times it is to let go and has not begun to. Nothing is opened before: nobody may be left to confirm it. */
  #leaving = 0;

  constructor(environment: PartitionEnvironment<Host>) {
    this.#environment = environment;
    const { clock, replicas } = environment;
    this.#rest = new Rest(clock);
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
    this.#mending =
      flushed &&
      new StreamMending({
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
        onFailure: (cause) => this.#quarantine(cause),
      });
  }

  get role(): PartitionRole {
    return this.#role;
  }

  /** The partition while it is this member's; gone as soon as another one is known to own it. */
  get owned(): OwnedPartition<Host> | undefined {
    return this.#owned?.log.ended === undefined ? this.#owned : undefined;
  }

  /**
   * What answers queries from the actors as they are here while this member does not own them: a follower's, and a
   * candidate's while it waits. `changing` between two roles; undefined where nothing can be answered.
   */
  get reads(): ReplicaReads | 'changing' | undefined {
    if (this.#role === 'idle' || this.#role === 'quarantined') return undefined;
    return this.#reads ?? 'changing';
  }

  /** Who opened the partition last, as far as this member has read; it may have lost it since. */
  get owner(): string | undefined {
    return this.#owner;
  }

  /** Whether it is left to others for a while because the disk failed here: then {@link own} is in vain. */
  get isResting(): boolean {
    return this.#rest.isOn;
  }

  /** What is known of damage of its shards. */
  get damage(): Pick<ShardDamage, 'contained' | 'isReading' | 'rebuilt' | 'wasRebuilt'> {
    return this.#damage;
  }

  /** The newest epoch this member knows of. */
  get epoch(): number {
    return this.#owned?.log.epoch ?? this.#following?.position?.epoch ?? this.#positions.current?.epoch ?? 0;
  }

  /** Whether its last owner gave it up, so that nobody's lease has to be waited for. */
  get isGivenUp(): boolean {
    return this.#isClosed;
  }

  /** Newest message of the log this member has read. */
  get sequence(): number {
    return (
      this.#owned?.log.lastSequence ?? this.#following?.sequence ?? this.#positions.current?.sequence ?? 0
    );
  }

  /** Newest record whose effects, and those of all before it, are on this member's disk; 0 without any. */
  get storedSequence(): number {
    return this.#positions.current?.sequence ?? 0;
  }

  /**
   * Lets `work` look at the shards of a follower while they stand still: it has fallen behind by as much when that is
   * over.
   *
   * @param work gets a position everything before which is in the shards, and a signal that says when to stop because
   *   the partition is wanted for something else
   * @returns what `work` does; undefined when there is nothing to look at, as nothing is followed or was read yet
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

  /** Every actor there should be on this member's disk, whether it is or not. */
  actors(): Promise<readonly ActorId[]> {
    return this.#shards.actors();
  }

  /** What keeps the partition from being written to, for people; undefined while nothing does. */
  get trouble(): string | undefined {
    const { leaseMs } = this.#environment;
    if (this.#role === 'opening') return this.#trouble ?? this.#flushed?.lack;
    if (this.owned === undefined) return this.#trouble;
    if (this.#flushed?.journal?.isFull === true)
      return 'its flush journal is full ([cluster] flush_journal_bytes_max): new writes are answered 507';
    const waitedMs = this.#flushed?.waitedMs ?? 0;
    if (waitedMs <= leaseMs) return undefined;
    return `no second member has had the last writes on its disk for ${Math.round(waitedMs / 1000)} s; new ones are refused`;
  }

  /** What this member says of itself when others ask, whether it follows the partition or only has it on its disk. */
  async standing(): Promise<Standing | undefined> {
    const isKept = this.#flushed?.isKept === true;
    const known = this.#owned?.log.storedPosition ?? this.#following?.position;
    // What is not on the disk yet does not count where there is a journal for it.
    const position = (isKept ? undefined : known) ?? (await this.#positions.look());
    return this.#flushed?.standing(position);
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
   * @returns whether it is this member's; not when another one opened it, or when it was given up with {@link leave}
   *   or {@link follow} meanwhile: it is followed then
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
   * Lets go of the partition because its shards or its flush journal failed here: another member takes over what is
   * owned. What cannot be written is left to the others for a while, see {@link Rest}; what is damaged is thrown away where
   * the log or a snapshot certainly has everything, and else stays, see {@link ShardDamage}.
   */
  startOver(cause: unknown): Promise<void> {
    // Every read that meets the same damage asks for it; once it is done, nothing of what they read is there any more.
    this.#startingOver ??= this.#inTurn(() => this.#startOver(cause)).finally(() => {
      this.#startingOver = undefined;
    });
    return this.#startingOver;
  }

  /** Gives an opening up that is under way. */
  cancelOpening(): void {
    this.#opening?.abort();
    this.#coldStart.cancel();
  }

  /** Leaves an opening that is under way to another member, and follows. */
  giveWay(): void {
    this.#opening?.abort();
  }

  /**
   * Lets go of everything; what is owned is handed over.
   *
   * @param graceMs time writes under way have to be answered by the servers, in milliseconds; then their outcome stays
   *   unknown
   */
  async leave(graceMs: number = LEAVE_MS_MAX): Promise<void> {
    this.cancelOpening();
    this.#mending?.stop();
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
        // Else the next start does.
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
    // What fails now is read from the log again, from the last position that was stored.
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
      // Nobody waits for this: a disk that does not even let go of what is damaged is left alone for a while.
      report({ kind: 'shards-failed', isDamaged: false, cause: failure });
      this.#rest.begin();
    }
  }

  /** Stops what is served for no longer than it takes to put something whole in its place. */
  async #cure(cause: ServiceError): Promise<void> {
    if (this.#damage.contained !== undefined) await this.#startOver(cause);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(work);
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

  /** @param isCut whether the log is known to begin behind the position; else its reader finds out */
  async #startFollowing(isCut = false): Promise<void> {
    const flushed = this.#flushed;
    await this.#positions.load();
    // What servers lost while it was not followed nobody can tell: in the class that makes up for it time counts anew.
    if (flushed?.isKept === true) this.#positions.forgetReceived();
    await this.#environment.store.sweep();
    await this.#environment.store.beginNoting?.();
    await this.#coldStart.tidy();
    // A partition that never had an actor, or one that lost all it had: the log knows.
    const isUnlisted = this.#positions.catalogue === undefined && this.#positions.actors === undefined;
    if (isUnlisted && (await this.#shards.isBare()) && (await this.#damage.isLogWhole()))
      await this.#positions.remove();
    if (!(await this.#openShards())) return;
    if ((isCut || this.#positions.current === undefined) && !(await this.#coldStart.run())) return;
    // Anew where they were replaced.
    if (!(await this.#openShards()) || !(await this.#openJournal())) return;
    // Else a list that is made of what is there would be made again by the next start, of what is left by then.
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
    flushed?.startTelling();
    this.#positions.begin(() => this.#storeNow());
    this.#become('following');
  }

  /** Shards nobody can say of what they should be are made anew. @returns false when the disk cannot be read or written */
  async #openShards(): Promise<boolean> {
    const open = (): Promise<void> =>
      this.#shards.open(this.#positions.current, this.#positions.catalogue, this.#positions.actors);
    try {
      await open();
      return true;
    } catch (cause) {
      const isDamaged = isDamage(cause);
      if (!isDamaged) this.#environment.report({ kind: 'shards-failed', isDamaged, cause });
      // Nothing is served that bringing a snapshot would keep from it.
      if (isDamaged && !(await this.#damage.isLogWhole())) await this.#coldStart.bring();
      if (isDamaged && (await this.#makeAnew(cause))) {
        await open();
        return true;
      }
      // Nobody knows which actors there should be: what is there is neither served nor thrown away.
      if (isDamaged) this.#trouble = `${cause.message}, and ${this.#damage.obstacle}`;
      this.#rest.begin();
      this.#become('idle');
      return false;
    }
  }

  /** The log was read to its end as of the start. Misses files before somebody asks for them. */
  async #judge(): Promise<void> {
    const cause = await this.#damage.endReading();
    if (cause !== undefined) void this.startOver(cause);
  }

  /** @returns false when nothing is certain to have everything: then nothing was changed */
  async #makeAnew(cause: ServiceError): Promise<boolean> {
    const isMade = await this.#damage.makeAnew(cause, () => this.#clearShards());
    if (isMade) this.#trouble = undefined;
    return isMade;
  }

  /** The member has nothing of the partition but what is in its flush journal. When it throws it has what it had. */
  async #clearShards(): Promise<void> {
    await this.#shards.suspend();
    try {
      await this.#positions.removeWith(() => this.#environment.store.clear());
    } finally {
      this.#shards.resume();
    }
  }

  /** @returns false when it cannot be gone on without: who trusted what this member flushed must not be let down */
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

  /** @param newest behind everything it was given */
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

  /** What cannot be gone on with puts the partition into quarantine. */
  #onFollowingFailure(following: PartitionFollowing, cause: unknown): void {
    const failure = cause instanceof ShardFailure ? cause.cause : this.#flushed?.journal?.failure;
    if (failure !== undefined) void this.startOver(failure);
    else if (isTruncated(cause) && this.#coldStart.isPossible)
      void this.#inTurn(() => this.#followAnew(following));
    else this.#quarantine(cause);
  }

  /** Nothing more is done with the partition, but what may bring back a stream that lost its end. */
  #quarantine(cause: unknown): void {
    this.#environment.report({ kind: 'quarantined', cause });
    this.#trouble = cause instanceof Error ? cause.message : String(cause);
    this.#flushed?.stopTelling();
    this.#become('quarantined');
    if (isShorter(cause)) this.#mending?.begin();
    if (isOtherRecord(cause) && this.#flushed?.isKept === true) this.#superseded?.begin();
  }

  /** The stream has what it had lost. */
  async #followMended(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#role !== 'quarantined') return;
    try {
      await this.#stopFollowing();
      await this.#startFollowing();
    } catch (cause) {
      this.#quarantine(cause);
    }
  }

  /** Others wrote over the end of what this member has, which was never acknowledged: it goes on with theirs. */
  async #setAside(end: SupersededEnd, signal: AbortSignal): Promise<void> {
    const { report } = this.#environment;
    if (signal.aborted || this.#role !== 'quarantined' || this.#flushed === undefined) return;
    const canBeginAnew = await this.#damage.canBeginAnew();
    if (signal.aborted) return;
    this.#superseded?.stop();
    if (!canBeginAnew) {
      this.#trouble = `others wrote over what it has from log record ${end.first} on, and ${this.#damage.obstacle}`;
      this.#superseded?.begin();
      return;
    }
    this.#mending?.stop();
    try {
      await this.#stopFollowing();
      const path = await this.#flushed.setAside(end, () => this.#clearShards());
      report({ kind: 'set-aside', ...end, path });
      await this.#startFollowing();
    } catch (cause) {
      this.#quarantine(cause);
      // There may be room for it later.
      if (isStorageFull(cause)) this.#superseded?.begin();
    }
  }

  /** The log was cut before this member had read it. */
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

  /** @returns why it could not have been followed on; undefined when nothing is wrong */
  async #stopFollowing(): Promise<unknown> {
    const following = this.#following;
    if (following === undefined) return undefined;
    this.#following = undefined;
    await following.stop();
    this.#flushed?.stopTelling();
    await this.#positions.end();
    await following.drain();
    try {
      await this.#settle(following);
    } catch (cause) {
      // Only the stored position counts: what is behind it is read again.
      this.#environment.report({ kind: 'shards-failed', isDamaged: false, cause });
    }
    await this.#abandon(following.replica);
    return following.failure;
  }

  /** Lets go of a replica and of what reads from it. */
  async #abandon(replica: Replica): Promise<void> {
    const reads = this.#reads;
    this.#reads = undefined;
    await reads?.close();
    await replica.abandon();
  }

  /** Brings what was read to the shards, then the position behind it. */
  async #settle(following: PartitionFollowing): Promise<void> {
    const position = await following.settle();
    if (position !== undefined) await this.#positions.store(position);
  }

  async #storeNow(): Promise<void> {
    this.#purge();
    try {
      this.#shards.requireCatalogue();
      if (this.#following !== undefined) await this.#settle(this.#following);
      else if (this.#owned !== undefined) await this.#positions.store(this.#owned.log.releasedPosition);
    } catch (cause) {
      // A replica that failed once is of no use any more. Of an owner only the position is missing: a restart has
      // more to do, and its shards have their own say. Without its catalogue it does not know its actors.
      if (this.#owned === undefined || isDamage(cause)) void this.startOver(cause);
      else await sleep(this.#environment.clock, RETRY_MS);
    }
  }

  /** Now and then; what cannot be removed is tried again. */
  #purge(): void {
    const { clock, store } = this.#environment;
    if (clock.monotonicMs() - this.#purgedMs < PURGE_MS) return;
    this.#purgedMs = clock.monotonicMs();
    store.purge?.().catch(() => undefined);
  }

  async #open(): Promise<boolean> {
    if (this.#following === undefined) await this.#startFollowing();
    if (this.#following === undefined) return false;
    const failure = await this.#stopFollowing();
    if (this.#role === 'quarantined' || this.#leaving > 0) return false;
    if (isShorter(failure)) {
      // It was looked at for long enough. Others may wait for this member to bring back what it has.
      this.#quarantine(failure);
      return false;
    }
    this.#become('opening');
    // Another candidate may have opened it, and waits for this member's disk as long as this one waits for its lease.
    this.#flushed?.startTelling();
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

  /** @returns whether the partition is this member's */
  async #settleOpening(outcome: CandidateOutcome<Host>): Promise<boolean> {
    if (outcome.kind === 'owned') {
      this.#flushed?.stopTelling();
      this.#owned = outcome.owned;
      this.#owner = this.#environment.member;
      this.#isClosed = false;
      this.#trouble = undefined;
      this.#positions.begin(() => this.#storeNow());
      this.#flushed?.releaseKeepers(outcome.owned.log);
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
    // Whoever is asked now must not answer from what is no longer the newest state.
    const { kind } = event;
    const hasFailed = kind === 'flush-failed';
    const hasEnded = hasFailed || kind === 'fenced' || kind === 'left-behind' || kind === 'quarantined';
    if (!hasEnded) return;
    // Whoever waits for a follower to open it waits no longer.
    if (this.#owned === undefined) this.#flushed?.stopOwning();
    if (hasFailed) void this.startOver(event.cause);
    else if (kind === 'quarantined') void this.#inTurn(() => this.#giveUp(event.cause));
    else void this.follow();
  }

  /**
   * Stops owning; tells the log unless another member did so already.
   *
   * @param cause why the log cannot be trusted; undefined when it can
   */
  async #giveUp(cause?: unknown): Promise<void> {
    const owned = this.#owned;
    if (owned === undefined) return;
    await this.#positions.end();
    // Commands that wait are answered or refused by the log.
    await owned.host.drain();
    this.#owned = undefined;
    this.#become('following');
    this.#closing = owned.log;
    await owned.log.close();
    this.#closing = undefined;
    // The heir writes. Answers that are being told are told to their end from what they have pinned.
    this.#longReads = new AbortController();
    await owned.host.close(READS_MS_MAX, this.#longReads.signal);
    this.#longReads = undefined;
    this.#flushed?.stopOwning();
    // Without it there is more to read again.
    await this.#positions.store(owned.log.releasedPosition).catch(() => undefined);
    assert(this.#following === undefined, 'what is owned is not followed');
    // As a follower it would look at the stream as long again before it brought back what it has.
    if (isShorter(cause)) this.#quarantine(cause);
    else await this.#startFollowing();
  }
}
