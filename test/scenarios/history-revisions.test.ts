import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  compareRevisionTexts,
  ContentClient,
  expectStatus,
  revisionOf,
  type Space,
} from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

interface Revision {
  readonly revision: string;
  readonly parent: string | null;
  readonly message: string;
  readonly is_system: boolean;
  readonly changed_nodes: readonly {
    readonly node_id: string;
    readonly operation: string;
    readonly path?: string;
  }[];
}

const textsOf = (revisions: readonly Revision[]) => revisions.map(({ revision }) => revision);
const namesOf = (nodes: readonly { name: string }[]) => nodes.map(({ name }) => name);

describe('the list of revisions', () => {
  it('is newest first and strictly rising [REV-001, REV-008, REV-011]', async () => {
    const space = await client.workspace();
    const made: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      made.unshift(revisionOf(await space.post('/', { name, node_type: 'svc:Folder' })));
    }
    const { json, status } = await client.revisions('?branch=main&limit=4');
    expect(status).toBe(200);
    expect(Object.keys(json).sort()).toEqual(['has_more', 'revisions', 'total']);
    expect(textsOf(json.revisions)).toEqual(made);
    for (const [index, revision] of made.slice(1).entries()) {
      expect(compareRevisionTexts(made[index] as string, revision)).toBeGreaterThan(0);
    }
    expect((await client.revisions('?limit=3')).json.has_more).toBe(true);
    const system = await client.revisions('?limit=10&include_system=true');
    expect(system.status).toBe(200);
    expect(typeof system.json.total).toBe('number');
  });

  it('has records with every field [REV-002, REV-003, REV-006, REV-007, CONV-010]', async () => {
    const space = await client.workspace();
    const first = await space.post('/', { name: 'a', node_type: 'svc:Folder' });
    const second = await space.put('/a', { properties: { n: 1 } });
    const third = await space.delete('/a');
    const [deleted, updated, created] = (await client.revisions('?limit=3')).json.revisions;
    expect(created).toEqual(expect.objectContaining({ revision: revisionOf(first), merge_parent: null }));
    expect(updated).toMatchObject({ parent: created.revision, revision: revisionOf(second) });
    expect(deleted).toMatchObject({ parent: updated.revision, revision: revisionOf(third) });
    const fields = ['revision', 'parent', 'merge_parent', 'branch', 'timestamp', 'actor', 'message'];
    for (const field of [...fields, 'is_system', 'changed_nodes']) expect(created).toHaveProperty(field);
    expect(created).toMatchObject({ branch: 'main', actor: 'admin', is_system: false });
    expect(new Date(created.timestamp).toISOString()).toBe(created.timestamp);
    const operations = [created, updated, deleted].map(({ changed_nodes }) => changed_nodes);
    for (const [index, operation] of ['added', 'modified', 'deleted'].entries()) {
      expect(operations[index]).toHaveLength(1);
      expect(operations[index][0]).toMatchObject({
        node_id: first.json.id,
        workspace: space.name,
        operation,
      });
    }
  });

  it('is walked by offset, each revision once [REV-013]', async () => {
    const own = await ContentClient.on(server);
    const space = await own.workspace();
    await space.addAll('/a', '/b', '/c', '/d', '/e', '/f', '/g');
    const all = (await own.revisions('?limit=1000&include_system=true')).json;
    expect(all.has_more).toBe(false);
    expect(all.revisions).toHaveLength(all.total);
    const seen: string[] = [];
    for (let offset = 0; ; offset += 3) {
      const { json } = await own.revisions(`?limit=3&offset=${offset}&include_system=true`);
      seen.push(...textsOf(json.revisions));
      if (!json.has_more) break;
    }
    expect(seen).toEqual(textsOf(all.revisions));
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('leaves system revisions out unless it is asked for them [REV-012]', async () => {
    const own = await ContentClient.on(server);
    await (await own.workspace()).add('/', 'a');
    await own.defineType({ name: 'hist:Silent' });
    const plain = (await own.revisions('')).json.revisions as Revision[];
    const whole = (await own.revisions('?include_system=true')).json.revisions as Revision[];
    expect(plain.some(({ is_system }) => is_system)).toBe(false);
    expect(plain).toHaveLength(1);
    expect(whole.some(({ is_system }) => is_system)).toBe(true);
    expect(whole.length).toBeGreaterThan(plain.length);
  });

  it('is for callers with a login, of a branch that is there [REV-001, HTTP-006]', async () => {
    const base = `/api/management/repositories/default/${client.repository}/revisions`;
    expect((await server.request('GET', base)).status).toBe(401);
    expect((await client.revisions('?branch=nope')).json.code).toBe('BRANCH_NOT_FOUND');
    const unknown = await server.admin('GET', '/api/management/repositories/default/nope/revisions');
    expect(unknown.json.code).toBe('REPOSITORY_NOT_FOUND');
  });
});

describe('one revision', () => {
  it('is read with its changes, and never changes [REV-004, REV-005, REV-009, REV-016]', async () => {
    const space = await client.workspace();
    const created = await space.post('/', { name: 'a', node_type: 'svc:Folder' });
    const revision = revisionOf(created);
    const record = (await client.revisions(`/${revision}`)).json;
    expect(record.revision).toBe(revision);
    const changes = (await client.revisions(`/${revision}/changes`)).json;
    expect(changes).toEqual([
      expect.objectContaining({
        node_id: created.json.id,
        operation: 'added',
        node_type: 'svc:Folder',
        path: '/a',
      }),
    ]);
    await space.put('/a', { properties: { n: 1 } });
    await space.delete('/a');
    expect((await client.revisions(`/${revision}`)).json).toEqual(record);
    expect((await client.revisions(`/${revision}/changes?branch=main`)).json).toEqual(changes);
  });

  it('is 404 when there is none and 400 when it cannot be one [REV-014, REV-015]', async () => {
    for (const rest of ['/5-5', '/5-5/changes', '/99999999999999-0', '/5-5?branch=main']) {
      const { json, status } = await client.revisions(rest);
      expect(status, rest).toBe(404);
      expect(json.code).toBe('REVISION_NOT_FOUND');
    }
    for (const rest of ['/abc', '/1', '/1-2-3', '/abc/changes', '/-1', '/1-']) {
      const { json, status } = await client.revisions(rest);
      expect(status, rest).toBe(400);
      expect(json.code).toBe('INVALID_REVISION_NUMBER');
    }
    const space = await client.workspace();
    expect((await space.getAt('invalid', '/')).status).toBe(400);
    const unknown = await server.admin('GET', '/api/management/repositories/default/nope/revisions/5-5');
    expect(unknown.status).toBe(404);
  });

  it('lists every node of a subtree that was moved or renamed [REV-017]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b', '/a/b/c', '/d');
    for (const [command, body] of [
      ['move', { targetPath: '/d/a' }],
      ['rename', { newName: 'e' }],
    ] as const) {
      const from = command === 'move' ? '/a' : '/d/a';
      const { changed_nodes } = await client.revision(revisionOf(await space.done(from, command, body)));
      expect(changed_nodes).toHaveLength(3);
      for (const change of changed_nodes) expect(change.operation).toBe('modified');
    }
  });

  it('names the locale of a translation [REV-018, TRANS-020]', async () => {
    const space = await client.workspace();
    await space.add('/', 'p', { title: 'T' }, 'svc:Page');
    const answer = await space.done('/p', 'translate', {
      locale: 'de',
      translations: { '/title': 'D' },
      message: 'To German',
      actor: 'translator',
    });
    const revision = revisionOf(answer);
    expect(await client.revision(revision)).toMatchObject({ message: 'To German', actor: 'translator' });
    expect((await client.revisions(`/${revision}/changes`)).json).toEqual([
      expect.objectContaining({ operation: 'modified', translation_locale: 'de', path: '/p' }),
    ]);
  });
});

describe('reading at a revision', () => {
  let space: Space;
  const revisions: string[] = [];

  beforeAll(async () => {
    space = await client.workspace();
    for (const name of ['one', 'two', 'three']) {
      revisions.push(revisionOf(await space.post('/', { name, node_type: 'svc:Folder' })));
    }
  });

  it('holds one, two and three nodes [REV-021, REV-023]', async () => {
    for (const [index, revision] of revisions.entries()) {
      const { json } = expectStatus(await space.getAt(revision, '/'), 200);
      expect(namesOf(json)).toEqual(['one', 'two', 'three'].slice(0, index + 1));
    }
    expect((await space.getAt('0-0', '/')).json).toEqual([]);
  });

  it('answers nodes as they were, by path and by id [REV-019, REV-020]', async () => {
    const { id } = await space.add('/', 'changing', { n: 1 });
    const first = await client.headRevision();
    await space.put('/changing', { properties: { n: 2 } });
    for (const path of ['/changing', `/$ref/${id}`]) {
      const then = await space.getAt(first, path);
      expect(then.json).toMatchObject({ id, version: 1, properties: { n: 1 } });
      expect((await space.get(path)).json).toMatchObject({ version: 2, properties: { n: 2 } });
    }
    expect((await space.getAt(first, '/changing@n')).json).toBe(1);
  });

  it('is the same with ?revision= [REV-022, LIST-009]', async () => {
    const [first] = revisions as [string];
    for (const path of ['/', '/one', '/?limit=1', '/?deep=true']) {
      const query = path.includes('?') ? '&' : '?';
      const { json } = await space.get(`${path}${query}revision=${first}`);
      const expected = (await space.getAt(first, path)).json;
      expect(json).toEqual(expected);
    }
    expect((await space.getAt(first, `/?revision=${first}`)).status).toBe(400);
    expect((await space.get('/?revision=abc')).json.code).toBe('INVALID_REVISION_NUMBER');
  });

  it('reads a bare integer with counter 0, and between writes the earlier one [REV-030, REV-031]', async () => {
    const own = await client.workspace();
    await own.add('/', 'a');
    const msOf = async () => Number((await client.headRevision()).split('-')[0]);
    const ms = await msOf();
    // There is something later than the moments that are read.
    for (let count = 0; (await msOf()) <= ms + 1; count += 1) await own.add('/', `later-${count}`);
    expect(namesOf((await own.getAt(`${ms + 1}`, '/')).json)[0]).toBe('a');
    const answer = await own.getAt(`${ms}-0`, '/');
    expect(revisionOf(await own.getAt(`${ms}`, '/'))).toBe(revisionOf(answer));
    expect(namesOf((await own.get(`/?revision=${ms + 1}`)).json)[0]).toBe('a');
    expect(namesOf((await own.getAt(`${ms}-999999`, '/')).json)[0]).toBe('a');
    expect((await own.getAt(`${ms - 1}-4000000`, '/')).json).toEqual([]);
  });

  it('shows a node until it was deleted [REV-024]', async () => {
    const own = await client.workspace();
    const { id } = await own.add('/', 'mortal', { n: 1 });
    await own.add('/', 'witness');
    const alive = await client.headRevision();
    const dead = revisionOf(await own.delete('/mortal'));
    for (const path of ['/mortal', `/$ref/${id}`]) {
      expect((await own.getAt(alive, path)).json.properties.n).toBe(1);
      expect((await own.getAt(dead, path)).status).toBe(404);
    }
    expect(namesOf((await own.getAt(alive, '/')).json)).toEqual(['mortal', 'witness']);
    expect(namesOf((await own.getAt(dead, '/')).json)).toEqual(['witness']);
  });

  it('matches children, order, has_children and trees of each moment [REV-025]', async () => {
    const own = await client.workspace();
    await own.add('/', 'top');
    const bare = await client.headRevision();
    await own.addAll('/top/a', '/top/b', '/top/a/deep');
    const filled = await client.headRevision();
    await own.done('/top/b', 'reorder', { targetPath: '/top/a', movePosition: 'before' });
    const reordered = await client.headRevision();
    await own.delete('/top/a');
    const flat = async (revision: string) =>
      namesOf((await own.getAt(revision, '/top?flatten=true')).json as { name: string }[]);
    expect(await flat(bare)).toEqual([]);
    expect(await flat(filled)).toEqual(['a', 'deep', 'b']);
    expect(await flat(reordered)).toEqual(['b', 'a', 'deep']);
    expect(namesOf((await own.get('/top?flatten=true')).json)).toEqual(['b']);
    expect((await own.getAt(bare, '/top')).json.has_children).toBe(false);
    expect((await own.getAt(filled, '/top')).json.has_children).toBe(true);
    expect((await own.getAt(filled, '/top/a')).json.has_children).toBe(true);
    expect((await own.getAt(reordered, '/top?deep=true')).json).toMatchObject({
      b: { children: {} },
      a: { children: { deep: {} } },
    });
  });

  it('answers the node that held a path then [REV-027]', async () => {
    const own = await client.workspace();
    const first = await own.add('/', 'seat', { n: 1 });
    const one = await client.headRevision();
    await own.delete('/seat');
    const second = await own.add('/', 'seat', { n: 2 });
    expect((await own.getAt(one, '/seat')).json.id).toBe(first.id);
    expect((await own.get('/seat')).json.id).toBe(second.id);
  });

  it('shows the paths from before a move [REV-028]', async () => {
    const own = await client.workspace();
    await own.addAll('/old', '/old/a', '/old/a/b');
    const before = await client.headRevision();
    const after = revisionOf(await own.done('/old', 'move', { targetPath: '/new' }));
    const paths = async (revision: string) =>
      ((await own.getAt(revision, '/?flatten=true')).json as { path: string }[]).map(({ path }) => path);
    expect(await paths(before)).toEqual(['/old', '/old/a', '/old/a/b']);
    expect(await paths(after)).toEqual(['/new', '/new/a', '/new/a/b']);
    expect((await own.getAt(after, '/old/a')).status).toBe(404);
    expect((await own.getAt(before, '/old/a/b')).json).toMatchObject({ path: '/old/a/b', parent: 'a' });
  });

  it('pages and queries what was there then, and nothing else [REV-029]', async () => {
    const own = await client.workspace();
    await own.addAll('/a', '/b', '/c', '/c/z');
    await own.put('/a', { properties: { n: 1 } });
    const then = await client.headRevision();
    const questions: readonly (readonly [path: string, body: object])[] = [
      ['/query', { nodeType: 'svc:Folder' }],
      ['/query', { nodeType: 'svc:Folder', limit: 2, offset: 1 }],
      ['/query', { parent: '/c' }],
      ['/query', { path: '/a' }],
      ['/query/dsl', {}],
      ['/query/dsl', { 'properties.n': { eq: 1 } }],
      ['/query/dsl', { order_by: { name: 'desc' }, limit: 2 }],
    ];
    const answers: unknown[] = [];
    for (const [path, body] of questions) answers.push(expectStatus(await own.post(path, body), 200).json);
    await own.put('/a', { properties: { n: 2 } });
    await own.delete('/b');
    await own.done('/c', 'move', { targetPath: '/moved' });
    await own.add('/', 'd', { n: 1 });

    const first = (await own.getAt(then, '/?limit=2')).json;
    const second = (await own.getAt(then, `/?limit=2&cursor=${first.next_cursor}`)).json;
    expect([...namesOf(first.items), ...namesOf(second.items)]).toEqual(['a', 'b', 'c']);
    expect(second.next_cursor).toBeNull();
    for (const [index, [path, body]] of questions.entries()) {
      const atRevision = expectStatus(await server.admin('POST', own.urlAt(then, path), body), 200);
      const asParameter = expectStatus(await own.post(`${path}?revision=${then}`, body), 200);
      expect([path, body, atRevision.json]).toEqual([path, body, answers[index]]);
      expect([path, body, asParameter.json]).toEqual([path, body, answers[index]]);
      expect([revisionOf(atRevision), revisionOf(asParameter)]).toEqual([then, then]);
      expect((await own.post(path, body)).json).not.toEqual(answers[index]);
    }
  });

  it('queries at what is a revision only', async () => {
    const [first] = revisions as [string];
    for (const path of [space.url('/query?revision=abc'), space.urlAt('abc', '/query/dsl')]) {
      const { json, status } = await server.admin('POST', path, { path: '/one' });
      expect([status, json.error]).toEqual([400, 'BadRequest']);
    }
    const twice = space.urlAt(first, `/query?revision=${first}`);
    expect((await server.admin('POST', twice, { path: '/one' })).status).toBe(400);
    const stranger = await server.request('POST', space.urlAt(first, '/query'), { body: { parent: '/' } });
    expect([stranger.status, stranger.json.items]).toEqual([200, []]);
  });

  it('shows the translations of then [REV-032]', async () => {
    const own = await client.workspace();
    await own.add('/', 'p', { title: 'T' }, 'svc:Page');
    const bare = await client.headRevision();
    const translate = (title: string) =>
      own.done('/p', 'translate', { locale: 'de', translations: { '/title': title } });
    const first = revisionOf(await translate('D1'));
    await translate('D2');
    expect((await own.getAt(bare, '/p?lang=de')).json.properties.title).toBe('T');
    expect((await own.getAt(first, '/p?lang=de')).json.properties.title).toBe('D1');
    expect((await own.get('/p?lang=de')).json.properties.title).toBe('D2');
  });

  it('is all that can be done there [REV-026]', async () => {
    const [revision] = revisions as [string];
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { json, status } = await server.admin(method, space.urlAt(revision, '/one'), { properties: {} });
      expect(status).toBe(405);
      expect(json.code).toBe('READ_ONLY_REVISION');
    }
  });
});

describe('history', () => {
  const history = (space: Space, rest: string) =>
    server.admin('GET', `/api/history/${client.repository}/main/${space.name}${rest}`);

  it('has every write of a node, newest first, by path and by id [HIST-001, HIST-002, HIST-004, EASY-012]', async () => {
    const space = await client.workspace();
    await client.defineType({ name: 'hist:Unaudited', auditable: false });
    const { id } = await space.add('/', 'a', {}, 'hist:Unaudited', { commit: { message: 'first' } });
    await space.put('/a', { properties: { n: 1 }, commit: { message: 'second', actor: 'ann' } });
    const { json, status } = await history(space, '/a');
    expect(status).toBe(200);
    expect(json).toHaveLength(2);
    for (const entry of json) {
      expect(Object.keys(entry).sort()).toEqual(
        ['revision', 'updated_at', 'updated_by', 'deleted', 'message', 'is_system'].sort(),
      );
    }
    expect(json.map((entry: { message: string }) => entry.message)).toEqual(['second', 'first']);
    expect(json[0].deleted).toBe(false);
    expect((await history(space, `/by-id/${id}`)).json).toEqual(json);
  });

  it('is bounded by limit [HIST-003]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    for (const n of [1, 2, 3]) await space.put('/a', { properties: { n } });
    expect((await history(space, '/a?limit=2')).json).toHaveLength(2);
    expect((await history(space, '/a')).json).toHaveLength(4);
    expect((await history(space, '/a?limit=x')).status).toBe(400);
  });

  it('continues by id after the node is deleted [HIST-005, EASY-012]', async () => {
    const space = await client.workspace();
    const { id } = await space.add('/', 'a');
    const revision = revisionOf(await space.delete('/a'));
    const { json, status } = await history(space, `/by-id/${id}`);
    expect(status).toBe(200);
    expect(json).toHaveLength(2);
    expect(json[0]).toMatchObject({ revision, deleted: true });
    expect(json[1].deleted).toBe(false);
  });

  it('is 404 for a node that never was [HIST-001]', async () => {
    const space = await client.workspace();
    expect((await history(space, '/nope')).json.code).toBe('NODE_NOT_FOUND');
    expect((await history(space, '/by-id/nope')).json.code).toBe('NODE_NOT_FOUND');
    expect((await history(space, '/a@title')).status).toBe(400);
  });
});

describe('audit', () => {
  const audit = async (space: Space, rest: string) =>
    expectStatus(await server.admin('GET', `/api/audit/${client.repository}/main/${space.name}${rest}`), 200)
      .json;

  it('has the actions on nodes of an auditable type [HIST-006, HIST-008, EASY-012]', async () => {
    const space = await client.workspace();
    const { id } = await space.add('/', 'a', { n: 1 });
    await space.add('/', 'dst');
    await space.put('/a', { properties: { n: 2 } });
    await space.put('/a@n', 3);
    await space.done('/a', 'rename', { newName: 'b' });
    await space.done('/b', 'move', { targetPath: '/dst/b' });
    await space.done('/dst/b', 'create_version');
    await space.done('/dst/b', 'restore_version', { version: 1 });
    await space.done('/dst/b', 'publish');
    await space.done('/dst/b', 'unpublish');
    await space.done('/dst/b', 'copy', { targetPath: '/c' });
    const entries = await audit(space, '/dst/b');
    for (const entry of entries) {
      expect(entry).toEqual(
        expect.objectContaining({ action: expect.any(String), user_id: 'admin', path: expect.any(String) }),
      );
      expect(new Date(entry.timestamp).toISOString()).toBe(entry.timestamp);
      expect(entry).toHaveProperty('details');
    }
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      ...['Unpublish', 'Publish', 'Restore', 'Move', 'Rename', 'UpdateProperty', 'Update', 'Create'],
    ]);
    expect((await audit(space, '/c')).map(({ action }: { action: string }) => action)).toEqual(['Copy']);
    await space.delete('/dst/b');
    const byId = await audit(space, `/by-id/${id}`);
    expect(byId[0].action).toBe('Delete');
    expect(byId).toHaveLength(entries.length + 1);
    expect(
      (await audit(space, `/by-id/${id}?limit=1`)).map(({ action }: { action: string }) => action),
    ).toEqual(['Delete']);
  });

  it('has nothing on nodes of other types [HIST-007, EASY-012]', async () => {
    const space = await client.workspace();
    await client.defineType({ name: 'hist:Quiet', auditable: false });
    await space.add('/', 'a', {}, 'hist:Quiet');
    await space.put('/a', { properties: { n: 1 } });
    expect(await audit(space, '/a')).toEqual([]);
  });
});
