import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { OwnerIntentFiles } from '#runtime/actor/store/owner-intents.ts';
import { OptionError } from '#runtime/config/option.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { actorOf, check, storeBlob } from '#test/support/damaged-directory.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';
import { isInTurn } from '#test/support/workload-count.ts';

/** Small segments, so that the journal has let go of how the directory began. */
const config = '[limits]\njournal_segment_bytes = 1048576\nbatch_bytes_max = 524288\n';

/** Kinds of files of a data directory, by what their paths look like without the names that are drawn. */
const kinds: Readonly<Record<string, RegExp>> = {
  lock: /^lock$/,
  'jwt secret': /^secrets\/jwt-secret$/,
  'signing key check': /^secrets\/signing-key-check$/,
  'master key': /^secrets\/master-key$/,
  'journal segment': /^journal\/\d+\.journal$/,
  catalogue: /^actors\/\.catalogue\/data\.mdb$/,
  'locks of LMDB': /^actors\/.*lock\.mdb$/,
  registry: /^actors\/default\/tenant\/data\.mdb$/,
  'tenant acme': /^actors\/acme\/tenant\/data\.mdb$/,
  'repository one': /^actors\/default\/one~\/repository\/data\.mdb$/,
  'jobs of one': /^actors\/default\/one~\/jobs\/data\.mdb$/,
  'branch main of one': /^actors\/default\/one~\/main~\/branch\/data\.mdb$/,
  'branch draft of one': /^actors\/default\/one~\/draft~\/branch\/data\.mdb$/,
  'locks of one': /^actors\/default\/one~\/main~\/locks\/data\.mdb$/,
  'repository two': /^actors\/default\/two~\/repository\/data\.mdb$/,
  'branch main of two': /^actors\/default\/two~\/main~\/branch\/data\.mdb$/,
  removed: /^actors\/\.removed\/.*(?:data|lock)\.mdb$/,
  'owner of what was removed': /^actors\/\.removed\/[^/]+\/owner$/,
  'manifest of a backup': /^backups\/nightly\/manifest\.json$/,
  'shard in a backup': /^backups\/nightly\/shards\/\d+\/data\.mdb$/,
  'file by its hash': /^blobs\/[0-9a-f]{2}\/[0-9a-f]{64}$/,
  'note of shards in hand': /^actors\/\.in-hand$/,
  'note of what is unsettled': /^unsettled\/[0-9a-f]{32}$/,
  'result of the last check': /^last-check\.json$/,
};

type Kind = string;

/** What is asked of a directory, and the files it comes from. */
interface Probe {
  readonly path: string;
  readonly needs: readonly Kind[];
  /** Of a list: what is asked of each entry comes from these files as well. */
  readonly entries?: Readonly<Record<string, readonly Kind[]>>;
}

const one = ['repository one', 'registry'];
const two = ['repository two', 'registry'];
const content = (branch: string, repository: string, path: string): string =>
  `/api/repository/${repository}/${branch}/head/space-1${path}`;

const probes: readonly Probe[] = [
  {
    path: '/api/repositories',
    needs: ['registry'],
    entries: { one: ['repository one'], two: ['repository two'] },
  },
  { path: '/api/management/registry/tenants', needs: ['registry'] },
  { path: content('main', 'one', '/?flatten=true'), needs: [...one, 'branch main of one'] },
  { path: content('main', 'one', '/a/b'), needs: [...one, 'branch main of one'] },
  { path: content('draft', 'one', '/?flatten=true'), needs: [...one, 'branch draft of one'] },
  { path: content('first', 'one', '/a'), needs: [...one, 'branch main of one'] },
  { path: content('main', 'two', '/?flatten=true'), needs: [...two, 'branch main of two'] },
  {
    path: '/api/management/repositories/default/one/branches',
    needs: one,
    entries: { main: ['branch main of one'], draft: ['branch draft of one'] },
  },
  {
    path: '/api/management/repositories/default/two/branches',
    needs: two,
    entries: { main: ['branch main of two'] },
  },
];

/** Files by their kind. */
type Files = ReadonlyMap<Kind, readonly string[]>;

let root: string;
let whole: string;
let other: string;
let files: Files;
let otherFiles: Files;
let answers: ReadonlyMap<string, unknown>;
/** Kinds nobody has described. */
let unknown: readonly string[];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'grove-matrix-'));
  whole = join(root, 'whole');
  other = join(root, 'other');
  for (const folder of [other, whole]) await fill(folder);
  ({ files, unknown } = walk(whole));
  otherFiles = walk(other).files;
  const copy = copyOfWhole();
  answers = await serving(copy, ask);
  rmSync(copy, { recursive: true });
}, 120_000);

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Makes a directory with something of everything. */
async function fill(folder: string): Promise<void> {
  const server = await startServer({ dataDir: folder, config });
  const first = new ContentClient(server, 'one');
  for (const name of ['one', 'two', 'gone']) await server.createRepository(name);
  const tenant = { tenant_id: 'acme', admin: { password: ADMIN_PASSWORD } };
  expectStatus(await server.admin('POST', '/api/management/registry/tenants', tenant), 201);
  const space = await first.workspace();
  await space.addAll('/a', '/a/b');
  expectStatus(
    await first.managed('POST', '/tags', { name: 'first', revision: await first.headRevision() }),
    201,
  );
  await first.branch('draft', { upstream_branch: 'main' });
  const second = await new ContentClient(server, 'two').workspace();
  await second.addAll('/x', '/x/y');
  const lock = { key: 'k', ttl_ms: 600_000 };
  expectStatus(await server.admin('POST', '/api/one/main/locks/acquire', lock), 200, 201);
  expectStatus(await server.admin('DELETE', '/api/repositories/gone'), 200, 204);
  // Everybody writes until the journal has let go of what is above.
  for (let round = 0; round < 2; round += 1) {
    for (let number = 0; number < 24; number += 1) {
      const text = `${number} ${'x'.repeat(60_000)}`;
      await space.put('/a/b', { properties: { description: text } });
    }
    await space.on('draft').put('/a', { properties: { description: `of draft ${round}` } });
    await second.put('/x', { properties: { description: `of two ${round}` } });
    await server.restart();
    Object.assign(first, { server });
  }
  expectStatus(await server.admin('POST', '/api/management/backups', { name: 'nightly' }), 202);
  await vi.waitFor(
    async () => {
      const { json } = await server.admin('GET', '/api/management/backups/nightly');
      expect(json.state).toBe('done');
    },
    { timeout: 20_000, interval: 20 },
  );
  await server.close();
  await storeBlob(folder, 'bytes');
  // As of a process that was killed while it opened a shard.
  const opened = walk(folder).files.get('branch main of one')?.[0] as string;
  writeFileSync(join(folder, 'actors', '.in-hand'), `opening ${actorOf(folder, join(folder, opened))}\n`);
  await new OwnerIntentFiles(join(folder, 'unsettled')).begin('default/nothing~0000000000');
}

function walk(folder: string): { readonly files: Files; readonly unknown: readonly string[] } {
  const found = new Map<Kind, string[]>();
  const strange: string[] = [];
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (!statSync(path).isFile()) continue;
    const plain = name.replaceAll(/~[0-9a-f]{10}/g, '~');
    const kind = Object.keys(kinds).find((each) => (kinds[each] as RegExp).test(plain));
    if (kind === undefined) strange.push(name);
    else found.set(kind, [...(found.get(kind) ?? []), name].sort());
  }
  return { files: found, unknown: strange };
}

const ways = ['missing', 'empty', 'cut', 'overwritten', 'swapped'] as const;

type Way = (typeof ways)[number];

/** Tried with each kind in every run; of the others one. */
const always: readonly Way[] = ['missing', 'overwritten'];

function inflict(folder: string, kind: Kind, way: Way): string {
  // The newest of several.
  const name = files.get(kind)?.at(-1) as string;
  const path = join(folder, name);
  const bytes = readFileSync(path);
  const changed = Buffer.from(bytes);
  // A key stays no key.
  for (let at = 20; at < changed.length; at += 32) changed[at] = (changed[at] as number) ^ 0xd5;
  if (changed.length <= 20) changed[0] = (changed[0] as number) ^ 0xd5;
  if (way === 'missing') rmSync(path);
  if (way === 'empty') writeFileSync(path, '');
  if (way === 'cut') writeFileSync(path, bytes.subarray(0, Math.floor(bytes.length / 2)));
  if (way === 'overwritten') writeFileSync(path, changed);
  if (way === 'swapped')
    writeFileSync(path, readFileSync(join(other, otherFiles.get(kind)?.at(-1) as string)));
  return path;
}

function copyOfWhole(): string {
  const folder = mkdtempSync(join(root, 'case-'));
  cpSync(whole, folder, { recursive: true });
  return folder;
}

async function serving<T>(folder: string, work: (server: TestServer) => Promise<T>): Promise<T> {
  const server = await startServer({ dataDir: folder, config });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

async function ask(server: TestServer): Promise<ReadonlyMap<string, unknown>> {
  const found = new Map<string, unknown>();
  for (const { path } of probes) {
    const { json, status } = await server.admin('GET', path);
    found.set(path, status === 200 ? json : { status, code: json.code });
  }
  return found;
}

/** Kinds that a flipped bit or a missing end cannot hide in: a check names them. */
const checked = new Set([
  'jwt secret',
  'master key',
  'journal segment',
  'catalogue',
  'registry',
  'tenant acme',
  'repository one',
  'repository two',
  'branch main of one',
  'branch draft of one',
  'branch main of two',
  'locks of one',
  'file by its hash',
]);

/**
 * Judges a directory of which files were damaged: a start is refused and changes nothing, or everything is served that does
 * not come from the damaged files, and nothing wrong.
 */
async function judge(...damages: readonly (readonly [Kind, Way])[]): Promise<void> {
  const folder = copyOfWhole();
  try {
    const paths = damages.map(([kind, way]) => inflict(folder, kind, way));
    const isFound = await foundByCheck(folder, paths);
    for (const [index, [kind, way]] of damages.entries())
      if (checked.has(kind) && (way === 'empty' || way === 'overwritten'))
        expect(isFound[index], `${kind} is named`).toBe(true);
    const damaged = new Set(damages.map(([kind]) => kind));
    const refusal = await served(folder, damaged);
    if (refusal === undefined) return;
    expect(refusal).toMatch(/bring|restore|put/i);
    // Of a journal whose files are missing the folder is not there to be named.
    const names = [...paths, ...paths.map((path) => dirname(path)), 'the journal'];
    expect(
      names.some((name) => refusal.includes(name)),
      refusal,
    ).toBe(true);
    // Nothing was changed: with the files in their places everything is there.
    for (const path of paths) cpSync(join(whole, relative(folder, path)), path);
    expect(await serving(folder, ask)).toEqual(answers);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function foundByCheck(folder: string, paths: readonly string[]): Promise<readonly boolean[]> {
  const told: string[] = [];
  try {
    for (const { file } of (await check(folder)).damage) told.push(file);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    told.push(error.message);
  }
  return paths.map((path) => told.some((text) => text.includes(path) || path.startsWith(`${text}/`)));
}

/** Whether something of these files is damaged. A record of the journal may be anybody's. */
function comesFrom(needs: readonly Kind[], damaged: ReadonlySet<Kind>): boolean {
  return needs.some((kind) => damaged.has(kind)) || damaged.has('journal segment');
}

interface ListEntry {
  readonly name?: string;
  readonly repo_id?: string;
  readonly error?: { readonly code: string };
}

/** Judges a list: every entry is there, and is as before or says that it is damaged. */
function judgeEntries(
  found: readonly ListEntry[],
  right: readonly ListEntry[],
  entries: Readonly<Record<string, readonly Kind[]>>,
  damaged: ReadonlySet<Kind>,
): void {
  const nameOf = ({ name, repo_id }: ListEntry): string => name ?? repo_id ?? '';
  expect(found.map(nameOf)).toEqual(right.map(nameOf));
  for (const [index, entry] of found.entries()) {
    if (isDeepStrictEqual(entry, right[index])) continue;
    expect(entry.error?.code).toBe('DATA_CORRUPTED');
    const name = nameOf(entry);
    expect(comesFrom(entries[name] ?? [], damaged), `${name} does not come from what is damaged`).toBe(true);
  }
}

/** @returns why it does not start */
async function served(folder: string, damaged: ReadonlySet<Kind>): Promise<string | undefined> {
  let server: TestServer;
  try {
    server = await startServer({ dataDir: folder, config });
  } catch (error) {
    const isSaid =
      error instanceof OptionError || (error instanceof ServiceError && error.code === 'DATA_CORRUPTED');
    expect(isSaid, String((error as Error).stack)).toBe(true);
    return error instanceof OptionError ? error.problems.join('\n') : (error as Error).message;
  }
  try {
    const found = await ask(server);
    for (const { entries, needs, path } of probes) {
      const answer = found.get(path);
      const right = answers.get(path);
      if (entries !== undefined && Array.isArray(answer)) {
        judgeEntries(answer as ListEntry[], right as ListEntry[], entries, damaged);
      } else if (!isDeepStrictEqual(answer, right)) {
        expect(answer, path).toEqual({ status: 500, code: 'DATA_CORRUPTED' });
        expect(comesFrom(needs, damaged), `${path} does not come from what is damaged`).toBe(true);
      }
    }
    return undefined;
  } finally {
    await server.close();
  }
}

describe('every kind of file of a data directory [DUR-026]', () => {
  it('is known to these tests, and is there', () => {
    expect(unknown).toEqual([]);
    expect(Object.keys(kinds).filter((kind) => !files.has(kind))).toEqual([]);
    expect(existsSync(join(whole, 'restoring'))).toBe(false);
  });

  it.each(Object.keys(kinds))(
    'may be damaged: nothing else is lost, and nothing wrong is served: %s',
    async (kind) => {
      const first = Object.keys(kinds).indexOf(kind);
      const others = ways.filter((way) => !always.includes(way));
      const tried = [...always, ...others.filter((_, index) => isInTurn(first + index))];
      for (const way of tried)
        await judge([kind, way]).catch((error: Error) => fail(`${kind} ${way}`, error));
    },
  );

  const paired = [
    'master key',
    'journal segment',
    'catalogue',
    'registry',
    'repository one',
    'branch main of one',
    'branch draft of one',
    'note of what is unsettled',
  ];

  it.each(paired)('may be damaged together with another one: %s', async (kind) => {
    for (const [index, second] of paired.entries()) {
      if (index <= paired.indexOf(kind) || !isInTurn(index - paired.indexOf(kind))) continue;
      await judge([kind, 'missing'], [second, 'missing']).catch((error: Error) =>
        fail(`${kind}, ${second}`, error),
      );
      await judge([kind, 'missing'], [second, 'overwritten']).catch((error: Error) =>
        fail(`${kind}, ${second}`, error),
      );
    }
  });
});

function fail(what: string, error: Error): never {
  error.message = `${what}: ${error.message}`;
  throw error;
}
