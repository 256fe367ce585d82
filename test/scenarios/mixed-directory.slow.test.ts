import { cpSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { surveyJournal } from '#runtime/embedded/recovery/journal-survey.ts';
import { parseSegmentFileName } from '#runtime/embedded/segments/journal-format.ts';
import { ContentClient } from '#test/support/content-client.ts';
import { check, filesIn, salvage } from '#test/support/damaged-directory.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

/** Times at which a directory was copied, in order. */
const times = ['first', 'second', 'third'];

let root: string;
let folder: string;
/** Address of a branch of repository `one` up to its name. */
let space: string;
/** Name of the newest segment at each time. */
const newest: string[] = [];

/** A directory that is copied three times; each time has a page, a repository and a segment of the journal more. */
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'grove-mixed-'));
  const dataDir = join(root, 'running');
  const server = await startServer({ dataDir });
  const client = new ContentClient(server, await server.createRepository('one'));
  const workspace = await client.workspace();
  space = workspace.name;
  await workspace.addAll('/a');
  await client.branch('draft', { upstream_branch: 'main' });
  await workspace.on('draft').addAll('/of-draft');
  await server.close();
  for (const name of times) {
    await server.restart();
    await workspace.addAll(`/${name}`);
    await server.createRepository(name);
    await server.close();
    cpSync(dataDir, join(root, name), { recursive: true });
    newest.push(readdirSync(join(dataDir, 'journal')).sort().at(-1) as string);
  }
}, 60_000);

afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
});

/** The copy of a time, with the newest segments of later times. */
function mix(time: number, ...later: readonly number[]): void {
  cpSync(join(root, times[time] as string), folder, { recursive: true });
  for (const each of later) addSegment(each);
}

function addSegment(time: number): void {
  const name = newest[time] as string;
  cpSync(join(root, times[time] as string, 'journal', name), join(folder, 'journal', name));
}

async function serving<T>(work: (server: TestServer) => Promise<T>): Promise<T> {
  const server = await startServer({ dataDir: folder });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

const pageOf = async (server: TestServer, branch: string, name: string): Promise<number> =>
  (await server.admin('GET', `/api/repository/one/${branch}/head/${space}/${name}`)).status;

/** Status of each page of main, and the names of the repositories. */
async function shown(server: TestServer): Promise<readonly unknown[]> {
  const pages: number[] = [];
  for (const name of ['a', ...times]) pages.push(await pageOf(server, 'main', name));
  const list = (await server.admin('GET', '/api/repositories')).json as unknown as { repo_id: string }[];
  return [pages, list.map(({ repo_id }) => repo_id).sort()];
}

/** Newest record of the journal, which no server has open: a segment without records may go while it is read. */
async function reached(): Promise<number> {
  return (await surveyJournal(realFileSystem, join(folder, 'journal'))).lastSequence;
}

/** Writes pages of its own, of one record each, so that the segment with a record follows in the journal. */
async function writeUpTo(record: number): Promise<void> {
  let number = 0;
  const write = (count: number) =>
    serving(async (server) => {
      for (const last = number + count; number < last; number += 1) {
        const page = { name: `own${number}`, node_type: 'svc:Page', properties: { title: 'own' } };
        const { status } = await server.admin('POST', `/api/repository/one/main/head/${space}/`, page);
        expect(status).toBe(201);
      }
    });
  const before = await reached();
  await write(1);
  const ofStart = (await reached()) - before - 1;
  await write(record - 1 - (await reached()) - ofStart);
  expect(await reached()).toBe(record - 1);
}

async function found(): Promise<readonly string[]> {
  return (await check(folder)).damage.map(({ file, what }) => `${file}: ${what}`);
}

describe('a directory in which two branches of a repository have changed places [DUR-026]', () => {
  it.each(['files', 'folders'])('serves neither of the two, and everything else: %s', async (what) => {
    mix(2);
    const paths = filesIn(folder, '/branch/data.mdb').filter((path) => path.includes('/one~'));
    const [one, other] = paths.map((path) => (what === 'files' ? path : dirname(path))) as [string, string];
    const aside = join(folder, 'aside');
    renameSync(one, aside);
    renameSync(other, one);
    renameSync(aside, other);
    for (const path of paths)
      expect(await found()).toContainEqual(expect.stringMatching(`^${path}: it is the file of .*/branch`));
    await serving(async (server) => {
      for (const branch of ['main', 'draft'])
        for (const name of ['a', 'third', 'of-draft']) expect(await pageOf(server, branch, name)).toBe(500);
      expect((await shown(server))[1]).toEqual(['first', 'one', 'second', 'third']);
      expect((await server.request('GET', '/ready')).json.stopped_actors).toBe(2);
    });
  });
});

describe('an earlier copy of a directory with a later segment of the journal [DUR-026]', () => {
  it('continues with the segment that follows, and with nothing behind it', async () => {
    mix(0, 1);
    expect(await found()).toEqual([]);
    expect(await serving(shown)).toEqual([
      [200, 200, 200, 404],
      ['first', 'one', 'second'],
    ]);
  });

  it('does not start where one in between is missing, and does without the segment', async () => {
    mix(0, 2);
    const path = join(folder, 'journal', newest[2] as string);
    const damage = await found();
    expect(damage).toContainEqual(expect.stringContaining('the end of the segment is missing'));
    expect(damage).not.toContainEqual(expect.stringContaining('does not continue the chain'));
    await expect(startServer({ dataDir: folder })).rejects.toThrow(`before ${path}: a segment is missing`);
    rmSync(path);
    expect(await serving(shown)).toEqual([
      [200, 200, 404, 404],
      ['first', 'one'],
    ]);
  });

  it('does not start where it has gone on by itself: the segment is of another history', async () => {
    mix(0);
    await writeUpTo(parseSegmentFileName(newest[2] as string) as number);
    addSegment(2);
    const path = join(folder, 'journal', newest[2] as string);
    const what = 'the segment does not continue the chain of the one before it';
    expect(await found()).toContainEqual(`${path}: ${what}`);
    await expect(startServer({ dataDir: folder })).rejects.toThrow(`${path}: ${what}`);
    const { into, report } = await salvage(folder);
    expect(report.missing.length).toBeGreaterThan(0);
    rmSync(path);
    const expected = [
      [200, 200, 404, 404],
      ['first', 'one'],
    ];
    expect(await serving(shown)).toEqual(expected);
    // A salvage has nothing of the other history.
    folder = into;
    expect(await serving(shown)).toEqual(expected);
    rmSync(dirname(into), { recursive: true });
  });
});
