import { assert } from '#runtime/base/assert.ts';
import type { ActorHost } from '#runtime/actor/actor-host.ts';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import { type Clock, sleep, type Timer } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { Replica } from '#runtime/commit/replica.ts';
import type { Log } from '#runtime/log/ports.ts';
import type { LogEvent, LogReport } from '#cluster/replication/log-events.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import { LogReader } from '#cluster/replication/log-reader.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { PositionFile } from './position-file.ts';

/** Between two times a position is stored, in milliseconds: what a restart applies once more. */
const STORE_POSITION_MS = 1000;

/** Time before following is begun again after an error of a shard, in milliseconds. */
const RETRY_MS = 1000;

/** What a member is for one partition. */
export type PartitionRole = 'idle' | 'following' | 'opening' | 'owning' | 'quarantined';

/** What a partition is kept with. */
export interface PartitionEnvironment {
  readonly partition: number;
  /** Name of this member. */
  readonly member: string;
  /** Holds the shards and the position of the partition. */
  readonly folder: string;
  readonly stream: LogStream;
  readonly kinds: readonly ActorKind[];
  readonly leaseMs: number;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  /** Makes the host of the actors, over their folder and the log. */
  readonly openHost: (folder: string, log: Log) => Promise<ActorHost>;
  readonly report: LogReport;
  /** Told of every change of the role, after it. */
  readonly onRole: (role: PartitionRole) => void;
}

/** The partition while this member owns it. */
export interface OwnedPartition {
  readonly log: PartitionLog;
  readonly host: ActorHost;
}

interface Following {
  readonly reader: LogReader;
  readonly replica: Replica;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

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
export class PartitionMember {
  readonly #environment: PartitionEnvironment;
  readonly #store: ActorStore;
  readonly #positionFile: PositionFile;
  #role: PartitionRole = 'idle';
  #position: LogPosition | undefined;
  #following: Following | undefined;
  #owned: OwnedPartition | undefined;
  #opening: AbortController | undefined;
  /** Who opened it last, of those this member has read. */
  #owner: string | undefined;
  #isClosed = false;
  #storeTimer: Timer | undefined;
  #storing: Promise<void> = Promise.resolve();
  #turns: Promise<void> = Promise.resolve();

  constructor(environment: PartitionEnvironment) {
    this.#environment = environment;
    this.#store = new ActorStore(`${environment.folder}/actors`, environment.kinds, environment.clock);
    this.#positionFile = new PositionFile(environment.files, environment.folder);
  }

  get role(): PartitionRole {
    return this.#role;
  }

  /** The partition while it is this member's; gone as soon as another one is known to own it. */
  get owned(): OwnedPartition | undefined {
    return this.#owned?.log.ended === undefined ? this.#owned : undefined;
  }

  /** Who opened the partition last, as far as this member has read; it may have lost it since. */
  get owner(): string | undefined {
    return this.#owner;
  }

  /** The newest epoch this member knows of. */
  get epoch(): number {
    return this.#owned?.log.epoch ?? this.#following?.reader.position?.epoch ?? this.#position?.epoch ?? 0;
  }

  /** Whether its last owner gave it up, so that nobody's lease has to be waited for. */
  get isGivenUp(): boolean {
    return this.#isClosed;
  }

  /** Newest message of the log this member has read. */
  get sequence(): number {
    return this.#owned?.log.lastSequence ?? this.#following?.reader.sequence ?? this.#position?.sequence ?? 0;
  }

  /** Makes this member a follower; an owner hands the partition over. */
  follow(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#giveUp();
      if (this.#following === undefined && this.#role !== 'quarantined') await this.#startFollowing();
    });
  }

  /**
   * Opens the partition.
   *
   * @returns whether it is this member's; not when another one opened it, or when it was given up with {@link leave}
   *   or {@link follow} meanwhile: it is followed then
   */
  own(): Promise<boolean> {
    return this.#inTurn(async () => {
      if (this.owned !== undefined) return true;
      if (this.#role === 'quarantined') return false;
      await this.#giveUp();
      return this.#open();
    });
  }

  /** Gives an opening up that is under way. */
  cancelOpening(): void {
    this.#opening?.abort();
  }

  /** Lets go of everything; what is owned is handed over. */
  leave(): Promise<void> {
    this.cancelOpening();
    return this.#inTurn(async () => {
      await this.#giveUp();
      await this.#stopFollowing();
      this.#become('idle');
    });
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

  async #startFollowing(): Promise<void> {
    const { stream, partition, clock, report } = this.#environment;
    this.#position ??= await this.#positionFile.read();
    await this.#store.folders.sweep();
    const reader = new LogReader({ stream, partition, position: this.#position, clock, report });
    const replica = new Replica(this.#store, clock, () => {});
    const controller = new AbortController();
    const done = this.#followOn(reader, replica, controller.signal);
    this.#following = { reader, replica, controller, done };
    this.#scheduleStore();
    this.#become('following');
  }

  /** Never rejects: what cannot be gone on with puts the partition into quarantine. */
  async #followOn(reader: LogReader, replica: Replica, signal: AbortSignal): Promise<void> {
    try {
      for await (const news of reader.read(signal)) {
        if (news.kind === 'opened') {
          this.#owner = news.opening.member;
          this.#isClosed = false;
        } else if (news.kind === 'closed') this.#isClosed = true;
        else await replica.take(news.batch);
      }
    } catch (cause) {
      if (signal.aborted) return;
      this.#environment.report({ kind: 'quarantined', cause });
      this.#become('quarantined');
    }
  }

  async #stopFollowing(): Promise<void> {
    const following = this.#following;
    if (following === undefined) return;
    this.#following = undefined;
    this.#storeTimer?.cancel();
    this.#storeTimer = undefined;
    following.controller.abort();
    await following.done;
    await this.#storing;
    await this.#settle(following);
    await following.replica.abandon();
  }

  /** Brings what was read to the shards, then the position behind it. */
  async #settle({ reader, replica }: Following): Promise<void> {
    const { position } = reader;
    await replica.settle();
    if (position === undefined) return;
    await this.#positionFile.write(position);
    this.#position = position;
  }

  #scheduleStore(): void {
    this.#storeTimer = this.#environment.clock.after(STORE_POSITION_MS, () => {
      this.#storing = this.#storeNow().finally(() => {
        if (this.#following !== undefined || this.#owned !== undefined) this.#scheduleStore();
      });
    });
  }

  async #storeNow(): Promise<void> {
    try {
      if (this.#following !== undefined) await this.#settle(this.#following);
      else if (this.#owned !== undefined) {
        const position = this.#owned.log.releasedPosition;
        await this.#positionFile.write(position);
        this.#position = position;
      }
    } catch (cause) {
      // The next one may work; until then a restart has more to do.
      this.#environment.report({ kind: 'quarantined', cause });
      await sleep(this.#environment.clock, RETRY_MS);
    }
  }

  async #open(): Promise<boolean> {
    const { stream, partition, member, leaseMs, clock, random } = this.#environment;
    if (this.#following === undefined) await this.#startFollowing();
    await this.#stopFollowing();
    if (this.#role === 'quarantined') return false;
    this.#become('opening');
    const opening = new AbortController();
    this.#opening = opening;
    const replica = new Replica(this.#store, clock, () => {});
    try {
      const log = await openPartition({
        stream,
        partition,
        member,
        position: this.#position,
        leaseMs,
        clock,
        random,
        report: (event) => this.#onLogEvent(event),
        signal: opening.signal,
        take: (batch) => replica.take(batch),
      });
      await replica.settle();
      await replica.abandon();
      // All of it is in the shards.
      for (const [actor, { last }] of log.pending()) log.released(actor, last);
      const host = await this.#environment.openHost(`${this.#environment.folder}/actors`, log);
      this.#owned = { log, host };
      this.#owner = member;
      this.#isClosed = false;
      this.#scheduleStore();
      this.#become('owning');
      return true;
    } catch {
      await replica.abandon();
      await this.#startFollowing();
      return false;
    } finally {
      this.#opening = undefined;
    }
  }

  #onLogEvent(event: LogEvent): void {
    this.#environment.report(event);
    // Whoever is asked now must not answer from what is no longer the newest state.
    if (event.kind === 'fenced' || event.kind === 'quarantined') void this.follow();
  }

  /** Stops owning; tells the log unless another member did so already. */
  async #giveUp(): Promise<void> {
    const owned = this.#owned;
    if (owned === undefined) return;
    this.#storeTimer?.cancel();
    this.#storeTimer = undefined;
    await this.#storing;
    // Commands that wait are answered or refused by the log; everything durable is applied.
    await owned.host.close();
    this.#owned = undefined;
    this.#become('following');
    await owned.log.close();
    const position = owned.log.releasedPosition;
    await this.#positionFile.write(position);
    this.#position = position;
    assert(this.#following === undefined, 'what is owned is not followed');
    await this.#startFollowing();
  }
}
