import type { Standing } from '#cluster/flush-journal/standing.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { isShorter } from '#cluster/replication/log-errors.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { assert } from '#runtime/base/assert.ts';
import { sleep } from '#runtime/base/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { LOG_REFUSALS, PARTITION, PartitionWorld, type SimMachine, underSeed } from './partition-world.ts';
import { LEDGER } from './sim-actor.ts';
import { LEDGERS, SimDisks } from './sim-host.ts';
import { SimNetwork, type SimPeer } from './sim-network.ts';
import { SimProcess } from './sim-process.ts';
import type { SimRandom } from './sim-random.ts';
import type { SimScheduler } from './sim-scheduler.ts';
import type { SimStream } from './sim-stream.ts';

const MEMBERS = ['m1', 'm2', 'm3', 'm4'];

/** Of them, how many keep the partition at a time. */
const KEEPERS = 3;

/** What clients do while things go wrong. */
const OPERATIONS = 60;

/** Simulated time after which a run goes on without faults, however little happened, in milliseconds. */
const FAULTY_MS_MAX = 400_000;

/** Simulated time within which everything has to work again, in milliseconds. */
const HEALED_MS_MAX = 240_000;

/** Between two flushes of the servers, in milliseconds, at most. */
const SERVER_FLUSH_MS = 60_000;

/** Small, so that journals have several segments and drop the oldest. */
const WINDOW = { keepMs: 120_000, keepBytesMin: 4096, keepBytesMax: 1 << 30 };

/** The durability class that is simulated. */
export type SimulatedClass = 'replica-disk' | 'quorum';

interface Machine extends SimMachine, SimPeer {
  life: SimProcess;
  /** It lives, and only an operator can have it go on with the partition. */
  isLost: boolean;
}

interface Operation {
  readonly name: string;
  outcome: 'waiting' | 'done' | 'failed' | 'unknown';
}

/** How a run went; the same for the same seed. */
export interface PowerSimulationResult {
  readonly done: number;
  readonly unknown: number;
  /** Cuts that took messages from the servers, and those messages. */
  readonly cuts: number;
  readonly lostMessages: number;
  /** Times a member gave a stream its end back. */
  readonly reseeds: number;
  /** Members that ended in quarantine for good. */
  readonly quarantined: number;
  /** Acknowledged operations that are not in the log in the end. */
  readonly missing: number;
  /** Whether writes were taken again in the end. */
  readonly hasRecovered: boolean;
  readonly trace: string;
}

/** Members of one partition whose machines, and whose servers, lose their power. */
class PowerSimulation {
  readonly #class: SimulatedClass;
  readonly #world: PartitionWorld;
  readonly #random: SimRandom;
  readonly #scheduler: SimScheduler;
  readonly #stream: SimStream;
  readonly #machines: Machine[] = [];
  readonly #network: SimNetwork;
  readonly #operations: Operation[] = [];
  readonly #counts = { cuts: 0, lostMessages: 0, reseeds: 0 };
  #isEnding = false;

  constructor(seed: number, durability: SimulatedClass, listen?: (line: string) => void) {
    this.#class = durability;
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
    while (this.#operations.length < OPERATIONS && this.#scheduler.monotonicMs() < FAULTY_MS_MAX)
      await this.#world.step();
    this.#world.note('the faults end');
    this.#isEnding = true;
    this.#stream.heal();
    const hasRecovered = await this.#recover();
    return this.#check(hasRecovered);
  }

  // -- machines ---------------------------------------------------------------------------------------------

  #machine(name: string): Machine {
    const life = this.#process(name);
    const files = new FaultyFileSystem(
      () => new Promise((resolve) => machine.life.after(this.#random.next() * 3, resolve)),
    );
    const standing = (): Promise<Standing | undefined> => machine.member.standing();
    const machine = {
      name,
      disks: new SimDisks(),
      files,
      life,
      isLost: false,
      standing,
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
        standings: this.#network.standingsOf(machine),
        others: () => this.#machines.filter((each) => each !== machine && each.life.isAlive).length,
        flush:
          this.#class === 'quorum'
            ? undefined
            : {
                channel: this.#network.channelOf(machine),
                keepersWanted: () => this.#keepersWanted(machine),
                window: WINDOW,
              },
      },
      report: (event) => this.#hear(machine, life, event),
    });
    life.soon(() => this.#world.owns(this.#live(machine, life)));
  }

  #hear(machine: Machine, life: SimProcess, event: LogEvent): void {
    const cause = event.kind === 'quarantined' ? ` ${(event.cause as Error).message}` : '';
    this.#world.note(`${machine.name} ${event.kind}${cause}`);
    if (event.kind === 'reseeded') this.#counts.reseeds += 1;
    if (event.kind !== 'quarantined' || machine.life !== life) return;
    const { code } = event.cause as ServiceError;
    if (code !== 'DATA_CORRUPTED') this.#world.fail(event.cause);
    if (!isShorter(event.cause) || this.#class === 'quorum') machine.isLost = true;
  }

  /** Those that live, from the owner on; a change of keepers whenever another one does. */
  #keepersWanted(owner: Machine): string[] {
    const first = this.#machines.indexOf(owner);
    const ring = this.#machines.map((_, at) => this.#machines[(first + at) % MEMBERS.length] as Machine);
    return ring
      .filter(({ life }) => life.isAlive)
      .slice(0, KEEPERS)
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
      machine.life = this.#process(machine.name);
      const mode = this.#random.chance(0.5) ? 'drop-unsynced' : 'torn';
      machine.files = machine.files.crash(mode, () => this.#random.next());
      this.#begin(machine);
    });
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
    // Without a journal a shard can be a second ahead of what a machine that lost its power knows of itself.
    else if (this.#class === 'quorum') this.#cutServers(true);
    else if (dice < 0.6) this.#cutPowerOf(machine, this.#random.next() * 15_000);
    else this.#cutServers(dice < 0.75);
  }

  /** @param isAlone whether the machines of the members keep their power */
  #cutServers(isAlone: boolean): void {
    const lost = this.#stream.cutPower(500 + this.#random.next() * 8000);
    this.#world.note(`the servers lose ${lost} messages and end at ${this.#stream.messages.length}`);
    if (lost > 0) this.#counts.cuts += 1;
    this.#counts.lostMessages += lost;
    if (isAlone) return;
    for (const each of this.#machines) this.#cutPowerOf(each, this.#random.next() * 20_000);
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
    const operation: Operation = { name: `op${this.#operations.length}`, outcome: 'waiting' };
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
    const takeTurns = async (machine: Machine): Promise<void> => {
      const { life, member } = machine;
      while (life.isAlive && this.#scheduler.monotonicMs() < untilMs) {
        if (last?.outcome === 'done') return;
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
    while (last?.outcome !== 'done') {
      // Everybody waits for an operator.
      if (!(await this.#scheduler.step())) return false;
      this.#world.check();
      const nowMs = this.#scheduler.monotonicMs();
      if (nowMs > untilMs) return false;
      if (last?.outcome === 'waiting' || nowMs < nextMs) continue;
      nextMs = nowMs + 200;
      last = this.#write();
    }
    return true;
  }

  /** The operations of the log, as far as anybody can read it. @param hasRecovered whether somebody owns it */
  #logged(hasRecovered: boolean): string[] {
    const operations: string[] = [];
    const decoder = new BatchDecoder(PARTITION);
    try {
      for (const message of this.#stream.messages) {
        const step = decoder.take(message);
        if (step.kind === 'batch') operations.push(...operationsOf(step.batch.entries));
      }
    } catch (error) {
      // Two owners wrote over what was lost, or what one of them sent before arrived behind it: everybody notices, and
      // nobody goes on.
      if (!isRefused(error) || (this.#class !== 'quorum' && hasRecovered)) throw error;
    }
    return operations;
  }

  #check(hasRecovered: boolean): PowerSimulationResult {
    const found = new Map<string, number>();
    for (const operation of this.#logged(hasRecovered)) found.set(operation, (found.get(operation) ?? 0) + 1);
    for (const [operation, times] of found) assert(times === 1, `${operation} took effect ${times} times`);
    const done = this.#operations.filter(({ outcome }) => outcome === 'done');
    const missing = done.filter(({ name }) => !found.has(name)).map(({ name }) => name);
    const quarantined = this.#machines.filter(({ isLost }) => isLost).length;
    for (const { name, outcome } of this.#operations)
      assert(outcome !== 'failed' || !found.has(name), `${name} was refused and is there`);
    if (this.#class === 'replica-disk' && hasRecovered)
      assert(missing.length === 0, `acknowledged and lost: ${missing.join(' ')}`);
    // What is lost is known to be: who had it says so.
    if (missing.length > 0 && hasRecovered) assert(quarantined > 0, `lost unseen: ${missing.join(' ')}`);
    return {
      done: done.length,
      unknown: this.#operations.filter(({ outcome }) => outcome === 'unknown').length,
      ...this.#counts,
      quarantined,
      missing: missing.length,
      hasRecovered,
      trace: this.#world.trace(),
    };
  }
}

/** Whether a log is one that stops whoever reads it. */
function isRefused(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'DATA_CORRUPTED';
}

function operationsOf(entries: readonly LogEntry[]): string[] {
  return entries.flatMap(({ writes }) =>
    writes.flatMap(({ table, value }) =>
      table === LEDGER && value !== null ? [Buffer.from(value).toString()] : [],
    ),
  );
}

/**
 * Simulates the members of a partition while servers lose what they had not flushed, machines lose what they had not
 * flushed, and what members tell each other is late, lost, doubled and of old epochs. It checks that nothing happens
 * twice (I3), that nothing refused is there (I2), that the log is whole (I6), and of class `replica-disk` that nothing
 * acknowledged is lost (I1); of class `quorum` that a loss is noticed by whoever has what is missing, never a fork.
 *
 * @param listen told one line about everything that happens, to look into a seed
 * @throws {Error} naming the seed and the broken promise
 */
export function simulatePower(
  seed: number,
  durability: SimulatedClass,
  listen?: (line: string) => void,
): Promise<PowerSimulationResult> {
  return underSeed(seed, () => new PowerSimulation(seed, durability, listen).run());
}
