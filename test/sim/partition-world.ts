import { createHash } from 'node:crypto';
import type { PartitionEnvironment } from '#cluster/ownership/partition-environment.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { CatalogueTable, keyOfActor, rowOf } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { assert } from '#runtime/base/assert.ts';
import type { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { requireFloors } from '#test/support/floors.ts';
import { type SimDisks, SimHost, SimStore } from './sim-host.ts';
import type { SimProcess } from './sim-process.ts';
import { SimRandom } from './sim-random.ts';
import { SimScheduler } from './sim-scheduler.ts';
import { SimStream } from './sim-stream.ts';

/** The partition that is simulated. */
export const PARTITION = 3;

/** Of its read leases, in milliseconds. */
export const LEASE_MS = 4000;

/** Folder of the partition on each machine. */
export const FOLDER = '/partition';

/** Refusals of a log after which nothing has happened and nothing will. */
export const LOG_REFUSALS: ReadonlySet<string> = new Set([
  'NOT_OWNER',
  'STORAGE_FULL',
  'LOG_UNAVAILABLE',
  'OVERLOADED',
  'SHUTTING_DOWN',
]);

/** One machine: its disks, and the process that runs on it at present. */
export interface SimMachine {
  readonly name: string;
  readonly disks: SimDisks;
  files: FaultyFileSystem;
  life: SimProcess;
  member: PartitionMember<SimHost>;
}

/** What is told of a member, and what it has besides what all have. Roles are noted by default. */
export type MemberParts = Pick<PartitionEnvironment<SimHost>, 'report' | 'replicas'> &
  Partial<Pick<PartitionEnvironment<SimHost>, 'onRole'>>;

/** What a simulation of one partition is in: chance, time, the servers, and the trace that says how a run went. */
export class PartitionWorld {
  readonly random: SimRandom;
  readonly scheduler: SimScheduler;
  readonly stream: SimStream;
  readonly #trace = createHash('sha256');
  readonly #listen: ((line: string) => void) | undefined;
  #failure: unknown;
  #floors = 0;

  /** @param listen told one line about everything that happens */
  constructor(seed: number, listen?: (line: string) => void) {
    this.#listen = listen;
    this.random = new SimRandom(seed);
    this.scheduler = new SimScheduler(this.random);
    this.stream = new SimStream(this.scheduler, this.random);
  }

  /** Lets the next thing happen. @throws what failed the run */
  async step(): Promise<void> {
    assert(await this.scheduler.step(), 'nothing will ever happen any more');
    this.check();
  }

  /** @throws what failed the run */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Ends the run; the first one counts. */
  fail(cause: unknown): void {
    this.#failure ??= cause;
  }

  /** The run fails with it. */
  owns(promise: Promise<unknown>): void {
    promise.catch((error: unknown) => this.fail(error));
  }

  /** Notes that something happened; equal runs note the same. */
  note(text: string): void {
    const line = `${this.scheduler.monotonicMs().toFixed(3)} ${text}`;
    this.#listen?.(line);
    this.#trace.update(`${line}\n`);
  }

  /** Hash over everything that was noted; ends noting. */
  trace(): string {
    return this.#trace.digest('hex');
  }

  /** How often an actor was behind a stored position when a process began, and was known to have its newest record. */
  get floors(): number {
    return this.#floors;
  }

  /** A member for the process that runs on a machine at present. */
  memberOf(machine: Omit<SimMachine, 'member'>, parts: MemberParts): PartitionMember<SimHost> {
    const { disks, files, life, name } = machine;
    this.#requireFloors(machine);
    const store = new SimStore(disks, life);
    return new PartitionMember<SimHost>({
      partition: PARTITION,
      member: name,
      folder: FOLDER,
      store,
      stream: this.stream.link(life),
      leaseMs: LEASE_MS,
      files,
      clock: life,
      random: this.random,
      openHost: (log) => SimHost.open(store, log, life, this.scheduler, this.random),
      onRole: (role) => this.note(`${name} is ${role}`),
      ...parts,
    });
  }

  /** Whatever ended the process before: what is on its disk lets the next one miss a shard that is gone. */
  #requireFloors({ disks, files }: Pick<SimMachine, 'disks' | 'files'>): void {
    const path = `${FOLDER}/position.json`;
    if (!files.paths().includes(path)) return;
    const position = JSON.parse(files.content(path).toString()) as { sequence: number; chain: string };
    const rows = disks.catalogue.flushed.tables.get(CatalogueTable.actors)?.values;
    this.#floors += requireFloors(PARTITION, this.stream.messages, {
      position,
      rowOf: (actor) => {
        const bytes = rows?.get(keyOfActor(actor));
        return bytes && rowOf(bytes);
      },
    });
  }
}

/** Runs a simulation. @throws {Error} naming the seed and the broken promise */
export async function underSeed<Result>(seed: number, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (cause) {
    throw new Error(`seed ${seed}: ${(cause as Error).message}`, { cause });
  }
}
