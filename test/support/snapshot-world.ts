import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { type CutMember, cutPartition } from '#cluster/snapshot/partition-cut.ts';
import type { SnapshotEvent } from '#cluster/snapshot/snapshot-events.ts';
import type { SnapshotIndex } from '#cluster/snapshot/snapshot-index.ts';
import type { SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';
import { SnapshotRestore } from '#cluster/snapshot/snapshot-restore.ts';
import { SnapshotWriter } from '#cluster/snapshot/snapshot-writer.ts';
import { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { Blobs } from '#runtime/blobs/ports.ts';
import { FileBlobs } from '#runtime/embedded/file-blobs.ts';
import { engineLimits, engineUser as caller } from './engine.ts';
import { MemorySnapshotIndex } from './memory-snapshot-index.ts';
import { type MemoryLink, MemoryStream } from './memory-stream.ts';
import { noteActor } from './note-actor.ts';

/** The one partition. */
export const PARTITION = 3;

const LEASE_MS = 100;

/** Time what was removed is kept, in milliseconds. */
const KEEP_MS = 3_600_000;

/** A partition on several members, with snapshots in files: everything real but the servers. */
export class SnapshotWorld {
  readonly root: string = mkdtempSync(join(tmpdir(), 'snapshots-'));
  readonly stream = new MemoryStream();
  readonly index: SnapshotIndex;
  readonly blobs: Blobs;
  readonly #blobFolder: string;
  readonly #sides: SnapshotSide[] = [];

  private constructor(blobs: Blobs, index: SnapshotIndex, blobFolder: string) {
    this.blobs = blobs;
    this.index = index;
    this.#blobFolder = blobFolder;
  }

  /** @param stores default: files, and an index in memory */
  static async open(stores?: {
    readonly blobs: Blobs;
    readonly index: SnapshotIndex;
  }): Promise<SnapshotWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'snapshot-blobs-'));
    const environment = { folder, files: realFileSystem, clock: systemClock, random: systemRandom };
    const blobs = stores?.blobs ?? (await FileBlobs.open(environment));
    return new SnapshotWorld(blobs, stores?.index ?? new MemorySnapshotIndex(), folder);
  }

  /** Flips a bit of what is stored under a hash. */
  damage(hash: string): void {
    const path = join(this.#blobFolder, hash.slice(0, 2), hash);
    const bytes = readFileSync(path);
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] as number) ^ 4;
    writeFileSync(path, bytes);
  }

  /**
   * A member by its name, over what one of that name left.
   *
   * @param files what snapshots are put in place with
   * @param clock what attempts at snapshots wait by
   */
  side(name: string, files: FileSystem = realFileSystem, clock: Clock = systemClock): SnapshotSide {
    const side = new SnapshotSide(this, name, files, clock);
    this.#sides.push(side);
    return side;
  }

  /** The snapshots there are, newest first. */
  async records(): Promise<readonly SnapshotRecord[]> {
    return (await this.index.read(PARTITION)).records;
  }

  /** Hashes of everything that is stored. */
  async stored(): Promise<ReadonlySet<string>> {
    const hashes = new Set<string>();
    for await (const { hash } of this.blobs.list()) hashes.add(hash);
    return hashes;
  }

  async close(): Promise<void> {
    for (const side of this.#sides) {
      side.link.isConnected = true;
      await side.member.leave();
    }
    rmSync(this.root, { recursive: true, force: true });
    rmSync(this.#blobFolder, { recursive: true, force: true });
  }
}

/** One member's side of the partition. */
export class SnapshotSide {
  readonly link: MemoryLink;
  readonly folder: string;
  readonly store: ActorStore;
  readonly member: PartitionMember;
  readonly restore: SnapshotRestore;
  readonly events: SnapshotEvent[] = [];
  readonly roles: PartitionRole[] = [];
  /** Requests for snapshots: whether each was to be whole. */
  readonly requests: boolean[] = [];
  /** Whether its volume has no room to keep what was removed. */
  isPressed = false;
  readonly #world: SnapshotWorld;
  readonly #writer: SnapshotWriter;

  constructor(world: SnapshotWorld, name: string, files: FileSystem, clock: Clock) {
    this.#world = world;
    this.link = world.stream.link();
    this.folder = join(world.root, name);
    const actors = join(this.folder, 'actors');
    const rules = { keepMs: KEEP_MS, isPressed: () => this.isPressed };
    this.store = new ActorStore(actors, [noteActor], systemClock, rules);
    const { blobs, index } = world;
    const common = { blobs, index, files: realFileSystem, clock: systemClock };
    const report = (event: SnapshotEvent): void => void this.events.push(event);
    this.#writer = new SnapshotWriter({ ...common, member: name, report });
    this.restore = new SnapshotRestore({
      ...common,
      files,
      clock,
      random: { bytes: (length) => new Uint8Array(length) },
      partition: PARTITION,
      folder: this.folder,
      store: this.store,
      stream: this.link,
      report,
      request: (isWhole) => void this.requests.push(isWhole),
    });
    this.member = new PartitionMember({
      partition: PARTITION,
      member: name,
      folder: this.folder,
      stream: this.link,
      store: this.store,
      leaseMs: LEASE_MS,
      files: realFileSystem,
      clock: systemClock,
      random: systemRandom,
      openHost: async (log) => {
        const host = new ActorHost({
          folder: actors,
          store: this.store,
          log,
          clock: systemClock,
          random: systemRandom,
          kinds: [noteActor],
          slices: new SliceScheduler(systemClock),
          limits: engineLimits,
          observer: { batchDurable: () => {}, events: () => {}, stopped: () => {}, applyFailed: () => {} },
        });
        await host.recover();
        return host;
      },
      coldStart: this.restore,
      report: () => {},
      onRole: (role) => this.roles.push(role),
    });
  }

  /** What serves the actors while this member owns them. */
  get host(): ActorHost {
    const { owned } = this.member;
    if (owned === undefined) throw new Error('it is not owned');
    return owned.host;
  }

  write(actor: string, key: string, text = key): Promise<unknown> {
    return this.host.command(actor, { type: 'Write', key, text }, { caller });
  }

  /** Takes a snapshot of what this member has. @param look lists the actors, for what is to happen meanwhile */
  async snapshot(
    isWhole = false,
    look = (list: () => Promise<readonly string[]>) => list(),
  ): Promise<SnapshotRecord | undefined> {
    const { member, store } = this;
    const { identity } = await this.link.state();
    const source = (): CutMember => ({
      owned: member.owned,
      still: (work) => member.still(work),
      actors: () => look(() => member.actors()),
    });
    const taken = {
      partition: PARTITION,
      identity,
      store,
      folder: join(this.folder, 'snapshot'),
      cut: (options: Parameters<typeof cutPartition>[1]) => cutPartition(source(), options),
    };
    return this.#writer.take(taken, isWhole, new AbortController().signal);
  }

  /** Follows and waits until it has everything. */
  async caughtUp(): Promise<void> {
    await this.member.follow();
    await until(() => this.member.sequence >= this.#world.stream.messages.length, 'it has caught up');
  }

  /** Everything in its shards, by actor; nothing uses them meanwhile. */
  async rows(): Promise<Record<string, readonly (readonly [string, string])[]>> {
    const all: Record<string, [string, string][]> = {};
    for (const id of await this.store.all()) {
      const shard = this.store.open(id);
      const tables = this.store.tablesOf(id).length;
      const rows: [string, string][] = [];
      for (let table = 0; table < tables; table += 1)
        for (const { key, value } of shard.range(table, { start: '', end: '\u00ff'.repeat(100) }))
          rows.push([`${table} ${key}`, Buffer.from(value).toString('hex')]);
      all[id] = rows;
      await shard.close();
    }
    return all;
  }

  /** Names of what lies in its folder. */
  get files(): readonly string[] {
    return existsSync(this.folder) ? readdirSync(this.folder).sort() : [];
  }

  /** What is kept of what was removed or damaged: names of what is in each set, sorted. */
  get kept(): readonly string[] {
    const removed = join(this.folder, 'actors/.removed');
    if (!existsSync(removed)) return [];
    return readdirSync(removed)
      .flatMap((name) => readdirSync(join(removed, name)))
      .filter((name) => name !== 'owner')
      .sort();
  }

  /** Events of one kind. */
  told<Kind extends SnapshotEvent['kind']>(kind: Kind): readonly Extract<SnapshotEvent, { kind: Kind }>[] {
    return this.events.filter(
      (event): event is Extract<SnapshotEvent, { kind: Kind }> => event.kind === kind,
    );
  }
}

/** Waits until something is so. @throws {Error} naming what never came true */
export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let round = 0; !(await isSo()); round++) {
    if (round > 4000) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
