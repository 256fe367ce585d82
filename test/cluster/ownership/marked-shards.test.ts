import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BatchDecoder, type LogBatch } from '#cluster/replication/batch-decoder.ts';
import { CATALOGUE } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { StoredHead } from '#runtime/shard/stored-head.ts';
import { type PartitionSide, SIDE_PARTITION } from '#test/support/partition-side.ts';
import { PartitionSides } from '#test/support/partition-sides.ts';
import { shardBeforeMarks } from '#test/support/shard-before-marks.ts';
import { until } from '#test/support/until.ts';

const actor = actorId('acme', 'site~1', 'a', 'notes');

let sides: PartitionSides;

const side = (name: string): PartitionSide => sides.side(name);

/** Every batch of the log. */
function batches(): LogBatch[] {
  const decoder = new BatchDecoder(SIDE_PARTITION);
  return sides.stream.messages.flatMap((message) => {
    const step = decoder.take(message);
    return step.kind === 'batch' ? [step.batch] : [];
  });
}

/** One that has an actor with a note, and its position stored; what it writes from now on is not behind that. */
async function owner(name: string): Promise<PartitionSide> {
  const first = side(name);
  await first.member.own();
  await first.host.create(actor);
  await first.write(actor, 'first');
  await first.member.leave();
  const again = side(name);
  await again.member.own();
  return again;
}

beforeEach(() => {
  sides = new PartitionSides();
});

afterEach(() => sides.close());

it('name the same record of the log at its owner and at a follower', async () => {
  const a = await owner('a');
  const b = side('b');
  await b.member.follow();
  await a.write(actor, 'second');
  await a.member.leave();
  await until(() => b.member.isGivenUp, 'the follower has everything');
  await b.member.leave();
  const { mark, sequence } = batches().at(-1) as LogBatch;
  for (const each of [a, b]) expect(each.head(actor)).toMatchObject({ sequence, mark });
});

it('ahead of the stored position keep a member from a log that has another record in that place', async () => {
  const a = await owner('a');
  a.copyPositionTo('copy');
  const { length } = sides.stream.messages;
  await a.write(actor, 'lost by the servers');
  await a.applied();
  a.copyTo('copy');
  sides.stream.messages.length = length;
  const b = side('b');
  await b.member.own();
  for (const key of ['in its place', 'behind it']) await b.write(actor, key);
  const copy = side('copy');
  await copy.member.follow();
  await until(() => copy.member.role === 'quarantined', 'the loss is noticed');
  expect(copy.member.trouble).toMatch(/differs from that of this member/);
});

it('are rebuilt when one of them has another record than the log at the same position', async () => {
  const a = await owner('a');
  a.copyPositionTo('copy', false);
  const { length } = sides.stream.messages;
  for (const key of ['of another log', 'behind that']) await a.write(actor, key);
  await a.applied();
  // Nothing but the shard itself says so.
  a.copyTo('copy', false);
  sides.stream.messages.length = length;
  const { sequence } = a.head(actor) as StoredHead;
  const b = side('b');
  await b.member.own();
  while ((batches().at(-1)?.sequence ?? 0) < sequence) await b.write(actor, 'of this log');
  expect(batches().at(-1)?.sequence).toBe(sequence);
  await b.member.leave();
  const copy = side('copy');
  await copy.member.follow();
  const failed = expect.objectContaining({ kind: 'shards-failed', isDamaged: true });
  await until(() => copy.events.length > 0, 'it is noticed');
  expect(copy.events).toContainEqual(failed);
  expect(await copy.member.own()).toBe(true);
  expect(await copy.keys(actor)).toEqual(['first', 'of this log']);
});

it('of the version before marks are gone on with, and have one from the next record on', async () => {
  const a = await owner('a');
  await a.write(actor, 'second');
  while (sides.stream.messages.length < 7) await a.write(actor, 'more');
  await a.member.leave();
  const position = join(a.folder, 'position.json');
  const decoder = new BatchDecoder(SIDE_PARTITION);
  for (const message of sides.stream.messages.slice(0, 7)) decoder.take(message);
  const { chain, epoch } = decoder.fold.state;
  writeFileSync(
    position,
    JSON.stringify({ format: 1, identity: 'memory', sequence: 7, epoch, chain: chain.toString('hex') }),
  );
  rmSync(join(a.folder, 'actors', CATALOGUE), { recursive: true, force: true });
  writeFileSync(a.pathOf(actor), shardBeforeMarks());
  const again = side('a');
  expect(await again.member.own()).toBe(true);
  await again.write(actor, 'after');
  expect(await again.keys(actor)).toContain('after');
  await again.member.leave();
  const { mark, sequence } = batches().at(-1) as LogBatch;
  expect(again.head(actor)).toMatchObject({ sequence, mark });
});

it('are rebuilt when their position is unknown', async () => {
  const a = await owner('a');
  await a.write(actor, 'second');
  await a.applied();
  await a.member.leave();
  writeFileSync(join(a.folder, 'actors', CATALOGUE, 'data.mdb'), Buffer.alloc(8192, 1));
  const again = side('a');
  expect(await again.member.own()).toBe(true);
  expect(await again.keys(actor)).toEqual(['first', 'second']);
  expect(again.events).toContainEqual(expect.objectContaining({ kind: 'shards-failed', isDamaged: true }));
});
