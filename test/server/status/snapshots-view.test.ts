import { describe, expect, it } from 'vitest';
import { seenLogs } from '#server/status/snapshots-view.ts';
import type { SnapshotIndex } from '#cluster/snapshot/snapshot-index.ts';
import type { SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { LocalDirectory } from '#runtime/embedded/local-directory.ts';
import { MemorySnapshotIndex } from '#test/support/memory-snapshot-index.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';

const directory = new LocalDirectory({
  id: 'a',
  url: 'http://a',
  version: '1',
  load: () => ({ requestsInFlight: 0, openActors: 0, pendingBytes: 0 }),
});

const recordAt = (sequence: number): SnapshotRecord => ({
  partition: 0,
  position: { identity: 'memory', sequence, epoch: 1, chain: Buffer.alloc(32) },
  takenAtMs: systemClock.wallMs() - 60_000,
  member: 'a',
  actors: 1,
  bytes: 500,
  manifest: { hash: '0'.repeat(64), size: 1 },
});

/** A log of ten messages of a hundred bytes, three quarters of what it may have and more. */
function filled() {
  const stream = new MemoryStream();
  for (let number = 0; number < 10; number += 1) stream.append(number, Buffer.alloc(100));
  const link = stream.link();
  const index = new MemorySnapshotIndex();
  const stored = new Map([['a', new Map([[0, 10]])]]);
  return {
    link,
    index,
    sources: { directory, streamOf: () => link, stored, index, clock: systemClock, bytesMax: 1200 },
  };
}

describe('the logs as an operator sees them', () => {
  it('have a size, a newest snapshot, and what keeps them from being cut', async () => {
    const { index, sources } = filled();
    const empty = (await seenLogs(sources)).get(0);
    expect(empty).toEqual({
      bytes: 1000,
      bytesMax: 1200,
      kept: expect.stringContaining('0 of 2 snapshots'),
      snapshot: undefined,
    });
    await index.replace(0, 0, [recordAt(9), recordAt(5)]);
    const kept = (await seenLogs(sources)).get(0);
    expect(kept?.kept).toBeUndefined();
    expect(kept?.snapshot).toMatchObject({ sequence: 9, bytes: 500, member: 'a' });
    expect(kept?.snapshot?.ageMs).toBeGreaterThanOrEqual(60_000);
    expect((await seenLogs({ ...sources, bytesMax: 10_000 })).get(0)?.kept).toBeUndefined();
  });

  it('are omitted when the servers do not answer, and without findings when the index does not', async () => {
    const { link, sources } = filled();
    const silent: SnapshotIndex = {
      read: () => new Promise(() => {}),
      replace: () => new Promise(() => {}),
      all: () => new Promise(() => {}),
    };
    expect((await seenLogs({ ...sources, index: silent })).get(0)).toMatchObject({
      bytes: 1000,
      kept: undefined,
      snapshot: undefined,
    });
    link.isConnected = false;
    expect((await seenLogs(sources)).size).toBe(0);
  });
});
