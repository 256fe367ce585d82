import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { asNobody } from '#test/support/as-nobody.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const one = actorId('acme', 'site~1', 'one', 'notes');
const two = actorId('acme', 'site~1', 'two', 'notes');

let root: string;
let folder: string;

const setup = {
  kinds: [noteActor],
  limits: { apply: { applyBytes: 1, applyDelayMs: 1 }, idleCloseMs: 1000 },
};
const fileOf = (actor: string): string => join(folder, 'actors', ...actor.split('/'), 'data.mdb');

function write(engine: Engine, actor: string, text: string): Promise<unknown> {
  return engine.host.command(actor, { type: 'Write', key: 'k', text }, { caller });
}

function read(engine: Engine, actor: string): unknown {
  return engine.host.query(actor, { type: 'Read', key: 'k' }, caller);
}

/** A directory as a killed process leaves it, so that a start brings its shards up to the journal. */
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'refused-files-'));
  const running = join(root, 'running');
  folder = join(root, 'data');
  const engine = await Engine.open(running, setup);
  for (const actor of [one, two]) {
    await engine.host.create(actor);
    await write(engine, actor, 'kept');
  }
  await engine.close();
  const again = await Engine.open(running, {
    ...setup,
    limits: { apply: { applyBytes: 1 << 30, applyDelayMs: 3_600_000 } },
  });
  for (const actor of [one, two]) await write(again, actor, 'newer');
  cpSync(running, folder, { recursive: true });
  await again.close();
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a file that the system refuses', () => {
  it.each([
    ['may not be read', 0o000, /EACCES.*right to read and write/],
    ['may not be written', 0o444, /EACCES.*right to read and write/],
  ] as const)('is named, and stops only its actor, when it %s', async (_, mode, says) => {
    await asNobody(root, async () => {
      chmodSync(fileOf(one), mode);
      const engine = await Engine.open(folder, setup);
      try {
        expect(read(engine, two)).toBe('newer');
        expect(() => read(engine, one)).toThrow(fileOf(one));
        expect(() => read(engine, one)).toThrow(says);
        expect(engine.host.stoppedActors).toMatchObject([
          { actor: one, message: expect.stringMatching(says) },
        ]);
      } finally {
        await engine.close();
      }
      chmodSync(fileOf(one), 0o600);
      const mended = await Engine.open(folder, setup);
      expect(read(mended, one)).toBe('newer');
      await mended.close();
    });
  });

  it('is named when there is a folder in its place', async () => {
    renameSync(fileOf(one), join(root, 'kept'));
    mkdirSync(fileOf(one));
    const engine = await Engine.open(folder, setup);
    expect(read(engine, two)).toBe('newer');
    expect(() => read(engine, one)).toThrow(/data\.mdb cannot be used \((EISDIR|it is no file)\)/);
    await engine.close();
    rmSync(fileOf(one), { recursive: true });
    renameSync(join(root, 'kept'), fileOf(one));
    const mended = await Engine.open(folder, setup);
    expect(read(mended, one)).toBe('newer');
    await mended.close();
  });

  it('is not called missing when the folder of all actors may not be looked into', async () => {
    await asNobody(root, async () => {
      chmodSync(join(folder, 'actors'), 0o000);
      await expect(Engine.open(folder, setup)).rejects.toThrow(
        /actors.*cannot be used \(EACCES\).*right to read and write/,
      );
      chmodSync(join(folder, 'actors'), 0o700);
      const mended = await Engine.open(folder, setup);
      expect(read(mended, one)).toBe('newer');
      await mended.close();
    });
  });
});

/** Puts damage into the first page of a file. */
function damage(file: string): void {
  const bytes = readFileSync(file);
  bytes.fill(0xff, 0, 200);
  writeFileSync(file, bytes);
}

describe('a damaged file of which the log has more [DUR-021]', () => {
  it('loses nothing of that, however often the server starts, and nothing is made in its place', async () => {
    const whole = readFileSync(fileOf(one));
    damage(fileOf(one));
    for (let start = 0; start < 3; start += 1) {
      const engine = await Engine.open(folder, { ...setup, segmentBytes: 4096 });
      expect(() => read(engine, one)).toThrow(fileOf(one));
      await expect(engine.host.create(one)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
      // Several segments: those before are not wanted for this actor.
      for (let number = 0; number < 3; number += 1) await write(engine, two, `${start} ${'x'.repeat(4096)}`);
      await engine.close();
    }
    writeFileSync(fileOf(one), whole);
    const mended = await Engine.open(folder, setup);
    expect(read(mended, one)).toBe('newer');
    await mended.close();
  });

  it('does not hide what was made under its name after its removal', async () => {
    const running = join(root, 'remade');
    const first = await Engine.open(running, setup);
    await first.host.create(one);
    await write(first, one, 'kept');
    await first.close();
    const engine = await Engine.open(running, {
      ...setup,
      limits: { apply: { applyBytes: 1 << 30, applyDelayMs: 3_600_000 } },
    });
    // As after a power cut: the disk has the files of before.
    engine.journal.released = () => {};
    await write(engine, one, 'newer');
    const killed = join(root, 'killed');
    cpSync(join(running, 'actors'), join(killed, 'actors'), { recursive: true });
    await engine.host.destroyUnder(one);
    await engine.host.create(one);
    await write(engine, one, 'anew');
    cpSync(join(running, 'journal'), join(killed, 'journal'), { recursive: true });
    await engine.close();
    folder = killed;
    damage(fileOf(one));
    const again = await Engine.open(folder, setup);
    expect(read(again, one)).toBe('anew');
    expect(again.host.stoppedActors).toEqual([]);
    await again.close();
  });
});

describe('a data directory that is renamed', () => {
  it('is the same one under another name', async () => {
    const moved = join(root, 'moved');
    renameSync(folder, moved);
    const engine = await Engine.open(moved, setup);
    expect(read(engine, one)).toBe('newer');
    await engine.close();
  });

  it('is not called damaged while its server runs, and nothing is made in its place', async () => {
    const clock = new TestClock();
    const moved = join(root, 'moved');
    const engine = await Engine.open(folder, { ...setup, clock });
    await until(() => {
      clock.advance(300);
      return engine.host.openActors === 0;
    }, 'the actors are closed');
    renameSync(folder, moved);
    for (const actor of [one, two])
      expect(() => read(engine, actor)).toThrow(
        /is gone from under the running server.*renamed.*SVC_DATA_DIR/,
      );
    expect(existsSync(folder)).toBe(false);
    renameSync(moved, folder);
    expect(read(engine, one)).toBe('newer');
    await engine.close();
  });
});
