import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { surveyJournal } from '#runtime/embedded/recovery/journal-survey.ts';
import { Engine, type EngineSetup, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';

const setup: EngineSetup = { kinds: [noteActor], containsDamage: true, segmentBytes: 16_384 };
const [first, second, bystander] = ['first', 'second', 'bystander'].map((name) =>
  actorId('acme', `${name}~1`, 'main', 'notes'),
) as [string, string, string];

let folder: string;
let engine: Engine;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'damaged-twice-'));
  engine = await Engine.open(folder, setup);
  for (const actor of [first, second, bystander]) await engine.host.create(actor);
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const write = (actor: string, key: string, text = key): Promise<unknown> =>
  engine.host.command(actor, { type: 'Write', key, text }, { caller });
const journalFiles = (): readonly string[] =>
  readdirSync(join(folder, 'journal')).filter((name) => name.endsWith('.journal'));

async function restart(between: () => void = () => {}): Promise<void> {
  await engine.close();
  between();
  engine = await Engine.open(folder, setup);
}

/** Loses a write of an actor that its shard does not have. @returns brings it back */
async function lose(actor: string, key: string): Promise<() => void> {
  const path = join(folder, 'actors', ...actor.split('/'));
  const older = join(folder, 'older');
  await restart(() => cpSync(path, older, { recursive: true }));
  await write(actor, key);
  await write(bystander, 'after');
  let bringBack = (): void => {};
  await restart(() => {
    rmSync(path, { recursive: true });
    cpSync(older, path, { recursive: true });
    rmSync(older, { recursive: true });
    for (const name of journalFiles()) {
      const segment = join(folder, 'journal', name);
      const bytes = readFileSync(segment);
      const at = bytes.indexOf(key);
      if (at < 0) continue;
      const flip = (): void => {
        const now = readFileSync(segment);
        now[at] = (now[at] as number) ^ 1;
        writeFileSync(segment, now);
      };
      flip();
      bringBack = flip;
    }
  });
  expect(engine.host.stoppedActors.map((stopped) => stopped.actor)).toContain(actor);
  return bringBack;
}

/** Writes until segments that were begun meanwhile have left. */
async function rollOver(): Promise<void> {
  const before = new Set(journalFiles());
  const begun = new Set<string>();
  for (let number = 0; number < 200; number += 1) {
    await write(bystander, `roll${number}`, 'x'.repeat(4_000));
    if (number % 10 === 9) await restart();
    const now = journalFiles();
    for (const name of now) if (!before.has(name)) begun.add(name);
    if ([...begun].some((name) => !now.includes(name))) return;
  }
  throw new Error('no segment has left');
}

it('a journal that was damaged twice misses no segment that left between, and all is back with its records [DUR-022]', async () => {
  const [a, b] = ['lost by the first', 'lost by the second'];
  const bringBackFirst = await lose(first, a);
  await rollOver();
  const bringBackSecond = await lose(second, b);
  await rollOver();
  // A running journal removes segments meanwhile.
  await engine.close();
  const { findings, lost } = await surveyJournal(realFileSystem, join(folder, 'journal'));
  expect(lost.map((each) => each.last - each.first)).toEqual([0, 0]);
  expect(findings).toHaveLength(2);
  bringBackFirst();
  bringBackSecond();
  engine = await Engine.open(folder, setup);
  for (let start = 0; start < 2; start += 1) {
    expect(engine.host.stoppedActors).toEqual([]);
    for (const [actor, key] of [
      [first, a],
      [second, b],
    ] as const)
      expect(await engine.host.query(actor, { type: 'Read', key }, caller)).toBe(key);
    await restart();
  }
});
