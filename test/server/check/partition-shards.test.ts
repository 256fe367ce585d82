import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loneShards, type OwnShards } from '#server/check/own-shards.ts';
import { MemberChecks } from '#server/check/member-checks.ts';
import { PartitionShards } from '#server/check/partition-shards.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { PartitionSide, SIDE_PARTITION } from '#test/support/partition-side.ts';
import { until } from '#test/support/until.ts';

const first = actorId('acme', 'site~1', 'a', 'notes');
const second = actorId('acme', 'site~1', 'b', 'notes');

let root: string;
let side: PartitionSide;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'partition-shards-'));
  side = new PartitionSide(root, new MemoryStream(), 'a');
  await side.member.own();
  for (const actor of [first, second]) {
    await side.host.create(actor);
    await side.write(actor, 'a note');
  }
});

afterEach(async () => {
  await side.member.leave();
  rmSync(root, { recursive: true, force: true });
});

/** Waits no time before a copy is tried again. */
const hurried: Clock = { ...systemClock, after: (_, callback) => systemClock.after(0, callback) };

/** What copying the shards finds, by actor. */
async function findings(shards: OwnShards): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [index, { actor, copy, file }] of (await shards.all()).shards.entries()) {
    expect(file).toBe(side.pathOf(actor));
    const copied = copy(join(root, `copy-${index}`), new AbortController().signal);
    found[actor] = await copied.then(
      () => 'whole',
      (cause: unknown) => (cause as Error).message,
    );
  }
  return found;
}

describe('a check of shards', () => {
  const partitionShards = (): OwnShards =>
    new PartitionShards({
      partitions: SIDE_PARTITION + 2,
      members: () => new Map([[SIDE_PARTITION, side.member]]),
      storeOf: () => side.store,
      damaged: () => {},
      clock: hurried,
    });
  const kinds: readonly [string, () => OwnShards][] = [
    ['an owner', partitionShards],
    ['a process that is alone', () => loneShards(side.store, side.host)],
  ];

  it.each(kinds)('of %s names an actor whose folder is gone, also one that is open', async (_, shardsOf) => {
    await side.applied();
    // Its position is stored: the log need not have the records any more.
    await side.member.follow();
    await side.member.own();
    expect(await side.keys(second)).toEqual(['a note']);
    rmSync(dirname(side.pathOf(second)), { recursive: true });
    const found = await findings(shardsOf());
    expect(found[first]).toBe('whole');
    expect(found[second]).toContain(`${side.pathOf(second)} is missing`);
  });

  it('of a follower names an actor whose folder is gone', async () => {
    await side.applied();
    await side.member.follow();
    await side.member.own();
    await side.member.follow();
    rmSync(dirname(side.pathOf(second)), { recursive: true });
    const found = await findings(partitionShards());
    expect(found[second]).toContain('is missing');
  });

  it('names the partitions that the member neither owns nor follows [CHK-012]', async () => {
    const others = [...Array(SIDE_PARTITION).keys(), SIDE_PARTITION + 1];
    expect((await partitionShards().all()).partitionsSkipped).toEqual(others);
    await side.member.follow();
    expect((await partitionShards().all()).partitionsSkipped).toEqual(others);
    await side.member.leave();
    const { partitionsSkipped, shards } = await partitionShards().all();
    expect(shards).toEqual([]);
    expect(partitionsSkipped).toEqual([...Array(SIDE_PARTITION + 2).keys()]);
  });

  it('names a partition that the member gave up before its shards were read [CHK-012]', async () => {
    const found = await partitionShards().all();
    expect(found.shards).toHaveLength(2);
    expect(found.partitionsSkipped).not.toContain(SIDE_PARTITION);
    await side.member.leave();
    const checks = new MemberChecks({
      dataDir: root,
      shards: { all: () => Promise.resolve(found) },
      slices: new SliceScheduler(systemClock),
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      space: { refusal: () => undefined },
      results: { note: () => Promise.resolve() },
    });
    const check = await checks.start();
    await until(() => check.state !== 'running', 'the check is over');
    expect(check).toMatchObject({
      state: 'done',
      actors: 0,
      actorsTotal: found.shards.length,
      damageTotal: 0,
      partitionsSkipped: [...Array(SIDE_PARTITION + 2).keys()],
    });
  });
});
