import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { recordMagic } from '#runtime/embedded/segments/journal-format.ts';
import { Engine, type EngineSetup, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';

const setup: EngineSetup = { kinds: [noteActor], containsDamage: true, segmentBytes: 16_384 };
/** Nothing is applied by itself, so that the journal alone has it. */
const slow: EngineSetup = {
  ...setup,
  limits: { apply: { applyBytes: 1 << 30, applyDelayMs: 3_600_000 } },
};
const idOf = (name: string): string => actorId('acme', `${name}~1`, 'main', 'notes');
const [damaged, last, removed, bystander, later] = [
  idOf('damaged'),
  idOf('last'),
  idOf('removed'),
  idOf('bystander'),
  idOf('later'),
];

let root: string;
let folder: string;
let engine: Engine;
/** The segment that ends with the last record before the decision, and its content. */
let kept: string;
let whole: Buffer;
/** Brings the record back that was damaged first. */
let mend: () => void;

const write = (actor: string, key: string, text = key): Promise<unknown> =>
  engine.host.command(actor, { type: 'Write', key, text }, { caller });
const read = async (actor: string, key: string): Promise<unknown> =>
  await engine.host.query(actor, { type: 'Read', key }, caller);
const stopped = (): readonly string[] => engine.host.stoppedActors.map(({ actor }) => actor).sort();
const segments = (): readonly string[] =>
  readdirSync(join(folder, 'journal'))
    .filter((name) => name.endsWith('.journal'))
    .map((name) => join(folder, 'journal', name));
const segmentWith = (text: string): string =>
  segments().find((path) => readFileSync(path).includes(text)) as string;

async function restart(between: () => void = () => {}): Promise<void> {
  await engine.close();
  between();
  engine = await Engine.open(folder, setup);
}

/** Writes until segments that were begun meanwhile have left. */
async function rollOver(): Promise<void> {
  const before = new Set(segments());
  const begun = new Set<string>();
  for (let number = 0; number < 200; number += 1) {
    await write(bystander, `roll${number}`, 'x'.repeat(4_000));
    if (number % 10 === 9) await restart();
    const now = segments();
    for (const path of now) if (!before.has(path)) begun.add(path);
    if ([...begun].some((path) => !now.includes(path))) return;
  }
  throw new Error('no segment has left');
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'cut-kept-'));
  const running = join(root, 'running');
  engine = await Engine.open(running, slow);
  for (const actor of [damaged, last, bystander]) await engine.host.create(actor);
  await engine.close();
  engine = await Engine.open(running, slow);
  await engine.host.create(removed);
  await write(damaged, 'damaged record');
  for (let number = 0; number < 5; number += 1) await write(bystander, `fill${number}`, 'x'.repeat(4_000));
  await write(last, 'at the end');
  // As a killed process leaves it.
  folder = join(root, 'killed');
  cpSync(running, folder, { recursive: true });
  await engine.close();
  cpSync(join(folder, 'actors', ...last.split('/')), join(root, 'older'), { recursive: true });
  const path = segmentWith('damaged record');
  const sound = readFileSync(path);
  const bytes = Buffer.from(sound);
  const at = bytes.indexOf('damaged record');
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(path, bytes);
  mend = () => writeFileSync(path, sound);
  engine = await Engine.open(folder, setup);
  expect(stopped()).toEqual([damaged]);
  kept = segmentWith('at the end');
  whole = readFileSync(kept);
  expect(kept).not.toBe(path);
  await engine.host.create(later);
  await engine.host.destroyUnder('acme/removed~1');
  await rollOver();
});

afterEach(async () => {
  await engine.close();
  rmSync(root, { recursive: true, force: true });
});

/** Starts with the file of an actor as it was before its last write, so that the journal alone has that. */
async function startWithOlderShard(change: () => void = () => {}): Promise<void> {
  await restart(() => {
    const shard = join(folder, 'actors', ...last.split('/'));
    rmSync(shard, { recursive: true });
    cpSync(join(root, 'older'), shard, { recursive: true });
    change();
  });
}

/** Cuts the segment where its last record begins. */
function cutAtRecord(): void {
  writeFileSync(kept, whole.subarray(0, whole.lastIndexOf(recordMagic, whole.indexOf('at the end'))));
}

describe('a segment that is kept because of damage, where later ones have left', () => {
  it('brings an older shard up to its last record', async () => {
    await startWithOlderShard();
    expect(stopped()).toEqual([damaged]);
    expect(await read(last, 'at the end')).toBe('at the end');
  });

  it.each([
    ['is cut where a record ends', cutAtRecord],
    ['is missing', () => rmSync(kept)],
  ])(
    'has lost records when it %s: who depends on them is refused until all is back, and nobody else [DUR-022]',
    async (_, damage) => {
      await startWithOlderShard(damage);
      for (let start = 0; start < 2; start += 1) {
        expect(stopped()).toEqual([damaged, last]);
        await expect(read(last, 'at the end')).rejects.toMatchObject({
          code: 'DATA_CORRUPTED',
          message: expect.stringMatching(
            /has lost record.*journal at byte \d+: the end of the segment is missing/,
          ) as string,
        });
        expect(await read(bystander, 'fill4')).toBe('x'.repeat(4_000));
        await write(later, `written ${start}`);
        await rollOver();
        await restart();
      }
      await restart(() => {
        writeFileSync(kept, whole);
        mend();
      });
      expect(stopped()).toEqual([]);
      expect(await read(damaged, 'damaged record')).toBe('damaged record');
      expect(await read(last, 'at the end')).toBe('at the end');
    },
  );
});
