import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anything, ContentClient, expectStatus } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

function refused({ json, status }: TestResponse): string {
  expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
  return json.message as string;
}

describe('a node type that others extend or mix in', () => {
  it.each([
    ['nodetypes', 'use:Base'],
    ['mixins', 'use:Mixin'],
  ])(
    'of %s is not deleted while there are nodes of those, which are named [NTYPE-049]',
    async (family, name) => {
      const definition = { name, is_mixin: family === 'mixins', properties: [{ name: 'm', type: 'String' }] };
      const define = () => client.schema('POST', family, { node_type: definition });
      const base = family === 'mixins' ? { mixins: [name] } : { extends: name };
      const kids = ['use:Kid', 'use:Other'].map((kid) => `${kid}${family === 'mixins' ? 'Mixed' : ''}`);
      expectStatus(await define(), 201);
      for (const kid of kids) await client.defineType({ name: kid, ...base });
      const space = await client.workspace();
      await space.add('/', 'node', {}, kids[0]);
      const message = refused(await client.schema('DELETE', `${family}/${name}`));
      expect(message).toContain(
        `'${name}' cannot be deleted: nodes depend on it through '${kids.join("', '")}'`,
      );
      expectStatus(await client.schema('GET', `${family}/${name}`), 200);
      expectStatus(await space.put('/node', { properties: { m: 'x' } }), 200);
      expectStatus(await space.delete('/node'), 200);
      expectStatus(await client.schema('DELETE', `${family}/${name}`), 204);
      // Now it is true of them, and they can be mended.
      const told = refused(await space.post('/', { name: 'node', node_type: kids[0] }));
      expect(told).toContain(`'${name}', which does not exist`);
      expectStatus(await define(), 201);
      await space.add('/', 'node', {}, kids[0]);
    },
  );
});

describe('a default that does not fit', () => {
  it('is refused with the name of its property [NTYPE-050]', async () => {
    for (const key of ['default', 'value']) {
      const properties = [
        { name: 'title', type: 'String' },
        { name: 'count', type: 'Number', [key]: 'many' },
      ];
      const message = refused(
        await client.schema('POST', 'nodetypes', { node_type: { name: 'fit:Type', properties } }),
      );
      expect(message).toContain(`properties.1.${key}`);
      expect(message).toContain("Property 'count' must be a number");
    }
  });
});

describe('an override that does not fit the property it is for', () => {
  it('is refused with the name of the property, unless it is stored already [NTYPE-051]', async () => {
    const define = (definition: object) => client.schema('POST', 'nodetypes', { node_type: definition });
    const parent = (type: string) => ({ name: 'fit:Parent', properties: [{ name: 'count', type }] });
    const kid = (overrides: object) => ({ name: 'fit:Kid', extends: 'fit:Parent', overrides });
    expectStatus(await define(parent('Number')), 201);
    const message = refused(await define(kid({ count: 'many' })));
    expect(message).toContain('overrides.count');
    expect(message).toContain("Property 'count' must be a number");
    expectStatus(await define(kid({ count: 3, absent: 'of the parent' })), 201);
    const space = await client.workspace();
    expect((await space.add('/', 'a', {}, 'fit:Kid')).properties).toMatchObject({ count: 3 });
    // The parent may change below it. What was read is put back, and can be mended.
    expectStatus(await define(parent('String')), 200);
    const { json } = await client.schema('GET', 'nodetypes/fit:Kid');
    expectStatus(await client.schema('PUT', 'nodetypes/fit:Kid', { node_type: json }), 200);
    refused(await define(kid({ count: 4 })));
    expectStatus(await define(kid({ count: 'four' })), 200);
  });
});

describe('a value that a definition gives to new nodes', () => {
  it('is refused in an initial structure when it does not fit [NTYPE-052]', async () => {
    const define = (properties: object) =>
      client.schema('POST', 'nodetypes', {
        node_type: {
          name: 'fit:Start',
          properties: [{ name: 'count', type: 'Number' }],
          initial_structure: { properties },
        },
      });
    const message = refused(await define({ count: 'many' }));
    expect(message).toContain(
      "initial_structure.properties.count: the default does not fit: Property 'count'",
    );
    expectStatus(await define({ count: 1, free: 'anything' }), 201);
    const space = await client.workspace();
    expect((await space.add('/', 'a', {}, 'fit:Start')).properties).toMatchObject({ count: 1 });
  });

  it.each([
    ['archetypes', 'archetype'],
    ['elementtypes', 'element_type'],
  ])(
    'is refused as the default of a field of %s when it does not fit [NTYPE-052]',
    async (family, wrapper) => {
      const define = (value: unknown) => {
        const fields = [
          { $type: 'TextField', name: 'title' },
          { $type: 'NumberField', name: 'count', default_value: value },
          { $type: 'TagField', name: 'tags', default_value: ['a'] },
          { $type: 'OptionsField', name: 'size', options: ['s', 'm'], default_value: 'm' },
        ];
        return client.schema('POST', family, { [wrapper]: { name: 'fit', fields } });
      };
      const message = refused(await define('many'));
      expect(message).toContain(
        `${wrapper}.fields.1.default_value: the default does not fit: Property 'count'`,
      );
      expectStatus(await define(1), 201);
      const { json } = await client.schema('GET', `${family}/fit`);
      expectStatus(await client.schema('PUT', `${family}/fit`, { [wrapper]: json }), 200);
    },
  );
});

describe('a pin to a revision without the node type', () => {
  it('is named in every error about the missing type, and can be removed [WSP-025]', async () => {
    const space = await client.workspace();
    await client.defineType({ name: 'pin:Type' });
    await client.defineType({ name: 'pin:Kid', extends: 'pin:Type' });
    const pinTo = async (pin: string | null) => {
      const config = { default_branch: 'main', node_type_pins: { 'pin:Type': pin } };
      const path = `/api/workspaces/${client.repository}/${space.name}`;
      expectStatus(await server.admin('PUT', path, { ...anything, config }), 204);
    };
    await pinTo('5-0');
    const told = [
      refused(await space.post('/', { name: 'a', node_type: 'pin:Type' })),
      refused(await space.post('/', { name: 'a', node_type: 'pin:Kid' })),
    ];
    const node = { name: 'a', node_type: 'pin:Type', properties: {} };
    const judged = await client.schema('POST', 'nodetypes/validate', { workspace: space.name, node });
    expect(judged.json).toEqual({ valid: false, errors: [expect.any(String)] });
    told.push(judged.json.errors[0]);
    const resolved = await client.schema('GET', `nodetypes/pin:Type/resolved?workspace=${space.name}`);
    expect([resolved.status, resolved.json.code]).toEqual([404, 'NODE_TYPE_NOT_FOUND']);
    told.push(resolved.json.message);
    for (const message of told) {
      expect(message).toContain("'pin:Type'");
      expect(message).toContain("'5-0', to which 'node_type_pins' of the workspace pins it");
    }
    const unknown = refused(await space.post('/', { name: 'a', node_type: 'pin:None' }));
    expect(unknown).toBe("NodeType 'pin:None' not found");
    await pinTo(null);
    expectStatus(await space.post('/', { name: 'a', node_type: 'pin:Kid' }), 201);
  });
});
