import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { wasNeverMade } from '#cluster/replication/never-made.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { PartitionSide, SIDE_PARTITION } from '#test/support/partition-side.ts';

const first = actorId('acme', 'site~1', 'a', 'notes');
const second = actorId('acme', 'site~1', 'b', 'notes');

let root: string;
let stream: MemoryStream;
let side: PartitionSide;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'never-made-'));
  stream = new MemoryStream();
  side = new PartitionSide(root, stream, 'a');
});

afterEach(async () => {
  await side.member.leave();
  rmSync(root, { recursive: true, force: true });
});

function wasNever(actor: string): Promise<boolean> {
  return wasNeverMade(stream.link(), SIDE_PARTITION, actor, systemClock);
}

it('distinguishes an actor that never existed from one in the log, independent of the disk', async () => {
  expect(await wasNever(first)).toBe(true);
  await side.member.own();
  expect(await wasNever(first)).toBe(true);
  await side.host.create(first);
  await side.write(first, 'a note');
  await side.member.leave();
  rmSync(side.folder, { recursive: true });
  expect([await wasNever(first), await wasNever(second)]).toEqual([false, true]);
});

it('is certain of nothing where the log was cut', async () => {
  await side.member.own();
  await side.host.create(first);
  stream.firstSequence = 2;
  expect([await wasNever(first), await wasNever(second)]).toEqual([false, false]);
});
