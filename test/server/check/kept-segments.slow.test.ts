import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actorOf, branchFile, check, copyOf, discard } from '#test/support/damaged-directory.ts';
import { makeHoledDirectory } from '#test/support/holed-directory.ts';
import { startServer } from '#test/support/server.ts';

let whole: string;

beforeAll(async () => {
  whole = await makeHoledDirectory();
});

afterAll(() => discard(whole));

/** What is found beside the damage of the journal, which every case has. */
async function foundBesides(folder: string): Promise<readonly unknown[]> {
  const refused = actorOf(folder, dirname(branchFile(folder, 'one')));
  const { damage } = await check(folder);
  expect(damage).toEqual(expect.arrayContaining([expect.objectContaining({ actor: refused })]));
  return damage.filter(({ actor, file }) => actor !== refused && !file.endsWith('.journal'));
}

describe('a check of a directory whose journal keeps segments, and lacks later ones', () => {
  it('finds nothing wrong with rows that records of the hole have changed [CHK-003]', async () => {
    expect(await foundBesides(whole)).toEqual([]);
  });

  it.each([
    ['file', 'locks', 'data.mdb'],
    ['folder', 'locks', ''],
    ['folder', 'branch', ''],
  ])('finds nothing wrong with a missing %s of %s that the kept segments create', async (_, kind, file) => {
    const folder = copyOf(whole);
    const place = join(dirname(dirname(branchFile(folder, 'unused'))), kind);
    expect(existsSync(join(place, 'data.mdb'))).toBe(true);
    rmSync(join(place, file), { recursive: true });
    expect(await foundBesides(folder)).toEqual([]);
    const server = await startServer({ dataDir: folder });
    const lock = { key: 'k', ttl_ms: 1000 };
    expect(await server.admin('POST', '/api/unused/main/locks/acquire', lock)).toMatchObject({ status: 200 });
    const branches = await server.admin('GET', '/api/management/repositories/default/unused/branches');
    expect(branches.json).toMatchObject([{ name: 'main' }]);
    expect(JSON.stringify(branches.json)).not.toContain('error');
    await server.close();
    discard(folder);
  });

  it('names a missing folder that had more than the journal still has [CHK-004]', async () => {
    const folder = copyOf(whole);
    const place = dirname(branchFile(folder, 'later0'));
    rmSync(place, { recursive: true });
    expect(await foundBesides(folder)).toMatchObject([{ file: place }]);
    discard(folder);
  });
});
