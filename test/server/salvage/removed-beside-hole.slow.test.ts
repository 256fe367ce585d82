import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { branchFile } from '#test/support/damaged-directory.ts';
import { makeHoledDirectory } from '#test/support/holed-directory.ts';
import { runProgram } from '#test/support/run-program.ts';
import { startServer } from '#test/support/server.ts';

let root: string;
let whole: string;
let dataDir: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'grove-unlisted-'));
  whole = await makeHoledDirectory();
});

afterAll(() => {
  for (const folder of [root, whole]) rmSync(folder, { recursive: true, force: true });
});

/** Its catalogue is lost. The journal has the creation of repository `gone`; the record of its removal has left. */
beforeEach(() => {
  dataDir = mkdtempSync(join(root, 'case-'));
  cpSync(whole, dataDir, { recursive: true });
  rmSync(join(dataDir, 'actors/.catalogue'), { recursive: true });
});

const folderOf = (name: string): string => {
  const tenant = join(dataDir, 'actors/default');
  return join(tenant, readdirSync(tenant).find((each) => each.startsWith(`${name}~`)) as string);
};

const rebuild = () => runProgram('server/salvage/rebuild-catalogue.ts', ['--data-dir', dataDir]);

/** @returns actors that are not served */
async function started(): Promise<number> {
  const server = await startServer({ dataDir });
  try {
    expect((await server.admin('GET', '/api/repositories/gone')).status).toBe(404);
    await server.createRepository('made-anew');
    expectStatus(await server.admin('DELETE', '/api/repositories/made-anew'), 200, 204);
    return (await server.request('GET', '/ready')).json.stopped_actors as number;
  } finally {
    await server.close();
  }
}

describe('actors that the journal names, where later records have left it', () => {
  it('are removed where the folder of what was removed has them [DUR-022]', async () => {
    expect(existsSync(join(dataDir, 'actors/.removed'))).toBe(true);
    const { code, stderr, stdout } = await rebuild();
    expect([code, stderr, stdout.includes('gone~')]).toEqual([0, '', false]);
    // That of the damaged record alone.
    expect(await started()).toBe(1);
  });

  it('may have been removed where nothing shows it, which is said with what to do [DUR-022]', async () => {
    rmSync(join(dataDir, 'actors/.removed'), { recursive: true });
    const { code, stderr, stdout } = await rebuild();
    expect([code, stderr]).toEqual([3, '']);
    const told = stdout.split('\n').filter((line) => line.includes('gone~'));
    expect(told).toHaveLength(2);
    for (const line of told) {
      expect(line).toMatch(/unknown: it may have been removed .* records \d+ to \d+/);
      expect(line).toContain('it is not listed');
      expect(line).toMatch(/bring .*gone~.* back, and run this again/);
    }
    expect(stdout).not.toContain('is missing');
    expect(await started()).toBe(1);
    expect(await started()).toBe(1);
  });

  it('are lost where a registry names what they belong to [DUR-022]', async () => {
    const lost = join(dirname(dirname(branchFile(dataDir, 'unused'))), 'locks');
    rmSync(lost, { recursive: true });
    const { code, stdout } = await rebuild();
    expect([code, stdout.split('\n')[0]]).toEqual([
      3,
      expect.stringMatching(/locks: it is missing, and the journal names it, so .* is not served/),
    ]);
    expect(await started()).toBe(2);
  });

  it('are listed and not served where the registry cannot be read that would name them [DUR-022]', async () => {
    const repository = folderOf('unused');
    const branch = readdirSync(repository).find((name) => name.startsWith('main~')) as string;
    rmSync(join(repository, branch), { recursive: true });
    rmSync(join(repository, 'repository/data.mdb'));
    const { code, stdout } = await rebuild();
    expect(code).toBe(3);
    for (const kind of ['branch', 'locks']) {
      const line = stdout.split('\n').find((each) => each.includes(`${branch}/${kind}`));
      expect(line).toMatch(/unknown: it may have been removed .* so it is listed and not served/);
      expect(line).toContain(join(repository, 'repository'));
    }
    // The branch with the damaged record, the repository, the branch and its locks.
    expect(await started()).toBe(4);
  });

  it('are served when their folder is back', async () => {
    rmSync(join(dataDir, 'actors/.removed'), { recursive: true });
    const lost = folderOf('unused');
    const saved = join(root, 'saved');
    mkdirSync(saved);
    cpSync(lost, saved, { recursive: true });
    rmSync(lost, { recursive: true });
    const told = await rebuild();
    expect(told.stdout).toMatch(/unused~\w+\/repository: it is missing, and default\/tenant names it/);
    cpSync(saved, lost, { recursive: true });
    expect((await rebuild()).stdout).not.toContain('unused~');
    expect(await started()).toBe(1);
  });
});
