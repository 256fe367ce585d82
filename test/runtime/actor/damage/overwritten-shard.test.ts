import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ShardWriter } from '#runtime/commit/shard-writer.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { GatedLog } from '#test/support/gated-log.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const one = actorId('acme', 'site~1', 'one', 'notes');
const two = actorId('acme', 'site~1', 'two', 'notes');
const setup = { kinds: [noteActor], limits: { apply: { applyBytes: 1, applyDelayMs: 1 } } };
const told = 'another file was copied over it under the running server';

let folder: string;
let engine: Engine;

const fileOf = (actor: string): string => join(folder, 'actors', ...actor.split('/'), 'data.mdb');
const write = (actor: string, text: string): Promise<unknown> =>
  engine.host.command(actor, { type: 'Write', key: 'k', text }, { caller });
const read = (actor: string): unknown => engine.host.query(actor, { type: 'Read', key: 'k' }, caller);
/** Until nothing is applied any more: a copy that is taken meanwhile is none that can be opened. */
const applied = () => until(() => engine.host.pendingBytes === 0, 'everything is applied');
const stopped = () => engine.host.stoppedActors.map(({ actor, reason }) => `${actor}: ${reason}`);

/** The actors that are stopped once one is, without a command. */
async function stoppedSoon(): Promise<readonly string[]> {
  await until(() => stopped().length > 0, 'it is noticed');
  return stopped();
}

/** An earlier copy is written over the file of one of two actors that have applied everything. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'overwritten-shard-'));
  engine = await Engine.open(folder, setup);
  const file = fileOf(one);
  const earlier = join(folder, 'earlier.mdb');
  for (const actor of [one, two]) {
    await engine.host.create(actor);
    await write(actor, 'sound');
  }
  for (const text of ['first', 'second']) {
    await applied();
    copyFileSync(file, earlier);
    await write(one, text);
  }
  await applied();
  // In place: a file that is cut meanwhile would end the process that has it mapped.
  writeFileSync(file, readFileSync(earlier), { flag: 'r+' });
  await new Promise((resolve) => setImmediate(resolve));
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

describe('a shard that an earlier copy is written over', () => {
  it('takes no command, answers nothing, and has everything again after a restart', async () => {
    // It would find the actor in a state that it cannot be in.
    await expect(engine.host.command(one, { type: 'Break' }, { caller })).rejects.toThrow(told);
    for (let time = 0; time < 2; time += 1) await expect(write(one, 'third')).rejects.toThrow(told);
    expect(() => read(one)).toThrow(told);
    expect(stopped()).toEqual([`${one}: damage`]);
    await write(two, 'goes on');
    await engine.close();
    engine = await Engine.open(folder, setup);
    expect([read(one), read(two), stopped()]).toEqual(['second', 'goes on', []]);
  });

  it('is noticed without a command', async () => {
    expect(await stoppedSoon()).toEqual([`${one}: damage`]);
    expect(() => read(one)).toThrow(told);
    expect(read(two)).toBe('sound');
  });

  it('is not copied, for a fork or a backup, and keeps its position, so that a restart continues from it', async () => {
    const three = actorId('acme', 'site~1', 'three', 'notes');
    await expect(engine.host.copy(one, join(folder, 'copy'))).rejects.toThrow(told);
    await expect(engine.host.fork(one, three)).rejects.toThrow(told);
    expect(engine.host.exists(three)).toBe(false);
    await expect(write(one, 'third')).rejects.toThrow(told);
    await engine.close();
    engine = await Engine.open(folder, setup);
    expect([read(one), read(two), stopped()]).toEqual(['second', 'sound', []]);
  });
});

it('is not taken for copied when an earlier copy is written over it meanwhile', async () => {
  const own = join(folder, 'own');
  const shard = new LmdbShard(own, ['notes']);
  const file = join(own, 'data.mdb');
  const earlier: Buffer[] = [];
  for (const sequence of [1, 2]) {
    const position = { sequence, clock: { ms: sequence, counter: 0 } };
    await shard.apply([{ table: 0, key: 'k', value: Buffer.from(`${sequence}`) }], position).flushed;
    earlier.push(readFileSync(file));
  }
  const { copyTo } = shard;
  shard.copyTo = (to) => {
    const copied = copyTo.call(shard, to);
    writeFileSync(file, earlier[0] as Buffer, { flag: 'r+' });
    return copied;
  };
  const limits = { applyBytes: 1, applyDelayMs: 1 };
  const writer = new ShardWriter(
    'a',
    () => shard,
    new GatedLog(),
    new TestClock(),
    limits,
    () => {},
  );
  let isFinished = false;
  const copied = writer.copyTo(join(folder, 'copy'), () => {
    isFinished = true;
  });
  await expect(copied).rejects.toThrow(told);
  expect(isFinished).toBe(false);
  await writer.close();
});

describe('a command that runs while an earlier copy is written over its shard', () => {
  it.each(['nobody', 'a look at all shards'])('is refused when %s noticed meanwhile', async (who) => {
    await engine.close();
    engine = await Engine.open(folder, setup);
    const file = fileOf(one);
    const earlier = readFileSync(file);
    await write(one, 'third');
    await applied();
    const gate = { isOpen: false };
    const running = engine.host.command(one, { type: 'WriteAfter', gate, key: 'late' }, { caller });
    running.catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(file, earlier, { flag: 'r+' });
    await new Promise((resolve) => setImmediate(resolve));
    if (who !== 'nobody') expect(await stoppedSoon()).toEqual([`${one}: damage`]);
    gate.isOpen = true;
    await expect(running).rejects.toThrow(told);
    expect(stopped()).toEqual([`${one}: damage`]);
    await engine.close();
    engine = await Engine.open(folder, setup);
    const late = engine.host.query(one, { type: 'Read', key: 'late' }, caller);
    expect([read(one), late]).toEqual(['third', undefined]);
  });
});

describe('a command that waits for a later one when an earlier copy is written over its shard', () => {
  it('is refused as soon as that is noticed', async () => {
    await engine.close();
    engine = await Engine.open(folder, setup);
    const file = fileOf(one);
    const earlier = readFileSync(file);
    await write(one, 'third');
    await applied();
    const waiting = engine.host.command(one, { type: 'Wait' }, { caller });
    waiting.catch(() => {});
    await settle();
    writeFileSync(file, earlier, { flag: 'r+' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(await stoppedSoon()).toEqual([`${one}: damage`]);
    await expect(waiting).rejects.toThrow(told);
  });
});

describe('changes that are not applied when an earlier copy is written over their shard', () => {
  it('are not applied to that, and are there after a restart', async () => {
    await engine.close();
    const clock = new TestClock();
    const limits = { apply: { applyBytes: 1_000_000, applyDelayMs: 1 } };
    engine = await Engine.open(folder, { ...setup, clock, limits });
    expect(read(one)).toBe('second');
    const file = fileOf(one);
    const earlier = readFileSync(file);
    await write(one, 'third');
    clock.advance(1);
    await applied();
    await write(one, 'fourth');
    writeFileSync(file, earlier, { flag: 'r+' });
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1);
    await until(() => engine.applyFailures.length > 0, 'it is refused');
    // What is not applied is read from memory.
    expect(read(one)).toBe('fourth');
    await expect(write(one, 'fifth')).rejects.toThrow(told);
    expect(stopped()).toEqual([`${one}: damage`]);
    await engine.close();
    engine = await Engine.open(folder, setup);
    expect([read(one), stopped()]).toEqual(['fourth', []]);
  });
});
