import { beforeEach, describe, expect, it } from 'vitest';
import { truncateLog, type TruncationState } from '#cluster/snapshot/log-truncation.ts';
import type { SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { TestClock } from '#test/support/test-clock.ts';

/** A log that is over its limit, so that no age matters. */
const RULES = { bytesMax: 1, keepMs: 60_000, gainBytes: 1 };

let stream: MemoryStream;

beforeEach(() => {
  stream = new MemoryStream();
  for (let number = 0; number < 9; number += 1) stream.append(number, Buffer.alloc(100, number));
});

function record(member: string, sequence: number, identity: string): SnapshotRecord {
  return {
    partition: 3,
    position: { identity, sequence, epoch: 1, chain: Buffer.alloc(16) },
    takenAtMs: 0,
    member,
    actors: 1,
    bytes: 1,
    manifest: { hash: 'a', size: 1 },
  };
}

/** Cuts the log under rules by which it is neither old nor large enough. */
async function cutForRotation(lastOld: number | undefined): Promise<number | undefined> {
  const link = stream.link();
  const state = await link.state();
  const records = [record('a', 8, state.identity), record('b', 6, state.identity)];
  const facts: TruncationState = {
    partition: 3,
    stream: link,
    state,
    records,
    ownerStored: 9,
    followers: [],
  };
  const rules = { bytesMax: 1_000_000, keepMs: 60_000, gainBytes: 1_000_000 };
  return truncateLog(facts, { ...rules, lastOld }, new TestClock());
}

/** Cuts the log. @param told identity of the stream when it was looked at, @param of that of the snapshots */
async function cut(told: string, of: string): Promise<number | undefined> {
  const link = stream.link();
  const facts: TruncationState = {
    partition: 3,
    stream: link,
    state: { ...(await link.state()), identity: told },
    records: [record('a', 8, of), record('b', 6, of)],
    ownerStored: 9,
    followers: [],
  };
  return truncateLog(facts, RULES, new TestClock());
}

describe('a log', () => {
  it('is cut before the older of its snapshots', async () => {
    expect([await cut('memory', 'memory'), stream.firstSequence]).toEqual([6, 6]);
  });

  it('is cut whatever its size and age behind records that have to go, and not in the middle of them', async () => {
    expect([await cutForRotation(undefined), stream.firstSequence]).toEqual([undefined, 1]);
    expect([await cutForRotation(6), stream.firstSequence]).toEqual([undefined, 1]);
    expect([await cutForRotation(5), stream.firstSequence]).toEqual([6, 6]);
  });

  it('is not cut for snapshots of another one of its name', async () => {
    expect([await cut('memory', 'earlier'), stream.firstSequence]).toEqual([undefined, 1]);
  });

  it('is not truncated when it was recreated after the check', async () => {
    expect([await cut('earlier', 'earlier'), stream.firstSequence]).toEqual([undefined, 1]);
  });
});
