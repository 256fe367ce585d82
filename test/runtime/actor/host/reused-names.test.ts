import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActorCatalogue, type CatalogueRow } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { Engine, type EngineSetup, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { makeShardOlder } from '#test/support/older-shard.ts';
import { until } from '#test/support/until.ts';

const setup: EngineSetup = {
  kinds: [noteActor],
  containsDamage: true,
  segmentBytes: 16_384,
  removedKeepMs: 3_600_000,
};
const idOf = (name: string): string => actorId('acme', `${name}~1`, 'main', 'notes');
const [reused, other, bystander] = [idOf('reused'), idOf('other'), idOf('bystander')];

let folder: string;
let engine: Engine;

const write = (actor: string, key: string, text = key): Promise<unknown> =>
  engine.host.command(actor, { type: 'Write', key, text }, { caller });
const notesOf = async (actor: string): Promise<readonly string[]> => {
  const notes = await engine.host.query(actor, { type: 'ReadAll' }, caller);
  return Object.keys(JSON.parse(JSON.stringify(notes)) as object).sort();
};
const journalFiles = (): readonly string[] =>
  readdirSync(join(folder, 'journal')).filter((name) => name.endsWith('.journal'));
const keptFolders = (): readonly string[] => {
  const removed = join(folder, 'actors/.removed');
  return existsSync(removed) ? readdirSync(removed) : [];
};

async function restart(between: () => void = () => {}): Promise<void> {
  await engine.close();
  between();
  engine = await Engine.open(folder, setup);
}

/** Damages the record of the journal that holds a text. @returns the path of its segment */
function damageRecordOf(text: string): string {
  for (const name of journalFiles()) {
    const path = join(folder, 'journal', name);
    const bytes = readFileSync(path);
    const at = bytes.indexOf(text);
    if (at < 0) continue;
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(path, bytes);
    return path;
  }
  throw new Error(`no record holds ${text}`);
}

/** Writes until segments that were begun meanwhile have left, and starts again before anything else opens an actor. */
async function rollOver(): Promise<void> {
  const before = new Set(journalFiles());
  const begun = new Set<string>();
  for (let number = 0; number < 200; number += 1) {
    await write(bystander, `roll${number}`, 'x'.repeat(4_000));
    if (number % 10 === 9) await restart();
    const now = journalFiles();
    for (const name of now) if (!before.has(name)) begun.add(name);
    if ([...begun].some((name) => !now.includes(name))) {
      await restart();
      return;
    }
  }
  throw new Error('no segment has left');
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reused-names-'));
  engine = await Engine.open(folder, setup);
  await engine.host.create(other);
  await write(other, 'first');
  await engine.host.create(bystander);
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes an actor, removes it, and makes another one of its name. */
async function reuse(): Promise<void> {
  await engine.host.create(reused);
  await write(reused, 'of the first');
  await engine.host.destroyUnder('acme/reused~1');
  await engine.host.create(reused);
}

/** Lets another actor depend on a lost record, so that its segment is kept. @param besides what else is in the segment */
async function loseRecord(besides: () => Promise<unknown>): Promise<void> {
  const path = join(folder, 'actors', ...other.split('/'));
  const older = join(folder, 'older');
  await restart(() => cpSync(path, older, { recursive: true }));
  await besides();
  await write(other, 'damaged record');
  await restart(() => {
    rmSync(path, { recursive: true });
    cpSync(older, path, { recursive: true });
    damageRecordOf('damaged record');
  });
  expect(engine.host.stoppedActors.map(({ actor }) => actor)).toEqual([other]);
}

describe('an actor whose name another one had, in a damaged journal', () => {
  it('keeps what the lost record had for it: the removal was of the one before [DUR-022]', async () => {
    await reuse();
    for (const key of ['a', 'b lost', 'c']) await write(reused, key);
    const kept = keptFolders();
    await restart(() => damageRecordOf('b lost'));
    expect(engine.journal.damage?.lost).toHaveLength(1);
    expect(await notesOf(reused)).toEqual(['a', 'b lost', 'c']);
    expect(engine.host.stoppedActors).toEqual([]);
    expect(keptFolders()).toEqual(kept);
  });

  it('is still refused when it depends on the lost record, and its file is not moved [DUR-022]', async () => {
    await reuse();
    await write(reused, 'a');
    const path = join(folder, 'actors', ...reused.split('/'));
    const older = join(folder, 'older');
    await restart(() => cpSync(path, older, { recursive: true }));
    await write(reused, 'b lost');
    await restart(() => {
      rmSync(path, { recursive: true });
      cpSync(older, path, { recursive: true });
      damageRecordOf('b lost');
    });
    for (let start = 0; start < 2; start += 1) {
      expect(engine.host.stoppedActors.map(({ actor }) => actor)).toEqual([reused]);
      expect(existsSync(join(path, 'data.mdb'))).toBe(true);
      await expect(notesOf(reused)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
      await restart();
    }
  });

  it('keeps what was written after the damage when those segments have left [DUR-022]', async () => {
    await loseRecord(async () => {
      await reuse();
      await write(reused, 'a');
    });
    await write(reused, 'b');
    await rollOver();
    for (let start = 0; start < 2; start += 1) {
      expect(await notesOf(reused)).toEqual(['a', 'b']);
      await restart();
    }
  });

  it('gets nothing of the one before when it has not been written to itself', async () => {
    await loseRecord(reuse);
    for (let start = 0; start < 2; start += 1) {
      expect(await notesOf(reused)).toEqual([]);
      await restart();
    }
    await write(reused, 'own');
    await restart();
    expect(await notesOf(reused)).toEqual(['own']);
  });
});

describe('an actor that was made again after the journal was damaged, and never written to', () => {
  it.each([
    ['removed before', () => engine.host.destroyUnder('acme/reused~1'), () => Promise.resolve()],
    ['removed after', () => Promise.resolve(), () => engine.host.destroyUnder('acme/reused~1')],
  ])('is there and empty where the first was %s the damage [DUR-022]', async (_, before, after) => {
    await loseRecord(async () => {
      await engine.host.create(reused);
      await write(reused, 'of the first');
      await before();
    });
    await after();
    await engine.host.create(reused);
    await rollOver();
    for (let start = 0; start < 2; start += 1) {
      expect(await notesOf(reused)).toEqual([]);
      await restart();
    }
    await write(reused, 'own');
    await restart();
    expect(await notesOf(reused)).toEqual(['own']);
  });
});

describe('an actor whose creation is unknown', () => {
  it('stays where its shard is later than a removal [DUR-022]', async () => {
    await loseRecord(async () => {
      await reuse();
      await write(reused, 'a');
    });
    await write(reused, 'b');
    await rollOver();
    await engine.close();
    const catalogue = new ActorCatalogue(join(folder, 'actors'), systemClock);
    const rows = new Map([[reused, { created: 0, floor: 0 }]]);
    await catalogue.note({ actors: rows }, catalogue.sequence);
    await catalogue.close();
    const tables = [...commonTableNames, ...noteActor.tables];
    await makeShardOlder(join(folder, 'actors', ...reused.split('/'), 'data.mdb'), tables);
    engine = await Engine.open(folder, setup);
    expect(await notesOf(reused)).toEqual(['a', 'b']);
  });
});

describe('an actor that was removed after the journal was damaged', () => {
  it('is not made again by the kept records when that of its removal has left [DUR-022]', async () => {
    await loseRecord(async () => {
      await engine.host.create(reused);
      await write(reused, 'a');
    });
    await engine.host.destroyUnder('acme/reused~1');
    await rollOver();
    for (let start = 0; start < 2; start += 1) {
      expect(engine.host.exists(reused)).toBe(false);
      expect(existsSync(join(folder, 'actors/acme/reused~1'))).toBe(false);
      await restart();
    }
    // One made now is a new one.
    await engine.host.create(reused);
    await write(reused, 'own');
    await restart();
    expect(await notesOf(reused)).toEqual(['own']);
  });

  it.each([
    ['before the journal was judged', false],
    ['when that was decided', true],
  ])(
    'is made by a record before the hole when a crash came before the catalogue had it: %s',
    async (_, isDecided) => {
      const stored = join(folder, 'actors');
      const [older, killed] = [join(folder, 'older'), join(folder, 'killed')];
      await engine.close();
      cpSync(stored, older, { recursive: true });
      const limits = { apply: { applyBytes: 1 << 30, applyDelayMs: 3_600_000 } };
      engine = await Engine.open(folder, { ...setup, limits });
      await engine.host.create(reused);
      await write(reused, 'a');
      await write(other, 'damaged record');
      // Further segments, which continue that one.
      for (let number = 0; number < 8; number += 1)
        await write(bystander, `after${number}`, 'x'.repeat(4_000));
      cpSync(join(folder, 'journal'), killed, { recursive: true });
      await restart(() => {
        for (const name of ['actors', 'journal']) rmSync(join(folder, name), { recursive: true });
        cpSync(older, stored, { recursive: true });
        cpSync(killed, join(folder, 'journal'), { recursive: true });
        damageRecordOf('damaged record');
      });
      if (isDecided) {
        // Begins the segment behind those that are kept.
        await write(bystander, 'behind');
        await restart(() => {
          rmSync(stored, { recursive: true });
          cpSync(older, stored, { recursive: true });
        });
      }
      expect(engine.host.stoppedActors.map(({ actor }) => actor)).toEqual([other]);
      expect(await notesOf(reused)).toEqual(['a']);
      await rollOver();
      expect(await notesOf(reused)).toEqual(['a']);
    },
  );
});

describe('actors of one owner of which some are later than its removal', () => {
  it('stay, and the others go', async () => {
    const [early, late] = ['early', 'late'].map((name) => actorId('acme', 'reused~1', name, 'notes')) as [
      string,
      string,
    ];
    await engine.host.create(early);
    await write(early, 'of the first');
    const stored = join(folder, 'actors');
    const saved = join(folder, 'saved');
    await restart(() => cpSync(stored, saved, { recursive: true }));
    await engine.host.destroyUnder('acme/reused~1');
    await engine.host.create(late);
    await write(late, 'own');
    await engine.close();
    // As after a crash in which the catalogue kept the row of the first: its removal is not done.
    const catalogue = new ActorCatalogue(stored, systemClock);
    const before = new ActorCatalogue(saved, systemClock);
    const row = before.get(early);
    await before.close();
    if (row === undefined) throw new Error('it is not listed');
    await catalogue.note({ actors: new Map([[early, row]]) }, catalogue.sequence);
    await catalogue.close();
    const path = early.split('/');
    cpSync(join(saved, ...path), join(stored, ...path), { recursive: true });
    engine = await Engine.open(folder, setup);
    expect(engine.host.exists(early)).toBe(false);
    expect(await notesOf(late)).toEqual(['own']);
    expect(keptFolders()).toHaveLength(2);
  });
});

describe('an actor that the journal creates and the catalogue does not have', () => {
  /** As after a crash before the catalogue had it, with a lost record. @returns the segment before it was damaged */
  async function loseAfterCrash(lost: string): Promise<{ readonly path: string; readonly whole: Buffer }> {
    const stored = join(folder, 'actors');
    const [older, killed] = [join(folder, 'older'), join(folder, 'killed')];
    await engine.close();
    cpSync(stored, older, { recursive: true });
    const limits = { apply: { applyBytes: 1 << 30, applyDelayMs: 3_600_000 } };
    engine = await Engine.open(folder, { ...setup, limits });
    await engine.host.create(reused);
    await write(reused, 'a');
    await write(reused, lost);
    for (let number = 0; number < 8; number += 1) await write(bystander, `after${number}`, 'x'.repeat(4_000));
    cpSync(join(folder, 'journal'), killed, { recursive: true });
    let damaged = '';
    let whole = Buffer.alloc(0);
    await restart(() => {
      for (const name of ['actors', 'journal']) rmSync(join(folder, name), { recursive: true });
      cpSync(older, stored, { recursive: true });
      cpSync(killed, join(folder, 'journal'), { recursive: true });
      damaged = damageRecordOf(lost);
      whole = readFileSync(join(killed, basename(damaged)));
    });
    return { path: damaged, whole };
  }

  it('is there again when the lost record is, also when later segments have left meanwhile [DUR-022]', async () => {
    const { path, whole } = await loseAfterCrash('b lost');
    expect(engine.host.stoppedActors.map(({ actor }) => actor)).toEqual([reused]);
    await rollOver();
    expect(engine.host.stoppedActors.map(({ actor }) => actor)).toEqual([reused]);
    await restart(() => writeFileSync(path, whole));
    for (let start = 0; start < 2; start += 1) {
      expect(engine.host.stoppedActors).toEqual([]);
      expect(await notesOf(reused)).toEqual(['a', 'b lost']);
      await restart();
    }
  });

  it('is adopted as it is where there was no catalogue yet, and there again when the lost record is', async () => {
    const path = join(folder, 'actors', ...other.split('/'));
    const older = join(folder, 'older');
    // Without a restart, so that the record that created it stays in the journal.
    await until(() => engine.host.appliedSequence(other) > 0, 'its shard has content');
    cpSync(path, older, { recursive: true });
    await write(other, 'lost');
    await write(bystander, 'after');
    let damaged = '';
    let whole = Buffer.alloc(0);
    await engine.close();
    rmSync(path, { recursive: true });
    cpSync(older, path, { recursive: true });
    rmSync(join(folder, 'actors/.catalogue'), { recursive: true });
    const tables = [...commonTableNames, ...noteActor.tables];
    for (const actor of [other, bystander])
      await makeShardOlder(join(folder, 'actors', ...actor.split('/'), 'data.mdb'), tables);
    const before = new Map(
      journalFiles().map((name) => [name, readFileSync(join(folder, 'journal', name))] as const),
    );
    damaged = damageRecordOf('lost');
    whole = before.get(basename(damaged)) ?? whole;
    engine = await Engine.open(folder, setup);
    expect(engine.host.stoppedActors.map(({ actor }) => actor)).toEqual([other]);
    await engine.close();
    const catalogue = new ActorCatalogue(join(folder, 'actors'), systemClock);
    const row = catalogue.get(other);
    await catalogue.close();
    expect(row).toEqual({ created: 0, floor: expect.any(Number) as number });
    expect(row?.floor).toBeGreaterThan(0);
    engine = await Engine.open(folder, setup);
    await restart(() => writeFileSync(damaged, whole));
    expect(engine.host.stoppedActors).toEqual([]);
    expect(await notesOf(other)).toEqual(['first', 'lost']);
  });

  it('is refused when its file is lost later, where only that had the lost record [DUR-022]', async () => {
    const catalogue = join(folder, 'actors/.catalogue');
    const older = join(folder, 'older-catalogue');
    await restart(() => cpSync(catalogue, older, { recursive: true }));
    await engine.host.create(reused);
    for (const key of ['a', 'b lost']) await write(reused, key);
    await write(bystander, 'after');
    await restart(() => {
      rmSync(catalogue, { recursive: true });
      cpSync(older, catalogue, { recursive: true });
      damageRecordOf('b lost');
    });
    expect(await notesOf(reused)).toEqual(['a', 'b lost']);
    await restart(() => rmSync(join(folder, 'actors', ...reused.split('/'), 'data.mdb')));
    await expect(notesOf(reused)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it('stays when it has a folder, as where an older copy of the catalogue was put back [DUR-022]', async () => {
    const catalogue = join(folder, 'actors/.catalogue');
    const older = join(folder, 'older-catalogue');
    await restart(() => cpSync(catalogue, older, { recursive: true }));
    await loseRecord(async () => {
      await engine.host.create(reused);
      await write(reused, 'a');
    });
    await rollOver();
    await restart(() => {
      rmSync(catalogue, { recursive: true });
      cpSync(older, catalogue, { recursive: true });
    });
    expect(await notesOf(reused)).toEqual(['a']);
  });
});

describe('a removal in the journal that the catalogue has not stored', () => {
  /** Puts the row of an earlier actor back into the catalogue, as where it could not be written since. */
  async function putBack(actor: string, row: CatalogueRow | undefined): Promise<void> {
    if (row === undefined) throw new Error('it is not listed');
    const catalogue = new ActorCatalogue(join(folder, 'actors'), systemClock);
    await catalogue.note({ actors: new Map([[actor, row]]) }, catalogue.sequence);
    await catalogue.close();
  }

  async function storedRow(actor: string): Promise<CatalogueRow | undefined> {
    const catalogue = new ActorCatalogue(join(folder, 'actors'), systemClock);
    const row = catalogue.get(actor);
    await catalogue.close();
    return row;
  }

  it('is carried out before the next actor of the name is made, whose folder is already there', async () => {
    await engine.host.create(reused);
    await engine.close();
    const row = await storedRow(reused);
    engine = await Engine.open(folder, setup);
    await engine.host.destroyUnder('acme/reused~1');
    await engine.host.create(reused);
    await write(reused, 'own');
    await engine.close();
    await putBack(reused, row);
    engine = await Engine.open(folder, setup);
    expect(await notesOf(reused)).toEqual(['own']);
  });

  it('is carried out where the system refuses to read the file', async () => {
    await engine.host.create(reused);
    await write(reused, 'a');
    await engine.close();
    const row = await storedRow(reused);
    engine = await Engine.open(folder, setup);
    await engine.host.destroyUnder('acme/reused~1');
    await engine.close();
    await putBack(reused, row === undefined ? undefined : { ...row, created: 0 });
    // Reading it fails with an error of the system.
    mkdirSync(join(folder, 'actors', ...reused.split('/'), 'data.mdb'), { recursive: true });
    engine = await Engine.open(folder, setup);
    expect(engine.host.exists(reused)).toBe(false);
    await restart();
    expect(engine.host.exists(reused)).toBe(false);
  });

  it('takes what an unfinished removal left, also where an actor of the owner is later', async () => {
    const late = actorId('acme', 'reused~1', 'late', 'notes');
    await engine.host.create(reused);
    await write(reused, 'a');
    // The record of the removal alone is in the journal.
    await rollOver();
    const path = join(folder, 'actors', ...reused.split('/'));
    const left = join(folder, 'left');
    await restart(() => cpSync(path, left, { recursive: true }));
    await engine.host.destroyUnder('acme/reused~1');
    await engine.host.create(late);
    await write(late, 'own');
    // As where the system refused to move it.
    await restart(() => cpSync(left, path, { recursive: true }));
    expect(existsSync(path)).toBe(false);
    expect(engine.host.exists(reused)).toBe(false);
    expect(await notesOf(late)).toEqual(['own']);
  });
});
