import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';
import { SnapshotRestore } from '#cluster/snapshot/snapshot-restore.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { TestClock } from '#test/support/test-clock.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'snapshot-retries-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Seconds between attempts at a snapshot that cannot be had, when it is asked for every second. */
async function waits(random: number): Promise<readonly number[]> {
  const clock = new TestClock();
  const stream = new MemoryStream().link();
  const state = { ...(await stream.state()), identity: 'memory', firstSequence: 1, lastSequence: 9 };
  stream.state = () => Promise.resolve(state);
  stream.fetch = () => Promise.reject(new ServiceError('LOG_UNAVAILABLE'));
  const record = {
    position: { identity: 'memory', sequence: 5, epoch: 1, chain: Buffer.alloc(32) },
    manifest: { hash: 'aa' },
  } as unknown as SnapshotRecord;
  const attempts: number[] = [];
  const restore = new SnapshotRestore({
    partition: 1,
    folder,
    store: new ActorStore(join(folder, 'actors'), [noteActor], clock),
    stream,
    blobs: {} as never,
    index: { read: () => Promise.resolve({ version: 1, records: [record] }) } as never,
    files: realFileSystem,
    clock,
    random: { bytes: (length) => new Uint8Array(length).fill(random) },
    report: ({ kind }) => {
      if (kind === 'unusable') attempts.push(clock.monotonicMs());
    },
    request: () => {},
  });
  for (let second = 0; second < 220; second += 1) {
    expect(await restore.bring(new AbortController().signal)).toBe(false);
    clock.advance(1_000);
  }
  return attempts.slice(1).map((at, index) => (at - (attempts[index] as number)) / 1_000);
}

it('tries a snapshot that cannot be had again after longer and longer waits [CLU-010]', async () => {
  expect(await waits(0)).toEqual([5, 10, 20, 40, 60, 60]);
});

it('waits a little longer by chance: members that failed together do not come back together', async () => {
  expect(await waits(255)).toEqual([6, 11, 22, 44, 66, 66]);
});
