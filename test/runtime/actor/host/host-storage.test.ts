import { syncBuiltinESMExports } from 'node:module';
import fs, { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { DirectoryKey } from '#runtime/actor/host/host-storage.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Engine, engineLimits, type EngineSetup, engineUser as caller } from '#test/support/engine.ts';
import { GatedLog } from '#test/support/gated-log.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const owner = actorId('acme', 'site~1');
const actor = actorId('acme', 'site~1', 'a', 'notes');
const file = join('actors', ...actor.split('/'), 'data.mdb');

let root: string;
let folder: string;
let clock: TestClock;
let engine: Engine;

/** Small segments, and everything is applied at once. */
function open(at: string, setup: Partial<EngineSetup> = {}): Promise<Engine> {
  const apply = { applyBytes: 1, applyDelayMs: 1 };
  return Engine.open(at, {
    kinds: [noteActor],
    clock,
    segmentBytes: 4096,
    limits: { idleCloseMs: 1000, apply },
    ...setup,
  });
}

function write(key: string, text: string): Promise<unknown> {
  return engine.host.command(actor, { type: 'Write', key, text }, { caller });
}

function read(key: string): unknown {
  return engine.host.query(actor, { type: 'Read', key }, caller);
}

/** Puts a part of one directory into another one. */
function take(from: string, part: string, to: string): void {
  rmSync(join(to, part), { recursive: true, force: true });
  cpSync(join(from, part), join(to, part), { recursive: true });
}

/** A key, and how often it was brought to the disk. */
function keyOf(
  check: string,
  other?: string,
  previousCheck?: string,
): { readonly key: DirectoryKey; readonly stores: () => number; readonly drop: () => Promise<void> } {
  let stores = 0;
  const store = (): void => {
    stores += 1;
  };
  const refusal = (isHalf: boolean): Error =>
    new Error(isHalf ? `needs the key before ${check}` : `made with another key than ${check}`);
  const doubt = (): Error | undefined =>
    other === undefined ? undefined : new Error(`either ${check} or ${other}`);
  let drop = (): Promise<void> => Promise.reject(new Error('the keys are not recorded'));
  const recorded = (dropPrevious: () => Promise<void>): void => {
    drop = dropPrevious;
  };
  const key = { check, previousCheck, store, doubt, refusal, recorded };
  return { key, stores: () => stores, drop: () => drop() };
}

/** A copy of the directory as it is now. */
function copied(name: string, from = folder): string {
  const copy = join(root, name);
  cpSync(from, copy, { recursive: true });
  return copy;
}

async function idle(): Promise<void> {
  await until(() => {
    clock.advance(300);
    return engine.host.openActors === 0;
  }, 'the actor is closed');
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'host-storage-'));
  folder = join(root, 'data');
  clock = new TestClock();
  engine = await open(folder);
});

afterEach(async () => {
  await engine.close();
  rmSync(root, { recursive: true, force: true });
});

describe('files that are not of one time [DUR-023]', () => {
  it('refuses a shard that has records the journal and the catalogue know nothing of', async () => {
    await engine.host.create(actor);
    await write('k', '1');
    await engine.close();
    const before = copied('before');
    engine = await open(folder);
    await write('k', '2');
    await engine.close();
    take(folder, file, before);
    await expect(open(before)).rejects.toThrow(/its newest files are missing/);
  });

  it('refuses such a shard before anything is changed when nothing is served without it', async () => {
    await engine.host.create(actor);
    await write('k', '1');
    await engine.close();
    const before = copied('before');
    engine = await open(folder);
    await write('k', '2');
    await engine.close();
    take(folder, file, before);
    const { key, stores } = keyOf('new');
    await expect(open(before, { key, required: [actor] })).rejects.toThrow(/its newest files are missing/);
    expect(stores()).toBe(0);
  });

  it('refuses a shard that regressed while the process was running', async () => {
    await engine.host.create(actor);
    await write('k', '1');
    await idle();
    const before = readFileSync(join(folder, file));
    await write('k', '2');
    await idle();
    writeFileSync(join(folder, file), before);
    expect(() => read('k')).toThrow(/went back from log record/);
  });

  it('does not start with a catalogue from before the journal began', async () => {
    await engine.close();
    const empty = copied('empty');
    engine = await open(folder);
    await engine.host.create(actor);
    for (let number = 0; engine.journal.firstSequence === 1; number += 1) {
      expect(number).toBeLessThan(1000);
      await write('k', `${number} ${'x'.repeat(500)}`);
      clock.advance(5);
    }
    await engine.close();
    take(empty, 'actors/.catalogue', folder);
    await expect(open(folder)).rejects.toThrow(/is older than the other files/);
  });

  it('does not start with a journal that lost its end, after a clean stop', async () => {
    await engine.host.create(actor);
    await write('k', '1');
    const before = copied('before');
    await write('k', '2');
    await engine.close();
    take(before, 'journal', folder);
    await expect(open(folder)).rejects.toThrow(/the journal ends at record/);
  });

  it('does not start with a journal that lost its end, when a start had read it', async () => {
    await engine.host.create(actor);
    await write('k', '1');
    const before = copied('before');
    await write('k', '2');
    const killed = copied('killed');
    const again = await open(killed);
    const killedAgain = copied('killed-again', killed);
    await again.close();
    take(before, 'journal', killedAgain);
    await expect(open(killedAgain)).rejects.toThrow(/the journal ends at record/);
  });
});

describe('a data directory that was made without a key', () => {
  it('knows the first one it is opened with from then on', async () => {
    await engine.close();
    engine = await open(folder, { key: keyOf('first').key });
    await engine.close();
    const { key, stores } = keyOf('second');
    await expect(open(folder, { key })).rejects.toThrow('made with another key than second');
    expect(stores()).toBe(0);
    engine = await open(folder, { key: keyOf('first').key });
  });

  it('knows none while it has another one, and takes that beside the right one afterwards', async () => {
    await engine.close();
    const { key, stores } = keyOf('given', 'stored');
    await expect(open(folder, { key })).rejects.toThrow('either given or stored');
    expect(stores()).toBe(0);
    engine = await open(folder, { key: keyOf('given').key });
    await engine.close();
    engine = await open(folder, { key });
  });
});

describe('a data directory whose key was replaced [ADMIN-024]', () => {
  /** Opens the directory with some keys and closes it. @returns why it is refused */
  async function outcome(check: string, previous?: string): Promise<string> {
    const { key, stores } = keyOf(check, undefined, previous);
    try {
      engine = await open(folder, { key });
    } catch (error) {
      // Nothing was brought to the disk.
      expect(stores()).toBe(0);
      return (error as Error).message;
    }
    await engine.close();
    return 'opened';
  }

  beforeEach(async () => {
    await engine.close();
    expect(await outcome('old')).toBe('opened');
  });

  it('needs both keys from the start that brought the new one until nothing needs the previous one', async () => {
    expect(await outcome('new')).toBe('made with another key than new');
    expect(await outcome('new', 'old')).toBe('opened');
    expect(await outcome('new')).toBe('needs the key before new');
    expect(await outcome('new', 'wrong')).toBe('needs the key before new');
    expect(await outcome('old')).toBe('made with another key than old');
    expect(await outcome('third', 'new')).toBe('needs the key before third');
    expect(await outcome('new', 'old')).toBe('opened');

    const { drop, key } = keyOf('new', undefined, 'old');
    engine = await open(folder, { key });
    await drop();
    await engine.close();
    expect(await outcome('new')).toBe('opened');
    expect(await outcome('old')).toBe('made with another key than old');
    expect(await outcome('new', 'wrong')).toBe('opened');
  });

  it('goes back to the former key, with both', async () => {
    expect(await outcome('new', 'old')).toBe('opened');
    expect(await outcome('old', 'new')).toBe('opened');
    expect(await outcome('new')).toBe('made with another key than new');
    expect(await outcome('old')).toBe('needs the key before old');
    expect(await outcome('old', 'new')).toBe('opened');
  });

  it('refuses two wrong keys', async () => {
    expect(await outcome('third', 'fourth')).toBe('made with another key than third');
    expect(await outcome('new', 'old')).toBe('opened');
    expect(await outcome('third', 'fourth')).toBe('made with another key than third');
    expect(await outcome('new', 'old')).toBe('opened');
  });
});

describe('an actor that is being made', () => {
  it('stays in the log until the catalogue has it', async () => {
    await engine.host.create(actor);
    expect([...engine.journal.pending().keys()]).toEqual([actor]);
    await until(() => engine.journal.pending().size === 0, 'its row is stored');
  });

  it('is in the log for good when it is there, also in class relaxed', async () => {
    await engine.close();
    engine = await open(folder, { durability: 'relaxed' });
    await engine.host.create(actor);
    expect(engine.journal.flushedSequence).toBe(engine.journal.lastSequence);
  });

  it('is not there when what it belongs to was removed meanwhile', async () => {
    await engine.host.create(actor);
    const late = actorId('acme', 'site~1', 'late', 'notes');
    await Promise.all([engine.host.create(late), engine.host.destroyUnder(owner)]);
    expect([engine.host.exists(actor), engine.host.exists(late)]).toEqual([false, false]);
    await engine.close();
    engine = await open(folder);
    expect([engine.host.exists(actor), engine.host.exists(late)]).toEqual([false, false]);
  });

  it('is refused while what it belongs to is being removed, and does not come with a restart', async () => {
    await engine.host.create(actor);
    const late = actorId('acme', 'site~1', 'late', 'notes');
    const before = engine.journal.lastSequence;
    const removed = engine.host.destroyUnder(owner);
    // At the moment when the removal is in the log.
    while (engine.journal.lastSequence === before) await new Promise((resolve) => setImmediate(resolve));
    const made = engine.host.create(late).then(
      () => 'made',
      (error: { code: string }) => error.code,
    );
    await removed;
    const killed = copied('killed');
    expect([await made, engine.host.exists(late)]).toEqual(['NOT_FOUND', false]);
    await engine.close();
    engine = await open(killed);
    expect([engine.host.exists(actor), engine.host.exists(late)]).toEqual([false, false]);
  });
});

/** A log that is asked to have on the disk what made an actor, which takes as long as the test says. */
class FlushedLater extends GatedLog {
  readonly asked = Promise.withResolvers<void>();
  readonly gate = Promise.withResolvers<void>();
  isHeld = false;

  override async flush(actor?: string): Promise<number> {
    if (this.isHeld && actor === undefined) {
      this.isHeld = false;
      this.asked.resolve();
      await this.gate.promise;
    }
    return super.flush();
  }
}

const late = actorId('acme', 'site~1', 'late', 'notes');

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A host with one actor, and then a log that waits. */
async function gatedHost(log: GatedLog): Promise<ActorHost> {
  const made = new ActorHost({
    folder: join(root, 'gated'),
    log,
    clock,
    random: systemRandom,
    kinds: [noteActor],
    limits: engineLimits,
    slices: new SliceScheduler(clock),
    observer: { batchDurable: () => {}, events: () => {}, stopped: () => {}, applyFailed: () => {} },
  });
  log.isOpen = true;
  await made.create(actor);
  log.isOpen = false;
  return made;
}

describe('a fork that is being made', () => {
  it('can be made again when the disk did not take its name', async () => {
    await engine.host.create(actor);
    await write('k', '1');
    const parent = join(folder, 'actors', 'acme', 'site~1', 'late');
    const { fsyncSync } = fs;
    fs.fsyncSync = (descriptor) => {
      if (fs.readlinkSync(`/proc/self/fd/${descriptor}`) === parent)
        throw Object.assign(new TypeError('EIO: i/o error, fsync'), { code: 'EIO' });
      fsyncSync(descriptor);
    };
    syncBuiltinESMExports();
    try {
      await expect(engine.host.fork(actor, late)).rejects.toMatchObject({ code: 'EIO' });
    } finally {
      fs.fsyncSync = fsyncSync;
      syncBuiltinESMExports();
    }
    expect(engine.host.exists(late)).toBe(false);
    await engine.host.fork(actor, late);
    expect(engine.host.query(late, { type: 'Read', key: 'k' }, caller)).toBe('1');
  });

  it('is not there before the log has the record that makes it on the disk', async () => {
    const log = new FlushedLater();
    const own = await gatedHost(log);
    log.isOpen = true;
    log.isHeld = true;
    const forked = own.fork(actor, late);
    await Promise.race([forked, log.asked.promise]);
    // Time to put the copy in its place.
    await turns();
    expect(own.exists(late)).toBe(false);
    log.gate.resolve();
    await forked;
    expect(own.exists(late)).toBe(true);
    await own.close();
  });
});

describe('an actor that is made and removed at once', () => {
  /** Nothing else is of this owner. */
  const alone = actorId('acme', 'site~2', 'late', 'notes');

  it('is not there although nothing else of its owner is', async () => {
    const log = new GatedLog();
    const own = await gatedHost(log);
    const made = own.create(alone);
    const removed = own.destroyUnder(actorId('acme', 'site~2'));
    await turns();
    expect(log.waiting).toHaveLength(2);
    log.acknowledge();
    log.acknowledge();
    await Promise.all([made, removed]);
    expect([own.exists(actor), own.exists(alone)]).toEqual([true, false]);
    await own.close();
  });

  it('is not there when it is a fork whose copy is made, or not begun yet', async () => {
    for (const isBegun of [true, false]) {
      const log = new FlushedLater();
      const own = await gatedHost(log);
      log.isOpen = true;
      log.isHeld = isBegun;
      const forked = own.fork(actor, alone).then(
        () => 'made',
        (error: unknown) => (error as ServiceError).code,
      );
      if (isBegun) await log.asked.promise;
      await own.destroyUnder(actorId('acme', 'site~2'));
      log.gate.resolve();
      expect([await forked, own.exists(alone), own.exists(actor)]).toEqual(['NOT_FOUND', false, true]);
      // Whoever follows the log has none either.
      const last = log.records.at(-1)?.entries[0];
      expect([last?.actor, last?.writes[0]?.key]).toEqual([
        isBegun ? alone : actorId('acme', 'site~2'),
        'destroy',
      ]);
      await own.close();
      rmSync(join(root, 'gated'), { recursive: true });
    }
  });

  it('is there when its removal fails', async () => {
    const log = new GatedLog();
    const own = await gatedHost(log);
    const made = own.create(late);
    const removed = own.destroyUnder(owner);
    await turns();
    expect(log.waiting).toHaveLength(2);
    log.acknowledge();
    await made;
    log.refuse(new ServiceError('STORAGE_FULL'));
    await expect(removed).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect([own.exists(actor), own.exists(late)]).toEqual([true, true]);
    await own.close();
  });

  it('is not there when its removal is done before it is', async () => {
    const log = new FlushedLater();
    const own = await gatedHost(log);
    log.isHeld = true;
    const made = own.create(late);
    const removed = own.destroyUnder(owner);
    await turns();
    log.acknowledge();
    await turns();
    log.acknowledge();
    await removed;
    log.gate.resolve();
    await made;
    expect([own.exists(actor), own.exists(late)]).toEqual([false, false]);
    await own.close();
  });
});

describe('a removal that the journal has lost', () => {
  it('does not restore actors that it may have removed [DUR-021]', async () => {
    await engine.host.create(actor);
    await write('k', '1');
    await idle();
    await until(() => engine.journal.pending().size === 0, 'all of it is applied');
    const killed = copied('killed');
    await engine.host.destroyUnder(owner);
    await engine.close();
    take(folder, 'journal', killed);
    const names = readdirSync(join(killed, 'journal')).filter((name) => name.endsWith('.journal'));
    const path = join(killed, 'journal', names.sort().at(-1) as string);
    const bytes = readFileSync(path);
    const at = bytes.lastIndexOf(owner);
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(path, bytes);
    engine = await open(killed, { containsDamage: true });
    expect(() => read('k')).toThrow(/may have lost acknowledged writes/);
    // Neither as a new one.
    await expect(engine.host.create(actor)).rejects.toThrow(/may have lost acknowledged writes/);
  });
});
