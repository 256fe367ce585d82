import { createHash } from 'node:crypto';
import { policyFor } from '#runtime/access/policy.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import { CommitLoop } from '#runtime/commit/commit-loop.ts';
import { armCrashPoint, type CrashPointName } from '#runtime/commit/crash-point.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { replayLog } from '#runtime/commit/replay.ts';
import { ShardWriter } from '#runtime/commit/shard-writer.ts';
import {
  compareRevisions,
  decodeRevision,
  formatRevision,
  type Revision,
} from '#runtime/content/revision.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import type { JournalDurability } from '#runtime/embedded/journal/journal-options.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type CrashMode, FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { Shadow, WatchedLog } from './shadow-log.ts';
import { DATA, LEDGER, SIM_TABLES, type SimCommand, simActor } from './sim-actor.ts';
import { SimRandom } from './sim-random.ts';
import { SimScheduler } from './sim-scheduler.ts';

const FOLDER = '/journal';
const ACTORS = ['a/branch', 'b/branch', 'c/branch'];
const HOUR_MS = 3_600_000;

/** Places a simulated process may die at; segment removal and opening belong to the journal and the host. */
const CRASH_POINTS: readonly CrashPointName[] = [
  'before-append',
  'after-append-sent',
  'after-durable',
  'before-reply',
  'before-apply',
  'mid-apply',
  'after-apply',
  'in-recovery',
  'before-segment-removal',
  'after-segment-removal',
];

/** Errors that say for certain that nothing happened. */
const CERTAIN = new Set([
  'VALIDATION_FAILED',
  'STORAGE_FULL',
  'OVERLOADED',
  'REQUEST_CANCELLED',
  'IDEMPOTENCY_IN_PROGRESS',
]);

/** Ends the code that met a crash point; the world has moved on by then. */
class CrashSignal extends Error {}

/** What a client knows of an operation. */
interface Operation {
  readonly command: SimCommand;
  readonly actor: string;
  readonly key: IdempotencyKey | undefined;
  outcome: 'waiting' | 'done' | 'failed' | 'unknown';
  /** Of a done one that wrote. */
  revision: string | undefined;
}

/** How a run went; the same for the same seed. */
export interface SimulationResult {
  readonly operations: number;
  readonly done: number;
  readonly failed: number;
  readonly unknown: number;
  readonly crashes: number;
  readonly restarts: number;
  /** Hash over everything that happened. */
  readonly trace: string;
}

/** One simulated process: a journal and an open loop for every actor. */
interface Life {
  isAlive: boolean;
  readonly clock: Clock;
  readonly loops: Map<string, CommitLoop>;
  readonly writers: Map<string, ShardWriter>;
  readonly slices: SliceScheduler;
  journal: Journal | undefined;
}

/** A life that is over before it began. */
function noLife(clock: Clock): Life {
  const slices = new SliceScheduler(clock);
  return { isAlive: false, clock, slices, loops: new Map(), writers: new Map(), journal: undefined };
}

/** The clock of one process: when that has died, nothing it still tries ever happens. */
function clockOf(scheduler: SimScheduler, isAlive: () => boolean): Clock {
  return {
    wallMs: () => scheduler.wallMs(),
    monotonicMs: () => scheduler.monotonicMs(),
    soon: (callback) => {
      if (isAlive()) scheduler.soon(callback);
    },
    after: (delayMs, callback) => (isAlive() ? scheduler.after(delayMs, callback) : { cancel: () => {} }),
  };
}

/** Everything that exists in one run. */
class World {
  readonly #random: SimRandom;
  readonly #scheduler: SimScheduler;
  readonly #durability: JournalDurability;
  readonly #shadow = new Shadow();
  readonly #operations: Operation[] = [];
  readonly #trace = createHash('sha256');
  readonly #principal = { kind: 'system', tenant: 'sim' } as const;
  readonly #caller: Caller;
  #files: FaultyFileSystem;
  #disks = new Map(ACTORS.map((actor) => [actor, new MemoryDisk()]));
  #life: Life;
  #disarm: (() => void)[] = [];
  #shardFailures = 0;
  #keepsAll = true;
  /** The first promise a client saw broken. */
  #broken: unknown;
  #isJournalStopped = false;
  readonly #listen: ((line: string) => void) | undefined;
  /** Whether a command writes more than one application takes; looking at it all is slow, so it is done less often. */
  readonly #isWide: boolean;
  crashes = 0;
  restarts = 0;

  constructor(seed: number, listen?: (line: string) => void) {
    this.#listen = listen;
    this.#isWide = seed % 25 === 0;
    this.#random = new SimRandom(seed);
    this.#scheduler = new SimScheduler(this.#random);
    this.#durability = this.#random.chance(0.2) ? 'relaxed' : 'local';
    this.#files = new FaultyFileSystem(() => this.#scheduler.disk());
    this.#life = noLife(this.#scheduler);
    this.#caller = { principal: this.#principal, policy: policyFor(this.#principal, 'sim') };
  }

  async run(actions: number): Promise<SimulationResult> {
    for (let action = 0; action < actions; action += 1) {
      await this.#ensureAlive();
      this.#act();
      const steps = this.#random.below(6);
      for (let step = 0; step < steps; step += 1) await this.#scheduler.step();
      if (await this.#isFrozen()) this.#crash('frozen');
      if (!this.#isWide || this.#random.chance(0.1)) this.#checkViews();
    }
    await this.#heal();
    const count = (outcome: Operation['outcome']) =>
      this.#operations.filter((known) => known.outcome === outcome).length;
    return {
      operations: this.#operations.length,
      done: count('done'),
      failed: count('failed'),
      unknown: count('unknown'),
      crashes: this.crashes,
      restarts: this.restarts,
      trace: this.#trace.digest('hex'),
    };
  }

  #note(...what: readonly unknown[]): void {
    const line = `${this.#scheduler.monotonicMs().toFixed(1)} ${what.join(' ')}`;
    this.#listen?.(line);
    this.#trace.update(`${line}\n`);
  }

  // -- what happens -----------------------------------------------------------------------------------------

  #act(): void {
    const random = this.#random;
    const dice = random.next();
    if (dice < 0.72) this.#submit();
    else if (dice < 0.78) this.#retry();
    else if (dice < 0.83) this.#armCrash();
    else if (dice < 0.85) this.#crash('at random');
    else if (dice < 0.87) this.#files.freezeAfter(1 + random.below(8));
    else if (dice < 0.9) this.#files.freeBytes = random.below(4000);
    else if (dice < 0.93) this.#files.freeBytes = Number.POSITIVE_INFINITY;
    else if (dice < 0.94) this.#failDisk();
    else if (dice < 0.97) this.#shardFailures = random.below(4);
    else this.#scheduler.shiftWall((random.next() * 2 - 1) * HOUR_MS);
  }

  #submit(): void {
    const random = this.#random;
    const number = this.#operations.length;
    const kinds = ['put', 'put', 'put', 'append', 'append', 'remove', 'fail', 'long', 'read'] as const;
    const kind = this.#isWide && number % 30 === 20 ? 'wide' : random.pick(kinds);
    const command: SimCommand = { kind, operation: `op${number}`, key: `k${random.below(6)}` };
    const key = random.chance(0.4) ? { key: `key${number}`, requestHash: 'h' } : undefined;
    this.#send({ command, actor: random.pick(ACTORS), key, outcome: 'waiting', revision: undefined });
  }

  /** A client that heard nothing, or wants to hear it again, sends its request again under the same key. */
  #retry(): void {
    const keyed = this.#operations.filter(({ key, outcome }) => key !== undefined && outcome !== 'waiting');
    if (keyed.length > 0) this.#send(this.#random.pick(keyed), true);
  }

  #send(operation: Operation, again = false): void {
    const life = this.#life;
    const { command, actor, key } = operation;
    const before = { outcome: operation.outcome, revision: operation.revision };
    if (!again) this.#operations.push(operation);
    const loop = life.loops.get(actor) as CommitLoop;
    const answer = loop.submit(command, this.#caller, key);
    operation.outcome = 'waiting';
    const heard = answer.then(
      (result) => {
        if (!life.isAlive) return;
        this.#note('done', command.operation, result);
        if (command.kind !== 'read') {
          if (before.revision !== undefined && this.#durability === 'local')
            expectSame(result, before.revision, `${command.operation} again`);
          operation.revision = result as string;
        }
        operation.outcome = 'done';
      },
      (error: { code?: string }) => {
        if (!life.isAlive) return;
        this.#note('error', command.operation, error.code);
        const certain = CERTAIN.has(error.code ?? '');
        if (before.outcome === 'done' || before.outcome === 'unknown') operation.outcome = before.outcome;
        else operation.outcome = certain ? 'failed' : 'unknown';
        if (before.outcome === 'done' && error.code === 'VALIDATION_FAILED' && this.#durability === 'local')
          throw new Error(`${command.operation} was done and is now refused`);
      },
    );
    heard.catch((error: unknown) => {
      this.#broken ??= error;
    });
  }

  #armCrash(): void {
    const name = this.#random.pick(CRASH_POINTS);
    this.#disarmAll();
    const action = (): never => {
      this.#crash(name);
      throw new CrashSignal(name);
    };
    this.#disarm = [armCrashPoint(name, 1 + this.#random.below(3), action)];
  }

  #disarmAll(): void {
    for (const disarm of this.#disarm.splice(0)) disarm();
  }

  /** The process dies, and maybe the machine with it. */
  #crash(where: string): void {
    const modes: readonly CrashMode[] = ['process-kill', 'drop-unsynced', 'torn'];
    const mode = this.#random.pick(modes);
    this.#note('crash', where, mode);
    this.crashes += 1;
    this.#life.isAlive = false;
    this.#disarmAll();
    this.#scheduler.clear();
    this.#files = this.#files.crash(mode, () => this.#random.next());
    this.#disks = new Map([...this.#disks].map(([actor, disk]) => [actor, disk.crash()]));
    if (this.#durability === 'relaxed' && mode !== 'process-kill') this.#keepsAll = false;
    for (const operation of this.#operations)
      if (operation.outcome === 'waiting') operation.outcome = 'unknown';
  }

  #failDisk(): void {
    const operation = this.#random.pick([
      'write',
      'datasync',
      'sync',
      'truncate',
      'rename',
      'syncDirectory',
      'unlink',
    ] as const);
    const code = this.#random.pick(['EIO', 'ENOSPC']);
    this.#note('fail', operation, code);
    this.#files.fail(operation, code, { partialBytes: this.#random.below(2) * this.#random.below(600) });
  }

  #shardFailure(): ServiceError | undefined {
    if (this.#shardFailures === 0) return undefined;
    this.#shardFailures -= 1;
    return new ServiceError(this.#random.chance(0.5) ? 'STORAGE_FULL' : 'WRITES_STOPPED');
  }

  // -- life and death ---------------------------------------------------------------------------------------

  /** Starts a process when there is none, and a new one when the journal takes nothing more. */
  async #ensureAlive(): Promise<void> {
    if (this.#life.isAlive && this.#isJournalStopped && this.#random.chance(0.2)) await this.#stop();
    while (!this.#life.isAlive) await this.#start();
  }

  /** Waits for every answer. @returns false when the process died meanwhile */
  #drain(): Promise<boolean> {
    const life = this.#life;
    return this.#during(life, async () => {
      await Promise.all([...life.loops.values()].map((loop) => loop.drained()));
    });
  }

  async #stop(): Promise<void> {
    const life = this.#life;
    const stopped = await this.#during(life, async () => {
      await Promise.all([...life.loops.values()].map((loop) => loop.drained()));
      await Promise.all([...life.writers.values()].map((writer) => writer.close()));
      await life.journal?.close();
    });
    if (stopped) this.#note('stopped');
    life.isAlive = false;
    this.#scheduler.clear();
    for (const operation of this.#operations)
      if (operation.outcome === 'waiting') operation.outcome = 'unknown';
  }

  async #start(): Promise<void> {
    this.restarts += 1;
    // What was wrong with the disk is put right before anybody starts again; space may still be short.
    this.#files.disarm();
    const clock = clockOf(this.#scheduler, () => life.isAlive);
    const life: Life = { ...noLife(clock), isAlive: true };
    this.#life = life;
    this.#isJournalStopped = false;
    await this.#during(life, () => this.#open(life));
  }

  async #open(life: Life): Promise<void> {
    const journal = await Journal.open({
      folder: FOLDER,
      durability: this.#durability,
      files: this.#files,
      clock: life.clock,
      random: this.#random,
      segmentBytes: 4096,
      report: (event) => {
        if (!life.isAlive) return;
        this.#note('journal', event.kind);
        if (event.kind === 'writes-stopped') this.#isJournalStopped = true;
      },
    });
    life.journal = journal;
    await this.#shadow.reconcile(journal, this.#keepsAll);
    this.#keepsAll = true;
    const log = new WatchedLog(journal, this.#shadow, () => life.isAlive);
    const disks = this.#disks;
    const openShard = (actor: string): MemoryShard => {
      const disk = disks.get(actor) as MemoryDisk;
      const shard = new MemoryShard(disk, SIM_TABLES, life.clock, () => this.#shardFailure());
      if (shard.position.sequence > log.lastSequence)
        throw new Error(`the shard of ${actor} is ahead of the log`);
      return shard;
    };
    this.#shardFailures = 0;
    const never = (): never => {
      throw new Error('the actors of the simulation are there for ever');
    };
    const store = { exists: () => true, open: openShard, create: never, adopt: never, remove: never };
    await replayLog(log, store, life.clock);
    const hybridClock = new HybridClock(life.clock, log.lastClock);
    for (const actor of ACTORS) this.#openActor(life, actor, log, hybridClock, openShard);
    this.#note('started', log.lastSequence);
  }

  #openActor(
    life: Life,
    actor: string,
    log: WatchedLog,
    hybridClock: HybridClock,
    openShard: (actor: string) => MemoryShard,
  ): void {
    const apply = { applyBytes: 1500, applyDelayMs: 20 };
    const failed = (cause: unknown): void => {
      if (life.isAlive) this.#note('apply failed', actor, (cause as { code?: string }).code);
    };
    const writer = new ShardWriter(actor, () => openShard(actor), log, life.clock, apply, failed);
    hybridClock.observe(writer.shard.position.clock);
    const limits = {
      mailboxMax: 30,
      batchCommandsMax: 8,
      batchBytesMax: 2000,
      applyPendingBytesMax: 1 << 20,
      idempotency: { ttlMs: 100 * HOUR_MS, entriesMax: 1000 },
    };
    const observer = { batchDurable: () => {}, events: () => {}, stopped: () => {} };
    const environment = {
      actor,
      log,
      clock: life.clock,
      hybridClock,
      random: this.#random,
      limits,
      observer,
      slices: life.slices,
    };
    life.writers.set(actor, writer);
    life.loops.set(actor, new CommitLoop(environment, simActor(this.#scheduler), writer));
  }

  /** Lets time pass until something is done. @returns false when the process died before */
  async #during(life: Life, work: () => Promise<void>): Promise<boolean> {
    let outcome: { error?: unknown } | undefined;
    work().then(
      () => {
        outcome = {};
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (outcome === undefined && life.isAlive) {
      const ran = await this.#scheduler.step();
      if (await this.#isFrozen()) this.#crash('frozen');
      else if (!ran && outcome === undefined)
        throw new Error('nothing is left to happen, and somebody waits');
    }
    if (!life.isAlive) return false;
    const { error } = outcome as { error?: unknown };
    if (error === undefined) return true;
    // A full disk may keep a process from starting; it is started again when there is space.
    if (error instanceof ServiceError && (error.code === 'STORAGE_FULL' || error.code === 'WRITES_STOPPED')) {
      this.#note('not started', error.code);
      this.#crash('not started');
      this.#files.freeBytes = Number.POSITIVE_INFINITY;
      return false;
    }
    throw error;
  }

  /** Whether the file system stopped in the middle of a change. */
  #isFrozen(): Promise<boolean> {
    const now = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
    return Promise.race([this.#files.frozen.then(() => true), now]);
  }

  // -- checks -----------------------------------------------------------------------------------------------

  /** Every reader sees what the log acknowledged, no less and no more. */
  #checkViews(): void {
    if (!this.#life.isAlive) return;
    for (const [actor, loop] of this.#life.loops) this.#checkView(actor, loop.view);
  }

  #checkView(actor: string, view: TableReader): void {
    const expected = fold(this.#shadow, actor);
    for (const table of [DATA, LEDGER]) {
      const rows = [...view.range(table, { start: '', end: '\u00ff'.repeat(20) })];
      const seen = rows.map(({ key, value }) => `${key}=${Buffer.from(value).toString('latin1')}`);
      const wanted = [...(expected.get(table) ?? [])].map(([key, value]) => `${key}=${value}`).sort();
      expectSame(seen.sort().join('\n'), wanted.join('\n'), `table ${table} of ${actor}`);
    }
  }

  #checkHistory(): void {
    if (this.#broken !== undefined) throw this.#broken;
    const ledgers = new Map(
      ACTORS.map((actor) => [actor, fold(this.#shadow, actor).get(LEDGER) ?? new Map<string, string>()]),
    );
    for (const { command, actor, outcome, revision } of this.#operations) {
      const ledger = ledgers.get(actor) as ReadonlyMap<string, string>;
      const effects = [...ledger]
        .filter(([, operation]) => operation === command.operation)
        .map(([key]) => decodeRevision(key, 0));
      const shown = effects.map(formatRevision).join(' ');
      if (effects.length > 1) throw new Error(`${command.operation} took effect twice: ${shown}`);
      if (outcome === 'done' && command.kind !== 'read' && this.#durability === 'local')
        expectSame(shown, revision, `${command.operation} is acknowledged`);
      if ((outcome === 'failed' || command.kind === 'fail') && effects.length > 0)
        throw new Error(`${command.operation} failed and is there at ${shown}`);
    }
    for (const actor of ACTORS) this.#checkRevisions(actor);
  }

  /** In the order of the log, the revisions of an actor rise. */
  #checkRevisions(actor: string): void {
    let last: Revision = { ms: 0, counter: 0 };
    for (const { writes } of this.#shadow.entriesOf(actor)) {
      for (const { table, key } of writes) {
        if (table !== LEDGER) continue;
        const revision = decodeRevision(key, 0);
        if (compareRevisions(revision, last) <= 0)
          throw new Error(`${actor}: ${formatRevision(revision)} comes after ${formatRevision(last)}`);
        last = revision;
      }
    }
  }

  /** Faults end, and everything goes on: each actor takes a write, then all is checked over a last power cut. */
  async #heal(): Promise<void> {
    for (const mode of ['stay', 'crash'] as const) {
      this.#disarmAll();
      if (mode === 'crash') this.#crash('at the end');
      this.#files.disarm();
      this.#files.freezeAfter(Number.POSITIVE_INFINITY);
      this.#files.freeBytes = Number.POSITIVE_INFINITY;
      this.#shardFailures = 0;
      if (this.#isJournalStopped && this.#life.isAlive) await this.#stop();
      do await this.#ensureAlive();
      while (!(await this.#drain()));
      this.#checkViews();
      this.#checkHistory();
      for (const actor of ACTORS) {
        const command: SimCommand = { kind: 'put', operation: `last ${mode} ${actor}`, key: 'last' };
        this.#send({ command, actor, key: undefined, outcome: 'waiting', revision: undefined });
      }
      await this.#drain();
      const last = this.#operations.slice(-ACTORS.length);
      if (last.some(({ outcome }) => outcome !== 'done'))
        throw new Error('no progress after the faults ended');
      this.#checkViews();
      this.#checkHistory();
    }
    await this.#stop();
  }
}

/** The tables of an actor as its acknowledged entries make them, keys and values as binary strings. */
function fold(shadow: Shadow, actor: string): Map<number, Map<string, string>> {
  const tables = new Map<number, Map<string, string>>();
  for (const { writes } of shadow.entriesOf(actor)) {
    for (const { table, key, value } of writes) {
      const rows = tables.get(table) ?? new Map<string, string>();
      tables.set(table, rows);
      if (value === null) rows.delete(key);
      else rows.set(key, Buffer.from(value).toString('latin1'));
    }
  }
  return tables;
}

function expectSame(found: unknown, wanted: unknown, what: string): void {
  if (found !== wanted) throw new Error(`${what}: found ${String(found)}, expected ${String(wanted)}`);
}

/**
 * Runs one process after another over one disk, with faults, and checks what they promise: acknowledged writes
 * stay with their revision, failed ones leave nothing, unknown ones happened once at most, revisions rise, every
 * reader sees exactly what the log acknowledged.
 *
 * @param actions how much happens
 * @param listen told one line about everything that happens, to look into a seed
 * @throws {Error} naming what was broken
 */
export async function simulate(
  seed: number,
  actions: number,
  listen?: (line: string) => void,
): Promise<SimulationResult> {
  try {
    return await new World(seed, listen).run(actions);
  } catch (cause) {
    throw new Error(`seed ${seed}, ${actions} actions: ${(cause as Error).message}`, { cause });
  }
}
