import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

const page = (name: string, rest: object = {}) => ({
  name,
  node_type: 'svc:Page',
  properties: { title: name },
  ...rest,
});

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const revisionShape = /^\d+-\d+$/;

describe('the node object', () => {
  it('carries every field, null where nothing is set [NODE-001, NODE-005, CONV-002, NODE-042]', async () => {
    const space = await client.workspace();
    await space.post('/', page('About'));
    const { json, status } = await space.get('/about');
    expect(status).toBe(200);
    expect(Object.keys(json).sort()).toEqual(
      [
        ...['id', 'name', 'path', 'node_type', 'archetype', 'properties', 'parent', 'order_key'],
        ...['has_children', 'version', 'created_at', 'updated_at', 'created_by', 'updated_by'],
        ...['published_at', 'published_by', 'translations', 'workspace', 'owner_id', 'relations'],
      ].sort(),
    );
    expect(json).toMatchObject({
      archetype: null,
      published_at: null,
      published_by: null,
      translations: null,
      owner_id: null,
    });
  });

  it('names its place: name, path, parent and workspace [NODE-002, NODE-003, NODE-014, NODE-015, NODE-016]', async () => {
    const space = await client.workspace();
    const company = await space.add('/', 'company');
    const team = await space.add('/company', 'team');
    const deep = await space.add('/company/team', 'deep');
    expect(company).toMatchObject({ name: 'company', path: '/company', parent: '/', workspace: space.name });
    expect(team).toMatchObject({ name: 'team', path: '/company/team', parent: 'company' });
    expect(deep).toMatchObject({ name: 'deep', path: '/company/team/deep', parent: 'team' });
  });

  it('stamps times in ISO 8601 and names revisions [CONV-005, CONV-006, NODE-012]', async () => {
    const space = await client.workspace();
    const answer = await space.post('/', page('stamped', { commit: { message: 'first' } }));
    const { node, revision } = answer.json;
    expect(node.created_at).toMatch(isoTime);
    expect(node.updated_at).toBe(node.created_at);
    expect(node).toMatchObject({ created_by: 'admin', updated_by: 'admin' });
    expect(revision).toMatch(revisionShape);
    await space.put('/stamped', { properties: { title: 'later' } });
    const later = await space.node('/stamped');
    expect(later.created_at).toBe(node.created_at);
    expect(later.created_by).toBe('admin');
    expect(Date.parse(later.updated_at)).toBeGreaterThanOrEqual(Date.parse(node.updated_at));
  });

  it('counts its writes from 1 [NODE-011]', async () => {
    const space = await client.workspace();
    const { json } = await space.post('/', page('counted'));
    expect(json.version).toBe(1);
    await space.put('/counted', { properties: { title: 'b' } });
    await space.put('/counted@title', 'c');
    expect((await space.node('/counted')).version).toBe(3);
    await space.done('/counted', 'rename', { newName: 'recounted' });
    expect((await space.node('/recounted')).version).toBe(4);
  });

  it('shows whether it has children [NODE-010]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b');
    expect((await space.node('/a')).has_children).toBe(true);
    expect((await space.node('/a/b')).has_children).toBe(false);
    await space.delete('/a/b');
    expect((await space.node('/a')).has_children).toBe(false);
  });

  it('sorts by order_key as it is listed [NODE-017]', async () => {
    const space = await client.workspace();
    await space.addAll('/z', '/a', '/m', '/b');
    await space.done('/b', 'reorder', { targetPath: '/a', movePosition: 'before' });
    const { json } = await space.get('/');
    const listed = (json as { name: string; order_key: string }[]).map(({ name }) => name);
    const sorted = [...json].sort((x, y) => (x.order_key < y.order_key ? -1 : 1)).map(({ name }) => name);
    expect(listed).toEqual(['z', 'b', 'a', 'm']);
    expect(sorted).toEqual(listed);
  });

  it('shows what its type inherits, derived and never stored [NODE-006, NODE-007, NODE-008]', async () => {
    const space = await client.workspace();
    await client.schema('POST', 'mixins', { node_type: { name: 'nodes:Tagged', properties: [] } });
    await client.defineType({ name: 'nodes:Base', properties: [] });
    await client.defineType({ name: 'nodes:Middle', extends: 'nodes:Base', properties: [] });
    await client.defineType({ name: 'nodes:Leaf', extends: 'nodes:Middle', mixins: ['nodes:Tagged'] });
    await space.add('/', 'leaf', { own: 1 }, 'nodes:Leaf');
    const { properties } = await space.node('/leaf');
    expect(properties).toEqual({
      own: 1,
      $supertypes: ['nodes:Middle', 'nodes:Base'],
      $mixins: ['nodes:Tagged'],
    });
    // Were they stored, they would not follow the type.
    await client.schema('PUT', 'nodetypes/nodes:Leaf', {
      node_type: { name: 'nodes:Leaf', extends: 'nodes:Base', properties: [] },
    });
    expect((await space.node('/leaf')).properties).toEqual({
      own: 1,
      $supertypes: ['nodes:Base'],
      $mixins: [],
    });
  });

  it('lists its outgoing relations [NODE-013]', async () => {
    const space = await client.workspace();
    await space.addAll('/from', '/to');
    expect((await space.node('/from')).relations).toEqual([]);
    await space.done('/from', 'add-relation', { targetWorkspace: space.name, targetPath: '/to', weight: 2 });
    const { id } = await space.node('/to');
    expect((await space.node('/from')).relations).toEqual([
      {
        target: id,
        workspace: space.name,
        target_node_type: 'svc:Folder',
        relation_type: 'references',
        weight: 2,
      },
    ]);
    expect((await space.node('/to')).relations).toEqual([]);
  });

  it('is independent of the same path in another workspace [CONV-009]', async () => {
    const one = await client.workspace();
    const two = await client.workspace();
    await one.post('/', page('same', { properties: { title: 'one' } }));
    await two.post('/', page('same', { properties: { title: 'two' } }));
    await one.delete('/same');
    expect((await one.get('/same')).status).toBe(404);
    expect((await two.node('/same')).properties.title).toBe('two');
  });
});

describe('creating a node at the root', () => {
  it('answers 201 with the bare node [NODE-020, NODE-021, EASY-001]', async () => {
    const space = await client.workspace();
    const answer = await space.post('/', page('about'));
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ path: '/about', parent: '/', node_type: 'svc:Page' });
    expect(answer.json).not.toHaveProperty('committed');
    expect((await space.get('/about')).json).toEqual(answer.json);
  });

  it('answers the envelope with a commit, which its revision records [NODE-023, NODE-024, REV-010, HTTP-038]', async () => {
    const space = await client.workspace();
    const answer = await space.post('/', page('told', { commit: { message: 'First page', actor: 'ann' } }));
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.json)).toEqual(['node', 'revision', 'committed']);
    expect(answer.json.committed).toBe(true);
    expect(revisionOf(answer)).toBe(answer.json.revision);
    expect(await client.revision(answer.json.revision)).toMatchObject({
      message: 'First page',
      actor: 'ann',
      is_system: false,
      branch: 'main',
    });
  });

  it('takes the address of the workspace without a slash too [NODE-020]', async () => {
    const space = await client.workspace();
    expectStatus(await space.post('', page('slashless')), 201);
    expect((await space.node('/slashless')).parent).toBe('/');
  });

  it('refuses the same name twice with 400 [NODE-032]', async () => {
    const space = await client.workspace();
    await space.post('/', page('twice'));
    const again = await space.post('/', page('Twice'));
    expect(again.status).toBe(400);
    expect(again.json.code).toBe('VALIDATION_FAILED');
    expect(await space.names()).toEqual(['twice']);
  });
});

describe('creating a node under a parent', () => {
  it('answers the envelope even without a commit [NODE-022, EASY-001, NODE-015]', async () => {
    const space = await client.workspace();
    await space.add('/', 'company');
    const answer = await space.post('/company', page('team'));
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({
      node: expect.objectContaining({ path: '/company/team', parent: 'company' }),
      revision: expect.stringMatching(revisionShape),
      committed: true,
    });
  });

  it('accepts a trailing slash behind the parent [NODE-022]', async () => {
    const space = await client.workspace();
    await space.add('/', 'company');
    expectStatus(await space.post('/company/', page('team')), 201);
    expect((await space.node('/company/team')).parent).toBe('company');
  });

  it('records a generated message and the caller when nothing is said [CONV-010, CONV-011, NODE-029]', async () => {
    const space = await client.workspace();
    await space.add('/', 'p');
    const parent = await client.headRevision();
    const { json } = await space.post('/p', page('quiet'));
    expect(await client.revision(json.revision)).toMatchObject({
      parent,
      branch: 'main',
      actor: 'admin',
      message: expect.stringContaining(json.node.id),
    });
    const updated = await space.put('/p/quiet', { properties: { title: 'x' } });
    const record = await client.revision(revisionOf(updated));
    expect(record.message).toBe(`Updated node: ${json.node.id}`);
  });

  it('takes the caller as the actor of a commit without one [NODE-029]', async () => {
    const space = await client.workspace();
    const { json } = await space.post('/', page('n', { commit: { message: 'mine' } }));
    expect(await client.revision(json.revision)).toMatchObject({ actor: 'admin', message: 'mine' });
  });

  it('refuses the same name twice with 409 [NODE-033]', async () => {
    const space = await client.workspace();
    await space.add('/', 'p');
    await space.add('/p', 'twice');
    const again = await space.post('/p', page('twice'));
    expect(again.status).toBe(409);
    expect(again.json.code).toBe('NODE_ALREADY_EXISTS');
  });

  it('needs the parent, which deep=true makes as folders [NODE-030, NODE-031]', async () => {
    const space = await client.workspace();
    const refused = await space.post('/projects/2024/q1', page('plan'));
    expect(refused.status).toBe(404);
    expect(refused.json.code).toBe('NODE_NOT_FOUND');
    expect(await space.names()).toEqual([]);
    const made = await space.post('/projects/2024/q1?deep=true', page('plan'));
    expect(made.status).toBe(201);
    expect(made.json.node.path).toBe('/projects/2024/q1/plan');
    for (const path of ['/projects', '/projects/2024', '/projects/2024/q1']) {
      expect((await space.node(path)).node_type).toBe('svc:Folder');
    }
  });

  it('makes missing parents once, also where their names are cleaned', async () => {
    const space = await client.workspace();
    for (const name of ['first', 'second']) {
      const made = expectStatus(await space.post('/New%20Folder/Q%201?deep=true', page(name)), 201);
      expect(made.json.node.path).toBe(`/new-folder/q-1/${name}`);
    }
    expect(await space.names('/')).toEqual(['new-folder']);
  });

  it('takes the body wrapped in node, with commit beside it [NODE-028]', async () => {
    const space = await client.workspace();
    const wrapped = await space.post('/', { node: page('wrapped'), commit: { message: 'w', actor: 'bob' } });
    expect(wrapped.status).toBe(201);
    expect(wrapped.json.node.path).toBe('/wrapped');
    expect((await client.revision(wrapped.json.revision)).actor).toBe('bob');
    expect((await space.post('/', { node: page('bare') })).json).toMatchObject({ path: '/bare' });
  });
});

describe('the name of a new node', () => {
  it.each([
    ['My Page!!  With Spaces', 'my-page-with-spaces'],
    [' Hello World ', 'hello-world'],
    ['a - - b', 'a-b'],
    ['-edge-', 'edge'],
    ['Über_v1.2', 'ber_v1.2'],
    ['UPPER', 'upper'],
  ])('%j becomes %j [NODE-025, NODE-034, NODE-037]', async (given, name) => {
    const space = await client.workspace();
    const { json } = expectStatus(await space.post('/', page('x', { name: given })), 201);
    expect(json).toMatchObject({ name, path: `/${name}` });
    expect((await space.get(`/${name}`)).status).toBe(200);
  });

  it.each([
    ['', 'nothing'],
    ['   ', 'spaces [NODE-035]'],
    ['.', 'a dot'],
    ['..', 'two dots'],
    ['a/b', 'a slash'],
    ['a\u0007b', 'a control character'],
    ['!!!', 'nothing that may stay'],
    ['---', 'only dashes'],
    ['äöü', 'only letters that are dropped'],
    ['n'.repeat(256), 'more than 255 bytes'],
  ])('%j is refused: %s [NODE-035, NODE-036, NODE-037]', async (name) => {
    const space = await client.workspace();
    const answer = await space.post('/', page('x', { name }));
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: 'VALIDATION_FAILED', field: 'name' });
    expect(await space.names()).toEqual([]);
  });
});

describe('the body of a create', () => {
  it('creates a UUID unless it has an id [NODE-018]', async () => {
    const space = await client.workspace();
    expect((await space.add('/', 'made')).id).toMatch(uuid);
    expect((await space.add('/', 'given', {}, 'svc:Folder', { id: 'my-own-id' })).id).toBe('my-own-id');
    expect((await space.get('/$ref/my-own-id')).json.path).toBe('/given');
  });

  it('refuses an id that another node has with 409 [NODE-019]', async () => {
    const space = await client.workspace();
    await space.add('/', 'one', {}, 'svc:Folder', { id: 'taken' });
    const again = await space.post('/', { name: 'two', node_type: 'svc:Folder', id: 'taken' });
    expect(again.status).toBe(409);
    expect(await space.names()).toEqual(['one']);
  });

  it('does not set what the server sets [NODE-038]', async () => {
    const space = await client.workspace();
    const { json } = await space.post(
      '/',
      page('honest', {
        path: '/elsewhere/honest',
        version: 41,
        created_at: '1999-01-01T00:00:00.000Z',
        created_by: 'nobody',
        published_at: '1999-01-01T00:00:00.000Z',
      }),
    );
    expect(json).toMatchObject({ path: '/honest', version: 1, created_by: 'admin', published_at: null });
    expect(json.created_at).not.toContain('1999');
  });

  it('names a missing or wrong field in plain text [NODE-027, HTTP-003, HTTP-004]', async () => {
    const space = await client.workspace();
    const nameless = await space.post('/', { node_type: 'svc:Folder' });
    expect(nameless.status).toBe(422);
    expect(nameless.headers['content-type']).toMatch(/^text\/plain/);
    expect(nameless.text).toContain('`name`');
    const typeless = await space.post('/', { name: 'x' });
    expect(typeless.status).toBe(422);
    expect(typeless.text).toContain('`node_type`');
    const wrong = await space.post('/', { name: 7, node_type: 'svc:Folder' });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('`name`');
  });

  it('needs a node type that exists and is no mixin [NODE-026, SCHEMA-014]', async () => {
    const space = await client.workspace();
    const unknown = await space.post('/', { name: 'x', node_type: 'no:Such' });
    expect(unknown.status).toBe(400);
    expect(unknown.json).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: "NodeType 'no:Such' not found",
    });
    const mixin = { name: 'nodes:Mixed', properties: [] };
    const { json } = await client.schema('POST', 'mixins', { node_type: mixin });
    expect(json.is_mixin).toBe(true);
    expect((await space.post('/', { name: 'x', node_type: 'nodes:Mixed' })).status).toBe(400);
  });

  it('names a property that is missing [NODE-039, HTTP-014]', async () => {
    const space = await client.workspace();
    const answer = await space.post('/', { name: 'untitled', node_type: 'svc:Page', properties: {} });
    expect(answer.status).toBe(400);
    expect(answer.json.code).toBe('VALIDATION_FAILED');
    expect(answer.json.message).toContain('title');
    expect(JSON.stringify([answer.json.field, answer.json.details])).toContain('title');
  });
});

describe('the initial structure of a type', () => {
  const structure = {
    children: [
      {
        name: 'First Child',
        node_type: 'svc:Folder',
        children: [{ name: 'inner', node_type: 'svc:Page', properties: { title: 'Inner' } }],
      },
      { name: 'second', node_type: 'svc:Folder' },
    ],
  };

  it('is created with the node, in one revision [NODE-040]', async () => {
    const space = await client.workspace();
    await client.defineType({ name: 'nodes:Project', properties: [], initial_structure: structure });
    const answer = await space.post('/', {
      name: 'p',
      node_type: 'nodes:Project',
      commit: { message: 'all of it' },
    });
    expect(answer.status).toBe(201);
    expect(await space.names('/p')).toEqual(['first-child', 'second']);
    expect((await space.node('/p/first-child/inner')).properties.title).toBe('Inner');
    const { changed_nodes } = await client.revision(answer.json.revision);
    expect(changed_nodes).toHaveLength(4);
    expect(new Set(changed_nodes.map((change: { operation: string }) => change.operation))).toEqual(
      new Set(['added']),
    );
  });

  it('leaves nothing when a part of it fails [NODE-041]', async () => {
    const space = await client.workspace();
    const children = [
      { name: 'fine', node_type: 'svc:Folder' },
      { name: 'untitled', node_type: 'svc:Page' },
    ];
    await client.defineType({ name: 'nodes:Broken', properties: [], initial_structure: { children } });
    const before = await client.headRevision();
    const answer = await space.post('/', { name: 'p', node_type: 'nodes:Broken' });
    expect(answer.status).toBe(400);
    expect(await space.names()).toEqual([]);
    expect(await client.headRevision()).toBe(before);
  });

  it('of svc:User makes its five children [BUILT-011]', async () => {
    const space = await client.workspace();
    await space.add('/', 'ann', { email: 'ann@example.com', display_name: 'Ann' }, 'svc:User');
    expect(new Set(await space.names('/ann'))).toEqual(
      new Set(['profile', 'inbox', 'outbox', 'sent', 'notifications']),
    );
    expect(new Set(await space.names('/ann/profile'))).toEqual(new Set(['private', 'public']));
  });
});

describe('what a workspace allows', () => {
  it('is checked on create, at the root and below [WSP-001, WSP-002, WSP-017]', async () => {
    const space = await client.workspace({
      allowed_node_types: ['svc:Folder', 'svc:Page'],
      allowed_root_node_types: ['svc:Folder'],
    });
    const atRoot = await space.post('/', page('p'));
    expect(atRoot.status).toBe(400);
    expect(atRoot.json.code).toBe('VALIDATION_FAILED');
    await space.add('/', 'folder');
    expectStatus(await space.post('/folder', page('p')), 201);
    const elsewhere = await space.post('/folder', { name: 'n', node_type: 'svc:Node' });
    expect(elsewhere.status).toBe(400);
    expect(elsewhere.json.code).toBe('VALIDATION_FAILED');
    await client.defineType({ name: 'nodes:Shelf', allowed_children: ['svc:Page'] });
    const open = await client.workspace();
    await open.add('/', 'shelf', {}, 'nodes:Shelf');
    expect((await open.post('/shelf', { name: 'f', node_type: 'svc:Folder' })).status).toBe(400);
  });
});
