import { describe, expect, it } from 'vitest';
import type { StreamState } from '#cluster/replication/log-stream.ts';
import { RotatedLogs, rotationStep } from '#cluster/snapshot/rotated-logs.ts';
import type { SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';

function state(firstSequence: number, lastSequence: number, identity = 'log'): StreamState {
  return { identity, firstSequence, lastSequence, bytes: 1, leader: '', servers: [] };
}

function snapshot(sequence: number, identity = 'log'): SnapshotRecord {
  return {
    partition: 0,
    position: { identity, sequence, epoch: 1, chain: Buffer.alloc(16) },
    takenAtMs: 0,
    member: 'm1',
    actors: 1,
    bytes: 1,
    manifest: { hash: 'a', size: 1 },
  };
}

describe('the logs of a cluster whose master key was replaced', () => {
  it('have records of the previous key up to the end that they had when all members used the new one', () => {
    const logs = new RotatedLogs(() => true);
    expect(logs.left([0])).toEqual([0]);
    expect(logs.look(0, state(1, 9))).toBe(9);
    expect(logs.look(0, state(5, 20))).toBe(9);
    expect(logs.look(0, state(9, 20))).toBe(9);
    expect(logs.left([0])).toEqual([0]);
    expect(logs.look(0, state(10, 20))).toBeUndefined();
    expect(logs.left([0])).toEqual([]);
  });

  it('are unknown while a member signs with another key, also again', () => {
    let isAgreed = false;
    const logs = new RotatedLogs(() => isAgreed);
    expect(logs.look(0, state(1, 9))).toBeUndefined();
    expect(logs.left([0])).toEqual([0]);
    isAgreed = true;
    expect(logs.look(0, state(1, 12))).toBe(12);
    expect(logs.look(0, state(13, 20))).toBeUndefined();
    isAgreed = false;
    expect(logs.look(0, state(13, 21))).toBeUndefined();
    expect(logs.left([0])).toEqual([0]);
    isAgreed = true;
    expect(logs.look(0, state(13, 22))).toBe(22);
  });

  it('are looked at each by itself, and a log that was made anew as well', () => {
    const logs = new RotatedLogs(() => true);
    logs.look(0, state(1, 9));
    expect(logs.look(1, state(1, 0))).toBeUndefined();
    expect(logs.left([0, 1, 2])).toEqual([0, 2]);
    expect(logs.look(0, state(1, 3, 'another'))).toBe(3);
  });

  it('need two snapshots that end after those records, and a record before each', () => {
    expect(rotationStep(9, state(1, 9), [])).toBe('record');
    expect(rotationStep(9, state(1, 10), [snapshot(9), snapshot(4)])).toBe('snapshot');
    expect(rotationStep(9, state(1, 10), [snapshot(10), snapshot(9)])).toBe('record');
    expect(rotationStep(9, state(1, 11), [snapshot(10), snapshot(9)])).toBe('snapshot');
    expect(rotationStep(9, state(1, 11), [snapshot(11), snapshot(10)])).toBe('truncation');
    expect(rotationStep(9, state(1, 11), [snapshot(11, 'another'), snapshot(10, 'another')])).toBe(
      'snapshot',
    );
  });
});
