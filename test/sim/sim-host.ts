import { LockGuard } from '#actors/branch/lock-guard.ts';
import { locksActor } from '#actors/locks/locks-actor.ts';
import { locksTableNames } from '#actors/locks/locks-tables.ts';
import type { PartitionHost, PartitionStore } from '#cluster/ownership/partition-host.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import {
  type ActorBehaviour,
  type ActorContext,
  FIRST_OWN_TABLE,
  type QueryContext,
} from '#runtime/commit/behaviour.ts';
import { CommitLoop } from '#runtime/commit/commit-loop.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { replayLog } from '#runtime/commit/replay.ts';
import { ShardWriter } from '#runtime/commit/shard-writer.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ActorCatalogue } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { assert } from '#runtime/base/assert.ts';
import { isSameRecord } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import type { ShardPosition } from '#runtime/shard/shard.ts';
import { simActor } from './sim-actor.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimRandom } from './sim-random.ts';
import type { SimScheduler } from './sim-scheduler.ts';

/** Actors that hold what clients write. */
export const LEDGERS = ['t/site~1/a~1/ledger', 't/site~1/b~1/ledger'];

/** The actor with the locks and pools. */
export const LOCKS = 't/site~1/a~1/locks';

/** Every actor of the partition; they are there for ever. */
export const ACTORS: readonly string[] = [...LEDGERS, LOCKS];

/** Enough for every kind. */
const TABLES = FIRST_OWN_TABLE + Math.max(2, locksTableNames.length);

const limits = {
  mailboxMax: 30,
  batchCommandsMax: 8,
  batchBytesMax: 2000,
  applyPendingBytesMax: 1 << 20,
  idempotency: { ttlMs: 360_000_000, entriesMax: 1000 },
};

/** The disks of one simulated machine: what outlives its processes. */
export class SimDisks {
  #disks = new Map(ACTORS.map((actor) => [actor, new MemoryDisk()]));

  #catalogue = new MemoryDisk();

  get catalogue(): MemoryDisk {
    return this.#catalogue;
  }

  of(actor: string): MemoryDisk {
    return this.#disks.get(actor) as MemoryDisk;
  }

  /** Everything is thrown away. */
  clear(): void {
    this.#disks = new Map(ACTORS.map((actor) => [actor, new MemoryDisk()]));
    this.#catalogue = new MemoryDisk();
  }

  /** What a power cut leaves; processes from before write to what is gone. */
  crash(): void {
    this.#disks = new Map([...this.#disks].map(([actor, disk]) => [actor, disk.crash()]));
    this.#catalogue = this.#catalogue.crash();
  }
}

/** The shards of a machine as one process of it sees them. */
export class SimStore implements PartitionStore {
  readonly #disks: SimDisks;
  readonly #process: SimProcess;
  #catalogue: ActorCatalogue | undefined;

  constructor(disks: SimDisks, process: SimProcess) {
    this.#disks = disks;
    this.#process = process;
  }

  exists(actor: string): boolean {
    return ACTORS.includes(actor);
  }

  open(actor: string): MemoryShard {
    const shard = new MemoryShard(this.#disks.of(actor), TABLES, this.#process);
    const { floor = 0, mark } = this.#catalogue?.get(actor) ?? {};
    const { position } = shard;
    // Nothing is damaged in the simulation: who finds a shard behind what it is said to have is wrong.
    assert(position.sequence >= floor, `${actor} has ${position.sequence}, and should have ${floor}`);
    const isSame =
      position.sequence !== floor || !mark || !position.mark || isSameRecord(mark, position.mark);
    assert(isSame, `${actor} has another record ${floor}`);
    return shard;
  }

  all(): Promise<readonly string[]> {
    return Promise.resolve(ACTORS);
  }

  useCatalogue(catalogue: ActorCatalogue | undefined): void {
    this.#catalogue = catalogue;
  }

  requireFile(): void {
    // Nothing is lost.
  }

  hasCatalogue(): boolean {
    return this.#disks.catalogue.flushed.tables.size > 0;
  }

  openCatalogue(tables: readonly string[]): MemoryShard {
    return new MemoryShard(this.#disks.catalogue, tables.length, this.#process);
  }

  headOf(actor: string): ShardPosition {
    return this.#disks.of(actor).flushed.position;
  }

  create(): never {
    throw new Error('the actors of the simulation are there for ever');
  }

  adopt(): never {
    throw new Error('nothing forks in the simulation');
  }

  remove(): never {
    throw new Error('nothing is removed in the simulation');
  }

  sweep(): Promise<void> {
    return Promise.resolve();
  }

  clear(): Promise<void> {
    this.#disks.clear();
    return Promise.resolve();
  }
}

/** What serves the actors of the partition in one process while it owns it. */
export class SimHost implements PartitionHost {
  readonly #clock: SimProcess;
  readonly #loops = new Map<string, CommitLoop>();
  readonly #writers: ShardWriter[] = [];
  readonly #behaviours = new Map<string, ActorBehaviour>();
  #state: 'running' | 'draining' | 'closed' = 'running';

  static async open(
    store: SimStore,
    log: Log,
    process: SimProcess,
    scheduler: SimScheduler,
    random: SimRandom,
  ): Promise<SimHost> {
    await replayLog(log, store, process);
    return new SimHost(store, log, process, scheduler, random);
  }

  private constructor(
    store: SimStore,
    log: Log,
    process: SimProcess,
    scheduler: SimScheduler,
    random: SimRandom,
  ) {
    this.#clock = process;
    const hybridClock = new HybridClock(process, log.lastClock);
    const servingSinceMs = process.monotonicMs();
    const slices = new SliceScheduler(process);
    for (const actor of ACTORS) {
      const apply = { applyBytes: 1500, applyDelayMs: 20 };
      const writer = new ShardWriter(
        actor,
        () => store.open(actor),
        log,
        process,
        apply,
        (cause) => {
          throw cause;
        },
      );
      hybridClock.observe(writer.shard.position.clock);
      const context: ActorContext = {
        id: actor,
        ask: (other, query) => this.#ask(other, query),
        clock: process,
        servingSinceMs,
        submit: (command) => this.#submit(actor, command),
      };
      const behaviour =
        actor === LOCKS ? locksActor.create(context) : simActor(scheduler, new LockGuard(context));
      const observer = { batchDurable: () => {}, events: () => {}, stopped: () => {} };
      const environment = { actor, log, clock: process, hybridClock, random, limits, observer, slices };
      this.#behaviours.set(actor, behaviour);
      this.#writers.push(writer);
      this.#loops.set(actor, new CommitLoop(environment, behaviour, writer));
    }
  }

  #ask(actor: string, query: unknown): unknown {
    // The locks ask their repository above which token those of branches that are gone were.
    if (!ACTORS.includes(actor)) return 0;
    const { view } = this.loop(actor);
    const unused = (): never => {
      throw new Error('what one actor asks another is answered at once');
    };
    const context: QueryContext = {
      caller: engineCaller('t'),
      budget: new RequestBudget(),
      clock: this.#clock,
      view,
      pin: unused,
      stay: unused,
      pause: unused,
      rest: unused,
      mustPause: unused,
      takeRoom: unused,
      giveRoom: unused,
      usePolicy: unused,
    };
    return this.#behaviours.get(actor)?.query(query as never, context);
  }

  /** Whether nothing is answered any more. */
  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** The loop of an actor. */
  loop(actor: string): CommitLoop {
    return this.#loops.get(actor) as CommitLoop;
  }

  /** Sends a command of a client. @param key under which a repetition is known */
  submit(actor: string, command: unknown, key?: string): Promise<unknown> {
    if (this.#state !== 'running') return Promise.reject(new ServiceError('SHUTTING_DOWN'));
    return this.#submit(actor, command, key);
  }

  #submit(actor: string, command: unknown, key?: string): Promise<unknown> {
    if (this.#state === 'closed') return Promise.reject(new ServiceError('SHUTTING_DOWN'));
    const idempotency = key === undefined ? undefined : { key, requestHash: 'h' };
    return this.loop(actor).submit(command, engineCaller('t'), idempotency);
  }

  /** In the order of the real one. */
  async drain(): Promise<void> {
    this.#state = 'draining';
    for (const loop of this.#loops.values()) await loop.drained();
    for (const behaviour of this.#behaviours.values()) {
      behaviour.endWaits?.(new ServiceError('SHUTTING_DOWN'));
      behaviour.close?.();
    }
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    for (const writer of this.#writers) {
      await writer.settle();
      await writer.close();
    }
  }
}
