import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assert } from '#runtime/base/assert.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';

/** Small, so that the journal does not reach back for long. */
const segmentBytes = 4096;

const setup = { kinds: [noteActor], segmentBytes, limits: { apply: { applyBytes: 1, applyDelayMs: 1 } } };

const names = ['a', 'b', 'late', 'fork', 'unused'] as const;

type Name = (typeof names)[number];

function idOf(name: string): string {
  return actorId('acme', 'site~1', name, 'notes');
}

function write(engine: Engine, name: string, key: string, text: string): Promise<unknown> {
  return engine.host.command(idOf(name), { type: 'Write', key, text }, { caller });
}

async function read(engine: Engine, name: string): Promise<unknown> {
  return engine.host.query(idOf(name), { type: 'ReadAll' }, caller);
}

let root: string;
/** A directory that was filled and stopped. Never opened again. */
let whole: string;
/** The same directory some writes earlier. */
let earlier: string;
/** Another one, with the same actors. */
let other: string;
/** What each actor has. */
const content: Record<Name, Record<string, string>> = { a: {}, b: {}, late: {}, fork: {}, unused: {} };

/** Writes until the journal has let go of what was written before. */
async function outgrow(engine: Engine, name: Name, notes: Record<string, string>): Promise<void> {
  const first = engine.journal.firstSequence;
  const goal = engine.journal.lastSequence;
  for (let number = 0; engine.journal.firstSequence <= Math.max(goal, first); number += 1) {
    if (number > 5000) throw new Error('the journal lets go of nothing');
    notes[`n${number % 7}`] = `${number} ${'x'.repeat(200)}`;
    await write(engine, name, `n${number % 7}`, notes[`n${number % 7}`] as string);
  }
}

async function fill(folder: string, stopsEarly?: () => void): Promise<void> {
  let engine = await Engine.open(folder, setup);
  for (const name of ['a', 'b', 'unused']) await engine.host.create(idOf(name));
  content.b = {};
  await write(engine, 'b', 'k', 'of b');
  content.b.k = 'of b';
  content.a = {};
  await outgrow(engine, 'a', content.a);
  await engine.close();
  stopsEarly?.();
  engine = await Engine.open(folder, setup);
  await engine.host.fork(idOf('b'), idOf('fork'));
  content.fork = { ...content.b };
  await outgrow(engine, 'a', content.a);
  await outgrow(engine, 'b', content.b);
  await engine.host.create(idOf('late'));
  content.late = { k: 'late' };
  await write(engine, 'late', 'k', 'late');
  await engine.close();
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'lost-'));
  whole = join(root, 'whole');
  earlier = join(root, 'earlier');
  other = join(root, 'other');
  await fill(other);
  await fill(whole, () => cpSync(whole, earlier, { recursive: true }));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

const shard = (name: Name): string => join('actors', ...idOf(name).split('/'), 'data.mdb');
const catalogue = join('actors', '.catalogue', 'data.mdb');

type Damage = (folder: string, file: string) => void;

const damages: Readonly<Record<string, Damage>> = {
  missing: (folder, file) => rmSync(join(folder, file), { recursive: true, force: true }),
  empty: (folder, file) => {
    if (existsSync(join(folder, file))) truncateSync(join(folder, file), 0);
  },
  'cut in half': (folder, file) => {
    if (existsSync(join(folder, file))) truncateSync(join(folder, file), 8192);
  },
  'of another directory': (folder, file) => replace(join(other, file), join(folder, file)),
  'of an earlier time': (folder, file) => replace(join(earlier, file), join(folder, file)),
};

function replace(source: string, target: string): void {
  rmSync(target, { recursive: true, force: true });
  if (existsSync(source)) cpSync(source, target, { recursive: true });
}

/** What is damaged, by a name. */
const files: Readonly<Record<string, string>> = {
  ...Object.fromEntries(names.map((name) => [name, shard(name)])),
  catalogue,
  journal: 'journal',
};

/** What befalls each of a pair. */
const ways = ['missing', 'empty'] as const;

function inflict(folder: string, file: string, how: string): void {
  const path = files[file] as string;
  // A folder has no half.
  const isHalved = file === 'journal' && (how === 'empty' || how === 'cut in half');
  (damages[isHalved ? 'missing' : how] as Damage)(folder, path);
}

/** Of `late` the journal has everything, and `unused` has nothing to lose: not even a file. */
const healed: Readonly<Record<string, readonly string[]>> = {
  missing: ['late', 'unused'],
  empty: ['late', 'unused'],
  'cut in half': ['unused'],
  'of another directory': ['unused'],
  'of an earlier time': ['late', 'unused'],
};

/** What refuses to serve after what was done to some files. */
function refusedBy(...done: readonly (readonly [file: string, how: string])[]): readonly Name[] | 'start' {
  if (done.some(([file]) => file === 'catalogue' || file === 'journal')) return 'start';
  return names.filter((name) => done.some(([file, how]) => file === name && !healed[how]?.includes(name)));
}

/** Opens a damaged copy of the directory; what is served must be right, and what is not served must say why. */
async function judge(damage: (folder: string) => void, refused: readonly Name[] | 'start'): Promise<void> {
  const folder = mkdtempSync(join(root, 'case-'));
  try {
    cpSync(whole, folder, { recursive: true });
    damage(folder);
    let engine: Engine;
    try {
      engine = await Engine.open(folder, setup);
    } catch (error) {
      expect(error).toMatchObject({ code: 'DATA_CORRUPTED' });
      expect((error as Error).message).toMatch(/bring|restore/);
      expect(refused).toBe('start');
      return;
    }
    assert(refused !== 'start', 'it starts');
    try {
      const failed: Name[] = [];
      for (const name of names) {
        try {
          expect(await read(engine, name)).toEqual(content[name]);
          await write(engine, name, 'new', 'x');
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          expect(error).toMatchObject({ code: 'DATA_CORRUPTED' });
          expect(error.message).toContain('data.mdb');
          failed.push(name);
        }
      }
      expect(failed).toEqual(refused);
      expect(engine.host.stoppedActors.map(({ actor }) => actor).sort()).toEqual(refused.map(idOf).sort());
    } finally {
      await engine.close();
    }
    // Nothing of it depends on the restart that healed or hid something.
    engine = await Engine.open(folder, setup);
    for (const name of names.filter((each) => !refused.includes(each)))
      expect(await read(engine, name)).toEqual({ ...content[name], new: 'x' });
    for (const name of refused)
      await expect(read(engine, name)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await engine.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('a data directory [DUR-023]', () => {
  it('has everything when nothing is wrong with it', () => judge(() => {}, []));

  it.each(Object.keys(damages).flatMap((how) => Object.keys(files).map((file) => [file, how] as const)))(
    'refuses only what cannot be made good: %s is %s',
    (file, how) => judge((folder) => inflict(folder, file, how), refusedBy([file, how])),
  );

  const pairs = [
    ['a', 'late'],
    ['a', 'fork'],
    ['late', 'journal'],
    ['a', 'catalogue'],
    ['catalogue', 'journal'],
  ] as const;

  it.each(pairs.flatMap(([one, two]) => ways.map((how) => [one, two, how] as const)))(
    'refuses only what cannot be made good: %s and %s at once, the first one %s',
    async (one, two, how) => {
      for (const second of ways) {
        const damage = (folder: string): void => {
          inflict(folder, one, how);
          inflict(folder, two, second);
        };
        await judge(damage, refusedBy([one, how], [two, second]));
      }
    },
  );

  it('takes no actor for its own when the catalogue and the journal are of another directory', () =>
    judge(
      (folder) => {
        inflict(folder, 'catalogue', 'of another directory');
        inflict(folder, 'journal', 'of another directory');
      },
      ['a', 'b', 'late', 'fork'],
    ));

  it.each([
    ['a', 'b'],
    ['b', 'fork'],
    ['fork', 'b'],
    ['late', 'a'],
  ] as const)('detects shards that changed places: %s and %s', (one, two) =>
    judge(
      (folder) => {
        renameSync(join(folder, shard(one)), join(folder, 'kept'));
        renameSync(join(folder, shard(two)), join(folder, shard(one)));
        renameSync(join(folder, 'kept'), join(folder, shard(two)));
      },
      names.filter((name) => name === one || name === two),
    ),
  );

  it('misses the folder of an actor, and of all of them', async () => {
    await judge((folder) => rmSync(join(folder, 'actors/acme/site~1/a'), { recursive: true }), ['a']);
    await judge((folder) => rmSync(join(folder, 'actors/acme'), { recursive: true }), ['a', 'b', 'fork']);
  });

  it('keeps and does not serve a folder it does not know', async () => {
    const stray = 'actors/acme/site~2/x/notes';
    await judge((folder) => {
      mkdirSync(join(folder, stray), { recursive: true });
      cpSync(join(whole, shard('a')), join(folder, stray, 'data.mdb'));
    }, []);
  });
});
