import { assert } from '#runtime/base/assert.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import { isTruncated, isUnavailable } from '#cluster/replication/log-errors.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import { LogReader } from '#cluster/replication/log-reader.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { LEASE_MS, LOG_REFUSALS, PARTITION, PartitionWorld, underSeed } from './partition-world.ts';
import { SimProcess } from './sim-process.ts';
import type { SimRandom } from './sim-random.ts';
import type { SimScheduler } from './sim-scheduler.ts';
import type { SimStream } from './sim-stream.ts';

const MEMBERS = ['m1', 'm2', 'm3'];
const HOUR_MS = 3_600_000;

/** Small, so that many batches take several records. */
const BODY_BYTES_MAX = 600;

/** Entries that are appended while things go wrong. */
const ENTRIES = 120;

/** Simulated time after which a run goes on without faults, however little happened, in milliseconds. */
const FAULTY_MS_MAX = 600_000;

/** Simulated time within which everything has to work again, in milliseconds. */
const HEALED_MS_MAX = 120_000;

/** What a client knows of an entry. */
interface Operation {
  /** The life that appended it. */
  readonly life: SimProcess;
  outcome: 'waiting' | 'done' | 'failed' | 'unknown';
  /** Of a done one. */
  sequence: number;
}

/** How a run went; the same for the same seed. */
export interface LogSimulationResult {
  readonly done: number;
  readonly failed: number;
  readonly unknown: number;
  /** Epochs that were opened. */
  readonly epochs: number;
  /** Messages that do not count. */
  readonly voids: number;
  /** Times a member found itself fenced. */
  readonly fenced: number;
  /** Times an outcome was unknown and became known. */
  readonly resolved: number;
  /** Reads answered under a lease. */
  readonly reads: number;
  /** Times the log was cut. */
  readonly cuts: number;
  /** Times somebody began with a snapshot, because the log was cut. */
  readonly coldStarts: number;
  /** Hash over everything that happened. */
  readonly trace: string;
}

/** Three members that want one partition, and a follower that reads it. */
class LogSimulation {
  readonly #world: PartitionWorld;
  readonly #random: SimRandom;
  readonly #scheduler: SimScheduler;
  readonly #stream: SimStream;
  readonly #operations: Operation[] = [];
  readonly #positions = new Map<string, LogPosition>();
  readonly #epochOwners = new Map<number, SimProcess>();
  readonly #lives: SimProcess[] = [];
  /** The logs that are not being closed, and whose they are. */
  readonly #logs = new Map<PartitionLog, SimProcess>();
  /** Batches the follower was told of: sequence, then the numbers of its entries. */
  readonly #followed: (readonly number[])[] = [];
  /** Where the snapshot ends that it began with. */
  #followedFrom = 0;
  /** Positions somebody has everything up to, outside of the log: the newest two. */
  #snapshots: readonly LogPosition[] = [];
  readonly #counts = { fenced: 0, resolved: 0, reads: 0, cuts: 0, coldStarts: 0 };
  readonly #hasProceeded = Promise.withResolvers<void>();
  #ackedSequence = 0;
  #isEnding = false;

  constructor(seed: number) {
    this.#world = new PartitionWorld(seed);
    this.#random = this.#world.random;
    this.#scheduler = this.#world.scheduler;
    this.#stream = this.#world.stream;
  }

  async run(): Promise<LogSimulationResult> {
    for (const name of MEMBERS) this.#start(name);
    this.#follow(undefined);
    this.#scheduleFault();
    while (this.#operations.length < ENTRIES && this.#scheduler.monotonicMs() < FAULTY_MS_MAX)
      await this.#world.step();
    this.#isEnding = true;
    this.#stream.heal();
    await this.#proceed();
    await this.#recover();
    return this.#check();
  }

  #process(name: string): SimProcess {
    const rate = 0.95 + this.#random.next() * 0.1;
    return new SimProcess(name, this.#scheduler, rate, (this.#random.next() - 0.5) * HOUR_MS);
  }

  #start(name: string): void {
    const life = this.#process(name);
    this.#lives.push(life);
    life.soon(() => this.#world.owns(this.#live(life)));
  }

  async #live(life: SimProcess): Promise<void> {
    const { name } = life;
    while (!this.#isEnding) {
      await sleep(life, this.#random.next() * 8000);
      const log = await this.#open(life);
      if (log === undefined) continue;
      this.#logs.set(log, life);
      await this.#own(life, log);
      this.#world.note(`${name} ended ${log.ended?.code}`);
    }
  }

  async #open(life: SimProcess): Promise<PartitionLog | undefined> {
    const impatience = new AbortController();
    life.after(this.#random.next() * 60_000, () => impatience.abort());
    const stored = this.#random.chance(0.5) ? this.#positions.get(life.name) : undefined;
    const isCold = this.#beginsTooEarly(stored);
    if (isCold) this.#counts.coldStarts += 1;
    try {
      const log = await openPartition({
        stream: this.#stream.link(life),
        partition: PARTITION,
        member: life.name,
        position: isCold ? this.#snapshots[0] : stored,
        leaseMs: LEASE_MS,
        clock: life,
        random: this.#random,
        report: (event) => this.#hear(life, event),
        bodyBytesMax: BODY_BYTES_MAX,
        signal: impatience.signal,
      });
      return log;
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : undefined;
      if (code === 'NOT_OWNER' || code === 'STORAGE_FULL' || code === 'REQUEST_CANCELLED') return undefined;
      // Cut between the look and the opening: the next attempt begins with a snapshot.
      if (isTruncated(error)) return undefined;
      throw error;
    }
  }

  #beginsTooEarly(position: LogPosition | undefined): boolean {
    return Math.max(1, position?.sequence ?? 0) < this.#stream.firstSequence;
  }

  #hear(life: SimProcess, event: LogEvent): void {
    this.#world.note(`${life.name} ${event.kind}`);
    if (event.kind === 'quarantined') this.#world.fail(event.cause);
    if (event.kind === 'fenced') this.#counts.fenced += 1;
    if (event.kind === 'resolved') this.#counts.resolved += 1;
    if (event.kind !== 'opened' && event.kind !== 'resolved') return;
    const owner = this.#epochOwners.get(event.epoch) ?? life;
    assert(owner === life, `epoch ${event.epoch} was opened by two`);
    this.#epochOwners.set(event.epoch, life);
  }

  /** What an owner does until it is none any more. */
  async #own(life: SimProcess, log: PartitionLog): Promise<void> {
    this.#readUnderLease(log);
    while (log.ended === undefined && !this.#isEnding) {
      const dice = this.#random.next();
      if (dice < 0.5) this.#append(life, log, 1 + this.#random.below(3));
      else if (dice < 0.6) this.#barrier(log);
      else if (dice < 0.8) this.#release(life, log);
      else if (dice < 0.82) this.#world.owns(this.#close(log));
      else if (dice < 0.84) await this.#readAll(log).catch((error) => this.#requireEnded(log, error));
      else if (dice < 0.92) this.#takeSnapshot(log);
      else await this.#cut(life, log);
      await sleep(life, this.#random.chance(0.05) ? this.#random.next() * 8000 : this.#random.next() * 4);
      this.#readUnderLease(log);
    }
    // One that has ended must not believe in its lease any more, whatever others do meanwhile.
    for (let look = 0; look < 10; look += 1) {
      await sleep(life, this.#random.next() * LEASE_MS * 0.2);
      this.#readUnderLease(log);
    }
    if (this.#isEnding) await this.#hasProceeded.promise;
    await this.#close(log);
  }

  #close(log: PartitionLog): Promise<void> {
    this.#logs.delete(log);
    return log.close();
  }

  #append(life: SimProcess, log: PartitionLog, count: number): void {
    let answered = -1;
    for (let index = 0; index < count; index += 1) {
      const number = this.#operations.length;
      const operation: Operation = { life, outcome: 'waiting', sequence: 0 };
      this.#operations.push(operation);
      const bytes = this.#random.chance(0.1) ? 1500 : 8 + this.#random.below(100);
      log.append(numberedEntry(`t/r/b${number % 3}/branch`, number, bytes)).then(
        (sequence) => {
          assert(number > answered, 'answers come in call order');
          answered = number;
          operation.outcome = 'done';
          operation.sequence = sequence;
          this.#ackedSequence = Math.max(this.#ackedSequence, sequence);
          this.#world.note(`done ${number} ${sequence}`);
        },
        (error: ServiceError) => {
          operation.outcome = LOG_REFUSALS.has(error.code) ? 'failed' : 'unknown';
          this.#world.note(`${operation.outcome} ${number} ${error.code}`);
        },
      );
    }
  }

  #barrier(log: PartitionLog): void {
    const before = this.#ackedSequence;
    this.#world.owns(
      log.barrier().then(
        (sequence) => {
          assert(
            sequence >= before && log.lastSequence >= before,
            'a strict read misses an acknowledged write',
          );
        },
        () => undefined,
      ),
    );
  }

  #readUnderLease(log: PartitionLog): void {
    if (!log.lease.isValid()) return;
    this.#counts.reads += 1;
    assert(log.lastSequence >= this.#ackedSequence, 'a read under a lease misses an acknowledged write');
  }

  /** Reads what a host reads when it starts. */
  async #readAll(log: PartitionLog): Promise<void> {
    const first = Math.min(...[...log.pending().values()].map((range) => range.first));
    const until = log.lastSequence;
    if (first > until) return;
    let last = first - 1;
    for await (const { sequence } of log.read(first - 1)) {
      assert(sequence > last, 'sequences rise');
      last = sequence;
    }
    assert(last === until, `a read ended at ${last} instead of ${until}`);
  }

  #release(life: SimProcess, log: PartitionLog): void {
    for (const [actor, { first, last }] of log.pending())
      if (this.#random.chance(0.7)) log.released(actor, this.#random.chance(0.5) ? last : first);
    this.#positions.set(life.name, log.releasedPosition);
  }

  #requireEnded(log: PartitionLog, error: unknown): void {
    // A former owner that does not know yet that it is none may cut what the present one has not applied: that one
    // begins with the snapshot it was cut behind.
    if (error !== log.ended && !isTruncated(error)) throw error;
  }

  #takeSnapshot(log: PartitionLog): void {
    const position = log.releasedPosition;
    if (position.sequence > (this.#snapshots[0]?.sequence ?? 0))
      this.#snapshots = [position, ...this.#snapshots.slice(0, 1)];
  }

  /** Cuts behind the older snapshot and what the owner has; others may have less, and begin with a snapshot. */
  async #cut(life: SimProcess, log: PartitionLog): Promise<void> {
    const [, older] = this.#snapshots;
    if (older === undefined) return;
    const before = Math.min(older.sequence, log.releasedPosition.sequence);
    if (before <= this.#stream.firstSequence) return;
    await this.#stream
      .link(life)
      .truncate(before)
      .then(() => {
        this.#counts.cuts += 1;
      })
      .catch(requireUnavailable);
    this.#world.note(`${life.name} cut ${before}`);
  }

  #follow(from: LogPosition | undefined): void {
    const isCold = this.#beginsTooEarly(from);
    const position = isCold ? this.#snapshots[0] : from;
    if (isCold) {
      this.#counts.coldStarts += 1;
      // What it misses is in the snapshot.
      this.#followed.length = 0;
      this.#followedFrom = position?.sequence ?? 0;
    }
    const process = this.#process('follower');
    const stream = this.#stream.link(process);
    const reader = new LogReader({
      stream,
      partition: PARTITION,
      position,
      clock: process,
      random: this.#random,
      report: () => undefined,
    });
    const restart = new AbortController();
    if (!this.#stream.isHealed) process.after(this.#random.next() * 60_000, () => restart.abort());
    this.#world.owns(
      (async () => {
        for await (const news of reader.read(restart.signal)) {
          if (news.kind !== 'batch') continue;
          const numbers = news.batch.entries.map(numberOf);
          this.#followed.push([news.batch.sequence, ...numbers]);
        }
        // Where it stood, or where it stood before: then it is told some things again.
        const told = reader.position ?? position;
        this.#forgetFollowed(told?.sequence ?? 0);
        this.#follow(told);
      })().catch((error: unknown) => {
        if (!isTruncated(error)) throw error;
        this.#follow(position);
      }),
    );
  }

  #forgetFollowed(after: number): void {
    while ((this.#followed.at(-1)?.[0] ?? 0) > after) this.#followed.pop();
  }

  #scheduleFault(): void {
    this.#scheduler.after(this.#random.next() * 4000, () => {
      if (this.#isEnding) return;
      this.#fault();
      this.#scheduleFault();
    });
  }

  #fault(): void {
    const living = this.#lives.filter(({ isAlive }) => isAlive);
    if (living.length === 0) return;
    const life = this.#random.pick(living);
    const dice = this.#random.next();
    if (dice < 0.25) {
      const stale = this.#lives.filter(() => this.#random.chance(0.2));
      this.#stream.loseLeader(500 + this.#random.next() * 9000, stale);
    } else if (dice < 0.45) life.pause(this.#random.next() * 15_000);
    else if (dice < 0.55) life.sleep(this.#random.next() * 15_000);
    else if (dice < 0.7) this.#stream.cutOff(life, this.#random.next() * 10_000);
    else if (dice < 0.75) this.#stream.slowDown(life, this.#random.next() * 10_000);
    else if (dice < 0.775) this.#stream.fill(this.#random.next() * 3000);
    else if (dice < 0.8) this.#stream.refuseAlone(this.#random.next() * 8000);
    else if (dice < 0.92) {
      life.kill();
      this.#scheduler.after(this.#random.next() * 3000, () => this.#start(life.name));
    }
    this.#world.note(`fault ${dice.toFixed(3)} ${life.name}`);
  }

  /** Every log that has not ended finds out that it is still the owner's, or that it is not. */
  async #proceed(): Promise<void> {
    const untilMs = this.#scheduler.monotonicMs() + HEALED_MS_MAX;
    let waiting = 0;
    for (const [log, life] of this.#logs) {
      if (!life.isAlive || log.ended !== undefined) continue;
      waiting += 1;
      const told = (): void => {
        waiting -= 1;
      };
      life.soon(() => this.#world.owns(this.#confirm(life, log).then(told)));
    }
    while (waiting > 0) {
      await this.#world.step();
      assert(this.#scheduler.monotonicMs() < untilMs, 'a log neither goes on nor ends');
    }
    this.#hasProceeded.resolve();
  }

  /** Resolves when the log has answered, or has ended. */
  async #confirm(life: SimProcess, log: PartitionLog): Promise<void> {
    for (;;) {
      const isConfirmed = await log.barrier().then(
        () => true,
        () => log.ended !== undefined,
      );
      if (isConfirmed) return;
      await sleep(life, 100);
    }
  }

  /** A further member opens the partition and writes to it, and the follower has everything. */
  async #recover(): Promise<void> {
    const untilMs = this.#scheduler.monotonicMs() + HEALED_MS_MAX;
    const life = this.#process('last');
    let isWritten = false;
    const write = async (): Promise<void> => {
      for (;;) {
        const log = await this.#open(life);
        if (log === undefined) continue;
        this.#append(life, log, 1);
        await log.close();
        isWritten = this.#operations.at(-1)?.outcome === 'done';
        return;
      }
    };
    life.soon(() => this.#world.owns(write()));
    while (!isWritten || (this.#followed.at(-1)?.[0] ?? 0) < this.#ackedSequence) {
      await this.#world.step();
      assert(
        this.#scheduler.monotonicMs() < untilMs,
        'nothing can be written although nothing is wrong any more',
      );
    }
  }

  #check(): LogSimulationResult {
    const batches: (readonly number[])[] = [];
    let voids = 0;
    const decoder = new BatchDecoder(PARTITION);
    for (const message of this.#stream.messages) {
      const step = decoder.take(message);
      if (step.kind === 'void') voids += 1;
      if (step.kind === 'opened') this.#checkOpening(decoder.fold.state.epoch, step.opening.member);
      if (step.kind === 'batch') batches.push([step.batch.sequence, ...step.batch.entries.map(numberOf)]);
    }
    this.#checkOperations(batches);
    const told = JSON.stringify(this.#followed);
    assert(
      told ===
        JSON.stringify(
          batches
            .filter(([sequence]) => (sequence as number) > this.#followedFrom)
            .slice(0, this.#followed.length),
        ),
      'a follower was told something else',
    );
    const count = (outcome: string): number => this.#operations.filter((o) => o.outcome === outcome).length;
    return {
      done: count('done'),
      failed: count('failed'),
      unknown: count('unknown') + count('waiting'),
      epochs: decoder.fold.state.epoch,
      voids,
      ...this.#counts,
      trace: this.#world.trace(),
    };
  }

  #checkOpening(epoch: number, member: string): void {
    const owner = this.#epochOwners.get(epoch);
    // Nobody heard of an opening whose process died before the answer.
    assert(owner === undefined || owner.name === member, `epoch ${epoch} is not of who believes in it`);
  }

  #checkOperations(batches: readonly (readonly number[])[]): void {
    const found = new Map<number, number>();
    const newest = new Map<SimProcess, number>();
    for (const [sequence, ...numbers] of batches) {
      for (const number of numbers) {
        const { life } = this.#operations[number] as Operation;
        assert(!found.has(number), `entry ${number} is in the log twice`);
        assert(number > (newest.get(life) ?? -1), `entry ${number} was overtaken`);
        newest.set(life, number);
        found.set(number, sequence as number);
      }
    }
    for (const [number, { outcome, sequence }] of this.#operations.entries()) {
      if (outcome === 'done')
        assert(found.get(number) === sequence, `acknowledged entry ${number} is not at ${sequence}`);
      if (outcome === 'failed') assert(!found.has(number), `failed entry ${number} is in the log`);
    }
  }
}

function requireUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}

/**
 * Simulates members that contend for one partition while servers and processes fail, and checks that nothing
 * acknowledged is lost (I1), nothing refused is there (I2), nothing is there twice (I3), that everybody reads the same
 * (I5), that the log is whole and has one opening an epoch (I6), that no read under a lease is stale, and that no log
 * stands still when nothing is wrong any more; also when the log is cut behind snapshots, and whoever stands before the
 * cut begins with one.
 *
 * @throws {Error} naming the seed and the broken promise
 */
export function simulateLog(seed: number): Promise<LogSimulationResult> {
  return underSeed(seed, () => new LogSimulation(seed).run());
}
