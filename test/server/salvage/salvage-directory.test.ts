import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { tableNamesOf } from '#server/backup/take-backup.ts';
import { salvageDirectory } from '#server/salvage/salvage-directory.ts';
import { REPORT_FILE } from '#server/salvage/salvage-report.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { compareRevisions, type Revision } from '#runtime/content/revision.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import {
  actorOf,
  branchFile,
  check,
  contentOf,
  copyOf,
  discard,
  filesIn,
  makeDirectory,
  salvage,
  storeBlobs,
} from '#test/support/damaged-directory.ts';
import { startServer } from '#test/support/server.ts';

const kinds = actorKinds(defaultLimits);
const folders: string[] = [];
let whole: string;

beforeAll(async () => {
  whole = await makeDirectory();
});

afterAll(() => discard(whole));
afterEach(() => discard(...folders.splice(0)));

async function salvaged(from: string): ReturnType<typeof salvage> {
  const made = await salvage(from);
  folders.push(join(made.into, '..'));
  return made;
}

/** Names of the nodes at a path of repository shop, as a server answers them. */
async function served(dataDir: string, path: string): Promise<number> {
  const server = await startServer({ dataDir });
  try {
    const answer = await server.admin('GET', `/api/repository/shop/main/head/space-1${path}`);
    const made = await server.admin('POST', '/api/repository/shop/main/head/space-1/', {
      name: 'after',
      node_type: 'svc:Folder',
    });
    expect(made.status).toBe(201);
    return answer.status;
  } finally {
    await server.close();
  }
}

/** The newest revision a shard has. */
function clockOf(path: string): Revision {
  const file = new PageFile(path, [], () => {});
  try {
    return file.position.clock;
  } finally {
    file.close();
  }
}

describe('salvaging a directory', () => {
  it('continues with revisions after all that it recovers, also what only the journal has', async () => {
    const from = copyOf(whole);
    folders.push(from);
    const server = await startServer({ dataDir: from });
    const late = { name: 'late', node_type: 'svc:Folder' };
    const made = await server.admin('POST', '/api/repository/shop/main/head/space-1/', late);
    expect(made.status).toBe(201);
    await server.close();
    const newest = clockOf(branchFile(from, 'shop'));
    // An earlier copy of the file: the journal has the rest.
    cpSync(branchFile(whole, 'shop'), branchFile(from, 'shop'));
    expect(compareRevisions(newest, clockOf(branchFile(from, 'shop')))).toBeGreaterThan(0);
    const { into } = await salvaged(from);
    expect(clockOf(branchFile(into, 'shop'))).toEqual(newest);
    const clocks = filesIn(join(into, 'actors'), 'data.mdb').map(clockOf);
    const journal = await Journal.look({
      folder: join(into, 'journal'),
      durability: 'local',
      files: realFileSystem,
      clock: systemClock,
      random: systemRandom,
      report: () => {},
    });
    expect(journal.lastClock).toEqual(clocks.sort(compareRevisions).at(-1));
    await journal.close();
  });

  it('recovers everything from a healthy one, and a server can continue with it [SAL-001]', async () => {
    const { into, report } = await salvaged(whole);
    expect(report.missing).toEqual([]);
    expect(JSON.parse(readFileSync(join(into, REPORT_FILE), 'utf8'))).toEqual(report);
    for (const path of filesIn(whole, 'data.mdb')) {
      if (path.includes('.catalogue')) continue;
      const actor = actorOf(whole, path);
      expect(contentOf(into, actor), actor).toEqual(contentOf(whole, actor));
    }
    expect((await check(into)).damage).toEqual([]);
    expect(await served(into, '/a/b/c')).toBe(200);
    expect((await check(into)).damage).toEqual([]);
  });

  it('reports that a restore into it did not finish', async () => {
    const from = copyOf(whole);
    folders.push(from);
    const marker = join(from, 'restoring');
    writeFileSync(marker, '');
    const { report } = await salvaged(from);
    expect(report.missing).toEqual([
      { file: marker, what: expect.stringMatching(/a restore .* did not finish/) },
    ]);
  });

  /** A directory with a fork of shop, and what that fork has; its file is gone. @param goesOn whether shop goes on after it */
  async function lostFork(goesOn: boolean): Promise<{ from: string; actor: string; content: unknown }> {
    const from = copyOf(whole);
    folders.push(from);
    const server = await startServer({ dataDir: from });
    const write = async (branch: string, name: string): Promise<void> => {
      const node = { name, node_type: 'svc:Folder' };
      const path = `/api/repository/shop/${branch}/head/space-1/`;
      expect((await server.admin('POST', path, node)).status).toBe(201);
    };
    await write('main', 'before');
    const fork = { name: 'late', upstream_branch: 'main' };
    const path = '/api/management/repositories/default/shop/branches';
    expect((await server.admin('POST', path, fork)).status).toBeLessThan(300);
    await write('late', 'own');
    if (goesOn) await write('main', 'after');
    await server.close();
    const file = filesIn(from, 'data.mdb').find((each) => each.includes('late~')) as string;
    const actor = actorOf(from, file);
    const content = contentOf(from, actor);
    rmSync(file);
    return { from, actor, content };
  }

  it('rebuilds a fork without a file from its source and the journal, if they have all of it [SAL-010]', async () => {
    const { actor, content, from } = await lostFork(false);
    const { into, report } = await salvaged(from);
    expect(report.missing).toEqual([]);
    expect(contentOf(into, actor)).toEqual(content);
    expect((await check(into)).damage).toEqual([]);
  });

  it('names one whose source has changed since, with the remedy [SAL-010]', async () => {
    const { actor, from } = await lostFork(true);
    const { into, report } = await salvaged(from);
    expect(report.missing).toContainEqual({
      actor,
      what: expect.stringContaining('create the branch again'),
    });
    expect(filesIn(into, 'data.mdb').some((each) => each.includes('late~'))).toBe(false);
  });

  it('names lost nodes by their paths, serves the others, and agrees with itself [SAL-003]', async () => {
    const from = copyOf(whole);
    folders.push(from);
    const path = branchFile(from, 'shop');
    const actor = actorOf(from, path);
    const source = new PageFile(path, tableNamesOf(kinds, actor), () => {});
    const lost: string[] = [];
    const bytes = readFileSync(path);
    for (const { value } of source.rows(BranchTable.nodes)) {
      const record = Buffer.from(value);
      const found = /"path":"(\/a\/n\d+)"/.exec(Buffer.from(value).toString('latin1'))?.[1];
      if (found === undefined || lost.length >= 3) continue;
      // Pages that are free may hold the same bytes.
      for (let at = bytes.indexOf(record); at >= 0; at = bytes.indexOf(record, at + 1))
        bytes[at + 40] = (bytes[at + 40] as number) ^ 1;
      lost.push(found);
    }
    source.close();
    writeFileSync(path, bytes);
    const { into, report } = await salvaged(from);
    const named = report.missing.flatMap(({ path: one }) => (one === undefined ? [] : [one]));
    expect(named.sort()).toEqual(lost.map((one) => `space-1:${one}`).sort());
    expect((await check(into)).damage).toEqual([]);
    expect(await served(into, lost[0] as string)).toBe(404);
    expect((await check(into)).damage).toEqual([]);
  });

  it('recovers what the journal has before the loss, and reports that [SAL-004]', async () => {
    const from = copyOf(whole);
    folders.push(from);
    for (const path of filesIn(from, '.journal')) {
      const bytes = readFileSync(path);
      bytes.fill(0xff, 3_000, 9_000);
      writeFileSync(path, bytes);
    }
    const { into, report } = await salvaged(from);
    expect(report.actors).toBeGreaterThan(6);
    expect(await served(into, '/a')).toBe(200);
  });

  it('continues without an actor of which nothing can be read [SAL-005]', async () => {
    const from = copyOf(whole);
    folders.push(from);
    const path = branchFile(from, 'magazine');
    truncateSync(path, 0);
    const { into, report } = await salvaged(from);
    expect(report.missing).toContainEqual(expect.objectContaining({ actor: actorOf(from, path) }));
    expect(await served(into, '/a/b')).toBe(200);
  });

  it('rebuilds a lost registry from the shards, and names what is unknown [SAL-006]', async () => {
    for (const hasJournal of [true, false]) {
      const from = copyOf(whole);
      folders.push(from);
      rmSync(join(from, 'actors/default/tenant/data.mdb'));
      // What was written of an account last is in the journal.
      if (!hasJournal) rmSync(join(from, 'journal'), { recursive: true });
      const { into, report } = await salvaged(from);
      expect(report.missing).toContainEqual({
        actor: 'default/tenant',
        what: expect.stringContaining(hasJournal ? 'was completed with' : 'no account was left') as string,
      });
      expect((await check(into)).damage).toEqual([]);
      // Repository shop, and whoever is in `served` logs in with the new account.
      expect(await served(into, '/a/b/c')).toBe(200);
    }
  });

  it('copies keys and files that verify, and names the others [CHK-010]', async () => {
    const from = copyOf(whole);
    folders.push(from);
    const [sound, flipped, cut] = await storeBlobs(from);
    truncateSync(join(from, 'secrets/jwt-secret'), 0);
    const { into, report } = await salvaged(from);
    const named = report.missing.map(({ file }) => file);
    expect(named.sort()).toEqual([flipped, cut, join(from, 'secrets/jwt-secret')].sort());
    const brought = sound.replace(from, into);
    expect(readFileSync(brought)).toEqual(readFileSync(sound));
    expect(filesIn(join(into, 'blobs'), '').length).toBe(1);
    expect(existsSync(join(into, 'secrets/master-key'))).toBe(true);
    expect(await served(into, '/a')).toBe(200);
  });

  it('takes no master key that is not the one the directory was made with', async () => {
    const from = copyOf(whole);
    folders.push(from);
    const path = join(from, 'secrets/master-key');
    writeFileSync(path, 'ab'.repeat(32));
    const { damage } = await check(from);
    expect(damage).toEqual([{ file: path, what: expect.stringContaining('another key') as string }]);
    const { into, report } = await salvaged(from);
    expect(report.missing).toEqual([{ file: path, what: expect.stringContaining('another key') as string }]);
    expect(existsSync(join(into, 'secrets/master-key'))).toBe(false);
    expect(await served(into, '/a')).toBe(200);
  });

  it('changes nothing of the damaged directory, and takes a new one only', async () => {
    const from = copyOf(whole);
    folders.push(from);
    const before = filesIn(from, 'data.mdb').map((path) => readFileSync(path));
    await salvaged(from);
    expect(filesIn(from, 'data.mdb').map((path) => readFileSync(path))).toEqual(before);
    const into = mkdtempSync(join(tmpdir(), 'grove-used-'));
    folders.push(into);
    writeFileSync(join(into, 'x'), '');
    const taken = salvageDirectory({
      dataDir: from,
      into,
      clock: systemClock,
      random: systemRandom,
      signal: new AbortController().signal,
      onProgress: () => {},
      newAdmin: () => Promise.reject(new Error('there are accounts')),
    });
    await expect(taken).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(existsSync(join(into, 'actors'))).toBe(false);
    rmSync(into, { recursive: true });
  });
});
