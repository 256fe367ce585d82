import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ActorStore } from '#runtime/actor/actor-store.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { Blobs } from '#runtime/blobs/ports.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';
import type { CutActor, CutOptions, PartitionCut } from './partition-cut.ts';
import type { SnapshotReport } from './snapshot-events.ts';
import { readStored, storedForm, untilAborted } from './snapshot-file.ts';
import type { SnapshotIndex } from './snapshot-index.ts';
import { readManifest, storedBytes } from './stored-manifest.ts';
import {
  encodeManifest,
  SNAPSHOTS_KEPT,
  type SnapshotActor,
  type SnapshotManifest,
  type SnapshotRecord,
} from './snapshot-manifest.ts';

/** Largest file of a shard, in bytes: a bound for what goes wrong, not for what is stored. */
const FILE_BYTES_MAX = 2 ** 43;

/** What snapshots are written with. */
export interface WriterEnvironment {
  /** Name of this member. */
  readonly member: string;
  /** Holds nothing but the bytes of snapshots. */
  readonly blobs: Blobs;
  readonly index: SnapshotIndex;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly report: SnapshotReport;
}

/** What a snapshot is taken of. */
export interface SnapshotSource {
  readonly partition: number;
  /** Identity of its log. */
  readonly identity: string;
  readonly store: ActorStore;
  /** Takes the copies until they are stored; made anew for each. */
  readonly folder: string;
  readonly cut: (options: CutOptions) => Promise<PartitionCut | undefined>;
}

/**
 * Takes snapshots: copies of what has changed, stored, read back, and only then told to anybody.
 *
 * Invariants:
 * 1. What stands in the index was read back, byte for byte, by whoever put it there, all its files were there when it
 *    did, and it stands on the newest one before it: nobody removes a file it shares with that one.
 * 2. A file is removed when none of the kept snapshots of its partition names it, and no snapshot that builds on a kept
 *    one can: files of different partitions are never the same.
 *
 * @see Reliability: R16
 */
export class SnapshotWriter {
  readonly #environment: WriterEnvironment;

  constructor(environment: WriterEnvironment) {
    this.#environment = environment;
  }

  /**
   * Takes a snapshot.
   *
   * @param isWhole stores everything anew, also what the newest snapshot has: heals what is damaged there
   * @returns undefined when there is nothing to take, or somebody else took one meanwhile
   * @throws {ServiceError} what copying and storing fail with; nothing of it counts then
   */
  async take(
    source: SnapshotSource,
    isWhole: boolean,
    signal: AbortSignal,
  ): Promise<SnapshotRecord | undefined> {
    const { clock } = this.#environment;
    const startMs = clock.monotonicMs();
    try {
      await this.#clear(source.folder);
      const { records, version } = await this.#environment.index.read(source.partition);
      // Those of a log that was made anew say nothing about this one.
      const usable = records.filter(({ position }) => position.identity === source.identity);
      const base = isWhole ? undefined : await this.#baseOf(usable[0]);
      const known = new Map(base?.actors.map(({ id, sequence }) => [id, sequence]));
      const least = usable[0]?.position.sequence ?? 1;
      const cut = await source.cut({ ...source, known, least, clock, signal });
      if (cut === undefined) return undefined;
      const stored = await this.#store(source, cut, base, signal);
      const record = await this.#describe(source, cut, stored.actors);
      await this.#requireStored(stored.shared);
      crashPoint('before-snapshot-publish');
      const kept = [record, ...usable.slice(0, SNAPSHOTS_KEPT - 1)];
      if (!(await this.#environment.index.replace(source.partition, version, kept))) return undefined;
      crashPoint('after-snapshot-publish');
      await this.#forget(
        records.filter((each) => !kept.includes(each)),
        kept,
      );
      const { actors, bytes, position, partition } = record;
      const tookMs = clock.monotonicMs() - startMs;
      const { sequence } = position;
      this.#environment.report({
        kind: 'taken',
        partition,
        sequence,
        actors,
        bytes,
        storedBytes: stored.bytes,
        tookMs,
      });
      return record;
    } finally {
      await rm(source.folder, { recursive: true, force: true });
    }
  }

  async #clear(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true });
    await this.#environment.files.makeDirectory(folder);
  }

  /** The manifest to build on; one that cannot be read is not built on. */
  async #baseOf(record: SnapshotRecord | undefined): Promise<SnapshotManifest | undefined> {
    if (record === undefined) return undefined;
    try {
      return await readManifest(this.#environment.blobs, record);
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async #store(
    source: SnapshotSource,
    cut: PartitionCut,
    base: SnapshotManifest | undefined,
    signal: AbortSignal,
  ): Promise<{
    readonly actors: readonly SnapshotActor[];
    readonly shared: readonly SnapshotActor[];
    readonly bytes: number;
  }> {
    const before = new Map(base?.actors.map((actor) => [actor.id, actor]));
    const actors: SnapshotActor[] = [];
    const shared: SnapshotActor[] = [];
    let bytes = 0;
    for (const actor of cut.actors) {
      if (actor.path === undefined) {
        const same = before.get(actor.id);
        assert(same?.sequence === actor.sequence, 'what is not copied is known');
        actors.push(same);
        shared.push(same);
        continue;
      }
      const file = await this.#storeActor(source, actor, actor.path, signal);
      bytes += file.size;
      actors.push(file);
      crashPoint('mid-snapshot-upload');
    }
    return { actors, shared, bytes };
  }

  /** Stores a copy and reads it back. */
  async #storeActor(
    { partition, store }: SnapshotSource,
    { id, sequence }: CutActor,
    path: string,
    signal: AbortSignal,
  ): Promise<SnapshotActor> {
    const { blobs, clock, files } = this.#environment;
    requireSequence(path, store.tablesOf(id), sequence);
    const owner = { partition, actor: id };
    const content = storedForm(path, owner, files, clock);
    const { hash, size } = await blobs.put(content, { bytesMax: FILE_BYTES_MAX, signal });
    const found = await readStored(untilAborted(await blobs.get(hash), signal), owner);
    assert(found === size, `${size} bytes were stored and ${found} read`);
    // The room may be wanted for what is still to come.
    await rm(dirname(path), { recursive: true, force: true });
    return { id, sequence, hash, size };
  }

  async #describe(
    { partition }: SnapshotSource,
    { position }: PartitionCut,
    actors: readonly SnapshotActor[],
  ): Promise<SnapshotRecord> {
    const { blobs, clock, member } = this.#environment;
    const takenAtMs = Math.floor(clock.wallMs());
    const manifest: SnapshotManifest = { partition, position, takenAtMs, member, actors };
    const bytes = encodeManifest(manifest);
    const { hash, size } = await blobs.put([bytes], { bytesMax: bytes.length });
    const record: SnapshotRecord = {
      partition,
      position,
      takenAtMs,
      member,
      actors: actors.length,
      bytes: actors.reduce((sum, actor) => sum + actor.size, 0),
      manifest: { hash, size },
    };
    await readManifest(blobs, record);
    return record;
  }

  /** Files that were stored by earlier snapshots must be there still. */
  async #requireStored(shared: readonly SnapshotActor[]): Promise<void> {
    for (const { hash, id, size } of shared) {
      const info = await this.#environment.blobs.info(hash);
      if (info?.size !== size)
        throw new ServiceError('NOT_FOUND', `The stored file of ${id} is gone; take a whole snapshot`);
    }
  }

  /** Removes what only dropped snapshots name; what cannot be removed now is found by the sweep. */
  async #forget(dropped: readonly SnapshotRecord[], kept: readonly SnapshotRecord[]): Promise<void> {
    const { blobs } = this.#environment;
    const wanted = new Set<string>();
    try {
      for (const record of kept) for (const hash of await storedBytes(blobs, record)) wanted.add(hash);
      const names = await Promise.all(dropped.map((record) => storedBytes(blobs, record)));
      for (const hash of new Set(names.flat())) {
        const info = wanted.has(hash) ? undefined : await blobs.info(hash);
        // What was stored anew since then is of a snapshot on its way.
        if (info !== undefined && info.storedAtMs < (kept[0]?.takenAtMs ?? 0)) await blobs.delete(hash);
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
  }
}

/** Compares a copy with what it is to have. @throws {ServiceError} `DATA_CORRUPTED` */
export function requireSequence(path: string, tables: readonly string[], sequence: number): void {
  const copy = new ShardFile(path, tables);
  try {
    if (copy.position.sequence === sequence) return;
    const reached = copy.position.sequence;
    throw new ServiceError(
      'DATA_CORRUPTED',
      `${path} reaches record ${reached}, and ${sequence} is expected`,
    );
  } finally {
    copy.close();
  }
}

/** Whether stored bytes are not there, or not what they were. */
export function isGone(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'NOT_FOUND' || error.code === 'DATA_CORRUPTED');
}
