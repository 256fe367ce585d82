import { describe, expect, it } from 'vitest';
import { buildOpenApi, type OpenApiOperation } from '#protocols/http/openapi.ts';
import { route } from './http-fixture.ts';

const fine = () => ({ status: 200 });
const node = { $ref: '#/components/schemas/Node' };
const table = [
  route('GET', '/api/repositories', fine, { operationId: 'listRepositories', auth: 'optional' }),
  route('POST', '/api/repositories', fine, {
    operationId: 'createRepository',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Creates a repository',
      description: 'Its first branch is `main`.',
      tag: 'repositories',
      requestSchema: { type: 'object', required: ['name'] },
      responses: {
        201: { description: 'created', schema: { type: 'object' } },
        409: { description: 'taken' },
      },
    },
  }),
  route('GET', '/api/repository/{repo}/{branch}/head/{workspace}/{path*}', fine, {
    operationId: 'readNode',
    docs: {
      summary: 'Reads a node',
      tag: 'nodes',
      parameters: [
        { name: 'branch', in: 'path', description: 'Slashes are written %2F.' },
        { name: 'deep', in: 'query', schema: { type: 'boolean' } },
        { name: 'X-Svc-Consistency', in: 'header', isRequired: true },
      ],
      responses: { 200: { description: 'the node', schema: node } },
    },
  }),
  route('PUT', '/api/uploads/{id}', fine, { operationId: 'putUpload', body: 'stream' }),
  route('POST', '/api/maybe', fine, { operationId: 'maybe', body: 'optional-json', errorShape: 'query' }),
  route('DELETE', '/api/uploads/{id}', fine, { operationId: 'deleteUpload' }),
];
const schemas = { Node: { type: 'object', properties: { children: { type: 'array', items: node } } } };
const document = buildOpenApi({ title: 'Grove', version: '0.1.0', routes: table, schemas });
const operation = (path: string, method: string): OpenApiOperation => {
  const found = document.paths[path]?.[method];
  if (found === undefined) throw new Error(`no ${method} ${path}`);
  return found;
};

describe('buildOpenApi', () => {
  it('has every route of the table, and nothing else', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => `${method.toUpperCase()} ${path} ${one.operationId}`),
    );
    const expected = table.map((one) => `${one.method} ${one.pattern.replace('*}', '}')} ${one.operationId}`);
    expect(described.sort()).toEqual(expected.sort());
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toEqual({ title: 'Grove', version: '0.1.0' });
    expect(document.tags.map((tag) => tag.name)).toEqual(['test', 'repositories', 'nodes']);
  });

  it('describes each path parameter once, required, beside the documented others', () => {
    const { parameters } = operation('/api/repository/{repo}/{branch}/head/{workspace}/{path}', 'get');
    expect(parameters.map((one) => [one.in, one.name, one.required])).toEqual([
      ['path', 'repo', true],
      ['path', 'branch', true],
      ['path', 'workspace', true],
      ['path', 'path', true],
      ['query', 'deep', false],
      ['header', 'X-Svc-Consistency', true],
    ]);
    for (const one of parameters) expect(one.schema).toBeDefined();
  });

  it('names in each path exactly the path parameters of its operations', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1]);
      for (const one of Object.values(methods)) {
        const described = one.parameters.filter((parameter) => parameter.in === 'path');
        expect(described.map((parameter) => parameter.name)).toEqual(inPath);
      }
    }
  });

  it('describes bodies by kind', () => {
    expect(operation('/api/repositories', 'post').requestBody).toEqual({
      required: true,
      content: { 'application/json': { schema: { type: 'object', required: ['name'] } } },
    });
    expect(operation('/api/maybe', 'post').requestBody).toMatchObject({ required: false });
    expect(operation('/api/uploads/{id}', 'put').requestBody).toEqual({
      required: true,
      content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
    });
    expect(operation('/api/uploads/{id}', 'delete').requestBody).toBeUndefined();
  });

  it('describes answers, errors in the shape of the route, and who may call', () => {
    const post = operation('/api/repositories', 'post');
    expect(Object.keys(post.responses)).toEqual(['201', '409', 'default']);
    expect(post.responses['409']).toEqual({ description: 'taken' });
    expect(post.security).toEqual([{ bearer: [] }]);
    expect(operation('/api/repositories', 'get').security).toEqual([{ bearer: [] }, {}]);
    expect(operation('/api/uploads/{id}', 'delete').security).toEqual([]);
    const errorOf = (one: OpenApiOperation): string => JSON.stringify(one.responses.default);
    expect(errorOf(post)).toContain('#/components/schemas/Error"');
    expect(errorOf(operation('/api/maybe', 'post'))).toContain('#/components/schemas/QueryError"');
  });

  it('refers only to what it holds, and is plain JSON', () => {
    const text = JSON.stringify(document);
    expect(JSON.parse(text)).toEqual(document);
    const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map((found) =>
      (found[1] as string).split('/'),
    );
    expect(references.length).toBeGreaterThan(table.length);
    for (const steps of references) {
      let target: unknown = document;
      for (const step of steps) target = (target as Record<string, unknown>)[step];
      expect(target, steps.join('/')).toBeTypeOf('object');
    }
    const schemes = document.components.securitySchemes as Record<string, unknown>;
    for (const methods of Object.values(document.paths)) {
      for (const one of Object.values(methods)) {
        for (const need of one.security)
          for (const name of Object.keys(need)) expect(schemes[name]).toBeDefined();
      }
    }
  });

  it('refuses a table that describes a thing twice or refers to nothing', () => {
    const build = (...routes: typeof table) => buildOpenApi({ title: 't', version: '1', routes });
    expect(() =>
      build(route('GET', '/a', fine), route('POST', '/b', fine, { operationId: 'GET /a' })),
    ).toThrow(/once/);
    expect(() => build(route('GET', '/a/{x}', fine), route('GET', '/a/{x*}', fine))).toThrow(/once/);
    expect(() => build(table[2] as (typeof table)[number])).toThrow(/names a schema/);
    const stray = { parameters: [{ name: 'y', in: 'path' as const }] };
    const docs = { summary: 's', tag: 't', responses: {}, ...stray };
    expect(() => build(route('GET', '/a', fine, { docs }))).toThrow(/of its pattern only/);
  });
});
