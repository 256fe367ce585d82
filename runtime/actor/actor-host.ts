import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type {
  ActorBehaviour,
  ActorEvent,
  ActorKind,
  Caller,
  QueryContext,
} from '#runtime/commit/behaviour.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import {
  checkWaiting,
  type CommitLimits,
  CommitLoop,
  type CommitObserver,
  SLICE_MS,
} from '#runtime/commit/commit-loop.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { type ApplyLimits, ShardWriter } from '#runtime/commit/shard-writer.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/log/ports.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { Shard, ShardPosition, ShardSnapshot } from '#runtime/shard/shard.ts';
import { actorKindOf } from './actor-id.ts';
import type { ActorId, ActorLifecycle, Delivery, Router } from './ports.ts';

/** Bounds of the host. */
export interface HostLimits {
  readonly commit: CommitLimits;
  readonly apply: ApplyLimits;
  /** Actors that may be open at once; above it the longest idle one is closed. */
  readonly openActorsMax: number;
  /** Time without use after which an actor is closed, in milliseconds. */
  readonly idleCloseMs: number;
}

/** What the host tells about its actors. */
export interface HostObserver {
  batchDurable(kind: string, commands: number, bytes: number, elapsedMs: number): void;
  events(actor: ActorId, events: readonly ActorEvent[]): void;
  stopped(actor: ActorId, cause: unknown): void;
  applyFailed(actor: ActorId, cause: unknown): void;
}

/** Everything the host works with. */
export interface HostEnvironment {
  /** Folder that holds one folder per actor. */
  readonly folder: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly kinds: readonly ActorKind[];
  readonly limits: HostLimits;
  readonly observer: HostObserver;
}

/** Folder for what is being removed; no actor id begins like this. */
const REMOVED = '.removed';

/** Writes gathered for one shard before they are applied during recovery. */
const RECOVERY_WRITES_MAX = 20_000;

interface OpenActor {
  readonly behaviour: ActorBehaviour;
  readonly loop: CommitLoop;
  readonly writer: ShardWriter;
  usedMs: number;
  reads: number;
}

/**
 * Owns the actors of this process: opens them on demand, closes idle ones, brings their shards up to the log
 * at start. It is the embedded `Router` as well.
 *
 * An actor exists when its folder does. Only {@link ActorHost.create} makes one, so that a request for
 * something unknown never leaves anything on disk.
 */
export class ActorHost implements Router, ActorLifecycle {
  readonly #environment: HostEnvironment;
  readonly #kinds: ReadonlyMap<string, ActorKind>;
  readonly #hybridClock: HybridClock;
  readonly #open = new Map<ActorId, OpenActor>();
  readonly #closing = new Map<ActorId, Promise<void>>();
  /** Who asks when one actor asks another: the engine itself. */
  readonly #engine: Caller = (() => {
    const principal: Principal = { kind: 'system', tenant: '' };
    return { principal, policy: policyFor(principal, '') };
  })();
  #closed = false;

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
    this.#kinds = new Map(environment.kinds.map((kind) => [kind.kind, kind]));
    this.#hybridClock = new HybridClock(environment.clock, environment.log.lastClock);
  }

  /** How many actors are open. */
  get openActors(): number {
    return this.#open.size;
  }

  /** Bytes of durable changes that are not in their shards yet, over all open actors. */
  get pendingBytes(): number {
    let bytes = 0;
    for (const { writer } of this.#open.values()) bytes += writer.pendingBytes;
    return bytes;
  }

  /**
   * Brings every shard the log still holds records for up to the end of the log. Cost follows the log's
   * retained tail, not what is stored.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async recover(): Promise<void> {
    const { log, folder } = this.#environment;
    await rm(join(folder, REMOVED), { recursive: true, force: true });
    const shards = new Map<ActorId, Shard>();
    const pending = log.pending();
    let from = Number.POSITIVE_INFINITY;
    for (const [actor, { first, last }] of pending) {
      if (!this.exists(actor)) {
        log.released(actor, last);
        continue;
      }
      const shard = this.#openShard(actor);
      shards.set(actor, shard);
      if (shard.position.sequence < last) from = Math.min(from, Math.max(shard.position.sequence, first - 1));
    }
    if (from !== Number.POSITIVE_INFINITY) await this.#replay(from, shards);
    for (const [actor, shard] of shards) {
      await shard.apply([], shard.position).flushed;
      log.released(actor, shard.position.sequence);
      await shard.close();
    }
    this.#scheduleIdleCheck();
  }

  async #replay(from: number, shards: ReadonlyMap<ActorId, Shard>): Promise<void> {
    const missing = new Map<Shard, { writes: Write[]; position: ShardPosition }>();
    const applyMissing = async (shard: Shard): Promise<void> => {
      const { writes, position } = missing.get(shard) as { writes: Write[]; position: ShardPosition };
      missing.delete(shard);
      crashPoint('in-recovery');
      await shard.apply(writes, position).committed;
    };
    for await (const record of this.#environment.log.read(from)) {
      for (const entry of record.entries) {
        const shard = shards.get(entry.actor);
        if (shard === undefined || shard.position.sequence >= record.sequence) continue;
        const writes = missing.get(shard)?.writes ?? [];
        for (const write of entry.writes) writes.push(write);
        missing.set(shard, { writes, position: { sequence: record.sequence, clock: entry.clock } });
        if (writes.length >= RECOVERY_WRITES_MAX) await applyMissing(shard);
      }
    }
    for (const shard of [...missing.keys()]) await applyMissing(shard);
  }

  /** Whether the actor has been created and not destroyed. */
  exists(actor: ActorId): boolean {
    return existsSync(this.#folderOf(actor));
  }

  create(actor: ActorId): void {
    const folder = this.#folderOf(actor);
    if (existsSync(folder)) return;
    // The folder is what existing means: without its name on disk a power cut would take an actor away whose
    // writes were acknowledged.
    makeFolderDurable(folder);
    void this.#actor(actor, true);
  }

  async destroyUnder(owner: string): Promise<void> {
    const isOwned = (actor: ActorId): boolean => actor.startsWith(`${owner}/`);
    for (;;) {
      const open = [...this.#open.keys(), ...this.#closing.keys()].filter(isOwned);
      if (open.length === 0) break;
      await Promise.all(open.map((actor) => this.#closeActor(actor)));
    }
    const folder = this.#folderOf(owner);
    if (!existsSync(folder)) return;
    // Renamed within the turn that saw them all closed, so that a late message finds nothing to open again.
    const removed = join(this.#environment.folder, REMOVED, `${encodeURIComponent(owner)}`);
    mkdirSync(dirname(removed), { recursive: true, mode: 0o700 });
    renameSync(folder, removed);
    crashPoint('before-branch-removal');
    await rm(removed, { recursive: true, force: true });
    const { log } = this.#environment;
    for (const actor of [...log.pending().keys()].filter(isOwned)) log.released(actor, log.lastSequence);
  }

  namesUnder(owner: string): readonly string[] {
    const folder = this.#folderOf(owner);
    return existsSync(folder) ? readdirSync(folder).map(decodeURIComponent) : [];
  }

  command(actor: ActorId, command: unknown, delivery: Delivery): Promise<unknown> {
    const closing = this.#closing.get(actor);
    if (closing !== undefined) return closing.then(() => this.command(actor, command, delivery));
    try {
      return this.#actor(actor).loop.submit(command, delivery.caller, delivery.idempotency);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  query(actor: ActorId, query: unknown, caller: Caller): unknown {
    const closing = this.#closing.get(actor);
    if (closing !== undefined) return closing.then(() => this.query(actor, query, caller));
    const open = this.#actor(actor);
    const answer = open.behaviour.query(query as never, this.#queryContext(open, caller));
    if (answer instanceof Promise) {
      open.reads += 1;
      return answer.finally(() => {
        open.reads -= 1;
      });
    }
    return answer;
  }

  /** Answers every queued command, applies everything, closes all shards. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const actor of [...this.#open.keys()]) await this.#closeActor(actor);
    await Promise.all(this.#closing.values());
  }

  #queryContext(open: OpenActor, caller: Caller): QueryContext {
    const { clock } = this.#environment;
    let sliceStartMs = -1;
    return {
      caller,
      view: open.loop.view,
      pin: () => pinned(open),
      pause: () => {
        const now = clock.monotonicMs();
        if (sliceStartMs < 0) sliceStartMs = now;
        if (now - sliceStartMs < SLICE_MS) return undefined;
        checkWaiting(caller, clock);
        return new Promise<void>((resolve) =>
          clock.soon(() => {
            sliceStartMs = clock.monotonicMs();
            resolve();
          }),
        );
      },
    };
  }

  #actor(actor: ActorId, isNew = false): OpenActor {
    const open = this.#open.get(actor);
    if (open !== undefined) {
      open.usedMs = this.#environment.clock.monotonicMs();
      return open;
    }
    if (this.#closed) throw new ServiceError('SHUTTING_DOWN');
    if (!isNew && !this.exists(actor)) throw new ServiceError('NOT_FOUND');
    return this.#openActor(actor);
  }

  #openActor(actor: ActorId): OpenActor {
    const { log, clock, random, limits, observer } = this.#environment;
    const kind = this.#kindOf(actor);
    const behaviour = kind.create({
      id: actor,
      ask: (other, query) => this.query(other, query, this.#engine),
    });
    const writer = new ShardWriter(
      actor,
      () => this.#openShard(actor),
      log,
      clock,
      limits.apply,
      (cause) => observer.applyFailed(actor, cause),
    );
    this.#hybridClock.observe(writer.shard.position.clock);
    const commitObserver: CommitObserver = {
      batchDurable: (commands, bytes, elapsedMs) =>
        observer.batchDurable(kind.kind, commands, bytes, elapsedMs),
      events: (events) => observer.events(actor, events),
      stopped: (cause) => observer.stopped(actor, cause),
    };
    const loop = new CommitLoop(
      {
        actor,
        log,
        clock,
        hybridClock: this.#hybridClock,
        random,
        limits: limits.commit,
        observer: commitObserver,
      },
      behaviour,
      writer,
    );
    const open: OpenActor = { behaviour, loop, writer, usedMs: clock.monotonicMs(), reads: 0 };
    this.#open.set(actor, open);
    this.#makeRoom();
    return open;
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` when the shard has records the log has lost */
  #openShard(actor: ActorId): Shard {
    const shard = new LmdbShard(this.#folderOf(actor), [...commonTableNames, ...this.#kindOf(actor).tables]);
    const { sequence } = shard.position;
    const { lastSequence } = this.#environment.log;
    if (sequence <= lastSequence) return shard;
    void shard.close();
    throw new ServiceError(
      'DATA_CORRUPTED',
      `the data of ${actor} reaches log record ${sequence}, but the log ends at ${lastSequence}: ` +
        'its newest files are missing; bring them back, or restore a backup',
    );
  }

  #kindOf(actor: ActorId): ActorKind {
    const kind = this.#kinds.get(actorKindOf(actor));
    assert(kind !== undefined, `no actor kind for ${actor}`);
    return kind;
  }

  #folderOf(actor: ActorId): string {
    return join(this.#environment.folder, ...actor.split('/'));
  }

  #makeRoom(): void {
    if (this.#open.size <= this.#environment.limits.openActorsMax) return;
    let oldest: ActorId | undefined;
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const [actor, open] of this.#open) {
      if (open.usedMs < oldestMs && open.loop.idle && open.reads === 0) {
        oldest = actor;
        oldestMs = open.usedMs;
      }
    }
    if (oldest !== undefined) void this.#closeActor(oldest);
  }

  #scheduleIdleCheck(): void {
    const { clock, limits } = this.#environment;
    clock.after(Math.max(limits.idleCloseMs / 4, 50), () => {
      if (this.#closed) return;
      const before = clock.monotonicMs() - limits.idleCloseMs;
      for (const [actor, open] of this.#open) {
        if (open.usedMs < before && open.loop.idle && open.reads === 0) void this.#closeActor(actor);
      }
      this.#scheduleIdleCheck();
    });
  }

  async #closeActor(actor: ActorId): Promise<void> {
    const open = this.#open.get(actor);
    if (open === undefined) return this.#closing.get(actor);
    this.#open.delete(actor);
    const closed = (async () => {
      await open.loop.drained();
      await open.writer.close();
    })().finally(() => this.#closing.delete(actor));
    this.#closing.set(actor, closed);
    return closed;
  }
}

/** A pinned read keeps its actor open: a stream goes on after the query that began it was answered. */
function pinned(open: OpenActor): ShardSnapshot {
  const snapshot = open.writer.pin();
  open.reads += 1;
  let closed = false;
  return {
    get: (table, key) => snapshot.get(table, key),
    range: (table, range) => snapshot.range(table, range),
    close: () => {
      if (closed) return;
      closed = true;
      open.reads -= 1;
      snapshot.close();
    },
  };
}

/** Makes a folder and those above it, and brings their names to the disk. */
function makeFolderDurable(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  makeFolderDurable(parent);
  mkdirSync(folder, { mode: 0o700 });
  const descriptor = openSync(parent, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
