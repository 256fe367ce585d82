import type { IndexEntry, SnapshotIndex } from '#cluster/snapshot/snapshot-index.ts';
import { decodeRecords, encodeRecords, type SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';

/** An index in memory that works at once and never fails, for what is above it. */
export class MemorySnapshotIndex implements SnapshotIndex {
  readonly #entries = new Map<number, { readonly bytes: Uint8Array; readonly version: number }>();
  #version = 0;

  async read(partition: number): Promise<IndexEntry> {
    await null;
    const entry = this.#entries.get(partition);
    return entry === undefined
      ? { records: [], version: 0 }
      : { records: decodeRecords(entry.bytes), version: entry.version };
  }

  async replace(partition: number, version: number, records: readonly SnapshotRecord[]): Promise<boolean> {
    if ((await this.read(partition)).version !== version) return false;
    this.#version += 1;
    this.#entries.set(partition, { bytes: encodeRecords(records), version: this.#version });
    return true;
  }

  async all(): Promise<ReadonlyMap<number, IndexEntry>> {
    const all = new Map<number, IndexEntry>();
    for (const partition of this.#entries.keys()) all.set(partition, await this.read(partition));
    return all;
  }
}
