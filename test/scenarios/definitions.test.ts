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

const named = (list: readonly { name: string }[]) => list.map(({ name }) => name);
const typeOf = (name: string, rest: object = {}) => ({ node_type: { name, properties: [], ...rest } });

describe('node types', () => {
  it('are for callers with a login [NTYPE-001, HTTP-006]', async () => {
    const base = `/api/management/${client.repository}/main/nodetypes`;
    const requests = [
      ['GET', base],
      ['POST', base],
      ['GET', `${base}/published`],
      ['GET', `${base}/svc:Page`],
      ['GET', `${base}/svc:Page/resolved`],
      ['PUT', `${base}/svc:Page`],
      ['DELETE', `${base}/svc:Page`],
      ['POST', `${base}/svc:Page/publish`],
      ['POST', `${base}/validate`],
    ] as const;
    for (const [method, path] of requests) {
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
      const { json, status } = await server.request(method, path, body);
      expect(status, `${method} ${path}`).toBe(401);
      expect(json.code).toBe('UNAUTHORIZED');
    }
  });

  it('are created with 201 and replaced with 200 [NTYPE-002, NTYPE-003, NTYPE-026]', async () => {
    const created = await client.schema('POST', 'nodetypes', typeOf('blog:Article', { description: 'one' }));
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({ name: 'blog:Article', version: 1, description: 'one' });
    const replaced = await client.schema('POST', 'nodetypes', typeOf('blog:Article', { description: 'two' }));
    expect(replaced.status).toBe(200);
    expect(replaced.json).toMatchObject({ name: 'blog:Article', version: 2, description: 'two' });
  });

  it('need their wrapper [NTYPE-004, HTTP-003]', async () => {
    for (const body of [{}, { name: 'blog:Bare' }, { archetype: { name: 'blog:Bare' } }]) {
      const answer = await client.schema('POST', 'nodetypes', body);
      expect(answer.status).toBe(422);
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
      expect(answer.text).toContain('`node_type`');
    }
  });

  it('record the commit they are written with [NTYPE-005]', async () => {
    const commit = { message: 'Define it', actor: 'ann', is_system: true };
    const answer = await client.schema('POST', 'nodetypes', { ...typeOf('blog:Told'), commit });
    const record = await client.revision(revisionOf(answer));
    expect(record).toMatchObject({ message: 'Define it', actor: 'ann', is_system: true });
  });

  it('record a generated message by system otherwise [NTYPE-006, NTYPE-044]', async () => {
    const answer = await client.schema('POST', 'nodetypes', typeOf('blog:Silent'));
    const record = await client.revision(revisionOf(answer));
    expect(record).toMatchObject({ actor: 'system', is_system: true, changed_nodes: [] });
    expect(record.message).toContain('blog:Silent');
    expect(record.changed_node_types).toEqual([{ name: 'blog:Silent', operation: 'added' }]);
    const removed = await client.schema('DELETE', 'nodetypes/blog:Silent');
    expect((await client.revision(revisionOf(removed))).changed_node_types).toEqual([
      { name: 'blog:Silent', operation: 'deleted' },
    ]);
  });

  it('are listed sorted by name, the built-in ones too [NTYPE-007, NTYPE-043, BUILT-010]', async () => {
    await client.schema('POST', 'nodetypes', typeOf('aaa:First'));
    const { json } = expectStatus(await client.schema('GET', 'nodetypes'), 200);
    const names = named(json);
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(['aaa:First', 'svc:Page', 'svc:Folder', 'svc:Asset']));
    const page = json.find(({ name }: { name: string }) => name === 'svc:Page');
    expect(page.properties).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'title', type: 'String', required: true })]),
    );
    expect(page).toMatchObject({ versionable: true, publishable: true, auditable: true });
  });

  it('are read one by one [NTYPE-009, NTYPE-010, HTTP-008]', async () => {
    const { json, status } = await client.schema('GET', 'nodetypes/svc:Folder');
    expect(status).toBe(200);
    expect(json.name).toBe('svc:Folder');
    expect((await client.schema('GET', 'nodetypes/svc%3AFolder')).json).toEqual(json);
    const missing = await client.schema('GET', 'nodetypes/no:Such');
    expect(missing.status).toBe(404);
    expect(missing.json.code).toBe('NODE_TYPE_NOT_FOUND');
    expect(missing.json.message).toContain('no:Such');
  });

  it('carry every field [NTYPE-025, NTYPE-027, NTYPE-031]', async () => {
    const properties = [
      { name: 'title', type: 'String', required: true, index: ['Fulltext'], constraints: { min: 1, max: 9 } },
      { name: 'count', property_type: 'number' },
    ];
    const { json } = await client.schema('POST', 'nodetypes', typeOf('blog:Full', { properties }));
    expect(json.properties[0]).toMatchObject(properties[0] as object);
    expect(json.properties[1]).toMatchObject({ name: 'count', type: 'Number' });
    const fields = [
      ...['id', 'name', 'strict', 'extends', 'overrides', 'description', 'icon', 'version', 'properties'],
      ...['allowed_children', 'initial_structure', 'versionable', 'immutable', 'publishable', 'auditable'],
      ...['indexable', 'created_at', 'updated_at', 'published_at', 'published_by', 'previous_version'],
    ];
    for (const field of fields) expect(json, field).toHaveProperty(field);
    expect(json).toMatchObject({ strict: null, extends: null, published_at: null, previous_version: null });
  });

  it('know thirteen kinds of property, in any case [NTYPE-030]', async () => {
    const kinds = [
      ...['String', 'Number', 'Boolean', 'Array', 'Object', 'Date', 'URL', 'Reference', 'NodeType'],
      ...['Element', 'Composite', 'Resource', 'Geometry'],
    ];
    const properties = kinds.flatMap((type, index) => [
      { name: `a${index}`, type },
      { name: `b${index}`, type: type.toLowerCase() },
    ]);
    const { json } = expectStatus(
      await client.schema('POST', 'nodetypes', typeOf('blog:Kinds', { properties })),
      201,
    );
    const types = new Set(json.properties.map(({ type }: { type: string }) => type));
    expect(types).toEqual(new Set(kinds));
    const odd = typeOf('blog:Odd', { properties: [{ name: 'x', type: 'Richtext' }] });
    expect((await client.schema('POST', 'nodetypes', odd)).status).toBe(400);
  });

  it.each(['article', 'blog:my-type', 'blog:', ':Article', 'blog:Article2', 'blog:article'])(
    'are not called %j [NTYPE-029]',
    async (name) => {
      const { json, status } = await client.schema('POST', 'nodetypes', typeOf(name));
      expect(status).toBe(400);
      expect(json.code).toBe('VALIDATION_FAILED');
    },
  );

  it('are replaced whole by PUT [NTYPE-015, NTYPE-016, NTYPE-040, NTYPE-041]', async () => {
    const first = await client.defineType({ name: 'blog:Put', description: 'd', icon: 'i' });
    const { json, status } = await client.schema('PUT', 'nodetypes/blog:Put', {
      node_type: { name: 'blog:Elsewhere', id: 'other', description: 'e', properties: [] },
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      name: 'blog:Put',
      id: first.id,
      created_at: first.created_at,
      version: 2,
      description: 'e',
      icon: null,
      previous_version: first.id,
    });
    expect((await client.schema('GET', 'nodetypes/blog:Elsewhere')).status).toBe(404);
    const missing = await client.schema('PUT', 'nodetypes/no:Such', typeOf('no:Such'));
    expect(missing.status).toBe(404);
    expect(missing.json.code).toBe('NODE_TYPE_NOT_FOUND');
  });

  it('are deleted, and their nodes stay readable [NTYPE-017, NTYPE-018, NTYPE-042, EASY-011]', async () => {
    const space = await client.workspace();
    await client.defineType({ name: 'blog:Doomed', properties: [{ name: 'a', type: 'Number' }] });
    await space.add('/', 'orphan', { a: 1, b: 2 }, 'blog:Doomed');
    const answer = await client.schema('DELETE', 'nodetypes/blog:Doomed');
    expect(answer.status).toBe(204);
    expect(answer.text).toBe('');
    expect(await space.node('/orphan')).toMatchObject({
      node_type: 'blog:Doomed',
      properties: { a: 1, b: 2, $supertypes: [], $mixins: [] },
    });
    expect(await space.names()).toEqual(['orphan']);
    expect((await client.schema('GET', 'nodetypes/blog:Doomed')).status).toBe(404);
    const again = await client.schema('DELETE', 'nodetypes/blog:Doomed');
    expect(again.status).toBe(404);
    expect(again.json.code).toBe('NODE_TYPE_NOT_FOUND');
  });

  it('are published with an empty answer [NTYPE-019, NTYPE-020, NTYPE-021, NTYPE-022, EASY-010]', async () => {
    await client.defineType({ name: 'blog:Public' });
    const read = async () => (await client.schema('GET', 'nodetypes/blog:Public')).json;
    const published = await client.schema('POST', 'nodetypes/blog:Public/publish');
    expect(published.status).toBe(200);
    expect(published.text).toBe('');
    expect(await read()).toMatchObject({
      version: 2,
      published_by: 'system',
      published_at: expect.any(String),
    });
    const list = named((await client.schema('GET', 'nodetypes/published')).json);
    expect(list).toContain('blog:Public');
    const unpublished = await client.schema('POST', 'nodetypes/blog:Public/unpublish');
    expect(unpublished.status).toBe(200);
    expect(unpublished.text).toBe('');
    expect(await read()).toMatchObject({ published_at: null, published_by: null });
    for (const body of [{ message: 'm', actor: 'ann' }, { commit: { message: 'm', actor: 'ann' } }]) {
      await client.schema('POST', 'nodetypes/blog:Public/unpublish', body);
      await client.schema('POST', 'nodetypes/blog:Public/publish', body);
      expect((await read()).published_by).toBe('ann');
    }
    expect((await client.schema('POST', 'nodetypes/no:Such/publish')).status).toBe(404);
  });

  it('are listed as published only while they are [NTYPE-008]', async () => {
    const published = async () => named((await client.schema('GET', 'nodetypes/published')).json);
    await client.defineType({ name: 'blog:Draft' });
    expect(await published()).not.toContain('blog:Draft');
    await client.schema('POST', 'nodetypes/blog:Draft/publish');
    expect(await published()).toContain('blog:Draft');
    await client.schema('POST', 'nodetypes/blog:Draft/unpublish');
    expect(await published()).not.toContain('blog:Draft');
  });
});

describe('resolving', () => {
  beforeAll(async () => {
    await client.defineType({
      name: 'res:Root',
      allowed_children: ['svc:Page'],
      properties: [
        { name: 'zeta', type: 'String' },
        { name: 'shared', type: 'String', default: 'root' },
        { name: 'text', type: 'String', default: 'root' },
      ],
    });
    for (const [name, value] of [
      ['res:Mixed', 'first'],
      ['res:Later', 'second'],
    ] as const) {
      const properties = [{ name: 'shared', type: 'String', default: value }];
      expectStatus(await client.schema('POST', 'mixins', { node_type: { name, properties } }), 201);
    }
    await client.defineType({
      name: 'res:Middle',
      extends: 'res:Root',
      mixins: ['res:Mixed', 'res:Later'],
      overrides: { text: 'overridden' },
    });
    await client.defineType({
      name: 'res:Leaf',
      extends: 'res:Middle',
      allowed_children: ['svc:Folder'],
      properties: [{ name: 'zeta', type: 'Number' }],
    });
  });

  it('answers everything that is inherited [NTYPE-011, NTYPE-012, NTYPE-013, NTYPE-003, NTYPE-034, NTYPE-035]', async () => {
    const { json } = expectStatus(await client.schema('GET', 'nodetypes/res:Leaf/resolved'), 200);
    expect(Object.keys(json).sort()).toEqual([
      'inheritance_chain',
      'node_type',
      'resolved_allowed_children',
      'resolved_mixins',
      'resolved_properties',
    ]);
    expect(named(json.resolved_properties)).toEqual(['shared', 'text', 'zeta']);
    expect(json.resolved_properties[2].type).toBe('Number');
    expect([...json.resolved_allowed_children].sort()).toEqual(['svc:Folder', 'svc:Page']);
    expect(json.inheritance_chain).toEqual(['res:Leaf', 'res:Middle', 'res:Root']);
    expect(json.resolved_mixins).toEqual(['res:Mixed', 'res:Later']);
    expect(json.node_type.name).toBe('res:Leaf');
  });

  it('applies mixins in order over the parents, then overrides [NTYPE-032, NTYPE-033]', async () => {
    const { json } = await client.schema('GET', 'nodetypes/res:Middle/resolved');
    const defaultOf = (wanted: string) =>
      json.resolved_properties.find(({ name }: { name: string }) => name === wanted).default;
    expect(defaultOf('shared')).toBe('second');
    expect(defaultOf('text')).toBe('overridden');
  });

  it('uses the versions a workspace pins [NTYPE-014, WSP-020, WSP-021]', async () => {
    const first = await client.schema('POST', 'nodetypes', typeOf('res:Pinned', { strict: true }));
    const pinned = revisionOf(first);
    await client.schema('PUT', 'nodetypes/res:Pinned', {
      node_type: { strict: true, properties: [{ name: 'added', type: 'String' }] },
    });
    const old = await client.workspace({
      allowed_node_types: [],
      allowed_root_node_types: [],
      config: { default_branch: 'main', node_type_pins: { 'res:Pinned': pinned } },
    });
    const latest = await client.workspace({
      allowed_node_types: [],
      allowed_root_node_types: [],
      config: { default_branch: 'main', node_type_pins: { 'res:Pinned': null } },
    });
    const resolved = async (query: string) =>
      named((await client.schema('GET', `nodetypes/res:Pinned/resolved${query}`)).json.resolved_properties);
    expect(await resolved('')).toEqual(['added']);
    expect(await resolved(`?workspace=${old.name}`)).toEqual([]);
    expect(await resolved(`?workspace=${latest.name}`)).toEqual(['added']);
    const body = { name: 'n', node_type: 'res:Pinned', properties: { added: 'x' } };
    expect((await old.post('/', body)).status).toBe(400);
    expect((await latest.post('/', body)).status).toBe(201);
  });

  it('answers 404 for what is not there [NTYPE-010]', async () => {
    expect((await client.schema('GET', 'nodetypes/no:Such/resolved')).status).toBe(404);
    expect((await client.schema('GET', 'nodetypes/svc:Page/resolved?workspace=nowhere')).status).toBe(404);
  });

  it('shows a replaced type at once, on nodes too [NTYPE-045]', async () => {
    const space = await client.workspace();
    await client.defineType({ name: 'res:Changing', properties: [] });
    await space.add('/', 'n', { a: 'text' }, 'res:Changing');
    await client.schema('PUT', 'nodetypes/res:Changing', {
      node_type: { extends: 'res:Root', strict: true, properties: [] },
    });
    expect((await space.node('/n')).properties.$supertypes).toEqual(['res:Root']);
    const refused = await space.put('/n', { properties: { a: 'text' } });
    expect(refused.status).toBe(400);
    expect(refused.json.message).toContain("'a'");
  });
});

describe('a definition that cannot be', () => {
  it.each<[string, object]>([
    ['has a parent nobody defined', { extends: 'no:Such' }],
    ['has a mixin nobody defined', { mixins: ['no:Such'] }],
    ['extends itself', { extends: 'bad:Thing' }],
  ])('%s is refused [NTYPE-036, NTYPE-037]', async (_, rest) => {
    const { json, status } = await client.schema('POST', 'nodetypes', typeOf('bad:Thing', rest));
    expect(status).toBe(400);
    expect(json.code).toBe('VALIDATION_FAILED');
    expect((await client.schema('GET', 'nodetypes/bad:Thing')).status).toBe(404);
  });

  it('closes a circle over several types is refused [NTYPE-037]', async () => {
    await client.defineType({ name: 'ring:One' });
    await client.defineType({ name: 'ring:Two', extends: 'ring:One' });
    await client.defineType({ name: 'ring:Three', extends: 'ring:Two' });
    const { status } = await client.schema('PUT', 'nodetypes/ring:One', {
      node_type: { extends: 'ring:Three', properties: [] },
    });
    expect(status).toBe(400);
    expect((await client.schema('GET', 'nodetypes/ring:One')).json.extends).toBeNull();
  });

  it('is deeper than 20 is refused [NTYPE-038]', async () => {
    const name = (level: number) => `deep:L${'abcdefghijklmnopqrstuvwxyz'[level]}`;
    let refusedAt = 0;
    for (let level = 0; level < 25 && refusedAt === 0; level += 1) {
      const parent = level === 0 ? {} : { extends: name(level - 1) };
      const { status } = await client.schema('POST', 'nodetypes', typeOf(name(level), parent));
      if (status === 400) refusedAt = level;
      else expect(status).toBe(201);
    }
    expect(refusedAt).toBeGreaterThanOrEqual(19);
    expect(refusedAt).toBeLessThanOrEqual(21);
  });

  it('names unknown types in its initial structure is refused [NTYPE-039]', async () => {
    const initial_structure = { children: [{ name: 'c', node_type: 'no:Such' }] };
    const { json, status } = await client.schema(
      'POST',
      'nodetypes',
      typeOf('bad:Structure', { initial_structure }),
    );
    expect(status).toBe(400);
    expect(json.message).toMatch(/initial.structure/i);
  });
});

describe('validating', () => {
  const validate = async (workspace: string, node: object) =>
    expectStatus(await client.schema('POST', 'nodetypes/validate', { workspace, node }), 200).json;

  it('confirms a valid definition and stores nothing [NTYPE-023]', async () => {
    const space = await client.workspace();
    const before = await client.headRevision();
    const node = { name: 'n', node_type: 'svc:Page', properties: { title: 't' } };
    expect(await validate(space.name, node)).toEqual({ valid: true, errors: [] });
    expect(await space.names()).toEqual([]);
    expect(await client.headRevision()).toBe(before);
  });

  it('reports every reason for an invalid one [NTYPE-024]', async () => {
    const space = await client.workspace();
    await client.defineType({
      name: 'val:Checked',
      strict: true,
      properties: [
        { name: 'title', type: 'String', required: true },
        { name: 'code', type: 'String', unique: true },
      ],
    });
    await space.add('/', 'first', { title: 't', code: 'x' }, 'val:Checked');
    const { errors, valid } = await validate(space.name, {
      name: 'n',
      node_type: 'val:Checked',
      properties: { code: 'x', extra: 1 },
    });
    expect(valid).toBe(false);
    expect(errors).toHaveLength(3);
    expect(errors.join('\n')).toMatch(/'title'[\s\S]*'extra'[\s\S]*'code'/);
    const archetype = {
      name: 'val:Form',
      base_node_type: 'svc:Folder',
      fields: [
        { $type: 'TextField', name: 'headline', required: true },
        { $type: 'ElementField', name: 'lead', element_type: 'val:Ghost' },
      ],
    };
    const element_type = { name: 'val:Ghost', fields: [{ $type: 'TextField', name: 't', required: true }] };
    await client.schema('POST', 'elementtypes', { element_type });
    expectStatus(await client.schema('POST', 'archetypes', { archetype }), 201);
    const formed = await validate(space.name, {
      name: 'n',
      node_type: 'svc:Folder',
      archetype: 'val:Form',
      properties: { lead: { element_type: 'val:Ghost' } },
    });
    expect(formed.valid).toBe(false);
    expect(formed.errors.join('\n')).toMatch(/headline/);
    expect(formed.errors.join('\n')).toMatch(/'t'|\bt\b/);
  });

  it('names an unknown type [NTYPE-028]', async () => {
    const space = await client.workspace();
    const { errors, valid } = await validate(space.name, { name: 'n', node_type: 'no:Such', properties: {} });
    expect(valid).toBe(false);
    expect(errors.join()).toContain('no:Such');
  });

  it('refuses a mixin as a type, as a write does', async () => {
    const space = await client.workspace();
    const node = { name: 'n', node_type: 'check:Mixin', properties: {} };
    await client.schema('POST', 'mixins', { node_type: { name: 'check:Mixin', is_mixin: true } });
    const written = await space.post('/', node);
    expect(written.status).toBe(400);
    expect(await validate(space.name, node)).toEqual({ valid: false, errors: [written.json.message] });
  });

  it('needs the parts of its body [HTTP-003]', async () => {
    const answer = await client.schema('POST', 'nodetypes/validate', { node: { name: 'n' } });
    expect(answer.status).toBe(422);
  });
});

interface Family {
  readonly segment: string;
  readonly wrapper: string;
  readonly notFound: string;
  readonly changed: string;
  readonly fresh: (name: string) => object;
}

const fields = [{ $type: 'TextField', name: 'headline' }];
const families: readonly Family[] = [
  {
    segment: 'archetypes',
    wrapper: 'archetype',
    notFound: 'ARCHETYPE_NOT_FOUND',
    changed: 'changed_archetypes',
    fresh: (name) => ({ name, fields }),
  },
  {
    segment: 'elementtypes',
    wrapper: 'element_type',
    notFound: 'ELEMENT_TYPE_NOT_FOUND',
    changed: 'changed_element_types',
    fresh: (name) => ({ name, fields }),
  },
  {
    segment: 'mixins',
    wrapper: 'node_type',
    notFound: 'NODE_TYPE_NOT_FOUND',
    changed: 'changed_node_types',
    fresh: (name) => ({ name, properties: [] }),
  },
];

describe.each(families)('$segment', ({ changed, fresh, notFound, segment, wrapper }) => {
  const name = 'fam:Thing';

  it('have every route [SCHEMA-001, SCHEMA-002, SCHEMA-003, SCHEMA-005, SCHEMA-010, SCHEMA-011, SCHEMA-012, SCHEMA-013, SCHEMA-019]', async () => {
    const one = `${segment}/${name}`;
    const created = await client.schema('POST', segment, { [wrapper]: fresh(name) });
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({ name, version: 1 });
    const record = await client.revision(revisionOf(created));
    expect(record[changed]).toEqual([{ name, operation: 'added' }]);
    const again = await client.schema('POST', segment, { [wrapper]: fresh(name) });
    expect(again.status).toBe(200);
    expect(again.json.version).toBe(2);
    expect((await client.schema('GET', one)).json).toEqual(again.json);
    expect(named((await client.schema('GET', segment)).json)).toContain(name);
    const put = await client.schema('PUT', one, { [wrapper]: { ...fresh(name), description: 'new' } });
    expect(put.status).toBe(200);
    expect(put.json).toMatchObject({ version: 3, description: 'new' });
    expect(named((await client.schema('GET', `${segment}/published`)).json)).not.toContain(name);
    const published = await client.schema('POST', `${one}/publish`, { actor: 'ann' });
    expect([published.status, published.text]).toEqual([200, '']);
    expect((await client.schema('GET', one)).json).toMatchObject({ version: 4, published_by: 'ann' });
    expect(named((await client.schema('GET', `${segment}/published`)).json)).toContain(name);
    const unpublished = await client.schema('POST', `${one}/unpublish`);
    expect([unpublished.status, unpublished.text]).toEqual([200, '']);
    expect((await client.schema('GET', one)).json.published_at).toBeNull();
    const space = await client.workspace();
    const node = { name: 'n', node_type: 'svc:Folder', properties: {} };
    const checked = await client.schema('POST', `${segment}/validate`, { workspace: space.name, node });
    expect(checked.json).toEqual({ valid: true, errors: [] });
    const removed = await client.schema('DELETE', one, { message: 'away', actor: 'ann' });
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect(await client.revision(revisionOf(removed))).toMatchObject({ message: 'away', actor: 'ann' });
  });

  it('need their wrapper [SCHEMA-006, EASY-009]', async () => {
    const answer = await client.schema('POST', segment, { wrong: fresh(name) });
    expect(answer.status).toBe(422);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    expect(answer.text).toContain(`\`${wrapper}\``);
  });

  it('answer 404 for an undefined name [SCHEMA-007, SCHEMA-008, SCHEMA-009]', async () => {
    const one = `${segment}/no:Such`;
    const answers = [
      await client.schema('GET', one),
      await client.schema('PUT', one, { [wrapper]: fresh('no:Such') }),
      await client.schema('DELETE', one),
      await client.schema('POST', `${one}/publish`),
    ];
    for (const { json, status } of answers) {
      expect(status).toBe(404);
      expect(json.code).toBe(notFound);
    }
  });
});

describe('archetypes and element types', () => {
  it.each([
    ['archetypes', 'archetype'],
    ['elementtypes', 'element_type'],
  ])('of %s resolve [SCHEMA-015, SCHEMA-016]', async (segment, wrapper) => {
    const base = { name: 'ex:Base', strict: true, fields: [{ $type: 'TextField', name: 'a' }] };
    const child = { name: 'ex:Child', extends: 'ex:Base', fields: [{ $type: 'NumberField', name: 'b' }] };
    for (const definition of [base, child]) {
      expectStatus(await client.schema('POST', segment, { [wrapper]: definition }), 201);
    }
    const { json } = expectStatus(await client.schema('GET', `${segment}/ex:Child/resolved`), 200);
    expect(Object.keys(json).sort()).toEqual(
      [wrapper, 'inheritance_chain', 'resolved_fields', 'resolved_layout', 'resolved_strict'].sort(),
    );
    expect(named(json.resolved_fields).sort()).toEqual(['a', 'b']);
    expect(json.inheritance_chain).toEqual(['ex:Child', 'ex:Base']);
    expect(json.resolved_strict).toBe(true);
  });

  it('keep every kind of field with its configuration [SCHEMA-017]', async () => {
    const all = [
      { $type: 'TextField', name: 'text', config: { max_length: 9 }, required: true, translatable: true },
      { $type: 'RichTextField', name: 'rich', config: { max_length: 99 } },
      { $type: 'NumberField', name: 'number', config: { is_integer: true, min_value: 1, max_value: 5 } },
      { $type: 'DateField', name: 'date', config: { date_mode: 'Date' } },
      { $type: 'BooleanField', name: 'flag' },
      { $type: 'JsonObjectField', name: 'json' },
      { $type: 'LocationField', name: 'place' },
      { $type: 'MediaField', name: 'media', config: { allowed_types: ['image/png'] } },
      { $type: 'ReferenceField', name: 'ref', config: { allowed_entry_types: ['svc:Page'] } },
      { $type: 'ListingField', name: 'listing', config: { allowed_entry_types: ['svc:Page'], limit: 3 } },
      { $type: 'TagField', name: 'tags', config: { allowed_tags: ['a'], max_tags: 2 } },
      { $type: 'OptionsField', name: 'options', config: { options: ['a', 'b'], render_as: 'Radio' } },
      { $type: 'ElementField', name: 'element', element_type: 'ex:Base' },
      { $type: 'SectionField', name: 'section', allowed_element_types: ['ex:Base'] },
      { $type: 'CompositeField', name: 'composite', fields: [{ $type: 'TextField', name: 'inner' }] },
    ];
    const { json } = expectStatus(
      await client.schema('POST', 'archetypes', { archetype: { name: 'ex:Every', fields: all } }),
      201,
    );
    expect(json.fields).toHaveLength(all.length);
    const read = (await client.schema('GET', 'archetypes/ex:Every')).json;
    for (const [index, field] of all.entries()) expect(read.fields[index]).toMatchObject(field);
  });

  it.each([
    ['archetypes', 'archetype'],
    ['elementtypes', 'element_type'],
  ])('of %s refuse another name in the body of a PUT [SCHEMA-018]', async (segment, wrapper) => {
    expectStatus(await client.schema('POST', segment, { [wrapper]: { name: 'ex:Kept', fields: [] } }), 201);
    const renamed = { [wrapper]: { name: 'ex:Other', fields: [] } };
    const { json, status } = await client.schema('PUT', `${segment}/ex:Kept`, renamed);
    expect(status).toBe(400);
    expect(json.code).toBe('VALIDATION_FAILED');
  });
});

describe('mixins', () => {
  it('are node types with a flag, and do not resolve [SCHEMA-004, SCHEMA-014]', async () => {
    const { json } = await client.schema('POST', 'mixins', typeOf('mix:In'));
    expect(json.is_mixin).toBe(true);
    expect((await client.schema('GET', 'mixins/mix:In/resolved')).status).toBe(404);
    const space = await client.workspace();
    expect((await space.post('/', { name: 'n', node_type: 'mix:In' })).status).toBe(400);
  });
});
