import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActorCatalogue } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { CatalogueFile } from '#runtime/actor/catalogue/catalogue-file.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { trustedRoot } from '#runtime/shard/lmdb-head.ts';

const ACTORS = 2_000;
const PAGE_BYTES = 4_096;
/** Where a page says what it is; 2: a leaf. */
const FLAGS_OFFSET = 18;
const LEAF = 2;

const row = { created: 1, floor: 1 };
const KEY = 'check value of a key';

let folder: string;

function idOf(number: number): string {
  return actorId('acme', 'site~1', `n${10_000 + number}`, 'notes');
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'catalogue-file-'));
  const catalogue = new ActorCatalogue(folder, systemClock);
  const actors = new Map(Array.from({ length: ACTORS }, (_, number) => [idOf(number), row]));
  await catalogue.begin('name', { actors, keyCheck: KEY }, 1);
  await catalogue.close();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Damages every leaf that has a text. */
function damage(text: string): void {
  const path = ActorCatalogue.pathIn(folder);
  const bytes = readFileSync(path);
  let damaged = 0;
  for (let at = 2 * PAGE_BYTES; at < bytes.length; at += PAGE_BYTES) {
    const page = bytes.subarray(at, at + PAGE_BYTES);
    if (page.readUInt16LE(FLAGS_OFFSET) !== LEAF || !page.includes(text)) continue;
    page.writeUInt32LE(0xffff_ffff, 0);
    damaged += 1;
  }
  expect(damaged).toBeGreaterThan(0);
  writeFileSync(path, bytes);
}

const refusal = expect.objectContaining({
  code: 'DATA_CORRUPTED',
  message: expect.stringContaining('is damaged'),
});

it('reads the content of a catalogue file', () => {
  const file = CatalogueFile.in(folder) as CatalogueFile;
  expect([file.directory, file.keyCheck, file.sequence]).toEqual(['name', KEY, 1]);
  expect([file.get(idOf(7)), file.get('acme/unknown'), file.rows().size]).toEqual([row, undefined, ACTORS]);
  file.close();
});

it('takes no actor on a damaged page for one that is not listed', () => {
  damage(idOf(7));
  const file = CatalogueFile.in(folder) as CatalogueFile;
  expect(() => file.get(idOf(7))).toThrow(refusal);
  file.close();
});

it('lists nothing when some of it is on a damaged page', () => {
  damage(idOf(7));
  const file = CatalogueFile.in(folder) as CatalogueFile;
  expect(() => file.rows()).toThrow(refusal);
  file.close();
});

it('takes no fact on a damaged page for one that was never noted', () => {
  damage(KEY);
  expect(() => CatalogueFile.in(folder)).toThrow(refusal);
});

it('refuses a catalogue whose list of tables is damaged: no actor would be listed in it', () => {
  const path = ActorCatalogue.pathIn(folder);
  const root = Number(trustedRoot(path)?.root);
  const bytes = readFileSync(path);
  bytes.fill(0xa7, root * PAGE_BYTES + 3000, (root + 1) * PAGE_BYTES);
  writeFileSync(path, bytes);
  expect(() => CatalogueFile.in(folder)).toThrow(refusal);
});

describe('the verification of all of a catalogue', () => {
  const verified = async (): Promise<string | undefined> =>
    (await new ActorStore(folder, [], systemClock).damageOfCatalogue())?.what;

  it('finds nothing in a healthy one, also after actors were created and removed', async () => {
    expect(await verified()).toBeUndefined();
    const catalogue = new ActorCatalogue(folder, systemClock);
    for (let round = 0; round < 30; round += 1) {
      const gone = Array.from({ length: 40 }, (_, number) => [idOf(round * 40 + number), null] as const);
      const added = Array.from(
        { length: 50 },
        (_, number) => [idOf(ACTORS + round * 50 + number), row] as const,
      );
      await catalogue.note({ actors: new Map([...gone, ...added]) }, round + 2);
    }
    await catalogue.close();
    expect(await verified()).toBeUndefined();
  });

  it('finds a damaged page that nothing of a start reads', async () => {
    damage(idOf(7));
    expect(await verified()).toMatch(/^actors: page \d+ is not the page of a tree/);
  });

  it('finds a damaged list of free pages, which LMDB believes when it writes', async () => {
    const catalogue = new ActorCatalogue(folder, systemClock);
    for (let round = 0; round < 5; round += 1)
      await catalogue.note({ actors: new Map([[idOf(round * 300), { created: 2, floor: 2 }]]) }, 2);
    await catalogue.close();
    const path = ActorCatalogue.pathIn(folder);
    const root = Number(trustedRoot(path)?.free.root);
    const bytes = readFileSync(path);
    bytes.fill(0xa7, root * PAGE_BYTES, (root + 1) * PAGE_BYTES);
    writeFileSync(path, bytes);
    expect(await verified()).toMatch(/^free pages: /);
  });
});
