import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

const created = { node_type: 'svc:Folder', properties: {} };
const namesOf = (nodes: readonly { name: string }[]) => nodes.map(({ name }) => name);

async function tag(name: string, revision: string, more: object = {}) {
  return expectStatus(await client.managed('POST', '/tags', { name, revision, ...more }), 201).json;
}

describe('a tag', () => {
  it('echoes its fields, has defaults, is read, listed and deleted [TAG-001, TAG-002, TAG-003, TAG-007]', async () => {
    const revision = await client.headOf('main');
    const full = { message: 'First release', created_by: 'ann', protected: false };
    const made = await tag('v1.0', revision, full);
    expect(made).toEqual({ name: 'v1.0', revision, created_at: expect.any(String), ...full });
    expect(new Date(made.created_at).toISOString()).toBe(made.created_at);
    const minimal = await tag('release/1', revision);
    expect(minimal).toMatchObject({ created_by: 'system', message: null, protected: false });
    expect((await client.managed('GET', '/tags/v1.0')).json).toEqual(made);
    expect((await client.managed('GET', '/tags/release%2F1')).json).toEqual(minimal);
    expect((await client.managed('GET', '/tags')).json).toEqual([minimal, made]);
    for (const path of ['/tags/v1.0', '/tags/release%2F1']) {
      expect((await client.managed('DELETE', path)).status).toBe(204);
      for (const method of ['GET', 'DELETE']) {
        const answer = await client.managed(method, path);
        expect([answer.status, answer.json.code]).toEqual([404, 'TAG_NOT_FOUND']);
      }
    }
    expect((await client.managed('GET', '/tags')).json).toEqual([]);
  });

  it('has a name of its own and a revision that exists [BR-028, BR-029, TAG-009, TAG-010]', async () => {
    const revision = await client.headOf('main');
    await tag('taken', revision);
    for (const [body, status, code] of [
      [{ name: 'taken', revision }, 409, 'TAG_ALREADY_EXISTS'],
      [{ name: 'main', revision }, 409, 'TAG_ALREADY_EXISTS'],
      [{ name: 'not a name', revision }, 400, 'INVALID_BRANCH_NAME'],
      [{ name: 'HEAD', revision }, 400, 'INVALID_BRANCH_NAME'],
      [{ name: 'unknown', revision: '5-5' }, 404, 'REVISION_NOT_FOUND'],
      [{ name: 'malformed', revision: 'now' }, 400, 'INVALID_REVISION_NUMBER'],
    ] as const) {
      const answer = await client.managed('POST', '/tags', body);
      expect([answer.status, answer.json.code]).toEqual([status, code]);
    }
    for (const body of [{}, { name: 'x' }, { name: 'x', revision, protected: 1 }]) {
      expect((await client.managed('POST', '/tags', body)).status).toBe(422);
    }
    const racing = await Promise.all(
      Array.from({ length: 5 }, () => client.managed('POST', '/tags', { name: 'raced', revision })),
    );
    expect(racing.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  });

  it('never moves: no method changes it, after any change of its branch [TAG-004]', async () => {
    await client.branch('restless', { upstream_branch: 'main' });
    const space = (await client.workspace()).on('restless');
    const before = await client.headOf('restless');
    const revision = revisionOf(await space.post('/', { name: 'one', ...created }));
    const made = await tag('fixed', revision);
    for (const method of ['PUT', 'PATCH', 'POST']) {
      expect((await client.managed(method, '/tags/fixed', { revision: before })).status).toBe(405);
    }
    await space.add('/', 'two');
    expectStatus(await client.managed('PUT', '/branches/restless/head', { revision: before }), 204);
    await space.add('/', 'three');
    expect((await client.managed('GET', '/tags/fixed')).json).toEqual(made);
    expect(namesOf((await space.on('fixed').get('/')).json)).toEqual(['one']);
  });

  it('that is protected cannot be deleted [TAG-005]', async () => {
    await tag('guarded', await client.headOf('main'), { protected: true });
    const answer = await client.managed('DELETE', '/tags/guarded');
    expect([answer.status, answer.json.code]).toEqual([403, 'FORBIDDEN']);
    expect((await client.managed('GET', '/tags/guarded')).status).toBe(200);
  });

  it('gives a branch to fork from by its revision [TAG-006]', async () => {
    const space = await client.workspace();
    await space.add('/', 'tagged');
    const { revision } = await tag('fork-me', await client.headOf('main'));
    await space.add('/', 'later');
    const branch = await client.branch('from-tag', { from_revision: revision });
    expect(branch).toMatchObject({ head: revision, created_from: revision });
    expect(await space.on('from-tag').names()).toEqual(['tagged']);
  });

  it('is no branch where a branch is managed', async () => {
    await tag('no-branch', await client.headOf('main'));
    for (const [method, rest, body] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['PATCH', '', { protected: true }],
      ['GET', '/head', undefined],
      ['PUT', '/head', { revision: '1-0' }],
    ] as const) {
      const answer = await client.managed(method, `/branches/no-branch${rest}`, body);
      expect([answer.status, answer.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    }
    const upstream = await client.managed('POST', '/branches', { name: 'x', upstream_branch: 'no-branch' });
    expect(upstream.status).toBe(404);
  });
});

describe('a tag in the place of a branch', () => {
  let space: Space;
  let tagged: Space;
  let earlier: string;
  let revision: string;
  let id: string;

  beforeAll(async () => {
    space = await client.workspace();
    await client.defineType({ name: 'tag:Type' });
    await space.add('/', 'a');
    earlier = await client.headOf('main');
    await space.add('/a', 'b');
    id = (await space.add('/', 'page', { title: 'then' }, 'svc:Page')).id;
    await space.done('/page', 'translate', { locale: 'de', translations: { '/title': 'damals' } });
    await space.done('/page', 'create_version', { note: 'before' });
    await space.add('/', 'z');
    revision = await client.headOf('main');
    await tag('then/1', revision);
    tagged = space.on('then/1');
    await space.done('/page', 'create_version', { note: 'after' });
    await space.put('/page', { properties: { title: 'now' } });
    await space.done('/page', 'translate', { locale: 'de', translations: { '/title': 'jetzt' } });
    await space.done('/page', 'rename', { newName: 'renamed' });
    await space.addAll('/a/c', '/d');
    await client.defineType({ name: 'tag:Later' });
  });

  it('reads what its revision held, in every form of a read [TAG-008, REV-019]', async () => {
    for (const path of [
      '/page',
      `/$ref/${id}`,
      '/page@title',
      '/page?lang=de',
      '/',
      '/a/',
      '/?limit=2',
      '/?deep=true',
      '/?flatten=true',
      '/page/svc:relations',
    ]) {
      const answer = await tagged.get(path);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.json).toEqual((await space.getAt(revision, path)).json);
    }
    expect(revisionOf(await tagged.get('/page'))).toBe(revision);
    expect((await tagged.get('/renamed')).status).toBe(404);
    expect((await tagged.get('/d')).status).toBe(404);
  });

  it('answers queries as of its revision [TAG-008]', async () => {
    const paths = (answer: { json: { items: { path: string }[] } }) =>
      answer.json.items.map(({ path }) => path);
    expect(paths(await tagged.query({ nodeType: 'svc:Folder' }))).toEqual(['/a', '/a/b', '/z']);
    expect(paths(await tagged.query({ path: '/page' }))).toEqual(['/page']);
    expect(paths(await tagged.dsl({ name: { eq: 'page' } }))).toEqual(['/page']);
  });

  it('shows the schema of its revision [TAG-008]', async () => {
    const types = `/api/management/${client.repository}/then%2F1/nodetypes`;
    const names = namesOf((await server.admin('GET', types)).json);
    expect(names).toContain('tag:Type');
    expect(names).not.toContain('tag:Later');
    expect((await server.admin('GET', `${types}/tag:Later`)).status).toBe(404);
    expect((await server.admin('GET', `${types}/tag:Type/resolved`)).status).toBe(200);
  });

  it('reads earlier revisions, and none later than its own [TAG-008, TAG-013]', async () => {
    expect(namesOf((await tagged.getAt(earlier, '/')).json)).toEqual(['a']);
    const latest = await client.headOf('main');
    expect((await tagged.getAt(latest, '/')).json.code).toBe('REVISION_NOT_FOUND');
    expect((await client.revisions(`/${revision}?branch=then%2F1`)).status).toBe(200);
    expect((await client.revisions(`/${latest}?branch=then%2F1`)).status).toBe(404);
  });

  it('shows the history, audit log and revisions that led to its revision [TAG-008, TAG-013]', async () => {
    const ledger = async (kind: string, branch: string, place: string) => {
      const path = `/api/${kind}/${client.repository}/${encodeURIComponent(branch)}/${space.name}${place}`;
      return expectStatus(await server.admin('GET', path), 200).json;
    };
    for (const place of ['/page', `/by-id/${id}`]) {
      const history = await ledger('history', 'then/1', place);
      expect(history).toHaveLength(2);
      expect(history).toEqual((await ledger('history', 'main', `/by-id/${id}`)).slice(-2));
      const audit = await ledger('audit', 'then/1', place);
      const whole = await ledger('audit', 'main', `/by-id/${id}`);
      expect(audit.map(({ action }: { action: string }) => action)).toEqual(['Update', 'Create']);
      expect(audit).toEqual(whole.slice(-2));
      expect(whole.length).toBeGreaterThan(2);
    }
    const gone = `/api/history/${client.repository}/then%2F1/${space.name}/renamed`;
    expect((await server.admin('GET', gone)).json.code).toBe('NODE_NOT_FOUND');
    for (const system of ['true', 'false']) {
      const list = async (branch: string, limit: number) =>
        (await client.revisions(`?branch=${branch}&include_system=${system}&limit=${limit}`)).json;
      const all = (await list('main', 1000)).revisions as { revision: string }[];
      const expected = all.slice(all.findIndex((each) => each.revision === revision));
      expect(await list('then%2F1', 1000)).toEqual({
        revisions: expected,
        total: expected.length,
        has_more: false,
      });
      expect(await list('then%2F1', 2)).toEqual({
        revisions: expected.slice(0, 2),
        total: expected.length,
        has_more: true,
      });
    }
  });

  it('shows the manual versions of its revision [TAG-013]', async () => {
    const path = `/page/svc:version`;
    const versions = async (at: Space, place: string) => (await at.get(place)).json as { note: string }[];
    expect((await versions(tagged, path)).map(({ note }) => note)).toEqual(['before']);
    expect((await versions(space, '/renamed/svc:version')).map(({ note }) => note)).toEqual([
      'after',
      'before',
    ]);
    expect((await tagged.get(`${path}/1`)).status).toBe(200);
    expect((await tagged.get(`${path}/2`)).status).toBe(404);
  });

  it('refuses every write with 405 [TAG-011]', async () => {
    const types = `/api/management/${client.repository}/then%2F1/nodetypes`;
    const answers = [
      await tagged.post('/', { name: 'x', ...created }),
      await tagged.post('/'),
      await tagged.put('/page', { properties: {} }),
      await tagged.put('/page@title', 'x'),
      await tagged.delete('/page'),
      await tagged.command('/page', 'rename', { newName: 'y' }),
      await tagged.command('/page', 'publish'),
      await server.admin('POST', types, { node_type: { name: 'tag:New' } }),
      await server.admin('PUT', `${types}/tag:Type`, { node_type: { name: 'tag:Type' } }),
      await server.admin('DELETE', `${types}/tag:Type`),
      await server.admin('POST', `${types}/tag:Type/publish`),
      await server.admin('POST', `${types}/validate`, {
        workspace: space.name,
        node: { name: 'x', ...created },
      }),
    ];
    for (const { json, status } of answers) expect([status, json.code]).toEqual([405, 'READ_ONLY_REVISION']);
    expect((await tagged.get('/page')).json.properties.title).toBe('then');
  });

  it('is unknown when it is deleted', async () => {
    await tag('gone', revision);
    expect((await space.on('gone').get('/page')).status).toBe(200);
    expectStatus(await client.managed('DELETE', '/tags/gone'), 204);
    expect((await space.on('gone').get('/page')).json.code).toBe('BRANCH_NOT_FOUND');
  });
});

describe('a tag of a deleted branch', () => {
  const folders = async () => {
    const tenant = await server.actorFolders('default');
    const folder = tenant.find((name) => name.startsWith(`${client.repository}~`)) as string;
    return (await server.actorFolders(`default/${folder}`)).filter((name) => name.includes('~'));
  };

  it('still shows its revision, also after a restart, until it is deleted itself [TAG-004, TAG-012]', async () => {
    const before = await folders();
    await client.branch('mortal', { upstream_branch: 'main' });
    const space = (await client.workspace()).on('mortal');
    const revision = revisionOf(await space.post('/', { name: 'only-here', ...created }));
    await tag('immortal', revision);
    expectStatus(await client.managed('DELETE', '/branches/mortal'), 204);
    expect((await space.get('/')).json.code).toBe('BRANCH_NOT_FOUND');
    expect(namesOf((await space.on('immortal').get('/')).json)).toEqual(['only-here']);
    await client.branch('mortal');
    expect(await space.names()).toEqual([]);
    await server.restart();
    expect(namesOf((await space.on('immortal').get('/')).json)).toEqual(['only-here']);
    await client.branch('reborn', { from_revision: revision });
    expect(await space.on('reborn').names()).toEqual(['only-here']);
    expectStatus(await client.managed('DELETE', '/tags/immortal'), 204);
    for (const branch of ['mortal', 'reborn']) {
      expectStatus(await client.managed('DELETE', `/branches/${branch}`), 204);
    }
    expect(await folders()).toEqual(before);
  });

  it('has the records of its revisions, also for requests without a branch [TAG-016]', async () => {
    await client.branch('brief', { upstream_branch: 'main' });
    const space = (await client.workspace()).on('brief');
    const earlier = revisionOf(await space.post('/', { name: 'earlier', ...created }));
    const revision = revisionOf(await space.post('/', { name: 'tagged', ...created }));
    const later = revisionOf(await space.post('/', { name: 'later', ...created }));
    const asked = [earlier, revision].flatMap((each) => [`/${each}`, `/${each}/changes`]);
    const read = async () => {
      const answers = await Promise.all(asked.map((each) => client.revisions(each)));
      return answers.map(({ json, status }) => [status, json]);
    };
    const before = await read();
    expect(before.map(([status]) => status)).toEqual([200, 200, 200, 200]);
    // An earlier tag of the same branch, first in the list, does not have the revision.
    await tag('brief/1', earlier);
    await tag('brief/2', revision);
    expectStatus(await client.managed('DELETE', '/branches/brief'), 204);
    expect(await read()).toEqual(before);
    for (const unseen of [`/${later}`, `/${later}/changes`, '/5-5']) {
      const answer = await client.revisions(unseen);
      expect([answer.status, answer.json.code]).toEqual([404, 'REVISION_NOT_FOUND']);
    }
    for (const name of ['brief%2F1', 'brief%2F2']) {
      expectStatus(await client.managed('DELETE', `/tags/${name}`), 204);
    }
    expect((await client.revisions(asked[0])).status).toBe(404);
  });

  it('whose revision another branch has as well needs no disk of its own', async () => {
    const before = await folders();
    const space = await client.workspace();
    await space.add('/', 'shared');
    await client.branch('copy', { upstream_branch: 'main' });
    await tag('of-copy', await client.headOf('copy'));
    expectStatus(await client.managed('DELETE', '/branches/copy'), 204);
    expect(await folders()).toEqual(before);
    expect(namesOf((await space.on('of-copy').get('/')).json)).toEqual(['shared']);
  });
});
