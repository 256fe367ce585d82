import { FlushJournal } from '#cluster/replica-durability/flush-journal.ts';
import type { ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { isShorter } from '#cluster/replication/log-errors.ts';
import { decodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { assert } from '#runtime/base/assert.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeEntries } from '#runtime/log/entry-codec.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import {
  FOLDER,
  LOG_REFUSALS,
  PARTITION,
  PartitionWorld,
  type SimMachine,
  underSeed,
} from './partition-world.ts';
import { LEDGER } from './sim-actor.ts';
import { LEDGERS, SimDisks, SimStore } from './sim-host.ts';
import { SimNetwork, type SimPeer } from './sim-network.ts';
import { SimProcess } from './sim-process.ts';
import type { SimRandom } from './sim-random.ts';
import type { SimScheduler } from './sim-scheduler.ts';
import type { SimStream } from './sim-stream.ts';

const MEMBERS = ['m1', 'm2', 'm3', 'm4'];

/** Of them, how many keep the partition at a time. */
const VOTERS = 3;

/** What clients do while things go wrong. */
const OPERATIONS = 60;

/** Simulated time after which a run goes on without faults, however little happened, in milliseconds. */
const FAULTY_MS_MAX = 400_000;

/** Simulated time within which everything has to work again, in milliseconds. */
const HEALED_MS_MAX = 240_000;

/** Simulated time within which a member knows whether the log went back, in milliseconds. */
const NOTICE_MS = 30_000;

/** Between two flushes of the servers, in milliseconds, at most. */
const SERVER_FLUSH_MS = 60_000;

/** How long a damaged server leads, in milliseconds, at most. */
const DAMAGED_MS_MAX = 60_000;

/** Small, so that journals have several segments and drop the oldest. */
const WINDOW = { keepMs: 120_000, keepBytesMin: 4096, keepBytesMax: 1 << 30 };

/**
 * The durability class that is simulated. `changing`: `replica-disk`, then `quorum` after two of the members are gone
 * for good, then `replica-disk` again; with an even seed the servers keep their power.
 */
export type SimulatedClass = 'replica-disk' | 'quorum' | 'changing';

/**
 * What goes wrong with the servers: they lose their power, or one whose copy of the stream lost its end comes to lead.
 */
export type SimulatedLoss = 'power' | 'damage';

interface Machine extends SimMachine, SimPeer {
  life: SimProcess;
  /** It lives, and only an operator can have it go on with the partition. */
  isLost: boolean;
}

interface Operation {
  readonly name: string;
  outcome: 'waiting' | 'done' | 'failed' | 'unknown';
  /** Whether the loss of power must not undo it. */
  readonly isSafe: boolean;
}

/** How a run went; the same for the same seed. */
export interface PowerSimulationResult {
  readonly done: number;
  readonly unknown: number;
  /** Times messages were missing in the stream, and those messages. */
  readonly cuts: number;
  readonly lostMessages: number;
  /** Times a member gave a stream its end back. */
  readonly reseeds: number;
  /** Times a member had another server lead. */
  readonly doubts: number;
  /** Times a member set records aside that others had written over. */
  readonly setAside: number;
  /** Members that ended in quarantine for good. */
  readonly quarantined: number;
  /** Acknowledged operations that are not in the log in the end. */
  readonly missing: number;
  /** Actors that a member was known to have up to its stored position when its process began, over all beginnings. */
  readonly floors: number;
  /** Whether writes were taken again in the end. */
  readonly hasRecovered: boolean;
  readonly trace: string;
}

/** Members of one partition whose machines, and whose servers, lose their power. */
class PowerSimulation {
  readonly #class: SimulatedClass;
  readonly #loss: SimulatedLoss;
  /** Cuts that take something from the servers. */
  readonly #cutsMax: number;
  /** The class in force. */
  #current: 'replica-disk' | 'quorum';
  readonly #world: PartitionWorld;
  readonly #random: SimRandom;
  readonly #scheduler: SimScheduler;
  readonly #stream: SimStream;
  readonly #machines: Machine[] = [];
  readonly #network: SimNetwork;
  readonly #operations: Operation[] = [];
  readonly #counts = { cuts: 0, lostMessages: 0, reseeds: 0, doubts: 0, setAside: 0 };
  #isEnding = false;
  /** The newest epoch in which something was acknowledged. */
  #ackedEpoch = 0;

  constructor(
    seed: number,
    durability: SimulatedClass,
    loss: SimulatedLoss,
    listen?: (line: string) => void,
  ) {
    this.#class = durability;
    this.#loss = loss;
    this.#cutsMax = durability === 'replica-disk' ? Number.POSITIVE_INFINITY : 1;
    // Where nothing is lost nobody has a reason to wait for an operator.
    if (durability === 'changing' && seed % 2 === 0) this.#cutsMax = 0;
    this.#current = durability === 'quorum' ? 'quorum' : 'replica-disk';
    this.#world = new PartitionWorld(seed, listen);
    this.#random = this.#world.random;
    this.#scheduler = this.#world.scheduler;
    this.#stream = this.#world.stream;
    this.#network = new SimNetwork({
      scheduler: this.#scheduler,
      random: this.#random,
      peers: () => this.#machines,
      happens: (probability) => this.#happens(probability),
      isCut: (life) => this.#stream.isCut(life),
    });
    for (const name of MEMBERS) this.#machines.push(this.#machine(name));
  }

  async run(): Promise<PowerSimulationResult> {
    this.#scheduleFault();
    this.#scheduleClients();
    this.#scheduleServerFlush();
    const stages = this.#class === 'changing' ? 3 : 1;
    for (let stage = 1; stage <= stages; stage += 1) {
      const isOver = (): boolean =>
        this.#operations.length >= (OPERATIONS * stage) / stages ||
        this.#scheduler.monotonicMs() >= (FAULTY_MS_MAX * stage) / stages;
      while (!isOver()) {
        await this.#world.step();
        this.#requireFreshReads();
      }
      if (stage < stages) this.#changeClass();
    }
    this.#world.note('the faults end');
    this.#isEnding = true;
    this.#stream.heal();
    const hasRecovered = await this.#recover();
    const kept =
      hasRecovered || this.#class !== 'replica-disk' ? new Set<string>() : await this.#keptOnDisks();
    return this.#check(hasRecovered, kept);
  }

  // -- machines ---------------------------------------------------------------------------------------------

  #machine(name: string): Machine {
    const life = this.#process(name);
    const files = new FaultyFileSystem(
      () => new Promise((resolve) => machine.life.after(this.#random.next() * 3, resolve)),
    );
    const status = (): Promise<ReplicaStatus | undefined> => machine.member.status();
    const machine = {
      name,
      disks: new SimDisks(),
      files,
      life,
      isLost: false,
      status,
    } as unknown as Machine;
    this.#begin(machine);
    return machine;
  }

  #process(name: string): SimProcess {
    return new SimProcess(name, this.#scheduler, 0.95 + this.#random.next() * 0.1, 0);
  }

  #begin(machine: Machine): void {
    const { life } = machine;
    this.#network.restart(machine);
    machine.isLost = false;
    machine.member = this.#world.memberOf(machine, {
      replicas: {
        statuses: this.#network.statusesOf(machine),
        others: () => this.#machines.filter((each) => each !== machine && each.life.isAlive).length,
        flush:
          this.#current === 'quorum'
            ? undefined
            : {
                channel: this.#network.channelOf(machine),
                votersWanted: () => this.#votersWanted(machine),
                ...(this.#loss === 'power' ? { window: WINDOW } : {}),
              },
      },
      report: (event) => this.#hear(machine, life, event),
      onRole: (role) => {
        this.#world.note(`${machine.name} is ${role}`);
        if (role === 'owning') this.#requireLeasesOver(machine);
      },
    });
    life.soon(() => this.#world.owns(this.#live(machine, life)));
  }

  #hear(machine: Machine, life: SimProcess, event: LogEvent): void {
    const cause = event.kind === 'quarantined' ? ` ${(event.cause as Error).message}` : '';
    this.#world.note(`${machine.name} ${event.kind}${cause}`);
    if (event.kind === 'reseeded') this.#counts.reseeds += 1;
    if (event.kind === 'set-aside') this.#counts.setAside += 1;
    if (event.kind === 'leader-doubted') this.#counts.doubts += 1;
    if (event.kind !== 'quarantined' || machine.life !== life) return;
    const { code } = event.cause as ServiceError;
    if (code !== 'DATA_CORRUPTED') this.#world.fail(event.cause);
    if (!isShorter(event.cause) || this.#current === 'quorum') machine.isLost = true;
  }

  /**
   * Whoever begins to write has waited until nobody answers reads from an older epoch. Where a stream lost its end that
   * holds in class `replica-disk` alone.
   */
  #requireLeasesOver(successor: Machine): void {
    // Whoever was replaced while it opened its shards is told of at once, and answers nobody.
    if (this.#class === 'quorum' || successor.member.owned === undefined) return;
    const early = this.#machines.find(
      ({ life, member }) =>
        member !== successor.member &&
        life.isAlive &&
        member.epoch <= successor.member.epoch &&
        member.owned?.log.lease.isValid() === true,
    );
    // Not thrown: this is called by the member.
    if (early !== undefined)
      this.#world.fail(new Error(`${successor.name} writes, and ${early.name} may still answer reads`));
  }

  /**
   * Whoever answers reads under its lease has everything that was acknowledged, whatever the servers lost. Only class
   * `replica-disk` makes up for that.
   */
  #requireFreshReads(): void {
    if (this.#class !== 'replica-disk') return;
    for (const { life, member, name } of this.#machines) {
      const log = life.isAlive ? member.owned?.log : undefined;
      if (log === undefined || log.epoch >= this.#ackedEpoch || !log.lease.isValid()) continue;
      this.#world.fail(
        new Error(
          `${name} answers reads of epoch ${log.epoch}, and epoch ${this.#ackedEpoch} has acknowledged`,
        ),
      );
    }
  }

  /** Those that live, from the owner on; a change of voters whenever another one does. */
  #votersWanted(owner: Machine): string[] {
    const first = this.#machines.indexOf(owner);
    const ring = this.#machines.map(
      (_, at) => this.#machines[(first + at) % this.#machines.length] as Machine,
    );
    return ring
      .filter(({ life }) => life.isAlive)
      .slice(0, VOTERS)
      .map(({ name }) => name);
  }

  async #live({ member }: Machine, life: SimProcess): Promise<void> {
    await member.follow();
    while (!this.#isEnding) {
      await sleep(life, this.#random.next() * 6000);
      if (this.#isEnding) return;
      if (member.owned === undefined) {
        life.after(this.#random.next() * 90_000, () => member.cancelOpening());
        await member.own();
      } else if (this.#random.chance(0.15)) await member.follow();
    }
  }

  #cutPowerOf(machine: Machine, downMs: number): void {
    if (!machine.life.isAlive) return;
    machine.life.kill();
    machine.disks.crash();
    this.#scheduler.after(downMs, () => {
      if (!this.#machines.includes(machine)) return;
      machine.life = this.#process(machine.name);
      const mode = this.#random.chance(0.5) ? 'drop-unsynced' : 'torn';
      machine.files = machine.files.crash(mode, () => this.#random.next());
      this.#begin(machine);
    });
  }

  /** All members are ended and started again; the first time some do not come back. */
  #changeClass(): void {
    this.#current = this.#current === 'quorum' ? 'replica-disk' : 'quorum';
    if (this.#current === 'quorum')
      for (let count = 0; count < 2; count += 1) {
        const [gone] = this.#machines.splice(this.#random.below(this.#machines.length), 1);
        if (gone?.life.isAlive === true) gone.life.kill();
      }
    const names = this.#machines.map(({ name }) => name).join(' and ');
    this.#world.note(`${names} go on with ${this.#current}`);
    for (const machine of this.#machines) {
      if (!machine.life.isAlive) continue;
      machine.life.kill();
      machine.life = this.#process(machine.name);
      // Nothing is lost but what the processes had in mind.
      machine.files = machine.files.crash('process-kill', () => this.#random.next());
      machine.disks.crash();
      this.#begin(machine);
    }
  }

  #happens(probability: number): boolean {
    return !this.#stream.isHealed && this.#random.chance(probability);
  }

  // -- faults and clients -----------------------------------------------------------------------------------

  #scheduleServerFlush(): void {
    this.#scheduler.after(this.#random.next() * SERVER_FLUSH_MS, () => {
      this.#stream.flush();
      if (!this.#isEnding) this.#scheduleServerFlush();
    });
  }

  #scheduleFault(): void {
    this.#scheduler.after(1000 + this.#random.next() * 15_000, () => {
      if (this.#isEnding) return;
      this.#fault();
      this.#scheduleFault();
    });
  }

  #fault(): void {
    const machine = this.#random.pick(this.#machines);
    const dice = this.#random.next();
    this.#world.note(`fault ${dice.toFixed(3)} ${machine.name}`);
    if (dice < 0.15) machine.life.pause(this.#random.next() * 15_000);
    else if (dice < 0.3) this.#stream.cutOff(machine.life, this.#random.next() * 10_000);
    else if (dice < 0.4) this.#stream.loseLeader(500 + this.#random.next() * 9000, []);
    else if (this.#loss === 'damage' && dice > 0.6) this.#loseEnd();
    // After a loss members wait for an operator: a second one would leave nobody who could go on wrongly.
    else if (dice < 0.6 || this.#counts.cuts >= this.#cutsMax)
      this.#cutPowerOf(machine, this.#random.next() * 15_000);
    else this.#cutServers(dice < 0.75);
  }

  /** @param isAlone whether the machines of the members keep their power */
  #cutServers(isAlone: boolean): void {
    // Some are back within a lease.
    const awayMs = this.#random.next() * (this.#random.chance(0.3) ? 500 : 8000);
    const lost = this.#stream.cutPower(awayMs);
    this.#world.note(`the servers lose ${lost} messages and end at ${this.#stream.messages.length}`);
    if (lost > 0) this.#counts.cuts += 1;
    this.#counts.lostMessages += lost;
    if (isAlone) return;
    for (const each of this.#machines) this.#cutPowerOf(each, this.#random.next() * 20_000);
  }

  /** Most often the damaged server leads for longer than anybody takes to believe it. */
  #loseEnd(): void {
    const lost = this.#stream.loseEnd();
    this.#world.note(`the stream loses ${lost} messages and ends at ${this.#stream.messages.length}`);
    if (lost === 0) return;
    this.#counts.cuts += 1;
    this.#counts.lostMessages += lost;
    // Or it leads until it is asked to leave that to another.
    if (this.#random.chance(0.5))
      this.#scheduler.after(this.#random.next() * DAMAGED_MS_MAX, () =>
        this.#world.note(`the stream has ${this.#stream.findEnd()} messages back`),
      );
  }

  #scheduleClients(): void {
    this.#scheduler.after(this.#random.next() * 5000, () => {
      if (this.#isEnding) return;
      const atOnce = 1 + this.#random.below(4);
      for (let count = 0; count < atOnce; count += 1) this.#write();
      this.#scheduleClients();
    });
  }

  #write(): Operation | undefined {
    const owners = this.#machines.filter(({ life, member }) => life.isAlive && member.owned !== undefined);
    if (owners.length === 0) return undefined;
    const { life, member } = this.#random.pick(owners);
    const name = `op${this.#operations.length}`;
    const operation: Operation = { name, outcome: 'waiting', isSafe: this.#current === 'replica-disk' };
    this.#operations.push(operation);
    const command = { kind: 'put', operation: operation.name, key: `k${this.#random.below(6)}` } as const;
    const actor = this.#random.pick(LEDGERS);
    life.run(() => {
      const { owned } = member;
      if (owned === undefined) {
        operation.outcome = 'failed';
        return;
      }
      owned.host.submit(actor, command, undefined).then(
        () => {
          // An answer of a process that died was never sent.
          if (!life.isAlive) return;
          operation.outcome = 'done';
          this.#ackedEpoch = Math.max(this.#ackedEpoch, owned.log.epoch);
          this.#world.note(`done ${operation.name}`);
        },
        ({ code }: ServiceError) => {
          operation.outcome = LOG_REFUSALS.has(code) ? 'failed' : 'unknown';
          this.#world.note(`${operation.outcome} ${operation.name} ${code}`);
        },
      );
    });
    return operation;
  }

  // -- the end ----------------------------------------------------------------------------------------------

  /** Without faults writes are taken again, unless too many members wait for an operator. */
  async #recover(): Promise<boolean> {
    const untilMs = this.#scheduler.monotonicMs() + HEALED_MS_MAX;
    let last: Operation | undefined;
    const isTaken = (): boolean => last?.outcome === 'done';
    const takeTurns = async (machine: Machine): Promise<void> => {
      const { life, member } = machine;
      while (life.isAlive && this.#scheduler.monotonicMs() < untilMs) {
        if (isTaken()) return;
        // As placement has it, one tries at a time, and the others follow.
        const first = this.#machines.find((each) => each.member.role !== 'quarantined');
        if (first !== machine) member.cancelOpening();
        else if (member.owned === undefined) await member.own();
        await sleep(life, 500 + this.#random.next() * 1000);
      }
    };
    while (this.#machines.some(({ life }) => !life.isAlive)) await this.#world.step();
    for (const machine of this.#machines) machine.life.soon(() => this.#world.owns(takeTurns(machine)));
    let nextMs = 0;
    while (!isTaken()) {
      // Everybody waits for an operator.
      if (!(await this.#scheduler.step())) return false;
      this.#world.check();
      const nowMs = this.#scheduler.monotonicMs();
      if (nowMs > untilMs) return false;
      if (isTaken() || last?.outcome === 'waiting' || nowMs < nextMs) continue;
      nextMs = nowMs + 200;
      last = this.#write();
    }
    await this.#untilNoticed();
    return true;
  }

  /** Members that have just started look at the stream, and at nothing else, until they know what it is. */
  async #untilNoticed(): Promise<void> {
    const untilMs = this.#scheduler.monotonicMs() + NOTICE_MS;
    while (this.#scheduler.monotonicMs() < untilMs && (await this.#scheduler.step())) this.#world.check();
  }

  /** The operations of the log, as far as anybody can read it. @param hasRecovered whether somebody owns it */
  #logged(hasRecovered: boolean): LoggedOperation[] {
    const operations: LoggedOperation[] = [];
    const decoder = new BatchDecoder(PARTITION);
    try {
      for (const message of this.#stream.messages) {
        const step = decoder.take(message);
        if (step.kind !== 'batch') continue;
        const { entries, sequence } = step.batch;
        operations.push(...operationsOf(entries).map((operation) => ({ ...operation, sequence })));
      }
    } catch (error) {
      // Two owners wrote over what was lost, or what one of them sent before arrived behind it: everybody notices, and
      // nobody goes on.
      if (!isRefused(error) || (this.#class === 'replica-disk' && hasRecovered)) throw error;
    }
    return operations;
  }

  /** Shards of who goes on have what the log has up to where they are, and nothing else: no fork (I5). */
  #checkShards({ disks, life, name }: Machine, logged: readonly LoggedOperation[]): void {
    const store = new SimStore(disks, life);
    for (const actor of LEDGERS) {
      const shard = store.open(actor);
      const rows = [...shard.range(LEDGER, { start: '', end: '\uffff' })];
      const has = new Set(rows.map(({ value }) => Buffer.from(value).toString()));
      const own = logged.filter((each) => each.actor === actor && each.sequence <= shard.position.sequence);
      const holes = own.filter((each) => !has.has(each.name)).map((each) => each.name);
      assert(holes.length === 0, `${name} lacks ${holes.join(' ')}, which the log has`);
      const strange = [...has].filter((each) => !logged.some((one) => one.name === each));
      assert(strange.length === 0, `${name} has ${strange.join(' ')}, which the log does not have`);
    }
  }

  /** The operations that the flush journals of all members would have if they lost their power now. */
  async #keptOnDisks(): Promise<ReadonlySet<string>> {
    const kept = new Set<string>();
    for (const { files, life } of this.#machines) {
      const reading = (async () => {
        const journal = await FlushJournal.open({
          files: files.crash('drop-unsynced'),
          folder: `${FOLDER}/flush-journal`,
          clock: life,
          random: this.#random,
        });
        const { first, flushed } = journal;
        if (flushed === undefined) return;
        for await (const { bytes } of journal.read(first, flushed.sequence)) {
          const record = decodeRecord(bytes);
          if ('fault' in record || record.kind !== RecordKind.entries) continue;
          for (const { name } of operationsOf(decodeEntries(record.body, record.entries))) kept.add(name);
        }
      })();
      let isOver = false;
      const over = reading.finally(() => {
        isOver = true;
      });
      while (!isOver) await this.#scheduler.step();
      await over;
    }
    return kept;
  }

  /** @param kept of a run that has not recovered, what an operator finds in the flush journals */
  #check(hasRecovered: boolean, kept: ReadonlySet<string>): PowerSimulationResult {
    const found = new Map<string, number>();
    const logged = this.#logged(hasRecovered);
    for (const { name } of logged) found.set(name, (found.get(name) ?? 0) + 1);
    for (const [operation, times] of found) assert(times === 1, `${operation} took effect ${times} times`);
    const done = this.#operations.filter(({ outcome }) => outcome === 'done');
    const missing = done.filter(({ name }) => !found.has(name)).map(({ name }) => name);
    const lost = this.#machines.filter(({ isLost, member }) => isLost && member.role === 'quarantined');
    const quarantined = lost.length;
    for (const { name, outcome } of this.#operations)
      assert(outcome !== 'failed' || !found.has(name), `${name} was refused and is there`);
    // While everybody waits for an operator it is in the stream, or on the disk of a member who has more.
    const gone = missing.filter((name) => !kept.has(name));
    if (this.#class === 'replica-disk') assert(gone.length === 0, `acknowledged and lost: ${gone.join(' ')}`);
    // What must not be lost is known to be: who had it says so.
    const undone = done.filter(({ isSafe, name }) => isSafe && !found.has(name)).map(({ name }) => name);
    if (undone.length > 0 && hasRecovered) assert(quarantined > 0, `lost unseen: ${undone.join(' ')}`);
    if (hasRecovered)
      for (const machine of this.#machines) if (!lost.includes(machine)) this.#checkShards(machine, logged);
    return {
      done: done.length,
      unknown: this.#operations.filter(({ outcome }) => outcome === 'unknown').length,
      ...this.#counts,
      quarantined,
      missing: missing.length,
      floors: this.#world.floors,
      hasRecovered,
      trace: this.#world.trace(),
    };
  }
}

/** An operation as it stands in the log. */
interface LoggedOperation {
  readonly actor: string;
  readonly name: string;
  readonly sequence: number;
}

/** Whether a log is one that stops whoever reads it. */
function isRefused(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'DATA_CORRUPTED';
}

function operationsOf(entries: readonly LogEntry[]): Pick<LoggedOperation, 'actor' | 'name'>[] {
  return entries.flatMap(({ actor, writes }) =>
    writes.flatMap(({ table, value }) =>
      table === LEDGER && value !== null ? [{ actor, name: Buffer.from(value).toString() }] : [],
    ),
  );
}

/**
 * Simulates the members of a partition while servers lose what they had not flushed, machines lose what they had not
 * flushed, and what members tell each other is late, lost, doubled and of old epochs. It checks that nothing happens
 * twice (I3), that nothing refused is there (I2), that the log is whole (I6), and of class `replica-disk` that nothing
 * acknowledged is lost (I1). A process that begins finds no position stored that is past a record whose actor has a floor
 * below it. In every class the shards of everybody who goes on are what the log says (I5): what was
 * lost is never a fork.
 *
 * @param loss by power, or by a server with a damaged copy that comes to lead, of which members cannot tell
 * @param listen told one line about everything that happens, to look into a seed
 * @throws {Error} naming the seed and the broken promise
 */
export function simulatePower(
  seed: number,
  durability: SimulatedClass,
  loss: SimulatedLoss = 'power',
  listen?: (line: string) => void,
): Promise<PowerSimulationResult> {
  return underSeed(seed, () => new PowerSimulation(seed, durability, loss, listen).run());
}
