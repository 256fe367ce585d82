import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CatalogueRow } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { dependentActors, judgeActors } from '#runtime/actor/damage/damaged-log.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { type Lifecycle, lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import type { LogEntry, LogRecord } from '#runtime/log/log-entry.ts';
import type { LostRecords } from '#runtime/log/ports.ts';
import { asNobody } from '#test/support/as-nobody.ts';
import { Engine, type EngineSetup, engineUser } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { until } from '#test/support/until.ts';

/** Nothing is applied by itself, so that the journal alone has it. */
const setup: EngineSetup = {
  kinds: [noteActor],
  containsDamage: true,
  limits: { apply: { applyBytes: 1 << 30, applyDelayMs: 3_600_000 } },
};

const actors = ['r0', 'r1', 'r2', 'r3', 'r4'].map((name) => `acme/${name}/notes`);
const fork = 'acme/fork/notes';

let root: string;
/** A directory as a killed process leaves it, the journal with what its shards do not have. */
let left: string;
/** What was acknowledged: key → text, by actor. */
const acknowledged = new Map<string, Map<string, string>>();

async function write(engine: Engine, actor: string, key: string, text: string): Promise<void> {
  await engine.host.command(actor, { type: 'Write', key, text }, { caller: engineUser });
  const notes = acknowledged.get(actor) ?? new Map<string, string>();
  acknowledged.set(actor, notes.set(key, text));
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'grove-damaged-log-'));
  const before = join(root, 'before');
  const first = await Engine.open(before, setup);
  for (const actor of actors) {
    await first.host.create(actor);
    await write(first, actor, 'old', `${actor} of old`);
  }
  await first.close();
  const engine = await Engine.open(before, setup);
  for (let round = 0; round < 6; round += 1) {
    await Promise.all(actors.slice(1).map((actor) => write(engine, actor, `k${round}`, `${actor} ${round}`)));
    await write(engine, actors[1] as string, `alone${round}`, 'x'.repeat(round * 200));
  }
  left = join(root, 'left');
  cpSync(before, left, { recursive: true });
  await engine.close();
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

function journalOf(folder: string): string {
  const name = readdirSync(join(folder, 'journal'))
    .filter((each) => each.endsWith('.journal'))
    .at(-1);
  return join(folder, 'journal', name as string);
}

function copied(name: string): string {
  const folder = join(root, name);
  cpSync(left, folder, { recursive: true });
  return folder;
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] as number) ^ (1 << (at % 8));
  writeFileSync(path, bytes);
}

/** What an engine shows of an actor, or why it does not. */
async function shown(engine: Engine, actor: string): Promise<unknown> {
  try {
    return await engine.host.query(actor, { type: 'ReadAll' }, engineUser);
  } catch (error) {
    return error;
  }
}

/** Every actor has all that was acknowledged, or is refused. @returns those that are */
async function judge(engine: Engine, what: string): Promise<string[]> {
  const refused: string[] = [];
  for (const [actor, notes] of acknowledged) {
    const found = await shown(engine, actor);
    if (!(found instanceof Error)) expect(found, what).toEqual(Object.fromEntries(notes));
    else {
      expect(found, what).toMatchObject({
        code: 'DATA_CORRUPTED',
        message: expect.stringMatching(/has lost record.*\.journal at byte \d+.*npm run salvage/) as string,
      });
      refused.push(actor);
    }
  }
  expect(engine.host.stoppedActors.map(({ actor }) => actor).sort(), what).toEqual(refused.sort());
  return refused;
}

describe('a host over a journal with a flipped bit', () => {
  it('serves everybody but the actor whose write is lost, and keeps that refused [DUR-021]', async () => {
    const bytes = readFileSync(journalOf(left));
    let end = bytes.length;
    while (bytes[end - 1] === 0) end -= 1;
    let refusals = 0;
    for (let at = 0; at < end; at += 251) {
      const folder = copied(`flip-${at}`);
      flip(journalOf(folder), at);
      const engine = await Engine.open(folder, setup);
      const refused = await judge(engine, `byte ${at}`);
      expect(refused.length, `byte ${at}`).toBeLessThanOrEqual(1);
      refusals += refused.length;
      await engine.close();
      rmSync(folder, { recursive: true });
    }
    expect(refusals).toBeGreaterThan(5);
  });

  it('decides once: later actors are served, and refused ones are refused until their file is back', async () => {
    const folder = copied('twice');
    const path = journalOf(folder);
    const offset = readFileSync(path).indexOf('acme/r2/notes 3');
    flip(path, offset);
    const engine = await Engine.open(folder, setup);
    expect(await judge(engine, 'first')).toEqual([actors[2]]);
    const command = { type: 'Write', key: 'k', text: 'after' };
    const refused = engine.host.command(actors[2] as string, command, { caller: engineUser });
    await expect(refused).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await expect(engine.host.fork(actors[2] as string, fork)).rejects.toMatchObject({
      code: 'DATA_CORRUPTED',
    });
    await engine.host.create('acme/later/notes');
    await engine.host.command(actors[0] as string, command, { caller: engineUser });
    await engine.close();

    const again = await Engine.open(folder, setup);
    expect(await shown(again, 'acme/later/notes')).toEqual({});
    expect(await shown(again, actors[0] as string)).toMatchObject({ k: 'after' });
    expect(await shown(again, actors[2] as string)).toMatchObject({ code: 'DATA_CORRUPTED' });
    await again.close();

    flip(path, offset);
    const mended = await Engine.open(folder, setup);
    expect(mended.host.stoppedActors).toEqual([]);
    const found = await shown(mended, actors[2] as string);
    expect(found).toEqual(Object.fromEntries(acknowledged.get(actors[2] as string) as Map<string, string>));
    await mended.close();
  });

  it('refuses no actor any more once the affected one is destroyed', async () => {
    const folder = copied('destroyed');
    const path = journalOf(folder);
    flip(path, readFileSync(path).indexOf('acme/r3/notes 1'));
    const engine = await Engine.open(folder, setup);
    expect(await judge(engine, 'first')).toEqual([actors[3]]);
    await engine.host.destroyUnder('acme/r3');
    expect(engine.host.stoppedActors).toEqual([]);
    expect(await shown(engine, actors[3] as string)).toMatchObject({ code: 'NOT_FOUND' });
    await engine.close();
    const again = await Engine.open(folder, setup);
    expect(again.host.stoppedActors).toEqual([]);
    await again.close();
  });

  it('refuses every actor that is not past an unreadable record', async () => {
    const folder = copied('wiped');
    const path = journalOf(folder);
    const bytes = readFileSync(path);
    const at = bytes.indexOf('acme/r1/notes 2');
    bytes.fill(0xff, at - 200, at + 1500);
    writeFileSync(path, bytes);
    const engine = await Engine.open(folder, setup);
    // Those in the record, and the idle one, of which nobody knows that it was not.
    expect(await judge(engine, 'wiped')).toEqual(actors);
    await engine.host.create('acme/later/notes');
    await engine.close();
    const again = await Engine.open(folder, setup);
    expect(await shown(again, 'acme/later/notes')).toEqual({});
    await again.close();
  });

  it('refuses an actor whose folder is lost together with what the journal had of it [DUR-021]', async () => {
    const folder = copied('lost-folder');
    const gone = actors[2] as string;
    // The journal has everything of this one, but for the record that is damaged.
    const fresh = 'acme/fresh/notes';
    const first = await Engine.open(folder, setup);
    await first.host.create(fresh);
    // A create is answered when the journal has it; the journal keeps its record until the catalogue has the actor as well.
    await until(() => !first.journal.pending().has(fresh), 'the catalogue has the actor');
    await first.host.command(fresh, { type: 'Write', key: 'k', text: 'fresh text' }, { caller: engineUser });
    const killed = join(root, 'lost-folder-killed');
    cpSync(folder, killed, { recursive: true });
    await first.close();
    for (const name of ['r2', 'fresh']) rmSync(join(killed, 'actors/acme', name), { recursive: true });
    for (const name of readdirSync(join(killed, 'journal')).filter((each) => each.endsWith('.journal'))) {
      const path = join(killed, 'journal', name);
      const bytes = readFileSync(path);
      let end = bytes.length;
      while (end > 0 && bytes[end - 1] === 0) end -= 1;
      bytes.fill(0xa7, 72, end);
      writeFileSync(path, bytes);
    }
    for (let start = 0; start < 2; start += 1) {
      const engine = await Engine.open(killed, setup);
      for (const actor of [gone, fresh]) {
        expect(await shown(engine, actor)).toMatchObject({ code: 'DATA_CORRUPTED' });
        const command = { type: 'Write', key: 'k', text: 'new' };
        const written = engine.host.command(actor, command, { caller: engineUser });
        await expect(written).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
      }
      expect(engine.host.stoppedActors.map(({ actor }) => actor)).toEqual(
        expect.arrayContaining([gone, fresh]),
      );
      await engine.close();
    }
  });

  it('applies what is in the shards of all already as if nothing were', async () => {
    const folder = copied('applied');
    const clean = await Engine.open(folder, setup);
    await clean.close();
    // A later record keeps the segment; all shards are past the damage.
    const path = join(folder, 'journal', readdirSync(join(folder, 'journal'))[0] as string);
    const damaged = readFileSync(journalOf(left));
    const at = damaged.indexOf('acme/r2/notes 3');
    damaged[at] = (damaged[at] as number) ^ 1;
    expect(path.endsWith('.journal')).toBe(true);
    writeFileSync(journalOf(folder), damaged);
    const engine = await Engine.open(folder, setup);
    expect(await judge(engine, 'applied')).toEqual([]);
    await engine.close();
  });

  it('decides nothing of an actor whose file the system refuses', async () => {
    const folder = join(root, 'closed');
    const past = 'acme/past/notes';
    const first = await Engine.open(folder, setup);
    await first.host.create(past);
    for (const text of ['past one', 'past two'])
      await first.host.command(past, { type: 'Write', key: text, text }, { caller: engineUser });
    await first.close();
    const path = journalOf(folder);
    flip(path, readFileSync(path).indexOf('past one'));
    const file = join(folder, 'actors', past, 'data.mdb');
    await asNobody(root, async () => {
      chmodSync(file, 0o000);
      await expect(Engine.open(folder, setup)).rejects.toMatchObject({
        code: 'WRITES_STOPPED',
        message: expect.stringContaining(file),
      });
      chmodSync(file, 0o600);
      const engine = await Engine.open(folder, setup);
      expect(await shown(engine, past)).toEqual({ 'past one': 'past one', 'past two': 'past two' });
      await engine.close();
    });
  });

  it('refuses an actor that was past the damage when its folder is lost later [DUR-021]', async () => {
    const folder = join(root, 'past');
    const past = 'acme/past/notes';
    const first = await Engine.open(folder, setup);
    await first.host.create(past);
    for (const text of ['past one', 'past two'])
      await first.host.command(past, { type: 'Write', key: text, text }, { caller: engineUser });
    await first.close();
    // The journal still has everything of it but what is damaged now, and the shard has that.
    const path = journalOf(folder);
    flip(path, readFileSync(path).indexOf('past one'));
    const engine = await Engine.open(folder, setup);
    expect(await shown(engine, past)).toEqual({ 'past one': 'past one', 'past two': 'past two' });
    await engine.close();
    rmSync(join(folder, 'actors/acme/past'), { recursive: true });
    for (let start = 0; start < 2; start += 1) {
      const again = await Engine.open(folder, setup);
      expect(await shown(again, past)).toMatchObject({ code: 'DATA_CORRUPTED' });
      const command = { type: 'Write', key: 'k', text: 'new' };
      const written = again.host.command(past, command, { caller: engineUser });
      await expect(written).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
      await expect(again.host.create(past)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
      await again.close();
    }
  });
});

describe('a copy', () => {
  const [source, copy, unlike] = ['acme/source/notes', 'acme/copy/notes', 'acme/unlike/notes'];
  const made = (actor: string, lifecycle: Lifecycle): LogEntry =>
    lifecycleEntry(actor, lifecycle, revisionZero);
  const log: readonly LogRecord[] = [
    { sequence: 7, entries: [made(copy, { kind: 'fork', source })] },
    { sequence: 8, entries: [made(unlike, { kind: 'create' })] },
  ];
  const lost: readonly LostRecords[] = [
    { first: 5, last: 5, actors: undefined, where: 'a file', what: 'a flipped bit' },
  ];

  /** Who depends on record 5, when the source has everything up to a record. */
  async function dependent(reached: number): Promise<readonly string[]> {
    const stored = {
      all: () => Promise.resolve([source]),
      listed: () => new Map<string, CatalogueRow>(),
      reached: () => reached,
    };
    return [
      ...(await dependentActors({ read: () => inTurn(log) }, { appliedThrough: 0, lost }, stored)).keys(),
    ];
  }

  it('that is made behind a lost record lacks what its source lacks', async () => {
    expect(await dependent(4)).toEqual([source, copy]);
    expect(await dependent(5)).toEqual([]);
  });
});

describe('an actor whose name an earlier one had', () => {
  const actor = 'acme/reused/notes';
  const log: readonly LogRecord[] = [
    { sequence: 2, entries: [lifecycleEntry(actor, { kind: 'create' }, revisionZero)] },
  ];
  const lost: readonly LostRecords[] = [
    { first: 5, last: 5, actors: undefined, where: 'a file', what: 'a flipped bit' },
  ];

  it.each([
    ['its folder is lost', []],
    ['its shard was never written to', [actor]],
  ])(
    'lacks nothing that was lost before it was made, where %s and the removal of the earlier one is not in the log',
    async (_, onDisk) => {
      const dependent = async (created: number): Promise<readonly string[]> => {
        const stored = {
          all: () => Promise.resolve(onDisk),
          listed: () => new Map([[actor, { created, floor: 0 }]]),
          reached: () => 0,
        };
        return [
          ...(await dependentActors({ read: () => inTurn(log) }, { appliedThrough: 0, lost }, stored)).keys(),
        ];
      };
      expect(await dependent(2)).toEqual([actor]);
      expect(await dependent(4)).toEqual([actor]);
      expect(await dependent(9)).toEqual([]);
    },
  );
});

describe('an actor that the log creates, without a row and a folder', () => {
  const actor = 'acme/gone/notes';
  const log: readonly LogRecord[] = [
    { sequence: 2, entries: [lifecycleEntry(actor, { kind: 'create' }, revisionZero)] },
  ];
  const lost: readonly LostRecords[] = [
    { first: 5, last: 5, actors: undefined, where: 'a file', what: 'a flipped bit' },
  ];
  const row = { created: 9, floor: 9 };

  it.each([
    ['was removed where later records have left the log', 9, new Map([['acme/other/notes', row]]), []],
    ['may have lost writes where none has left', 0, new Map([['acme/other/notes', row]]), [actor]],
    ['may have lost writes where nothing lists the actors', 9, new Map<string, CatalogueRow>(), [actor]],
  ])('%s', async (_, appliedThrough, listed, expected) => {
    const stored = { all: () => Promise.resolve([]), listed: () => listed, reached: () => 0 };
    const found = await judgeActors({ read: () => inTurn(log) }, { appliedThrough, lost }, stored);
    expect([[...found.dependent.keys()], [...found.unlisted.keys()]]).toEqual([expected, expected]);
  });
});

async function* inTurn<T>(values: readonly T[]): AsyncGenerator<T, void> {
  for (const value of values) yield await Promise.resolve(value);
}
