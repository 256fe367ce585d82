import { describe, expect, it } from 'vitest';
import type { Exchange } from '#protocols/http/openapi/openapi-examples.ts';
import { buildOpenApi, type OpenApiOperation } from '#protocols/http/openapi/openapi.ts';
import { route } from '../http-fixture.ts';

const fine = () => ({ status: 200 });
const node = { $ref: '#/components/schemas/Node' };
const listAddress = (value: string) => ({
  pattern: '/api/{repo}/{branch}/{list}',
  variable: 'list',
  description: 'What is listed.',
  value,
  operationId: 'listAny',
  summary: 'Lists one of them',
});
const sharedDocs = (value: string) => ({
  summary: value,
  tag: 'test',
  responses: {
    200: { description: value, schema: { title: value } },
    ...(value === 'inventory' ? { 403: { description: 'not yours' } } : {}),
  },
  address: listAddress(value),
});
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
      responses: {
        200: {
          description: 'the node',
          schema: node,
          alternatives: { 'text/yaml': { type: 'string' } },
        },
      },
    },
  }),
  route('POST', '/api/repository/{repo}/{branch}/head/{workspace}/{path*}', fine, {
    operationId: 'createNode',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Creates a node',
      tag: 'nodes',
      parameters: [{ name: 'command', in: 'query', isUndescribed: true }],
      responses: { 201: { description: 'the node', schema: node } },
      further: [
        {
          pattern: '/api/repository/{repo}/{branch}/head/{workspace}/{path}/svc:rename',
          operationId: 'renameNode',
          body: 'json',
          docs: { summary: 'Renames a node', tag: 'nodes', responses: { 200: { description: 'done' } } },
        },
      ],
    },
  }),
  route('PUT', '/api/uploads/{id}', fine, { operationId: 'putUpload', body: 'stream' }),
  route('POST', '/api/maybe', fine, {
    operationId: 'maybe',
    body: 'optional-json',
    errorShape: 'query',
    docs: {
      summary: 'May be',
      tag: 'test',
      parameters: [{ name: 'Idempotency-Key', in: 'header' }],
      responses: { 200: { description: 'it is' } },
    },
  }),
  route('GET', '/api/{repo}/{branch}/locks', fine, { operationId: 'listLocks', docs: sharedDocs('locks') }),
  route('GET', '/api/{repo}/{branch}/inventory', fine, {
    operationId: 'listPools',
    docs: sharedDocs('inventory'),
  }),
  route('DELETE', '/api/uploads/{id}', fine, { operationId: 'deleteUpload' }),
];
const schemas = { Node: { type: 'object', properties: { children: { type: 'array', items: node } } } };
const tags = { test: 'Of the test.', repositories: 'Repositories.', nodes: 'Nodes.' };
const about = { title: 'Grove', version: '0.1.0', license: 'Apache-2.0', tags } as const;
const examples: readonly Exchange[] = [
  {
    operation: 'renameNode',
    name: 'short',
    summary: 'A short name.',
    parameters: { path: 'a' },
    body: { newName: 'b' },
    status: 200,
  },
  {
    operation: 'renameNode',
    name: 'long',
    summary: 'A longer name.',
    parameters: { path: 'b' },
    body: { newName: 'longer' },
    status: 200,
  },
  { operation: 'readNode', summary: 'A node.', parameters: { deep: true }, status: 200, answer: { id: 1 } },
  {
    operation: 'readNode',
    name: 'yaml',
    summary: 'As YAML.',
    status: 200,
    answer: 'id: 1',
    answerType: 'text/yaml',
  },
];
const exampleParameters = { repo: 'r', path: 'p' };
const document = buildOpenApi({ ...about, routes: table, schemas, examples, exampleParameters });
/** What a reference among the components stands for, or the value itself. */
const resolved = (value: unknown): unknown => {
  const { $ref } = value as { readonly $ref?: string };
  if ($ref === undefined) return value;
  return $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document);
};
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
    const own = table.filter((one) => one.docs.address === undefined);
    const expected = [
      ...own.map((one) => `${one.method} ${one.pattern.replace('*}', '}')} ${one.operationId}`),
      'POST /api/repository/{repo}/{branch}/head/{workspace}/{path}/svc:rename renameNode',
      'GET /api/{repo}/{branch}/{list} listAny',
    ];
    expect(described.sort()).toEqual(expected.sort());
    expect(document.openapi).toBe('3.1.0');
    const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };
    expect(document.info).toEqual({ title: 'Grove', version: '0.1.0', license });
    expect(document.tags).toEqual(Object.entries(tags).map(([name, description]) => ({ name, description })));
    expect(document.servers.map(({ url }) => url)).toEqual(['/']);
  });

  it('describes each path parameter once, required, beside the documented others', () => {
    const { parameters: written } = operation(
      '/api/repository/{repo}/{branch}/head/{workspace}/{path}',
      'get',
    );
    const parameters = written.map((one) => resolved(one) as Record<string, unknown>);
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

  it('describes answers, errors in the shape of the route, and the allowed callers', () => {
    const post = operation('/api/repositories', 'post');
    expect(Object.keys(post.responses)).toEqual([
      ...['201', '400', '401', '409', '413', '415', '422'],
      'default',
    ]);
    const body = { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } };
    expect(post.responses['409']).toEqual({ description: 'taken', content: body });
    expect(post.security).toEqual([{ bearer: [] }]);
    expect(operation('/api/repositories', 'get').security).toEqual([{ bearer: [] }, {}]);
    expect(operation('/api/uploads/{id}', 'delete').security).toEqual([]);
    const errorOf = (one: OpenApiOperation): string => JSON.stringify(resolved(one.responses.default));
    expect(errorOf(post)).toContain('#/components/schemas/ErrorBody"');
    expect(errorOf(operation('/api/maybe', 'post'))).toContain('#/components/schemas/QueryErrorBody"');
  });

  it('says that a field at fault is answered as text, and a key of another request as JSON', () => {
    const typesOf = (one: OpenApiOperation) =>
      Object.keys((resolved(one.responses['422']) as { readonly content: object }).content);
    expect(typesOf(operation('/api/repositories', 'post'))).toEqual(['text/plain']);
    expect(typesOf(operation('/api/maybe', 'post'))).toEqual(['text/plain', 'application/json']);
    expect(operation('/api/uploads/{id}', 'put').responses['422']).toBeUndefined();
  });

  it('describes an answer in several content types', () => {
    const { content } = operation('/api/repository/{repo}/{branch}/head/{workspace}/{path}', 'get').responses[
      '200'
    ] as { readonly content: object };
    expect(content).toMatchObject({
      'application/json': { schema: node },
      'text/yaml': { schema: { type: 'string' } },
    });
  });

  it('has examples by name: of bodies, of answers in their content type, of parameters', () => {
    const rename = operation('/api/repository/{repo}/{branch}/head/{workspace}/{path}/svc:rename', 'post');
    expect(rename.requestBody).toMatchObject({
      content: {
        'application/json': {
          examples: {
            short: { summary: 'A short name.', value: { newName: 'b' } },
            long: { summary: 'A longer name.', value: { newName: 'longer' } },
          },
        },
      },
    });
    const examplesOf = (name: string) => rename.parameters.find((one) => one.name === name)?.examples;
    expect(examplesOf('path')).toEqual({ short: { value: 'a' }, long: { value: 'b' } });
    expect(examplesOf('repo')).toEqual({ short: { value: 'r' }, long: { value: 'r' } });
    expect(examplesOf('workspace')).toBeUndefined();
    const read = operation('/api/repository/{repo}/{branch}/head/{workspace}/{path}', 'get');
    expect(read.responses['200']).toMatchObject({
      content: {
        'application/json': { examples: { example: { value: { id: 1 } } } },
        'text/yaml': { examples: { yaml: { value: 'id: 1' } } },
      },
    });
    expect(read.parameters.find((one) => one.name === 'deep')?.examples).toEqual({
      example: { value: true },
    });
  });

  it('gives what a route carries out besides an address of its own', () => {
    const rename = operation('/api/repository/{repo}/{branch}/head/{workspace}/{path}/svc:rename', 'post');
    expect(rename.operationId).toBe('renameNode');
    expect(rename.parameters.map((one) => one.name)).toEqual(['repo', 'branch', 'workspace', 'path']);
    expect(rename.security).toEqual([{ bearer: [] }]);
    expect(rename.requestBody).toMatchObject({ required: true });
  });

  it('leaves out parameters that are other spellings', () => {
    const create = operation('/api/repository/{repo}/{branch}/head/{workspace}/{path}', 'post');
    expect(create.parameters.map((one) => one.name)).not.toContain('command');
  });

  it('describes routes that share an address as one operation', () => {
    const shared = operation('/api/{repo}/{branch}/{list}', 'get');
    expect(shared.operationId).toBe('listAny');
    expect(document.paths['/api/{repo}/{branch}/locks']).toBeUndefined();
    expect(shared.parameters.at(-1)).toMatchObject({
      name: 'list',
      in: 'path',
      schema: { type: 'string', enum: ['locks', 'inventory'] },
    });
    expect(shared.responses['200']).toEqual({
      description: 'locks',
      content: { 'application/json': { schema: { anyOf: [{ title: 'locks' }, { title: 'inventory' }] } } },
    });
    expect(Object.keys(shared.responses)).toContain('403');
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
    const build = (...routes: typeof table) =>
      buildOpenApi({ ...about, tags: { test: 't', t: 't', nodes: 'n' }, routes });
    expect(() =>
      build(route('GET', '/a', fine), route('POST', '/b', fine, { operationId: 'GET /a' })),
    ).toThrow(/once/);
    expect(() => build(route('GET', '/a/{x}', fine), route('GET', '/a/{x*}', fine))).toThrow(/once/);
    expect(() => build(table[2] as (typeof table)[number])).toThrow(/names a component/);
    const stray = { parameters: [{ name: 'y', in: 'path' as const }] };
    const docs = { summary: 's', tag: 't', responses: {}, ...stray };
    expect(() => build(route('GET', '/a', fine, { docs }))).toThrow(/of its pattern only/);
    const other = { ...docs, parameters: [], tag: 'unknown' };
    expect(() => build(route('GET', '/a', fine, { docs: other }))).toThrow(/tag unknown is described/);
    const unknown = [{ operation: 'none', summary: 's', status: 200 }];
    expect(() => buildOpenApi({ ...about, routes: [], examples: unknown })).toThrow(/of an operation/);
    const twice = [examples[2] as Exchange, examples[2] as Exchange];
    expect(() => buildOpenApi({ ...about, routes: [], examples: twice })).toThrow(/a name of its own/);
    const elsewhere = { ...sharedDocs('locks'), address: { ...listAddress('locks'), value: 'pools' } };
    expect(() => build(route('GET', '/api/{repo}/{branch}/locks', fine, { docs: elsewhere }))).toThrow(
      /shared address/,
    );
  });
});
