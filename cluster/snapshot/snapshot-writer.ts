import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
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

/** Maximum size of a shard's file, in bytes: a guard against errors, not a limit of stored data. */
const FILE_BYTES_MAX = 2 ** 43;

/** Dependencies of the writer. */
export interface WriterEnvironment {
  /** Name of this member. */
  readonly member: string;
  /** Contains only the files of snapshots. */
  readonly blobs: Blobs;
  readonly index: SnapshotIndex;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly report: SnapshotReport;
}

/** Source of a snapshot. */
export interface SnapshotSource {
  readonly partition: number;
  /** Identity of its log. */
  readonly identity: string;
  readonly store: ActorStore;
  /** Folder for the copies until they are stored; created again for each snapshot. */
  readonly folder: string;
  readonly cut: (options: CutOptions) => Promise<PartitionCut | undefined>;
}

/**
 * Takes snapshots: copies of changed shards are stored and read back, and only then the snapshot is added to the index.
 *
 * Invariants:
 * 1. A snapshot in the index was read back, byte for byte, by the member that added it. At that time all its files
 *   existed, and it was based on the newest one before it: no member removes a file that it shares with that one.
 * 2. A file is removed when none of the kept snapshots of its partition names it, and no snapshot based on a kept
 *    one can: files of different partitions are never the same.
 *
 * @see docs/partition-log.md#snapshots-and-cutting-the-log
 */
export class SnapshotWriter {
  readonly #environment: WriterEnvironment;

  constructor(environment: WriterEnvironment) {
    this.#environment = environment;
  }

  /**
   * Takes a snapshot.
   *
   * @param isWhole stores everything again, also files of the newest snapshot: repairs damaged ones
   * @returns undefined when there is nothing to take, or another member took one meanwhile
   * @throws {ServiceError} errors of copying and storing; then the snapshot does not count
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
      // Those of a recreated log are useless for this one.
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

  /** Returns the manifest to build on; undefined for one that cannot be read. */
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
    // The space may be needed for the next copies.
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

  /** Checks that files stored by earlier snapshots still exist. */
  async #requireStored(shared: readonly SnapshotActor[]): Promise<void> {
    for (const { hash, id, size } of shared) {
      const info = await this.#environment.blobs.info(hash);
      if (info?.size !== size)
        throw new ServiceError('NOT_FOUND', `The stored file of ${id} is gone; take a complete snapshot`);
    }
  }

  /** Removes files that only dropped snapshots name; the sweep removes those that cannot be removed now. */
  async #forget(dropped: readonly SnapshotRecord[], kept: readonly SnapshotRecord[]): Promise<void> {
    const { blobs } = this.#environment;
    const wanted = new Set<string>();
    try {
      for (const record of kept) for (const hash of await storedBytes(blobs, record)) wanted.add(hash);
      const names = await Promise.all(dropped.map((record) => storedBytes(blobs, record)));
      for (const hash of new Set(names.flat())) {
        const info = wanted.has(hash) ? undefined : await blobs.info(hash);
        // A file stored again since then belongs to a snapshot in progress.
        if (info !== undefined && info.storedAtMs < (kept[0]?.takenAtMs ?? 0)) await blobs.delete(hash);
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
  }
}

/** Checks the sequence of a copy. @throws {ServiceError} `DATA_CORRUPTED` */
export function requireSequence(path: string, tables: readonly string[], sequence: number): void {
  const copy = new ShardFile(path, tables);
  try {
    if (copy.position.sequence === sequence) return;
    const reached = copy.position.sequence;
    throw new ServiceError(
      'DATA_CORRUPTED',
      `${path} reaches record ${reached}, but ${sequence} is expected`,
    );
  } finally {
    copy.close();
  }
}

/** Returns whether an error means that stored files are missing, or have changed. */
export function isGone(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'NOT_FOUND' || error.code === 'DATA_CORRUPTED');
}
