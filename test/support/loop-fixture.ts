import { policyFor } from '#runtime/access/policy.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type {
  ActorBehaviour,
  ActorEvent,
  Caller,
  CallId,
  IdempotencyKey,
  Turn,
} from '#runtime/commit/behaviour.ts';
import { type CommitLimits, CommitLoop } from '#runtime/commit/commit-loop.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { type ApplyLimits, ShardWriter } from '#runtime/commit/shard-writer.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { MemoryDisk, MemoryShard, type MemoryShardStep } from '#runtime/shard/memory-shard.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { GatedLog } from './gated-log.ts';
import { TestClock } from './test-clock.ts';

/** A command of the fixture is the code that runs as one. */
export type TestCommand = (turn: Turn) => unknown;

/** A table of the fixture's actor that belongs to no one else. */
export const OWN_TABLE = 3;

const TABLES = 5;

const system: Principal = { kind: 'system', tenant: 'acme' };

/** Who sends the commands of a test. */
export const testCaller: Caller = { principal: system, policy: policyFor(system, 'acme') };

/** What a test may set. */
export interface LoopSetup {
  readonly limits?: Partial<CommitLimits>;
  readonly apply?: Partial<ApplyLimits>;
  readonly idempotency?: CommitLimits['idempotency'];
  /** What was there before, as after a restart. */
  readonly disk?: MemoryDisk;
  readonly log?: GatedLog;
  readonly clock?: TestClock;
  /** Shared with other loops of the process. */
  readonly slices?: SliceScheduler;
  readonly recall?: (kept: unknown, command: TestCommand, view: TableReader) => Generator<undefined, unknown>;
}

/** Puts a text under a key. */
export function put(key: string, text: string): TestCommand {
  return (turn) => {
    turn.put(OWN_TABLE, key, Buffer.from(text));
    return `${key}=${text}`;
  };
}

/** The text under a key, as a reader shows it. */
export function textAt(reader: TableReader, key: string): string | undefined {
  const bytes = reader.get(OWN_TABLE, key);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
}

/** A commit loop over a log the test holds the gate of and a shard in memory. */
export class LoopFixture {
  readonly clock: TestClock;
  readonly log: GatedLog;
  readonly disk: MemoryDisk;
  readonly hybridClock: HybridClock;
  readonly writer: ShardWriter;
  readonly loop: CommitLoop;
  readonly slices: SliceScheduler;
  readonly events: ActorEvent[] = [];
  /** Sizes of the batches that became durable, in commands. */
  readonly batches: number[] = [];
  readonly stopped: unknown[] = [];
  readonly damages: unknown[] = [];
  readonly applyFailures: unknown[] = [];
  /** How often the behaviour was told to forget. */
  forgotten = 0;
  /** How often the behaviour was told that a batch has ended. */
  batchesEnded = 0;
  /** What the hooks of the behaviour throw from now on. */
  hookFailure: { readonly of: 'forget' | 'batchEnded'; readonly error: unknown } | undefined;
  /** Reasons the behaviour was told to end its waits for. */
  readonly waitsEnded: ServiceError[] = [];
  /** How the next steps of the shard fail; undefined: they do not. */
  shardFailure: (step: MemoryShardStep) => ServiceError | undefined = () => undefined;
  /** How the next opening of the shard fails. */
  openFailure: unknown;

  constructor(setup: LoopSetup = {}) {
    this.clock = setup.clock ?? new TestClock();
    this.log = setup.log ?? new GatedLog();
    this.disk = setup.disk ?? new MemoryDisk();
    this.hybridClock = new HybridClock(this.clock, this.log.lastClock);
    const open = (): MemoryShard => {
      if (this.openFailure !== undefined) throw this.openFailure;
      return new MemoryShard(this.disk, TABLES, this.clock, (step) => this.shardFailure(step));
    };
    const applyLimits = { applyBytes: 1 << 20, applyDelayMs: 50, ...setup.apply };
    const failed = (cause: unknown) => void this.applyFailures.push(cause);
    const slices = setup.slices ?? new SliceScheduler(this.clock);
    const { changes } = slices;
    this.writer = new ShardWriter('a/b', open, this.log, this.clock, applyLimits, failed, changes);
    const behaviour: ActorBehaviour = {
      execute: (command: TestCommand, turn: Turn) => command(turn),
      query: () => undefined,
      forget: () => {
        this.forgotten += 1;
        if (this.hookFailure?.of === 'forget') throw this.hookFailure.error;
      },
      batchEnded: () => {
        this.batchesEnded += 1;
        if (this.hookFailure?.of === 'batchEnded') throw this.hookFailure.error;
      },
      endWaits: (reason) => void this.waitsEnded.push(reason),
      ...(setup.recall === undefined ? {} : { recall: setup.recall }),
    };
    const limits: CommitLimits = {
      mailboxMax: 100,
      batchCommandsMax: 50,
      batchBytesMax: 1 << 20,
      applyPendingBytesMax: 1 << 24,
      idempotency: setup.idempotency ?? { ttlMs: 86_400_000, entriesMax: 1000 },
      ...setup.limits,
    };
    const observer = {
      batchDurable: (commands: number) => void this.batches.push(commands),
      events: (events: readonly ActorEvent[]) => void this.events.push(...events),
      stopped: (cause: unknown) => void this.stopped.push(cause),
      damaged: (cause: unknown) => void this.damages.push(cause),
    };
    const { clock, log, hybridClock } = this;
    this.slices = slices;
    const random = systemRandom;
    const environment = { actor: 'a/b', log, clock, hybridClock, random, limits, observer, slices };
    this.loop = new CommitLoop(environment, behaviour, this.writer);
  }

  submit(
    command: TestCommand,
    key?: IdempotencyKey,
    caller: Caller = testCaller,
    call?: CallId,
  ): Promise<unknown> {
    return this.loop.submit(command, caller, key, call);
  }

  /** The text under a key, as queries see it. */
  read(key: string): string | undefined {
    return textAt(this.loop.view, key);
  }
}

/** What became of promises, in the order it happened; `what` names each. */
export class Answers {
  readonly heard: string[] = [];

  listen(what: string, answer: Promise<unknown>): void {
    answer.then(
      (result) => this.heard.push(`${what}: ${String(result)}`),
      (error: { code?: string; message: string }) =>
        this.heard.push(`${what}! ${error.code ?? error.message}`),
    );
  }
}
