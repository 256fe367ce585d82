import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { Replica, type ReplicaStore } from '#runtime/commit/replica.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import type { RecordMark } from '#runtime/log/log-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

const [one, fork] = ['one', 'fork'].map((name) => actorId('acme', 'site~1', name, 'notes')) as [
  string,
  string,
];
const clock = revisionZero;

const markOf = (byte: number): RecordMark => ({ epoch: 1, chain: Buffer.alloc(16, byte) });

let folder: string;
let shard: LmdbShard;
/** The records the disk was told to be left out. */
let skipped: [actor: string, sequence: number, mark: RecordMark | undefined][];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'left-out-'));
  shard = new LmdbShard(folder, commonTableNames);
  await shard.apply([], { sequence: 3, clock, mark: markOf(3) }).flushed;
  skipped = [];
});

afterEach(async () => {
  await shard.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A replica that goes on without whatever is damaged. It has `one`, with everything up to record 3. */
function replica(store: Partial<ReplicaStore> = {}): Replica {
  const none = (): Promise<void> => Promise.resolve();
  const all: ReplicaStore = {
    exists: (actor) => actor === one,
    open: () => shard,
    create: none,
    adopt: none,
    remove: none,
    giveUp: () => true,
    ...store,
  };
  return new Replica(all, systemClock, () => {}, {
    before: none,
    applied: () => {},
    skipped: (...told) => void skipped.push(told),
  });
}

const entry = { actor: one, writes: [], clock };

// A file that is brought back without these records would be taken for whole.

it('reports the record when a shard has another one at its position', async () => {
  await replica().take({ sequence: 3, entries: [entry], mark: markOf(9) });
  expect(skipped).toEqual([[one, 3, markOf(9)]]);
});

it('reports the newest record that could not be applied to a shard', async () => {
  const left = replica();
  await left.take({ sequence: 4, entries: [entry], mark: markOf(4) });
  await left.take({ sequence: 5, entries: [entry], mark: markOf(5) });
  await shard.close();
  await left.settle();
  expect(skipped).toEqual([[one, 5, markOf(5)]]);
  await left.take({ sequence: 6, entries: [entry], mark: markOf(6) });
  expect(skipped.at(-1)).toEqual([one, 6, markOf(6)]);
});

it('reports the record of a fork that is missing and can no longer be made', async () => {
  const left = replica({
    exists: () => true,
    isMissing: (actor) => actor === fork,
    missingFork: () => new ServiceError('DATA_CORRUPTED'),
  });
  const made = lifecycleEntry(fork, { kind: 'fork', source: one }, clock);
  await left.take({ sequence: 2, entries: [made], mark: markOf(2) });
  expect(skipped).toEqual([[fork, 2, markOf(2)]]);
});
