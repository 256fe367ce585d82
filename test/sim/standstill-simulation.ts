import { createHash } from 'node:crypto';
import { ClusterDirectory } from '#cluster/directory/cluster-directory.ts';
import type { Heartbeat } from '#cluster/directory/heartbeat.ts';
import { MemberRegistry } from '#cluster/directory/member-registry.ts';
import { PartitionManager } from '#cluster/ownership/partition-manager.ts';
import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { assert } from '#runtime/base/assert.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { LEASE_MS, underSeed } from './partition-world.ts';
import { LEDGER } from './sim-actor.ts';
import { LEDGERS, SimDisks, SimHost, SimStore } from './sim-host.ts';
import { SimNetwork, type SimPeer } from './sim-network.ts';
import { SimProcess } from './sim-process.ts';
import { SimRandom } from './sim-random.ts';
import { SimScheduler } from './sim-scheduler.ts';
import { SimStream } from './sim-stream.ts';

const PARTITIONS = 3;
const MEMBERS = ['m1', 'm2', 'm3'];

/** How long news take to followers at most, in milliseconds: a run has many minutes of them. */
const FOLLOW_MS = 150;

/** Between two writes to one partition, in milliseconds, at most. */
const CLIENTS_MS = 300;

/** How long the first member stands still, in milliseconds: until long after the second one is back. */
const PAUSED_MS = 60_000;

/** How long the second one does at most, in milliseconds. */
const BLOCKED_MS_MAX = 20_000;

/** After the first one, the second stands still within this time, in milliseconds: before, or after, it took over. */
const BETWEEN_MS_MAX = 15_000;

/**
 * Time within which a partition has to take writes, in milliseconds, once two of its members are there: they find out
 * that somebody is silent, wait for a lease, and for one more when both tried at once.
 */
const PROGRESS_MS_MAX = 15_000;

interface Side {
  readonly member: PartitionMember<SimHost>;
}

interface Machine extends SimPeer {
  readonly name: string;
  readonly life: SimProcess;
  readonly sides: Map<number, Side>;
  hear: (heartbeat: Heartbeat) => void;
  isStill: boolean;
}

/** What became of one write. */
interface Operation {
  readonly name: string;
  readonly partition: number;
  outcome: 'waiting' | 'done' | 'failed';
}

/** How a run went; the same for the same seed. */
export interface StandstillResult {
  readonly done: number;
  /** Openings of partitions in all logs. */
  readonly epochs: number;
  /** The longest time until a partition took writes again although two members were there, in milliseconds. */
  readonly slowestMs: number;
  readonly trace: string;
}

/** Three members with their directories and all they do for a few partitions, of which up to two stand still. */
class StandstillSimulation {
  readonly #random: SimRandom;
  readonly #scheduler: SimScheduler;
  readonly #streams: readonly SimStream[];
  readonly #machines: Machine[] = [];
  readonly #network: SimNetwork;
  readonly #operations: Operation[] = [];
  readonly #trace = createHash('sha256');
  readonly #listen: ((line: string) => void) | undefined;
  #slowestMs = 0;
  #failure: unknown;

  constructor(seed: number, listen?: (line: string) => void) {
    this.#listen = listen;
    this.#random = new SimRandom(seed);
    this.#scheduler = new SimScheduler(this.#random);
    this.#streams = Array.from({ length: PARTITIONS }, () => {
      const stream = new SimStream(this.#scheduler, this.#random, FOLLOW_MS);
      // Nothing but what is looked for goes wrong.
      stream.heal();
      return stream;
    });
    this.#network = new SimNetwork({
      scheduler: this.#scheduler,
      random: this.#random,
      peers: () => this.#machines,
      happens: () => false,
      isCut: () => false,
    });
    for (const name of MEMBERS) this.#machines.push(this.#machine(name));
  }

  async run(): Promise<StandstillResult> {
    for (let partition = 0; partition < PARTITIONS; partition += 1) this.#scheduleClients(partition);
    await this.#progress('three members are there');
    const first = this.#random.pick(this.#machines);
    const second = this.#random.pick(this.#machines.filter((each) => each !== first));
    this.#stop(first, PAUSED_MS);
    const backMs = this.#scheduler.monotonicMs() + PAUSED_MS;
    await this.#pass(this.#random.next() * BETWEEN_MS_MAX);
    const blockedMs = this.#random.next() * BLOCKED_MS_MAX;
    this.#stop(second, blockedMs);
    await this.#pass(blockedMs);
    await this.#progress(`${second.name} is back, and ${first.name} is not`);
    await this.#pass(backMs - this.#scheduler.monotonicMs());
    await this.#progress('all are back');
    return this.#check();
  }

  // -- time -------------------------------------------------------------------------------------------------

  async #step(): Promise<void> {
    assert(await this.#scheduler.step(), 'nothing will ever happen any more');
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #pass(ms: number): Promise<void> {
    const endMs = this.#scheduler.monotonicMs() + ms;
    while (this.#scheduler.monotonicMs() < endMs) await this.#step();
  }

  /** Every partition acknowledges a write that is sent from now on. */
  async #progress(when: string): Promise<void> {
    const sinceMs = this.#scheduler.monotonicMs();
    const from = this.#operations.length;
    const isServed = (partition: number): boolean =>
      this.#operations.slice(from).some((each) => each.partition === partition && each.outcome === 'done');
    for (let partition = 0; partition < PARTITIONS; partition += 1)
      while (!isServed(partition)) {
        await this.#step();
        const tookMs = this.#scheduler.monotonicMs() - sinceMs;
        assert(tookMs < PROGRESS_MS_MAX, `partition ${partition} takes no write, although ${when}`);
      }
    this.#slowestMs = Math.max(this.#slowestMs, this.#scheduler.monotonicMs() - sinceMs);
  }

  #note(text: string): void {
    const line = `${this.#scheduler.monotonicMs().toFixed(3)} ${text}`;
    this.#listen?.(line);
    this.#trace.update(`${line}\n`);
  }

  // -- members ----------------------------------------------------------------------------------------------

  #stop(machine: Machine, ms: number): void {
    this.#note(`${machine.name} stands still for ${ms.toFixed(0)} ms`);
    machine.isStill = true;
    machine.life.pause(ms);
    this.#scheduler.after(ms, () => {
      machine.isStill = false;
      this.#note(`${machine.name} goes on`);
    });
  }

  #machine(name: string): Machine {
    const rate = 0.95 + this.#random.next() * 0.1;
    const life = new SimProcess(name, this.#scheduler, rate, 0);
    const sides = new Map<number, Side>();
    const machine: Machine = {
      name,
      life,
      sides,
      hear: () => {},
      isStill: false,
      status: async (partition) => manager.status(partition),
    };
    this.#network.restart(machine);
    const registry = new MemberRegistry({
      member: { id: name, url: `http://${name}` },
      version: '1.2.3',
      formats: { records: 1, calls: 1 },
      partitions: PARTITIONS,
      load: () => ({ requestsInFlight: 0, openActors: 0, pendingBytes: 0 }),
      channel: {
        send: (heartbeat) => this.#network.send(machine, (to) => (to as Machine).hear(heartbeat)),
        listen: (hear) => {
          machine.hear = hear;
          return () => {
            machine.hear = () => {};
          };
        },
      },
      clock: life,
      random: this.#random,
      observer: { joined: () => {}, lost: () => {}, duplicate: () => {}, surplus: () => undefined },
    });
    const directory = new ClusterDirectory(registry, name, PARTITIONS);
    const manager = new PartitionManager({
      directory,
      registry,
      streamOf: (partition) => (this.#streams[partition] as SimStream).link(life),
      makeMember: (partition, hear) => this.#side(machine, directory, partition, hear),
      clock: life,
      onFailure: (_, cause) => {
        this.#failure ??= cause;
      },
    });
    life.soon(() => {
      registry.start();
      manager.start();
    });
    return machine;
  }

  #side(
    machine: Machine,
    directory: ClusterDirectory,
    partition: number,
    hear: { readonly onRole: (role: PartitionRole) => void; readonly report: (event: LogEvent) => void },
  ): PartitionMember {
    const { life, name } = machine;
    const store = new SimStore(new SimDisks(), life);
    const files = new FaultyFileSystem(
      () => new Promise((resolve) => life.after(this.#random.next() * 3, resolve)),
    );
    const others = () => directory.members().filter(({ isSelf, isSuspect }) => !isSelf && !isSuspect).length;
    const votersWanted = () => [name, ...directory.followersOf(partition).map(({ id }) => id)];
    const member = new PartitionMember<SimHost>({
      partition,
      member: name,
      folder: '/partition',
      store,
      stream: (this.#streams[partition] as SimStream).link(life),
      leaseMs: LEASE_MS,
      files,
      clock: life,
      random: this.#random,
      openHost: (log) => SimHost.open(store, log, life, this.#scheduler, this.#random),
      replicas: {
        statuses: this.#network.statusesOf(machine),
        others,
        flush: { channel: this.#network.channelOf(machine), votersWanted },
      },
      report: (event) => {
        this.#note(`${name} ${partition} ${event.kind}`);
        if (event.kind === 'quarantined') this.#failure ??= event.cause;
        hear.report(event);
      },
      onRole: (role) => {
        this.#note(`${name} ${partition} is ${role}`);
        hear.onRole(role);
      },
    });
    machine.sides.set(partition, { member });
    // The manager asks its members for their hosts only to serve requests, and there are none.
    return member as unknown as PartitionMember;
  }

  // -- clients ----------------------------------------------------------------------------------------------

  #scheduleClients(partition: number): void {
    this.#scheduler.after(this.#random.next() * CLIENTS_MS, () => {
      this.#write(partition);
      this.#scheduleClients(partition);
    });
  }

  /** To whoever takes itself for the owner, of those that are there. */
  #write(partition: number): void {
    const owners = this.#machines.filter(
      ({ isStill, sides }) => !isStill && sides.get(partition)?.member.owned !== undefined,
    );
    if (owners.length === 0) return;
    const { life, sides } = this.#random.pick(owners);
    const operation: Operation = { name: `op${this.#operations.length}`, partition, outcome: 'waiting' };
    this.#operations.push(operation);
    const command = { kind: 'put', operation: operation.name, key: `k${this.#random.below(6)}` } as const;
    const actor = this.#random.pick(LEDGERS);
    life.run(() => {
      (sides.get(partition) as Side).member.owned?.host.submit(actor, command).then(
        () => {
          operation.outcome = 'done';
        },
        ({ code }: ServiceError) => {
          operation.outcome = 'failed';
          this.#note(`${operation.name} ${code}`);
        },
      );
    });
  }

  /** What was acknowledged is in the logs, once. */
  #check(): StandstillResult {
    const found = new Map<string, number>();
    let epochs = 0;
    for (const [partition, stream] of this.#streams.entries()) {
      const decoder = new BatchDecoder(partition);
      for (const message of stream.messages) {
        const step = decoder.take(message);
        if (step.kind !== 'batch') continue;
        for (const { writes } of step.batch.entries)
          for (const { table, value } of writes) {
            if (table !== LEDGER || value === null) continue;
            const name = Buffer.from(value).toString();
            found.set(name, (found.get(name) ?? 0) + 1);
          }
      }
      epochs += decoder.fold.state.epoch;
    }
    const done = this.#operations.filter(({ outcome }) => outcome === 'done');
    for (const { name } of done)
      assert(found.get(name) === 1, `${name} took effect ${found.get(name) ?? 0} times`);
    return { done: done.length, epochs, slowestMs: this.#slowestMs, trace: this.#trace.digest('hex') };
  }
}

/**
 * Simulates three members of a cluster in class `replica-disk`, with the real directory and manager of each, while one
 * stands still, a second one does for a while, and the third is alone meanwhile. It checks that every partition takes
 * writes again soon after two of them are there, whatever the third one does, and that nothing acknowledged is lost.
 *
 * @param listen told one line about everything that happens, to look into a seed
 * @throws {Error} naming the seed and the broken promise
 */
export function simulateStandstill(seed: number, listen?: (line: string) => void): Promise<StandstillResult> {
  return underSeed(seed, () => new StandstillSimulation(seed, listen).run());
}
