import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
});

afterAll(() => server.close());

/** Creates a node that must be refused with 400, and says why it was. */
async function refusal(nodeType: string, properties: object, rest: object = {}): Promise<string> {
  const answer = await space.post('/', { name: 'refused', node_type: nodeType, properties, ...rest });
  expect(answer.status).toBe(400);
  expect(answer.json.code).toBe('VALIDATION_FAILED');
  expect((await space.get('/refused')).status).toBe(404);
  return answer.json.message as string;
}

describe('required and strict', () => {
  beforeAll(async () => {
    await client.schema('POST', 'mixins', {
      node_type: {
        name: 'values:Dated',
        properties: [{ name: 'day', type: 'String', required: true, unique: true }],
      },
    });
    await client.defineType({
      name: 'values:Base',
      properties: [{ name: 'title', type: 'String', required: true }],
    });
    await client.defineType({
      name: 'values:Child',
      extends: 'values:Base',
      mixins: ['values:Dated'],
      strict: true,
      properties: [{ name: 'own', type: 'Number' }],
    });
  });

  it('name the missing property and the type [VAL-001]', async () => {
    expect(await refusal('values:Base', {})).toBe(
      "Missing required property 'title' for NodeType 'values:Base'",
    );
  });

  it('take null as present [VAL-002]', async () => {
    expect((await space.add('/', 'nulled', { title: null }, 'values:Base')).properties.title).toBeNull();
  });

  it('name the undeclared property and the type [VAL-003, VAL-004]', async () => {
    const properties = { title: 't', day: 'd1', extra: 1 };
    const message = "Undefined property 'extra' in strict mode for NodeType 'values:Child'";
    expect(await refusal('values:Child', properties)).toBe(message);
    const checked = await client.schema('POST', 'nodetypes/validate', {
      workspace: space.name,
      node: { name: 'n', node_type: 'values:Child', properties },
    });
    expect(checked.status).toBe(200);
    expect(checked.json).toEqual({ valid: false, errors: [message] });
  });

  it('are inherited from parents and mixins, and so is unique [VAL-007]', async () => {
    expect(await refusal('values:Child', { day: 'd' })).toContain("'title'");
    expect(await refusal('values:Child', { title: 't' })).toContain("'day'");
    await space.add('/', 'first-day', { title: 't', day: 'taken' }, 'values:Child');
    expect(await refusal('values:Child', { title: 't', day: 'taken' })).toContain("'day'");
  });
});

describe('unique', () => {
  beforeAll(() =>
    client.defineType({ name: 'values:Coded', properties: [{ name: 'code', type: 'String', unique: true }] }),
  );

  it('refuses a value that another node of the type has, on create and update [VAL-005]', async () => {
    const own = await client.workspace();
    await own.add('/', 'a', { code: 'x' }, 'values:Coded');
    await own.add('/', 'b', { code: 'y' }, 'values:Coded');
    const created = await own.post('/', { name: 'c', node_type: 'values:Coded', properties: { code: 'x' } });
    expect(created.status).toBe(400);
    expect(created.json).toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(created.json.message).toBe("Property 'code' must be unique; '/c' and '/a' have the same value");
    expect((await own.put('/b', { properties: { code: 'x' } })).status).toBe(400);
    expect((await own.put('/a', { properties: { code: 'x', more: 1 } })).status).toBe(200);
    const elsewhere = await client.workspace();
    await elsewhere.add('/', 'a', { code: 'x' }, 'values:Coded');
  });

  it('gives a value free that was changed or deleted [VAL-006]', async () => {
    const own = await client.workspace();
    await own.add('/', 'a', { code: 'x' }, 'values:Coded');
    await own.put('/a', { properties: { code: 'z' } });
    await own.add('/', 'b', { code: 'x' }, 'values:Coded');
    await own.delete('/b');
    await own.add('/', 'c', { code: 'x' }, 'values:Coded');
  });
});

describe('archetypes', () => {
  beforeAll(async () => {
    await client.defineType({ name: 'values:Article', properties: [] });
    const archetype = {
      name: 'values:Hero',
      base_node_type: 'values:Article',
      strict: true,
      fields: [
        { $type: 'TextField', name: 'headline', required: true },
        { $type: 'NumberField', name: 'size' },
      ],
    };
    expectStatus(await client.schema('POST', 'archetypes', { archetype }), 201);
  });

  it('must exist [VAL-008]', async () => {
    expect(await refusal('values:Article', {}, { archetype: 'values:None' })).toContain(
      'Archetype not found',
    );
  });

  it('must be made for the type of the node [VAL-009]', async () => {
    await refusal('svc:Folder', { headline: 'h' }, { archetype: 'values:Hero' });
  });

  it('have their own required and strict fields [VAL-010]', async () => {
    const hero = { archetype: 'values:Hero' };
    expect(await refusal('values:Article', {}, hero)).toContain('headline');
    expect(await refusal('values:Article', { headline: 'h', other: 1 }, hero)).toContain('other');
    const node = await space.add('/', 'hero', { headline: 'h', size: 3 }, 'values:Article', hero);
    expect(node.archetype).toBe('values:Hero');
  });
});

describe('allowed children', () => {
  beforeAll(async () => {
    await client.defineType({ name: 'values:Shelf', allowed_children: ['svc:Page'] });
    await client.defineType({ name: 'values:Rack', extends: 'values:Shelf', allowed_children: ['svc:Node'] });
    await client.defineType({ name: 'values:Open', allowed_children: ['*'] });
  });

  it('are checked on create, move and copy [VAL-011, CMD-018]', async () => {
    await space.add('/', 'shelf', {}, 'values:Shelf');
    await space.add('/', 'box');
    expect((await space.post('/shelf', { name: 'f', node_type: 'svc:Folder' })).status).toBe(400);
    expect((await space.command('/box', 'move', { targetPath: '/shelf/box' })).status).toBe(400);
    expect((await space.command('/box', 'copy', { targetPath: '/shelf/box' })).status).toBe(400);
    expect(await space.names('/shelf')).toEqual([]);
    await space.add('/shelf', 'page', { title: 't' }, 'svc:Page');
  });

  it('are the union over what the type extends [VAL-013]', async () => {
    await space.add('/', 'rack', {}, 'values:Rack');
    await space.add('/rack', 'page', { title: 't' }, 'svc:Page');
    await space.add('/rack', 'node', {}, 'svc:Node');
    expect((await space.post('/rack', { name: 'f', node_type: 'svc:Folder' })).status).toBe(400);
  });

  it('are everything for an empty list and for * [VAL-012]', async () => {
    await space.add('/', 'open', {}, 'values:Open');
    await space.add('/open', 'folder');
    await space.add('/open/folder', 'anything', { title: 't' }, 'svc:Page');
  });
});

describe('element fields', () => {
  beforeAll(async () => {
    const quote = {
      name: 'values:Quote',
      strict: true,
      fields: [{ $type: 'TextField', name: 'text', required: true }],
    };
    const image = { name: 'values:Image', fields: [{ $type: 'TextField', name: 'src' }] };
    expectStatus(await client.schema('POST', 'elementtypes', { element_type: quote }), 201);
    expectStatus(await client.schema('POST', 'elementtypes', { element_type: image }), 201);
    await client.defineType({ name: 'values:Doc', properties: [] });
    const archetype = {
      name: 'values:Layout',
      base_node_type: 'values:Doc',
      fields: [
        { $type: 'ElementField', name: 'lead', element_type: 'values:Quote' },
        { $type: 'SectionField', name: 'body', allowed_element_types: ['values:Quote'] },
        { $type: 'LocationField', name: 'place' },
        {
          $type: 'CompositeField',
          name: 'rows',
          multiple: true,
          fields: [{ $type: 'TextField', name: 'label', translatable: true }],
        },
      ],
    };
    expectStatus(await client.schema('POST', 'archetypes', { archetype }), 201);
  });

  const layout = { archetype: 'values:Layout' };
  const refuse = (properties: object) => refusal('values:Doc', properties, layout);
  let made = 0;
  const accept = (properties: object) =>
    space.add('/', `doc-${++made}`, properties, 'values:Doc', layout).then((node) => node.properties);

  it('carry the declared element type [VAL-014]', async () => {
    await refuse({ lead: { element_type: 'values:Image', src: 's' } });
    await refuse({ lead: { text: 't' } });
    expect((await accept({ lead: { element_type: 'values:Quote', text: 't' } })).lead.text).toBe('t');
  });

  it('take only the allowed types in a section [VAL-015]', async () => {
    await refuse({ body: [{ element_type: 'values:Image', src: 's' }] });
    await accept({ body: [{ element_type: 'values:Quote', text: 't' }] });
  });

  it('refuse an undefined element type [VAL-016]', async () => {
    expect(await refuse({ lead: { element_type: 'values:Ghost', text: 't' } })).toContain('values:');
  });

  it('have required and strict fields of their own [VAL-017]', async () => {
    expect(await refuse({ lead: { element_type: 'values:Quote' } })).toContain('text');
    expect(await refuse({ lead: { element_type: 'values:Quote', text: 't', extra: 1 } })).toContain('extra');
  });

  it('need a uuid per item of a translatable composite [VAL-018]', async () => {
    expect(await refuse({ rows: [{ label: 'a' }] })).toContain('COMPOSITE_MISSING_UUID');
    const twice = [
      { uuid: 'u', label: 'a' },
      { uuid: 'u', label: 'b' },
    ];
    expect(await refuse({ rows: twice })).toContain('COMPOSITE_DUPLICATE_UUID');
    await accept({
      rows: [
        { uuid: 'u', label: 'a' },
        { uuid: 'v', label: 'b' },
      ],
    });
  });

  it('store a location as a point [VAL-019]', async () => {
    const point = { type: 'Point', coordinates: [8.5, 47.4] };
    expect((await accept({ place: { lat: 47.4, lng: 8.5 } })).place).toEqual(point);
    expect((await accept({ place: { latitude: 47.4, longitude: 8.5 } })).place).toEqual(point);
    await refuse({ place: { lat: 91, lng: 0 } });
  });

  it('are flat, however they were nested [VAL-029]', async () => {
    const nested = { element_type: 'values:Quote', content: { text: 't' } };
    expect((await accept({ lead: nested })).lead).toEqual({ element_type: 'values:Quote', text: 't' });
  });
});

describe('types, constraints and defaults of properties', () => {
  beforeAll(() =>
    client.defineType({
      name: 'values:Typed',
      properties: [
        { name: 'number', type: 'Number', constraints: { min: 1, max: 9, multipleOf: 2 } },
        { name: 'text', type: 'String', constraints: { minLength: 2, maxLength: 4, pattern: '^[a-z]+$' } },
        { name: 'choice', type: 'String', constraints: { enum: ['a', 'b'] } },
        { name: 'flag', type: 'Boolean', default: true },
        { name: 'list', type: 'Array', constraints: { minItems: 1, maxItems: 2, uniqueItems: true } },
        { name: 'map', type: 'Object' },
        { name: 'day', type: 'Date' },
      ],
    }),
  );

  it.each([
    ['number', 'seven'],
    ['text', 7],
    ['flag', 'yes'],
    ['list', {}],
    ['map', []],
    ['day', 'someday'],
  ])('%s refuses %j [VAL-020, HTTP-047]', async (name, value) => {
    expect(await refusal('values:Typed', { [name]: value })).toContain(name);
  });

  it.each([
    ['number', 0],
    ['number', 10],
    ['number', 3],
    ['text', 'a'],
    ['text', 'abcde'],
    ['text', 'AB'],
    ['choice', 'c'],
    ['list', []],
    ['list', [1, 2, 3]],
    ['list', [1, 1]],
  ])('%s refuses %j by its constraints [VAL-021]', async (name, value) => {
    expect(await refusal('values:Typed', { [name]: value })).toContain(name);
  });

  it('fill what is absent on create only [VAL-022, VAL-023]', async () => {
    const node = await space.add('/', 'typed', { number: 4 }, 'values:Typed');
    expect(node.properties.flag).toBe(true);
    const { json } = await space.put('/typed', { properties: { number: 6 } });
    expect(json.properties).not.toHaveProperty('flag');
  });

  it('are not looked at again on nodes of an immutable type, which cannot be updated [VAL-024]', async () => {
    await client.defineType({ name: 'values:Frozen', immutable: true, properties: [] });
    await space.add('/', 'frozen', { a: 1 }, 'values:Frozen');
    const { json, status } = await space.put('/frozen', { properties: { a: 2 } });
    expect(status).toBe(400);
    expect(json.code).toBe('VALIDATION_FAILED');
    expect((await space.put('/frozen@a', 2)).status).toBe(400);
    expect((await space.node('/frozen')).properties.a).toBe(1);
    expectStatus(await space.delete('/frozen'), 200);
  });
});

describe('values', () => {
  it('come back as they were written [VAL-025, VAL-028, VAL-030, ROB-006]', async () => {
    const values = {
      nothing: null,
      yes: true,
      integer: -42,
      float: 0.1,
      text: 'äöü ﷽ 🌳 "quoted" \\ \n\t\u0000',
      empty: '',
      date: '2024-02-29T12:00:00Z',
      decimal: '123.450',
      list: [[], [null], [1, 'a', { b: [] }]],
      object: { '': 1, 'a.b': 2, 'a/b': 3 },
      link: { 'svc:url': 'https://example.com', 'svc:label': 'Example' },
      plainLink: 'https://example.com',
      point: { type: 'Point', coordinates: [8.5, 47.4, 400] },
      polygon: {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 0],
            [1, 1],
            [0, 0],
          ],
        ],
      },
    };
    await space.add('/', 'kinds', values);
    const { $mixins, $supertypes, ...stored } = (await space.node('/kinds')).properties;
    expect(stored).toEqual(values);
    expect([$mixins, $supertypes]).toEqual([[], []]);
  });

  it('refer by id once the path resolves, and stay as given otherwise [VAL-026, VAL-027]', async () => {
    const { id } = await space.add('/', 'target');
    const reference = (path: string) => ({ 'svc:ref': path, 'svc:workspace': space.name });
    await space.add('/', 'referring', { good: reference('/target'), bad: reference('/nowhere') });
    const { properties } = await space.node('/referring');
    expect(properties.good).toEqual({ 'svc:ref': id, 'svc:workspace': space.name, 'svc:path': '/target' });
    expect(properties.bad).toEqual(reference('/nowhere'));
  });

  it.each(['9007199254740993', '1e308', '-1.7976931348623157e308', '123456789012345678901234567890'])(
    'keep the number %s [ROB-007]',
    async (number) => {
      const raw = `{"name":"n${number.length}","node_type":"svc:Folder","properties":{"n":${number},"l":[${number}]}}`;
      const answer = await server.request('POST', space.url('/'), { token: server.adminToken, raw });
      expectStatus(answer, 201);
      const { n, l } = (await space.node(answer.json.path)).properties;
      expect(n).toBe(Number(number));
      expect(l).toEqual([Number(number)]);
    },
  );

  it('keep lone surrogates, or refuse them [ROB-008]', async () => {
    const raw = '{"name":"lone","node_type":"svc:Folder","properties":{"s":"a\\ud800b","\\udc00":1}}';
    const answer = await server.request('POST', space.url('/'), { token: server.adminToken, raw });
    if (answer.status === 400) {
      expect((await space.get('/lone')).status).toBe(404);
      return;
    }
    expectStatus(answer, 201);
    const read = (await space.get('/lone')).json.properties;
    expect(read.s).toBe('a\ud800b');
    expect(read['\udc00']).toBe(1);
  });

  it('are data under any name [ROB-009]', async () => {
    const raw =
      '{"name":"proto","node_type":"svc:Folder","properties":{"__proto__":{"polluted":1},"constructor":2,"prototype":{"a":3},"toString":4}}';
    expectStatus(await server.request('POST', space.url('/'), { token: server.adminToken, raw }), 201);
    const { text } = await space.get('/proto');
    expect(text).toContain('"__proto__":{"polluted":1}');
    expect((await space.get('/proto@__proto__')).json).toEqual({ polluted: 1 });
    expect((await space.get('/proto@constructor')).json).toBe(2);
    expect((await space.get('/proto@prototype.a')).json).toBe(3);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    await space.add('/', 'innocent', {});
    expect((await space.get('/innocent@polluted')).status).toBe(404);
  });
});
