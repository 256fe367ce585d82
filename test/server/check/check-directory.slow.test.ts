import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyBuiltInsRow } from '#actors/branch/schema/built-ins.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { tableNamesOf } from '#server/backup/take-backup.ts';
import { checkDirectory } from '#server/check/check-directory.ts';
import { checkShard } from '#server/check/check-shard.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import {
  branchFile,
  change,
  check,
  copyOf,
  discard,
  filesIn,
  makeDirectory,
  storeBlobs,
} from '#test/support/damaged-directory.ts';
import { startServer } from '#test/support/server.ts';

let folder: string;

beforeAll(async () => {
  folder = await makeDirectory();
});

afterAll(() => discard(folder));

const kinds = actorKinds(defaultLimits);

/** Files of actors; the catalogue is none. */
const shards = (): readonly string[] =>
  filesIn(folder, 'data.mdb').filter((path) => !path.includes('.catalogue'));

/** Everything that can be read in the file of a shard, and whether it was read without a complaint. */
function contentOf(path: string, actor: string): { readonly text: string; readonly isSound: boolean } {
  const tables = tableNamesOf(kinds, actor);
  let isSound = true;
  const file = new PageFile(path, tables, () => {
    isSound = false;
  });
  const rows: string[] = [];
  for (const [table] of tables.entries())
    for (const { key, value } of file.rows(table))
      rows.push(`${table} ${key} ${Buffer.from(value).toString('latin1')}`);
  const { sequence } = file.position;
  file.close();
  return { text: `${sequence}\n${rows.join('\n')}`, isSound };
}

function actorOf(path: string): string {
  return relative(join(folder, 'actors'), path).replace(/\/data\.mdb$/, '');
}

/** The first row that is read in another way than in the whole file; undefined where all is read as before. */
function difference(path: string, actor: string, whole: readonly string[]): string | undefined {
  try {
    const { isSound, text } = contentOf(path, actor);
    const found = text.split('\n');
    const first = found.findIndex((line, index) => line !== whole[index]);
    if (first >= 0) return found[first];
    return isSound && found.length === whole.length ? undefined : 'a row is missing, or a page is damaged';
  } catch {
    return 'nothing can be read';
  }
}

/** What a check says of one shard by itself. */
function found(path: string, actor: string): readonly unknown[] {
  const tableNames = tableNamesOf(kinds, actor);
  const work = checkShard({ actor, path, tableNames, lastSequence: 1_000 });
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Rows nobody can tell from what they were: texts without a checksum in an actor's own small state, and the number of an
 * audit entry within its revision.
 */
const unverifiable = /^(?:0 stamp|20 )/;

describe('checking a directory', () => {
  it('finds nothing in one that is whole, with its last writes in the journal alone [CHK-001]', async () => {
    const report = await check(folder);
    expect(report.damage).toEqual([]);
    expect(report.actors).toBeGreaterThan(6);
    expect(report.journal.records).toBeGreaterThan(20);
  });

  it('finds a flipped bit of a shard at any place that affects reads [CHK-002]', () => {
    let changed = 0;
    const missed: string[] = [];
    const copy = copyOf(folder);
    for (const path of shards()) {
      const actor = actorOf(path);
      const bytes = readFileSync(path);
      const whole = contentOf(path, actor).text.split('\n');
      const target = join(copy, relative(folder, path));
      // Pages are mostly empty: their beginnings and ends have what is stored.
      for (let page = 2 * 4096; page < bytes.length; page += 6 * 4096) {
        for (const within of [18, 24, 3000, 3900]) {
          const at = page + ((within + page / 512) % 4096);
          const flipped = Buffer.from(bytes);
          flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
          writeFileSync(target, flipped);
          const differs = difference(target, actor, whole);
          if (differs === undefined || unverifiable.test(differs)) continue;
          changed += 1;
          if (found(target, actor).length === 0) missed.push(`${actor} at ${at}: ${differs.slice(0, 120)}`);
        }
      }
    }
    discard(copy);
    expect(changed).toBeGreaterThan(30);
    expect(missed).toEqual([]);
  });

  it('finds a flipped, cut or wiped out record of the journal, and names the actors that lost writes [CHK-003]', async () => {
    const copy = copyOf(folder);
    for (const path of filesIn(copy, '.journal')) {
      const bytes = readFileSync(path);
      let end = bytes.length;
      while (bytes[end - 1] === 0) end -= 1;
      for (let at = 72; at < end; at += Math.max(401, Math.floor(end / 8))) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
        writeFileSync(path, flipped);
        const { damage } = await check(copy);
        expect(
          damage.some(({ file }) => file === path),
          `${path} at ${at}`,
        ).toBe(true);
      }
      writeFileSync(path, Buffer.from(bytes).fill(0, 200, 900));
      expect((await check(copy)).damage.length).toBeGreaterThan(0);
      writeFileSync(path, bytes);
    }
    expect((await check(copy)).damage).toEqual([]);
    discard(copy);
  });

  it('finds every file that is missing, empty, cut or of another actor [CHK-004]', async () => {
    const [second, first] = filesIn(folder, '/branch/data.mdb').filter((path) =>
      path.includes('/magazine~'),
    ) as [string, string];
    // The journal has everything of the others, so a start makes their files anew.
    const kept = /\.catalogue|default\/tenant|magazine~[^/]+\/(?:repository|main~)/;
    const files = filesIn(folder, 'data.mdb').filter((path) => kept.test(path));
    expect(files.length).toBeGreaterThan(3);
    for (const path of files) {
      const copy = copyOf(folder);
      const target = join(copy, relative(folder, path));
      const namesIt = async (what: string): Promise<void> => {
        const { damage } = await check(copy);
        expect(
          damage.some(({ file }) => file === target || target.startsWith(file)),
          `${what} ${target}`,
        ).toBe(true);
      };
      truncateSync(target, 0);
      await namesIt('empty');
      change(target, () => readFileSync(path).subarray(0, 4096));
      await namesIt('cut');
      rmSync(target);
      await namesIt('missing');
      discard(copy);
    }
    const swapped = copyOf(folder);
    writeFileSync(join(swapped, relative(folder, first)), readFileSync(second));
    rmSync(join(swapped, 'actors/default/tenant'), { recursive: true });
    const { damage } = await check(swapped);
    expect(damage.some(({ actor }) => actor === 'default/tenant')).toBe(true);
    expect(existsSync(join(swapped, 'actors/default/tenant'))).toBe(false);
    discard(swapped);
  });

  it('begins no other shard once it is cancelled in a turn of the event loop [CHK-013]', async () => {
    const stop = new AbortController();
    const begun: string[] = [];
    const given = checkDirectory({
      dataDir: folder,
      clock: systemClock,
      signal: stop.signal,
      onProgress: (_bytes, _total, actor) => {
        if (begun.push(actor) === 1) setImmediate(() => stop.abort());
      },
    });
    await expect(given).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect(begun.length).toBeLessThan(shards().length);
  });

  it('compares files that are named by their hash, in a directory and in a running member [CHK-010]', async () => {
    const copy = copyOf(folder);
    const [sound, flipped, cut] = await storeBlobs(copy);
    const server = await startServer({ dataDir: copy });
    try {
      const answer = await server.admin('POST', '/api/management/checks');
      const checked = await vi.waitFor(
        async () => {
          const { json } = await server.admin('GET', `/api/management/checks/${answer.json.id as string}`);
          expect(json.state).toBe('done');
          return json as unknown as { damage: readonly { file: string }[] };
        },
        { timeout: 20_000, interval: 20 },
      );
      expect(checked.damage.map(({ file }) => file).sort()).toEqual([flipped, cut].sort());
    } finally {
      await server.close();
    }
    const report = await check(copy);
    expect(report.blobs).toBe(3);
    expect(report.damage.map(({ file }) => file).sort()).toEqual([flipped, cut].sort());
    expect(report.damage.map(({ file }) => file)).not.toContain(sound);
    discard(copy);
  });

  it('finds what was changed in the record of built-in types, also in one of an earlier build', () => {
    const stored = { nodeTypes: { 'svc:Page': 1 }, workspaces: { default: 2 } };
    const verify = (text: string): void => verifyBuiltInsRow({ key: 'built_ins', value: Buffer.from(text) });
    verify(JSON.stringify(stored));
    for (const text of [
      '{',
      'null',
      '{"nodeTypes":{},"workspacez":{}}',
      JSON.stringify({ ...stored, workspaces: { x: 'y' } }),
    ])
      expect(() => verify(text), text).toThrow('built-in types');
    const path = branchFile(folder, 'shop');
    const file = new PageFile(path, tableNamesOf(kinds, actorOf(path)), () => {});
    const row = Buffer.from(file.get(CommonTable.meta, 'built_ins') ?? []);
    file.close();
    verify(row.toString());
    for (let at = 0; at < row.length; at += 1) {
      const flipped = Buffer.from(row);
      flipped[at] = (flipped[at] as number) ^ 1;
      expect(() => verify(flipped.toString('latin1')), flipped.toString('latin1')).toThrow('built-in types');
    }
  });
});
