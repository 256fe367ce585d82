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

/** Folders of the branches of a repository: what they take of the disk. */
async function branchFolders(repository: string): Promise<string[]> {
  const folders = await server.actorFolders('default');
  const folder = folders.find((name) => name.startsWith(`${repository}~`)) as string;
  return (await server.actorFolders(`default/${folder}`)).filter((name) => name.includes('~'));
}

async function tree(space: Space, revision?: string): Promise<unknown> {
  const path = '/?deep=true&flatten=true';
  return expectStatus(await (revision === undefined ? space.get(path) : space.getAt(revision, path)), 200)
    .json;
}

describe('the record of a branch', () => {
  it('has exactly these fields, with their defaults [BR-001, BR-002, BR-003]', async () => {
    const head = await client.headOf('main');
    const branch = await client.branch('record', { upstream_branch: 'main' });
    expect(branch).toEqual({
      name: 'record',
      head,
      created_at: expect.any(String),
      created_by: 'system',
      created_from: head,
      upstream_branch: 'main',
      protected: false,
      description: null,
    });
    expect(new Date(branch.created_at).toISOString()).toBe(branch.created_at);
    const main = expectStatus(await client.managed('GET', '/branches/main'), 200).json;
    expect(main).toMatchObject({ head, created_from: null, created_by: 'system', upstream_branch: 'main' });
  });

  it('is created, read, listed, deleted and gone [BR-020]', async () => {
    const made = await client.branch('short-lived', { upstream_branch: 'main', created_by: 'ann' });
    expect(made.created_by).toBe('ann');
    expect(expectStatus(await client.managed('GET', '/branches/short-lived'), 200).json).toEqual(made);
    const list = expectStatus(await client.managed('GET', '/branches'), 200).json;
    expect(list).toContainEqual(made);
    const names = list.map((branch: { name: string }) => branch.name);
    expect(names).toEqual([...names].sort());
    const repository = (await server.admin('GET', `/api/repositories/${client.repository}`)).json;
    expect(repository.branches).toEqual(names);
    expect((await client.managed('DELETE', '/branches/short-lived')).status).toBe(204);
    for (const [method, path] of [
      ['GET', '/branches/short-lived'],
      ['GET', '/branches/short-lived/head'],
      ['DELETE', '/branches/short-lived'],
      ['GET', '/branches/never'],
    ] as const) {
      const answer = await client.managed(method, path);
      expect([answer.status, answer.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    }
    expect((await client.managed('PUT', '/branches/never/head', { revision: '1-0' })).json.code).toBe(
      'BRANCH_NOT_FOUND',
    );
    expect((await client.managed('PATCH', '/branches/never', {})).json.code).toBe('BRANCH_NOT_FOUND');
    expect((await client.managed('GET', '/branches')).json).toHaveLength(names.length - 1);
  });

  it('refuses a name in use, and answers 409 to all but one of concurrent requests [BR-022, BR-029]', async () => {
    await client.branch('taken');
    const again = await client.managed('POST', '/branches', { name: 'taken', upstream_branch: 'main' });
    expect([again.status, again.json.code]).toEqual([409, 'BRANCH_ALREADY_EXISTS']);
    const revision = await client.headOf('main');
    expectStatus(await client.managed('POST', '/tags', { name: 'a-tag', revision }), 201);
    const asTag = await client.managed('POST', '/branches', { name: 'a-tag' });
    expect([asTag.status, asTag.json.code]).toEqual([409, 'BRANCH_ALREADY_EXISTS']);
    const folders = (await branchFolders(client.repository)).length;
    const racing = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        client.managed('POST', '/branches', {
          name: 'raced',
          ...(index % 2 === 0 ? { upstream_branch: 'main' } : {}),
        }),
      ),
    );
    expect(racing.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    expect(await branchFolders(client.repository)).toHaveLength(folders + 1);
  });

  it('takes names with slashes as one encoded segment, and no others outside the shape [BR-028, BR-030]', async () => {
    const made = await client.branch('feature/deep/one', { upstream_branch: 'main' });
    const path = '/branches/feature%2Fdeep%2Fone';
    expect((await client.managed('GET', path)).json).toEqual(made);
    expect((await client.managed('GET', `${path}/head`)).json).toEqual({ revision: made.head });
    const space = (await client.workspace()).on('feature/deep/one');
    await space.add('/', 'inside');
    expect(await space.names()).toEqual(['inside']);
    expect((await client.managed('DELETE', path)).status).toBe(204);
    for (const name of ['', 'a b', 'ä', 'x'.repeat(129), '..', 'a~b', 'HEAD', 'head', '__proto__']) {
      const answer = await client.managed('POST', '/branches', { name });
      expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_BRANCH_NAME']);
    }
    for (const body of [{}, { name: 1 }, { name: 'n', protected: 'yes' }]) {
      expect((await client.managed('POST', '/branches', body)).status).toBe(422);
    }
  });

  it('is changed by PATCH, key by key, but never renamed [BR-017, BR-023, BR-027]', async () => {
    const made = await client.branch('patched', { upstream_branch: 'main', description: 'first' });
    const patch = async (rest: string, body: object) =>
      expectStatus(await client.managed('PATCH', `/branches/patched${rest}`, body), 200).json;
    expect(await patch('', { description: 'second' })).toEqual({ ...made, description: 'second' });
    const renamed = await client.managed('PATCH', '/branches/patched', { description: 'x', name: 'other' });
    expect([renamed.status, renamed.json.message]).toEqual([400, 'A branch cannot be renamed']);
    expect(await patch('', { protected: true })).toMatchObject({ description: 'second', protected: true });
    expect(await patch('', { protected: false, description: null })).toEqual({ ...made, description: null });
    await client.branch('source');
    expect(await patch('/upstream', { upstream_branch: 'source' })).toMatchObject({
      upstream_branch: 'source',
    });
    expect(await patch('/upstream', { upstream_branch: null })).toMatchObject({ upstream_branch: null });
    expect(await patch('', { upstream_branch: 'main' })).toEqual({ ...made, description: null });
    for (const path of ['/branches/patched', '/branches/patched/upstream']) {
      const unknown = await client.managed('PATCH', path, { upstream_branch: 'nope' });
      expect([unknown.status, unknown.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    }
    expect((await client.managed('PATCH', '/branches/patched/upstream', {})).status).toBe(422);
    expect((await client.managed('GET', '/branches/other')).status).toBe(404);
  });

  it('is for administrators of the tenant only', async () => {
    const base = `/api/management/repositories/default/${client.repository}`;
    for (const [method, path, body] of [
      ['GET', '/branches'],
      ['POST', '/branches', { name: 'anonymous' }],
      ['DELETE', '/branches/main'],
      ['GET', '/tags'],
      ['POST', '/tags', { name: 't', revision: '1-0' }],
    ] as const) {
      const anonymous = await server.request(method, `${base}${path}`, body === undefined ? {} : { body });
      expect(anonymous.status).toBe(401);
      const elsewhere = await server.admin(
        method,
        `/api/management/repositories/other/${client.repository}${path}`,
        body,
      );
      expect([elsewhere.status, elsewhere.json.code]).toEqual([403, 'TENANT_MISMATCH']);
      const nowhere = await server.admin(method, `/api/management/repositories/default/nope${path}`, body);
      expect([nowhere.status, nowhere.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
    }
  });
});

describe('an empty branch', () => {
  it('has head 0-0 and nothing in it, however often it is looked at, and can be written to [BR-005, BR-037]', async () => {
    const space = (await client.workspace()).on('blank');
    await space.on('main').add('/', 'not-here');
    const made = await client.branch('blank');
    expect(made).toMatchObject({ head: '0-0', created_from: null, upstream_branch: 'main' });
    expect(await space.names()).toEqual([]);
    expect((await client.managed('GET', '/branches/blank')).json).toEqual(made);
    expect(await client.headOf('blank')).toBe('0-0');
    expect((await client.revisions('?branch=blank&include_system=true')).json).toEqual({
      revisions: [],
      total: 0,
      has_more: false,
    });
    await space.add('/', 'first');
    expect(await space.names()).toEqual(['first']);
    const { revisions } = (await client.revisions('?branch=blank&include_system=true')).json;
    expect(revisions.map(({ is_system: isSystem }: { is_system: boolean }) => isSystem)).toEqual([
      false,
      true,
    ]);
    expect(await client.headOf('blank')).toBe(revisions[0].revision);
    expect(await space.on('main').names()).toEqual(['not-here']);
  });

  it('receives a schema of its own by the first definition written to it', async () => {
    await client.branch('blank-schema');
    const schema = `/api/management/${client.repository}/blank-schema/nodetypes`;
    expectStatus(await server.admin('POST', schema, { node_type: { name: 'own:Type' } }), 201);
    const names = (await server.admin('GET', schema)).json.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['own:Type', 'svc:Page']));
  });

  it('is also what a fork at 0-0 is', async () => {
    const made = await client.branch('zero', { upstream_branch: 'main', from_revision: '0-0' });
    expect(made).toMatchObject({ head: '0-0', created_from: '0-0' });
    const space = (await client.workspace()).on('zero');
    await space.add('/', 'first');
    expect(await space.names()).toEqual(['first']);
  });
});

describe('a fork', () => {
  it('has the requested revision as its head, and shows the nodes of that revision [BR-004, BR-007, BR-008, REV-021]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b', '/c');
    const revision = await client.headOf('main');
    await space.add('/', 'later');
    await space.add('/a', 'later');
    await space.delete('/c');
    const made = await client.branch('at-revision', { from_revision: revision, protected: true });
    expect(made).toMatchObject({ head: revision, created_from: revision, protected: true });
    const fork = space.on('at-revision');
    expect(await tree(fork)).toEqual(await tree(space, revision));
    expect((await fork.get('/a/')).json).toEqual((await space.getAt(revision, '/a/')).json);
    await space.add('/', 'much-later');
    expect(await fork.names()).toEqual(['a', 'c']);
    const list = async (branch: string) =>
      (await client.revisions(`?branch=${branch}&include_system=true&limit=1000`)).json;
    const { revisions, total } = await list('at-revision');
    const all = (await list('main')).revisions as { revision: string }[];
    expect(revisions).toEqual(all.slice(all.findIndex((each) => each.revision === revision)));
    expect(total).toBe(revisions.length);
  });

  it('of a branch at its head has its schema, translations, history and queries [BR-003, HIST-001]', async () => {
    const space = await client.workspace();
    await client.defineType({ name: 'fork:Type', properties: [{ name: 'title', type: 'String' }] });
    const { id } = await space.add('/', 'page', { title: 'T' }, 'fork:Type');
    await space.put('/page', { properties: { title: 'U' } });
    await space.done('/page', 'translate', { locale: 'de', translations: { '/title': 'D' } });
    await client.branch('whole', { upstream_branch: 'main' });
    const fork = space.on('whole');
    for (const path of ['/page', `/$ref/${id}`, '/page?lang=de', '/page@title', '/']) {
      expect((await fork.get(path)).json).toEqual((await space.get(path)).json);
    }
    const query = { nodeType: 'fork:Type' };
    expect((await fork.query(query)).json).toEqual((await space.query(query)).json);
    const history = async (branch: string) =>
      (await server.admin('GET', `/api/history/${client.repository}/${branch}/${space.name}/page`)).json;
    expect(await history('whole')).toEqual(await history('main'));
    expect(await history('whole')).toHaveLength(3);
    const type = `/api/management/${client.repository}/whole/nodetypes/fork:Type`;
    expect((await server.admin('GET', type)).status).toBe(200);
  });

  it('and its source never change each other, content and schema [BR-009, BR-010]', async () => {
    const space = await client.workspace();
    await space.add('/', 'shared', { n: 1 });
    await client.branch('apart', { upstream_branch: 'main' });
    const fork = space.on('apart');
    await fork.put('/shared', { properties: { n: 2 } });
    await fork.add('/', 'fork-only');
    await space.add('/', 'main-only');
    expect((await space.node('/shared')).properties.n).toBe(1);
    expect((await fork.node('/shared')).properties.n).toBe(2);
    expect(await space.names()).toEqual(['shared', 'main-only']);
    expect(await fork.names()).toEqual(['shared', 'fork-only']);
    const types = (branch: string) => `/api/management/${client.repository}/${branch}/nodetypes`;
    expectStatus(await server.admin('POST', types('apart'), { node_type: { name: 'apart:Type' } }), 201);
    expect((await server.admin('GET', `${types('main')}/apart:Type`)).status).toBe(404);
    expect((await server.admin('GET', `${types('apart')}/apart:Type`)).status).toBe(200);
  });

  it('of a fork of a fork reads every ancestor as of its revision', async () => {
    const space = await client.workspace();
    const moments: [revision: string, names: string[]][] = [];
    let from = 'main';
    for (const [index, name] of ['g0', 'g1', 'g2', 'g3'].entries()) {
      const own = space.on(from);
      await own.add('/', name);
      moments.push([await client.headOf(from), await own.names()]);
      const next = `generation-${index}`;
      await client.branch(next, { upstream_branch: from });
      await own.add('/', `after-${name}`);
      from = next;
    }
    const last = space.on(from);
    expect(await last.names()).toEqual(['g0', 'g1', 'g2', 'g3']);
    for (const [revision, names] of moments) {
      const { json } = expectStatus(await last.getAt(revision, '/'), 200);
      expect(json.map((node: { name: string }) => node.name)).toEqual(names);
    }
    expect(await client.headOf(from)).toBe(moments.at(-1)?.[0]);
  });

  it('has no history, audit log and manual versions of what came later on its source', async () => {
    const space = await client.workspace();
    const { id } = await space.add('/', 'page', { n: 1 });
    await space.done('/page', 'create_version', { note: 'before' });
    const revision = revisionOf(await space.put('/page', { properties: { n: 2 } }));
    await space.put('/page', { properties: { n: 3 } });
    await space.add('/', 'ghost');
    await space.done('/page', 'create_version', { note: 'after' });
    await space.delete('/ghost');
    await client.branch('ledgers', { from_revision: revision });
    const fork = space.on('ledgers');
    await fork.put('/page', { properties: { n: 4 } });
    const ledger = (kind: string, branch: string, rest: string) =>
      server.admin('GET', `/api/${kind}/${client.repository}/${branch}/${space.name}${rest}`);
    for (const kind of ['history', 'audit']) {
      const { json } = expectStatus(await ledger(kind, 'ledgers', '/page'), 200);
      const source = (await ledger(kind, 'main', `/by-id/${id}`)).json;
      expect(json).toHaveLength(3);
      expect(json.slice(1)).toEqual(source.slice(-2));
      expect((await ledger(kind, 'main', '/ghost')).status).toBe(200);
      const ghost = await ledger(kind, 'ledgers', '/ghost');
      expect([ghost.status, ghost.json.code]).toEqual([404, 'NODE_NOT_FOUND']);
    }
    const notes = async (at: Space) =>
      (await at.get('/page/svc:version')).json.map(({ note }: { note: string }) => note);
    expect(await notes(space)).toEqual(['after', 'before']);
    expect(await notes(fork)).toEqual(['before']);
    await fork.done('/page', 'create_version', { note: 'own' });
    expect(await notes(fork)).toEqual(['own', 'before']);
  });

  it('at a revision that only another branch has finds that branch, unless another source is named', async () => {
    const space = await client.workspace();
    await client.branch('holder', { upstream_branch: 'main' });
    const revision = revisionOf(await space.on('holder').post('/', { name: 'x', ...created }));
    await space.on('holder').add('/', 'y');
    const made = await client.branch('found', { from_revision: revision });
    expect(made).toMatchObject({ head: revision, created_from: revision, upstream_branch: 'main' });
    expect(await space.on('found').names()).toEqual(['x']);
    const named = await client.managed('POST', '/branches', {
      name: 'not-found',
      upstream_branch: 'main',
      from_revision: revision,
    });
    expect([named.status, named.json.code]).toEqual([404, 'REVISION_NOT_FOUND']);
  });

  it('is refused for an unknown source or revision, and leaves nothing', async () => {
    const folders = await branchFolders(client.repository);
    for (const [body, status, code] of [
      [{ upstream_branch: 'nope' }, 404, 'BRANCH_NOT_FOUND'],
      [{ upstream_branch: 'nope', from_revision: '5-5' }, 404, 'BRANCH_NOT_FOUND'],
      [{ from_revision: '5-5' }, 404, 'REVISION_NOT_FOUND'],
      [{ from_revision: 'abc' }, 400, 'INVALID_REVISION_NUMBER'],
      [{ upstream_branch: 'main', description: 'x'.repeat(10_001) }, 400, 'VALIDATION_FAILED'],
    ] as const) {
      const answer = await client.managed('POST', '/branches', { name: 'refused', ...body });
      expect([answer.status, answer.json.code]).toEqual([status, code]);
    }
    expect(await branchFolders(client.repository)).toEqual(folders);
    expect((await client.managed('GET', '/branches/refused')).status).toBe(404);
  });

  it('equals its source at its revision while writes to the source continue [BR-038]', async () => {
    const space = await client.workspace();
    let isForking = true;
    const write = async (writer: number) => {
      for (let n = 0; isForking; n++) {
        await space.add('/', `w${writer}-${n}`, { n });
        if (n % 3 === 2) expectStatus(await space.delete(`/w${writer}-${n - 1}`), 200);
      }
    };
    const writers = [0, 1, 2, 3].map(write);
    const forks = [];
    for (const name of ['busy-0', 'busy-1', 'busy-2']) {
      forks.push(await client.branch(name, { upstream_branch: 'main' }));
    }
    isForking = false;
    await Promise.all(writers);
    for (const { created_from: revision, head, name } of forks) {
      expect(head).toBe(revision);
      expect(await tree(space.on(name))).toEqual(await tree(space, revision));
    }
  });

  it('is made once, however often a request with a key is repeated', async () => {
    const folders = (await branchFolders(client.repository)).length;
    const path = `/api/management/repositories/default/${client.repository}/branches`;
    const send = () =>
      server.request('POST', path, {
        token: server.adminToken,
        headers: { 'Idempotency-Key': 'fork-once' },
        body: { name: 'once', upstream_branch: 'main' },
      });
    const first = expectStatus(await send(), 201).json;
    expect(expectStatus(await send(), 201).json).toEqual(first);
    expect(await branchFolders(client.repository)).toHaveLength(folders + 1);
  });
});

describe('the head of a branch', () => {
  it('moves back and forward again, later revisions staying [BR-013, BR-014, BR-021]', async () => {
    await client.branch('moved', { upstream_branch: 'main' });
    const space = (await client.workspace()).on('moved');
    const one = revisionOf(await space.post('/', { name: 'one', ...created }));
    const two = revisionOf(await space.post('/', { name: 'two', ...created }));
    const move = (revision: string) => client.managed('PUT', '/branches/moved/head', { revision });
    expect((await move(one)).status).toBe(204);
    expect(await client.headOf('moved')).toBe(one);
    expect(await space.names()).toEqual(['one']);
    expect((await space.getAt(two, '/')).json).toHaveLength(2);
    expect((await client.revisions(`/${two}?branch=moved`)).status).toBe(200);
    expect((await move(two)).status).toBe(204);
    expect(await client.headOf('moved')).toBe(two);
    expect(await space.names()).toEqual(['one', 'two']);
  });

  it('is what a write after moving it back continues from [BR-019]', async () => {
    await client.branch('continued', { upstream_branch: 'main' });
    const space = (await client.workspace()).on('continued');
    const one = revisionOf(await space.post('/', { name: 'one', ...created }));
    await space.add('/', 'two');
    expectStatus(await client.managed('PUT', '/branches/continued/head', { revision: one }), 204);
    const three = revisionOf(await space.post('/', { name: 'three', ...created }));
    expect(await space.names()).toEqual(['one', 'three']);
    const record = (await client.revisions(`/${three}?branch=continued`)).json;
    expect(record.parent).toBe(one);
  });

  it('moves to revisions of the branch only [BR-024]', async () => {
    await client.branch('strict', { upstream_branch: 'main' });
    const space = await client.workspace();
    const elsewhere = revisionOf(await space.post('/', { name: 'x', ...created }));
    const before = await client.headOf('strict');
    for (const [body, statuses, code] of [
      [{ revision: elsewhere }, [404], 'REVISION_NOT_FOUND'],
      [{ revision: '5-5' }, [404], 'REVISION_NOT_FOUND'],
      [{ revision: 'yesterday' }, [400], 'INVALID_REVISION_NUMBER'],
    ] as const) {
      const answer = await client.managed('PUT', '/branches/strict/head', body);
      expect(statuses).toContain(answer.status);
      expect(answer.json.code).toBe(code);
    }
    expect((await client.managed('PUT', '/branches/strict/head', {})).status).toBe(422);
    expect(await client.headOf('strict')).toBe(before);
  });
});

describe('a protected branch', () => {
  it('refuses deletion and head changes, takes writes, and can be released [BR-016, BR-021]', async () => {
    const revision = await client.headOf('main');
    await client.branch('guarded', { upstream_branch: 'main', protected: true });
    for (const [method, rest, body] of [
      ['DELETE', ''],
      ['PUT', '/head', { revision }],
    ] as const) {
      const answer = await client.managed(method, `/branches/guarded${rest}`, body);
      expect([answer.status, answer.json.code]).toEqual([403, 'FORBIDDEN']);
    }
    const space = (await client.workspace()).on('guarded');
    await space.add('/', 'ordinary');
    expect(await space.names()).toEqual(['ordinary']);
    expectStatus(await client.managed('PATCH', '/branches/guarded', { protected: false }), 200);
    expect((await client.managed('PUT', '/branches/guarded/head', { revision })).status).toBe(204);
    expect((await client.managed('DELETE', '/branches/guarded')).status).toBe(204);
  });
});

describe('deleting a branch', () => {
  it('puts its files away and leaves others as they are, forks of it included [BR-039]', async () => {
    const space = await client.workspace();
    await client.branch('doomed', { upstream_branch: 'main' });
    await space.on('doomed').add('/', 'inside');
    await client.branch('survivor', { upstream_branch: 'doomed' });
    const folders = await branchFolders(client.repository);
    expect((await client.managed('DELETE', '/branches/doomed')).status).toBe(204);
    const left = await branchFolders(client.repository);
    expect(left).toHaveLength(folders.length - 1);
    expect(left.some((name) => name.startsWith('doomed~'))).toBe(false);
    for (const name of await server.actorFolders('.removed')) expect(name).toMatch(/^\d+-[0-9a-f]{32}$/);
    expect((await space.on('doomed').get('/')).json.code).toBe('BRANCH_NOT_FOUND');
    expect(await space.on('survivor').names()).toEqual(['inside']);
    await client.branch('doomed');
    expect(await space.on('doomed').names()).toEqual([]);
  });

  it('is refused for the default branch [BR-036]', async () => {
    const answer = await client.managed('DELETE', '/branches/main');
    expect([answer.status, answer.json.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('answers every write that is under way, and none afterwards', async () => {
    await client.branch('busy-end', { upstream_branch: 'main' });
    const space = (await client.workspace()).on('busy-end');
    const writes = Array.from({ length: 20 }, (_, index) =>
      space.post('/', { name: `n${index}`, ...created }),
    );
    const removed = client.managed('DELETE', '/branches/busy-end');
    for (const { status } of await Promise.all(writes)) expect([201, 404]).toContain(status);
    expect((await removed).status).toBe(204);
    expect((await space.post('/', { name: 'late', ...created })).status).toBe(404);
  });
});

it('branches are as they were after a restart, empty, forked, moved and protected', async () => {
  const own = await ContentClient.on(server);
  const space = await own.workspace();
  const one = revisionOf(await space.post('/', { name: 'one', ...created }));
  await space.add('/', 'two');
  await own.branch('empty');
  await own.branch('forked', { from_revision: one, protected: true, description: 'kept' });
  await own.branch('moved', { upstream_branch: 'main' });
  expectStatus(await own.managed('PUT', '/branches/moved/head', { revision: one }), 204);
  const before = (await own.managed('GET', '/branches')).json;
  await server.restart();
  expect((await own.managed('GET', '/branches')).json).toEqual(before);
  expect(await space.on('forked').names()).toEqual(['one']);
  expect(await space.on('moved').names()).toEqual(['one']);
  expect(await own.headOf('empty')).toBe('0-0');
  await space.on('forked').add('/', 'three');
  expect(await space.on('forked').names()).toEqual(['one', 'three']);
  expect(await space.names()).toEqual(['one', 'two']);
});
