import type {
  LockGrant,
  LockRefused,
  LockReleased,
  LockRenewed,
  LocksCommand,
} from '#actors/locks/messages.ts';
import type { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { assert } from '#runtime/base/assert.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import {
  compareRevisions,
  decodeRevision,
  formatRevision,
  type Revision,
} from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import {
  checkLockHistory,
  type LockAnswer,
  LockHistory,
  type LockOperation,
} from '#test/support/lock-history.ts';
import { LOG_REFUSALS, PARTITION, PartitionWorld, type SimMachine, underSeed } from './partition-world.ts';
import { LEDGER, type SimCommand } from './sim-actor.ts';
import { ACTORS, LEDGERS, LOCKS, SimDisks, type SimHost } from './sim-host.ts';
import { SimProcess } from './sim-process.ts';
import type { SimRandom } from './sim-random.ts';
import type { SimScheduler } from './sim-scheduler.ts';
import type { SimStream } from './sim-stream.ts';

const MEMBERS = ['m1', 'm2', 'm3'];
const HOUR_MS = 3_600_000;

/** What clients do while things go wrong. */
const OPERATIONS = 150;

/** Between two clients that want something, in milliseconds, at most. */
const CLIENTS_MS = 400;

/** Simulated time after which a run goes on without faults, however little happened, in milliseconds. */
const FAULTY_MS_MAX = 300_000;

/** Simulated time within which everything has to work again, in milliseconds. */
const HEALED_MS_MAX = 120_000;

/** How far the clock of a process is off its speed at most: a lease of a second is that much shorter elsewhere. */
const DRIFT = 0.05;

/** Newest acknowledged writes each read under a lease is compared with. */
const LOOKED_AT = 10;

const POOL = 'tickets';
const CAPACITY = 5;
const KEYS = ['x', 'y'];

/** Refusals after which nothing has happened and nothing will. */
const CERTAIN = new Set([
  ...LOG_REFUSALS,
  'VALIDATION_FAILED',
  'POOL_NOT_FOUND',
  'IDEMPOTENCY_IN_PROGRESS',
  'LOCK_NOT_HELD',
  'RATE_LIMITED',
]);

/** A write of a client to a ledger. */
interface Operation {
  readonly command: SimCommand;
  readonly actor: string;
  readonly key: string | undefined;
  outcome: 'waiting' | 'done' | 'failed' | 'unknown';
  /** Of a done one that writes. */
  revision: string | undefined;
}

interface Machine extends SimMachine {
  /** Gives up whoever waits for the process when it dies. */
  readonly lose: Set<() => void>;
}

/** What a client was granted. */
interface Held {
  readonly key: string;
  readonly token: number;
}

/** How a run went; the same for the same seed. */
export interface PartitionSimulationResult {
  readonly done: number;
  readonly failed: number;
  readonly unknown: number;
  readonly epochs: number;
  readonly kills: number;
  readonly grants: number;
  readonly claims: number;
  /** Writes that named a lock and happened. */
  readonly guarded: number;
  readonly reads: number;
  /** Hash over everything that happened. */
  readonly trace: string;
}

/** Three members with all they do for one partition, and clients of a ledger and of locks. */
class PartitionSimulation {
  readonly #world: PartitionWorld;
  readonly #random: SimRandom;
  readonly #scheduler: SimScheduler;
  readonly #stream: SimStream;
  readonly #history: LockHistory;
  readonly #machines: readonly Machine[];
  readonly #operations: Operation[] = [];
  /** Of each ledger, acknowledged writes in the order in which they were: rows of its table. */
  readonly #acknowledged = new Map<string, { readonly row: string; readonly operation: string }[]>();
  /** Locks somebody was granted and does nothing with at present; many have run out. */
  readonly #held: Held[] = [];
  /** Claimed units that have not been put back. */
  #units = 0;
  #reads = 0;
  #kills = 0;
  #isEnding = false;
  /** When the faults ended. */
  #healedMs = 0;

  constructor(seed: number, listen?: (line: string) => void) {
    this.#world = new PartitionWorld(seed, listen);
    this.#random = this.#world.random;
    this.#scheduler = this.#world.scheduler;
    this.#stream = this.#world.stream;
    this.#history = new LockHistory(() => this.#scheduler.monotonicMs());
    this.#machines = MEMBERS.map((name) => this.#machine(name));
  }

  async run(): Promise<PartitionSimulationResult> {
    this.#scheduleFault();
    this.#scheduleClients();
    while (this.#operations.length < OPERATIONS && this.#scheduler.monotonicMs() < FAULTY_MS_MAX)
      await this.#step();
    this.#world.note('the faults end');
    this.#isEnding = true;
    this.#stream.heal();
    await this.#recover();
    return this.#check();
  }

  async #step(): Promise<void> {
    await this.#world.step();
    for (const machine of this.#machines) this.#readUnderLease(machine);
  }

  // -- members ----------------------------------------------------------------------------------------------

  #machine(name: string): Machine {
    const life = this.#process(name);
    const disks = new SimDisks();
    const files: FaultyFileSystem = new FaultyFileSystem(() => this.#disk(machine.life));
    const parts = { name, disks, files, life };
    const machine: Machine = { ...parts, member: this.#member(parts), lose: new Set() };
    this.#begin(machine);
    return machine;
  }

  #process(name: string): SimProcess {
    const rate = 1 - DRIFT + this.#random.next() * 2 * DRIFT;
    return new SimProcess(name, this.#scheduler, rate, (this.#random.next() - 0.5) * HOUR_MS);
  }

  /** An operation of the disk, for a process: one that is gone never hears of it. */
  #disk(life: SimProcess): Promise<void> {
    return new Promise((resolve) => life.after(this.#random.next() * 3, resolve));
  }

  #member(machine: Omit<SimMachine, 'member'>): PartitionMember<SimHost> {
    const { life } = machine;
    return this.#world.memberOf(machine, { report: (event) => this.#hear(life, event) });
  }

  #hear(life: SimProcess, event: LogEvent): void {
    this.#world.note(`${life.name} ${event.kind}`);
    if (event.kind === 'quarantined') this.#world.fail(event.cause);
  }

  #begin(machine: Machine): void {
    const { life } = machine;
    life.soon(() => this.#world.owns(this.#live(machine, life)));
  }

  /** What the directory would tell a member, by chance: to open, to hand over, to wait. */
  async #live({ member }: Machine, life: SimProcess): Promise<void> {
    await member.follow();
    while (!this.#isEnding) {
      await sleep(life, this.#random.next() * 6000);
      if (this.#isEnding) return;
      if (member.owned === undefined) {
        life.after(this.#random.next() * 60_000, () => member.cancelOpening());
        await member.own();
      } else if (this.#random.chance(0.3)) await member.follow();
    }
  }

  #restart(machine: Machine): void {
    const life = this.#process(machine.name);
    // Whatever was not flushed is gone with some of the processes.
    machine.files = machine.files.crash('drop-unsynced');
    machine.life = life;
    machine.member = this.#member(machine);
    this.#begin(machine);
  }

  #kill(machine: Machine): void {
    machine.life.kill();
    machine.disks.crash();
    this.#kills += 1;
    for (const lose of machine.lose) lose();
    machine.lose.clear();
  }

  // -- faults -----------------------------------------------------------------------------------------------

  #scheduleFault(): void {
    this.#scheduler.after(this.#random.next() * 4000, () => {
      if (this.#isEnding) return;
      this.#fault();
      this.#scheduleFault();
    });
  }

  #fault(): void {
    const machine = this.#random.pick(this.#machines);
    const { life } = machine;
    if (!life.isAlive) return;
    const dice = this.#random.next();
    this.#world.note(`fault ${dice.toFixed(3)} ${machine.name}`);
    if (dice < 0.2) {
      const stale = this.#machines.filter(() => this.#random.chance(0.2)).map((other) => other.life);
      this.#stream.loseLeader(500 + this.#random.next() * 9000, stale);
    } else if (dice < 0.4) life.pause(this.#random.next() * 15_000);
    else if (dice < 0.5) life.sleep(this.#random.next() * 15_000);
    else if (dice < 0.65) this.#stream.cutOff(life, this.#random.next() * 10_000);
    else if (dice < 0.7) this.#stream.slowDown(life, this.#random.next() * 10_000);
    else if (dice < 0.725) this.#stream.fill(this.#random.next() * 3000);
    else if (dice < 0.75) this.#stream.refuseAlone(this.#random.next() * 8000);
    else {
      this.#kill(machine);
      this.#scheduler.after(this.#random.next() * 3000, () => this.#restart(machine));
    }
  }

  // -- clients ----------------------------------------------------------------------------------------------

  #scheduleClients(): void {
    this.#scheduler.after(this.#random.next() * CLIENTS_MS, () => {
      if (this.#isEnding) return;
      const atOnce = this.#random.chance(0.3) ? 1 + this.#random.below(8) : 1;
      for (let count = 0; count < atOnce; count += 1) this.#act();
      this.#scheduleClients();
    });
  }

  #act(): void {
    const owners = this.#machines.filter(({ life, member }) => life.isAlive && member.owned !== undefined);
    if (owners.length === 0) return;
    const machine = this.#random.pick(owners);
    const dice = this.#random.next();
    if (dice < 0.3) this.#write(machine);
    else if (dice < 0.4) this.#writeAgain(machine);
    else if (dice < 0.6) this.#acquire(machine);
    else if (dice < 0.75) this.#giveBack(machine);
    else if (dice < 0.8) this.#writeUnderLock(machine);
    else if (dice < 0.92) this.#claim(machine);
    else this.#putBack(machine);
  }

  #write(machine: Machine): void {
    const kind = this.#random.pick(['put', 'put', 'append', 'append', 'remove', 'fail', 'long'] as const);
    const key = this.#random.chance(0.5) ? `key${this.#operations.length}` : undefined;
    this.#writeTo(machine, this.#random.pick(LEDGERS), kind, key);
  }

  #writeTo(machine: Machine, actor: string, kind: SimCommand['kind'], key: string | undefined): Operation {
    const operation = `op${this.#operations.length}`;
    const command: SimCommand = { kind, operation, key: `k${this.#random.below(6)}` };
    const written: Operation = { command, actor, key, outcome: 'waiting', revision: undefined };
    this.#operations.push(written);
    void this.#send(machine, written);
    return written;
  }

  /** A client that heard nothing, or wants to hear it again, sends its request again under the same key. */
  #writeAgain(machine: Machine): void {
    const keyed = this.#operations.filter(({ key, outcome }) => key !== undefined && outcome !== 'waiting');
    if (keyed.length > 0) void this.#send(machine, this.#random.pick(keyed));
  }

  /** A write that names a lock somebody was granted, now or long ago. */
  #writeUnderLock(machine: Machine): void {
    const number = this.#random.below(this.#held.length + 1);
    const [lock] = this.#held.splice(number, 1);
    if (lock === undefined) return;
    const name = `op${this.#operations.length}`;
    const command: SimCommand = { kind: 'put', operation: name, key: 'guarded', lock };
    const [actor] = LEDGERS as [string];
    const written: Operation = { command, actor, key: undefined, outcome: 'waiting', revision: undefined };
    this.#operations.push(written);
    const send = async (): Promise<LockAnswer | null> => {
      await this.#send(machine, written);
      if (written.outcome === 'unknown') throw new ServiceError('DEADLINE_EXCEEDED');
      return written.outcome === 'done' ? {} : null;
    };
    const told = this.#history.run({ ...lock, do: 'write' }, send).then(() => this.#held.push(lock));
    this.#world.owns(told);
  }

  #send(machine: Machine, operation: Operation): Promise<void> {
    const { command, actor, key } = operation;
    const before = { outcome: operation.outcome, revision: operation.revision };
    const isRepeated = before.outcome !== 'waiting';
    operation.outcome = 'waiting';
    const answered = this.#call(machine, (host) => host.submit(actor, command, key)).then(
      (result) => {
        this.#world.note(`done ${command.operation} ${String(result)}`);
        assert(
          before.revision === undefined || before.revision === result,
          `${command.operation} happened again`,
        );
        operation.outcome = 'done';
        operation.revision = result as string;
        if (before.revision === undefined) this.#acknowledge(actor, command.operation, operation.revision);
      },
      (error: { readonly code?: string }) => {
        this.#world.note(`error ${command.operation} ${error.code}`);
        const isCertain = CERTAIN.has(error.code ?? '');
        if (before.outcome === 'done') operation.outcome = 'done';
        // An earlier attempt of which nothing is known may still have happened.
        else if (isRepeated && before.outcome === 'unknown') operation.outcome = 'unknown';
        else operation.outcome = isCertain ? 'failed' : 'unknown';
        assert(
          before.outcome !== 'done' || error.code !== 'VALIDATION_FAILED',
          `${command.operation} was done and is now refused`,
        );
      },
    );
    this.#world.owns(answered);
    return answered;
  }

  #acknowledge(actor: string, operation: string, revision: string): void {
    const known = this.#acknowledged.get(actor) ?? [];
    this.#acknowledged.set(actor, known);
    known.push({ row: revision, operation });
  }

  /** Asks a process; rejects when it dies first. */
  #call<T>({ life, lose, member }: Machine, ask: (host: SimHost) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const lost = (): void => reject(new ServiceError('DEADLINE_EXCEEDED'));
      lose.add(lost);
      const settle = (act: () => void): void => {
        // An answer of a process that died was never sent.
        if (!life.isAlive) return;
        lose.delete(lost);
        act();
      };
      life.run(() => {
        const { owned } = member;
        const answer = owned === undefined ? Promise.reject(new ServiceError('NOT_OWNER')) : ask(owned.host);
        answer.then(
          (result) => settle(() => resolve(result)),
          (error: unknown) => settle(() => reject(error)),
        );
      });
    });
  }

  #lock(
    machine: Machine,
    operation: LockOperation,
    command: LocksCommand,
    read: (answer: never) => LockAnswer | null,
  ): void {
    const send = async (): Promise<LockAnswer | null> => {
      try {
        return read((await this.#call(machine, (host) => host.submit(LOCKS, command))) as never);
      } catch (error) {
        // That a lease was not renewed does not say that it is lost.
        const isLease = operation.do === 'renew' || operation.do === 'release';
        if (!isLease && error instanceof ServiceError && CERTAIN.has(error.code)) return null;
        throw error;
      }
    };
    const told = this.#history.run(operation, send).then((answer) => {
      this.#world.note(`${JSON.stringify(operation)} at ${machine.name}: ${JSON.stringify(answer)}`);
      if (operation.do === 'acquire' && answer?.token !== undefined)
        this.#held.push({ key: operation.key, token: answer.token });
      if (operation.do === 'renew' || operation.do === 'release')
        this.#held.push({ key: operation.key, token: operation.token });
      if (operation.do === 'claim' && answer !== null && answer !== undefined) this.#units += operation.n;
    });
    this.#world.owns(told);
  }

  #acquire(machine: Machine): void {
    const key = this.#random.pick(KEYS);
    const ttlMs = 100 + this.#random.below(8000);
    const waitMs = this.#random.chance(0.5) ? this.#random.below(5000) : 0;
    this.#lock(
      machine,
      // What is promised, by the slowest clock.
      { do: 'acquire', key, ttlMs: ttlMs * (1 - 2 * DRIFT) },
      { type: 'AcquireLock', key, ttlMs, owner: null, waitMs },
      (answer: LockGrant | LockRefused) => (answer.acquired ? { token: answer.token } : null),
    );
  }

  #giveBack(machine: Machine): void {
    if (this.#held.length === 0) return;
    // One thing at a time, as a holder does.
    const [{ key, token }] = this.#held.splice(this.#random.below(this.#held.length), 1) as [Held];
    if (this.#random.chance(0.5)) {
      this.#lock(
        machine,
        { do: 'release', key, token },
        { type: 'ReleaseLock', key, token },
        (answer: LockReleased) => (answer.released ? {} : null),
      );
      return;
    }
    const ttlMs = 100 + this.#random.below(8000);
    this.#lock(
      machine,
      { do: 'renew', key, token, ttlMs: ttlMs * (1 - 2 * DRIFT) },
      { type: 'RenewLock', key, token, ttlMs },
      (answer: LockRenewed) => (answer.renewed ? {} : null),
    );
  }

  #claim(machine: Machine): void {
    const n = 1 + this.#random.below(2);
    this.#lock(
      machine,
      { do: 'claim', pool: POOL, n, capacity: CAPACITY },
      { type: 'ClaimUnits', pool: POOL, n, capacity: CAPACITY },
      (answer: { readonly claimed: boolean; readonly remaining?: number }) =>
        answer.claimed ? { remaining: answer.remaining as number } : null,
    );
  }

  /** Of what a client knows to have, so that it is not more than was taken at any time. */
  #putBack(machine: Machine): void {
    if (this.#units === 0) return;
    this.#units -= 1;
    this.#lock(
      machine,
      { do: 'put back', pool: POOL, n: 1 },
      { type: 'ReleaseUnits', pool: POOL, n: 1 },
      ({ remaining }: { readonly remaining: number }) => ({ remaining }),
    );
  }

  // -- checks -----------------------------------------------------------------------------------------------

  /** An owner that believes in its lease shows everything that was acknowledged, whoever acknowledged it. */
  #readUnderLease({ life, member }: Machine): void {
    if (!life.isAlive || !this.#random.chance(0.05)) return;
    life.run(() => {
      const { owned } = member;
      if (owned === undefined || owned.host.isClosed || !owned.log.lease.isValid()) return;
      this.#reads += 1;
      for (const actor of LEDGERS) {
        const { view } = owned.host.loop(actor);
        const rows = new Map<string, string>();
        for (const { key, value } of view.range(LEDGER, { start: '', end: '\u00ff'.repeat(20) }))
          rows.set(formatRevision(decodeRevision(key, 0)), Buffer.from(value).toString());
        for (const { row, operation } of (this.#acknowledged.get(actor) ?? []).slice(-LOOKED_AT))
          assert(
            rows.get(row) === operation,
            `${life.name} does not show ${operation}, acknowledged at ${row}`,
          );
      }
    });
  }

  /** Without faults everybody is served again, and everybody has everything. */
  async #recover(): Promise<void> {
    this.#healedMs = this.#scheduler.monotonicMs();
    await this.#until(() => this.#machines.every(({ life }) => life.isAlive), 'a machine stays off');
    const [first, ...others] = this.#machines as [Machine, ...Machine[]];
    for (const { member } of others) {
      member.cancelOpening();
      this.#world.owns(member.follow());
    }
    for (const actor of LEDGERS) {
      let outcome: Operation['outcome'];
      do {
        await this.#during(first, () => first.member.own());
        const operation = this.#writeTo(first, actor, 'put', undefined);
        await this.#until(() => operation.outcome !== 'waiting', 'a client hears nothing');
        // An opening from before may still arrive, and end what was owned.
        ({ outcome } = operation);
      } while (outcome !== 'done');
    }
    const isWaiting = ({ outcome }: Operation): boolean => outcome === 'waiting';
    await this.#until(() => !this.#operations.some(isWaiting), 'a client hears nothing');
    // The owner first: leases run out as long as there is one.
    await this.#during(first, () => first.member.leave());
    const goal = this.#stream.messages.length;
    for (const machine of others) {
      await this.#until(() => machine.member.sequence >= goal, 'a follower stays behind');
      await this.#during(machine, () => machine.member.leave());
    }
  }

  async #until(isTrue: () => boolean, what: string): Promise<void> {
    while (!isTrue()) {
      await this.#step();
      const isInTime = this.#scheduler.monotonicMs() < this.#healedMs + HEALED_MS_MAX;
      assert(isInTime, `although nothing is wrong any more, ${what}`);
    }
  }

  /** Lets a process do something, and waits for it. */
  async #during({ life, name }: Machine, work: () => Promise<unknown>): Promise<void> {
    let isOver = false;
    const run = async (): Promise<void> => {
      await work();
      isOver = true;
    };
    life.run(() => this.#world.owns(run()));
    await this.#until(() => isOver, `${name} does not do what it is told`);
  }

  #check(): PartitionSimulationResult {
    const entries: LogEntry[] = [];
    const decoder = new BatchDecoder(PARTITION);
    for (const message of this.#stream.messages) {
      const step = decoder.take(message);
      if (step.kind === 'batch') entries.push(...step.batch.entries);
    }
    for (const actor of ACTORS) this.#checkDisks(actor, fold(entries, actor));
    for (const actor of LEDGERS) checkRevisions(entries, actor);
    this.#checkOperations(entries);
    const wrong = checkLockHistory(this.#history.events);
    assert(wrong.length === 0, wrong.join('; '));
    const count = (outcome: string): number => this.#operations.filter((o) => o.outcome === outcome).length;
    const granted = (what: string): number => {
      const ids = new Set<number>();
      for (const event of this.#history.events)
        if (event.type === 'invoke' && event.operation.do === what) ids.add(event.id);
      return this.#history.events.filter(({ id, type }) => type === 'ok' && ids.has(id)).length;
    };
    return {
      done: count('done'),
      failed: count('failed'),
      unknown: count('unknown'),
      epochs: decoder.fold.state.epoch,
      kills: this.#kills,
      grants: granted('acquire'),
      claims: granted('claim'),
      guarded: granted('write'),
      reads: this.#reads,
      trace: this.#world.trace(),
    };
  }

  /** Every machine has on its disk what the log makes. */
  #checkDisks(actor: string, wanted: Tables): void {
    for (const { disks, name } of this.#machines) {
      const { tables } = disks.of(actor).flushed;
      for (const number of new Set([...tables.keys(), ...wanted.keys()])) {
        const rows = [...(tables.get(number)?.values ?? [])].map(([key, value]) => `${key}=${textOf(value)}`);
        const expected = [...(wanted.get(number) ?? [])].map(([key, value]) => `${key}=${value}`);
        assert(
          rows.sort().join('\n') === expected.sort().join('\n'),
          `table ${number} of ${actor} on ${name} is not what the log makes`,
        );
      }
    }
  }

  #checkOperations(entries: readonly LogEntry[]): void {
    const ledgers = new Map(LEDGERS.map((actor) => [actor, fold(entries, actor).get(LEDGER) ?? new Map()]));
    for (const { actor, command, outcome, revision } of this.#operations) {
      const effects: string[] = [];
      for (const [key, operation] of ledgers.get(actor) as ReadonlyMap<string, string>)
        if (operation === command.operation) effects.push(formatRevision(decodeRevision(key, 0)));
      assert(effects.length <= 1, `${command.operation} took effect twice: ${effects.join(' ')}`);
      if (outcome === 'done') assert(effects[0] === revision, `${command.operation} is not at ${revision}`);
      if (outcome === 'failed' || command.kind === 'fail')
        assert(effects.length === 0, `${command.operation} failed and is there`);
    }
  }
}

/** Rows of an actor by table; keys and values as binary strings. */
type Tables = ReadonlyMap<number, ReadonlyMap<string, string>>;

function textOf(value: Uint8Array): string {
  return Buffer.from(value).toString('latin1');
}

/** The tables of an actor as the entries of the log make them. */
function fold(entries: readonly LogEntry[], actor: string): Tables {
  const tables = new Map<number, Map<string, string>>();
  for (const entry of entries) {
    if (entry.actor !== actor) continue;
    for (const { key, table, value } of entry.writes) {
      const rows = tables.get(table) ?? new Map<string, string>();
      tables.set(table, rows);
      if (value === null) rows.delete(key);
      else rows.set(key, textOf(value));
    }
  }
  return tables;
}

/** In the order of the log, the revisions of an actor rise, whoever made them. */
function checkRevisions(entries: readonly LogEntry[], actor: string): void {
  let last: Revision = { ms: 0, counter: 0 };
  for (const entry of entries) {
    if (entry.actor !== actor) continue;
    for (const { key, table } of entry.writes) {
      if (table !== LEDGER) continue;
      const revision = decodeRevision(key, 0);
      assert(
        compareRevisions(revision, last) > 0,
        `${actor}: ${formatRevision(revision)} comes after ${formatRevision(last)}`,
      );
      last = revision;
    }
  }
}

/**
 * Simulates three members with all they do for a partition (following, opening, owning, handing over, commit loops,
 * locks and pools, shards) while servers, machines and processes fail, and checks: nothing acknowledged is lost (I1),
 * nothing refused is there (I2), nothing happened twice (I3), reads under a lease show what was acknowledged (I4),
 * every member ends with the same shards (I5), revisions rise (I7), locks and pools keep their promises (I8, I9).
 *
 * @param listen told one line about everything that happens, to look into a seed
 * @throws {Error} naming the seed and the broken promise
 */
export function simulatePartition(
  seed: number,
  listen?: (line: string) => void,
): Promise<PartitionSimulationResult> {
  return underSeed(seed, () => new PartitionSimulation(seed, listen).run());
}
