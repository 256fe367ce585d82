import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let main: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  main = await client.workspace();
});

afterAll(() => server.close());

const FUTURE = '99999999999999-0';

/** A moment of the clock directly behind a revision, which is no revision itself. */
function behind(revision: string): string {
  const [ms, counter] = revision.split('-') as [string, string];
  return `${ms}-${Number(counter) + 1}`;
}

/** Everything that reads content at a revision. */
const reads: readonly [name: string, read: (space: Space, at: string) => Promise<TestResponse>][] = [
  ['a node', (space, at) => space.getAt(at, '/a')],
  ['a listing', (space, at) => space.getAt(at, '/')],
  ['a page', (space, at) => space.getAt(at, '/?limit=1')],
  ['a tree', (space, at) => space.getAt(at, '/?deep=true')],
  ['a property', (space, at) => space.getAt(at, '/a@title')],
  ['versions', (space, at) => space.getAt(at, '/a/svc:version')],
  ['relations', (space, at) => space.getAt(at, '/a/svc:relations')],
  ['incoming references', (space, at) => space.getAt(at, '/a/svc:incoming-references')],
  ['translations', (space, at) => space.getAt(at, '/a?command=list-translations')],
  ['the parameter', (space, at) => space.get(`/a?revision=${at}`)],
  ['a query', (space, at) => server.admin('POST', space.urlAt(at, '/query'), { parent: '/' })],
  ['a boolean query', (space, at) => server.admin('POST', space.urlAt(at, '/query/dsl'), {})],
];

async function write(space: Space, name: string): Promise<string> {
  const node = { name, node_type: 'svc:Page', properties: { title: name } };
  return revisionOf(expectStatus(await space.post('/', node), 201));
}

async function expectMissing(space: Space, at: string): Promise<void> {
  for (const [name, read] of reads) {
    const { json, status } = await read(space, at);
    expect([name, at, status, json.code ?? json.error]).toEqual([
      name,
      at,
      404,
      name.includes('query') ? 'NotFound' : 'REVISION_NOT_FOUND',
    ]);
  }
}

async function expectRead(space: Space, at: string, shown: string): Promise<void> {
  for (const [name, read] of reads) {
    const answer = await read(space, at);
    expect([name, at, answer.status, revisionOf(answer)]).toEqual([name, at, 200, shown]);
  }
}

describe('a read at a revision', () => {
  it('finds none behind the head, before the first one, or on another branch [REV-035]', async () => {
    const first = await write(main, 'a');
    await client.branch('side', { upstream_branch: 'main' });
    const side = main.on('side');
    const onSide = await write(side, 's');
    const second = await write(main, 'm');
    await expectRead(main, first, first);
    await expectRead(side, onSide, onSide);
    await expectMissing(main, FUTURE);
    await expectMissing(main, behind(second));
    await expectMissing(main, '1-0');
    await expectMissing(side, second);
    // Between two revisions the branch is what the earlier one made it, and says so.
    await expectRead(main, behind(first), first);
    await expectRead(main, onSide, first);
  });

  it('finds none that was merged from another branch [REV-035]', async () => {
    await client.branch('merged', { upstream_branch: 'main' });
    const merged = main.on('merged');
    const taken = await write(merged, 'taken');
    await write(main, 'beside');
    expect((await client.managed('POST', '/branches/main/merge', { source_branch: 'merged' })).status).toBe(
      200,
    );
    expect((await main.get('/taken')).status).toBe(200);
    await expectMissing(main, taken);
    await expectRead(merged, taken, taken);
  });

  it('finds none of a removed branch of the name [REV-035]', async () => {
    await client.branch('again');
    const empty = main.on('again');
    const gone = await write(empty, 'a');
    expect((await client.managed('DELETE', '/branches/again')).status).toBe(204);
    await client.branch('again');
    await write(empty, 'a');
    await expectMissing(empty, gone);
  });

  it('finds those of a line that was left, and nothing else of it [REV-036]', async () => {
    await client.branch('moved', { upstream_branch: 'main' });
    const moved = main.on('moved');
    const kept = await write(moved, 'kept');
    const left = await write(moved, 'left');
    expectStatus(await client.managed('PUT', '/branches/moved/head', { revision: kept }), 204);
    await expectRead(moved, left, left);
    await expectMissing(moved, behind(left));
    const next = await write(moved, 'next');
    await expectRead(moved, left, left);
    expect((await moved.getAt(left, '/left')).status).toBe(200);
    // On the line of the head nothing is between the two.
    await expectRead(moved, behind(left), kept);
    expect((await moved.getAt(behind(left), '/left')).status).toBe(404);
    await expectRead(moved, next, next);
  });

  it('through a tag is of the line of the tag, and nothing behind it [REV-037]', async () => {
    await client.branch('tagged', { upstream_branch: 'main' });
    const tagged = main.on('tagged');
    const before = await write(tagged, 'before');
    const left = await write(tagged, 'left');
    expectStatus(await client.managed('PUT', '/branches/tagged/head', { revision: before }), 204);
    const named = await write(tagged, 'named');
    const later = await write(tagged, 'later');
    expectStatus(await client.managed('POST', '/tags', { name: 'v1', revision: named }), 201);
    const tag = main.on('v1');
    await expectRead(tag, named, named);
    await expectRead(tag, before, before);
    await expectRead(tag, behind(before), before);
    await expectMissing(tag, left);
    await expectMissing(tag, later);
    await expectMissing(tag, FUTURE);
    const head = await tag.get('/a');
    expect([head.status, revisionOf(head)]).toEqual([200, named]);
  });

  it('shows the empty branch at 0-0', async () => {
    const answer = expectStatus(await main.getAt('0-0', '/'), 200);
    expect([answer.json, revisionOf(answer)]).toEqual([[], '0-0']);
  });

  it('is no more than what the surface offers: others refuse the parameter [REV-038]', async () => {
    const { repository } = client;
    const head = await client.headRevision();
    for (const path of [
      `/api/history/${repository}/main/${main.name}/a`,
      `/api/audit/${repository}/main/${main.name}/a`,
      `/api/management/${repository}/main/nodetypes`,
      `/api/management/${repository}/main/nodetypes/svc:Page/resolved`,
      `/api/management/repositories/default/${repository}/branches/main/diff/main`,
    ]) {
      const { json, status } = await server.admin('GET', `${path}?revision=${head}`);
      expect([path, status, json.code ?? json.error?.code]).toEqual([path, 400, 'VALIDATION_FAILED']);
    }
  });
});

describe('what is made of a revision', () => {
  it('refuses a revision that the branch does not have [REV-039]', async () => {
    const revision = behind(await client.headRevision());
    const fork = { name: 'none', upstream_branch: 'main', from_revision: revision };
    for (const [method, path, body] of [
      ['POST', '/branches', fork],
      ['POST', '/branches', { ...fork, upstream_branch: undefined }],
      ['POST', '/tags', { name: 'none', revision }],
      ['PUT', '/branches/main/head', { revision }],
      ['POST', '/branches/main/revert', { revisions: [revision] }],
    ] as const) {
      const { json, status } = await client.managed(method, path, body);
      expect([path, status, json.code ?? json.error?.code]).toEqual([path, 404, 'REVISION_NOT_FOUND']);
    }
  });
});
