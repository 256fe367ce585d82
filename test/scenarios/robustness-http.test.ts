import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareRevisionTexts, ContentClient, revisionOf, type Space } from '#test/support/content-client.ts';
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

const folder = (name: string, rest: object = {}) => ({ name, node_type: 'svc:Folder', ...rest });

describe('addresses', () => {
  it('name what is missing in them [HTTP-011, HTTP-012, HTTP-013]', async () => {
    const at = (repository: string, branch: string, workspace: string, method: string) =>
      server.admin(
        method,
        `/api/repository/${repository}/${branch}/head/${workspace}/`,
        method === 'GET' ? undefined : folder('x'),
      );
    for (const method of ['GET', 'POST']) {
      const repository = await at('nope', 'main', space.name, method);
      expect([repository.status, repository.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
      const branch = await at(client.repository, 'nope', space.name, method);
      expect([branch.status, branch.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
      const encoded = await at(client.repository, 'feature%2Fx', space.name, method);
      expect([encoded.status, encoded.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
      const workspace = await at(client.repository, 'main', 'nope', method);
      expect([workspace.status, workspace.json.code]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    }
  });

  it.each([
    '/a%zz',
    '/%E0%A4',
    '/a/%2F',
    '/a%2Fb',
    '/.',
    '/..',
    '/a/../b',
    '/%2e%2e',
    '/a//b',
    '/a%00b',
    '//',
  ])('%s is refused with 400 [HTTP-020, HTTP-044]', async (path) => {
    const { json, status } = await space.get(path);
    expect(status).toBe(400);
    expect(json.code).toBe('INVALID_PATH');
  });

  it('with encoded slashes between names are refused with what to write [HTTP-044]', async () => {
    for (const path of [
      '/a%2Fb',
      '/a%2fb/',
      '/a%2Fb@title',
      '/a%2Fb/svc:relations',
      '/a/b%2Fc/svc:version',
    ]) {
      const { json, status } = await space.get(path);
      expect([path, status, json.code, json.message]).toEqual([
        path,
        400,
        'INVALID_PATH',
        "A path segment has an encoded '/'; write the slashes of a path as they are",
      ]);
    }
  });

  it('of nodes may be long, but not longer than the limit [HTTP-021]', async () => {
    const { status } = await space.get(`/${'a/'.repeat(2_000)}a`);
    expect(status).toBe(404);
    const tooLong = await space.get(`/${'abcdefghi/'.repeat(1_000)}a`);
    expect([400, 414]).toContain(tooLong.status);
  });

  it('hold names with @ only when it is encoded [HTTP-043]', async () => {
    await space.add('/', 'plain', { b: 'property' });
    expect((await space.get('/plain@b')).json).toBe('property');
    const encoded = await space.get('/plain%40b');
    expect(encoded.status).toBe(404);
    expect(encoded.json.code).toBe('NODE_NOT_FOUND');
  });

  it('do not wrap outside of /management [HTTP-045]', async () => {
    const answers = [
      await space.get('/missing'),
      await client.schema('GET', 'nodetypes/no:Such'),
      await client.revisions('/5-5'),
    ];
    for (const { json } of answers) {
      expect(Object.keys(json)).toEqual(expect.arrayContaining(['code', 'message', 'timestamp']));
      expect(json).not.toHaveProperty('success');
    }
  });
});

describe('bodies', () => {
  const raw = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    server.request('POST', space.url('/'), { token: server.adminToken, raw: body, headers });

  it('that are not JSON are refused with 400 INVALID_JSON [HTTP-010]', async () => {
    for (const body of ['{', 'name: x', '{"name":}', "{'name':'x'}"]) {
      const { json, status } = await raw(body);
      expect(status).toBe(400);
      expect(json.code).toBe('INVALID_JSON');
    }
    const empty = await server.request('POST', space.url('/'), { token: server.adminToken });
    expect([empty.status, empty.json.code]).toEqual([400, 'INVALID_JSON']);
  });

  it('that are not UTF-8 or too deep are refused with 400 [HTTP-018, HTTP-019]', async () => {
    expect((await raw(Buffer.from([0x22, 0xff, 0xfe, 0x22]))).status).toBe(400);
    expect((await raw(`${'['.repeat(10_000)}${']'.repeat(10_000)}`)).status).toBe(400);
    const nested = `{"name":"deep","node_type":"svc:Folder","properties":{"a":${'['.repeat(500)}${']'.repeat(500)}}}`;
    expect((await raw(nested)).status).toBe(400);
    expect((await space.get('/deep')).status).toBe(404);
  });

  it('of another type than JSON are refused with 415 [HTTP-010]', async () => {
    const form = await raw('--x\r\n\r\n--x--', { 'content-type': 'multipart/form-data; boundary=x' });
    expect([form.status, form.json.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });

  it('that are too large are refused with 413 and leave nothing [HTTP-017, ROB-003]', async () => {
    const socket = net.connect(server.port, '127.0.0.1');
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      socket.setEncoding('latin1').on('data', (part: string) => {
        text += part;
      });
      socket.on('close', () => resolve(text));
      socket.on('error', (error: NodeJS.ErrnoException) => {
        if (text === '') reject(error);
      });
      socket.write(
        `POST ${space.url('/')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.adminToken}\r\nContent-Type: application/json\r\nContent-Length: ${200 * 1024 * 1024}\r\n\r\n{"name":"huge`,
      );
      socket.on('data', () => socket.end());
    });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('PAYLOAD_TOO_LARGE');
    expect((await space.get('/huge')).status).toBe(404);
  });

  it('whose sender disconnects leave nothing [ROB-002]', async () => {
    const before = await client.headRevision();
    for (let round = 0; round < 5; round += 1) {
      const socket = net.connect(server.port, '127.0.0.1');
      await new Promise((resolve) => socket.once('connect', resolve));
      const body = JSON.stringify(folder('half-sent'));
      const head = `POST ${space.url('/')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.adminToken}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
      await new Promise<void>((resolve) => socket.write(head + body.slice(0, -1), () => resolve()));
      socket.destroy();
    }
    expect((await space.get('/half-sent')).status).toBe(404);
    expect(await client.headRevision()).toBe(before);
  });

  it('with a bad value are 400, of a wrong type 422 [HTTP-004, HTTP-047]', async () => {
    await space.add('/', 'judged');
    await space.add('/', 'other');
    const reorder = (movePosition: unknown) =>
      space.command('/judged', 'reorder', { targetPath: '/other', movePosition });
    const bad = await reorder('sideways');
    expect([bad.status, bad.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    const wrong = await reorder(5);
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('`movePosition`');
  });
});

describe('a large answer', () => {
  it('is compressed for clients that accept it and the same for others [HTTP-023]', async () => {
    const own = await client.workspace();
    const operations = Array.from({ length: 400 }, (_, index) => ({
      type: 'create',
      node: folder(`n${index}`, { properties: { text: 'some text '.repeat(40) } }),
    }));
    await own.done('/', 'commit', { message: 'many', operations });
    const plain = await own.get('/');
    expect(plain.json).toHaveLength(400);
    const paged = await own.get('/?limit=300');
    const { gunzipSync } = await import('node:zlib');
    const coded = await server.request('GET', own.url('/?limit=300'), {
      token: server.adminToken,
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(coded.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(coded.bytes).toString()).toBe(paged.text);
    expect(coded.bytes.length).toBeLessThan(paged.bytes.length / 4);
  });

  it('is not sent to HEAD, which gets the same head [HTTP-016]', async () => {
    const { headers, status, text } = await server.admin('HEAD', space.url('/'));
    expect([status, text]).toEqual([200, '']);
    expect(headers['x-svc-revision']).toMatch(/^\d+-\d+$/);
  });
});

describe('without a token', () => {
  it('nothing is written [ADMIN-013]', async () => {
    const before = await client.headRevision();
    const writes = [
      await server.request('POST', space.url('/'), { body: folder('anon') }),
      await server.request('PUT', space.url('/judged'), { body: { properties: {} } }),
      await server.request('DELETE', space.url('/judged')),
      await server.request('POST', space.url('/judged/svc:publish'), { body: {} }),
    ];
    for (const { status } of writes) expect([401, 403]).toContain(status);
    expect(await client.headRevision()).toBe(before);
  });

  it('a node is missing and a listing is empty [ADMIN-014]', async () => {
    await space.add('/', 'secret');
    const read = await server.request('GET', space.url('/secret'));
    expect([read.status, read.json.code]).toEqual([404, 'NODE_NOT_FOUND']);
    expect(read.json.message).toBe(
      (await space.get('/no-secret')).json.message.replace('no-secret', 'secret'),
    );
    const list = await server.request('GET', space.url('/'));
    expect([list.status, list.json]).toEqual([200, []]);
    const tree = await server.request('GET', space.url('/?deep=true'));
    expect([tree.status, tree.json]).toEqual([200, {}]);
    const query = await server.request('POST', space.url('/query'), { body: { nodeType: 'svc:Folder' } });
    expect(query.json.items).toEqual([]);
    const history = await server.request(
      'GET',
      `/api/history/${client.repository}/main/${space.name}/secret`,
    );
    expect(history.status).toBe(404);
  });

  it('a useless token reads like none and writes nothing [HTTP-005, ADMIN-013]', async () => {
    const token = `${server.adminToken}x`;
    expect((await server.request('GET', space.url('/secret'), { token })).status).toBe(404);
    const write = await server.request('POST', space.url('/'), { token, body: folder('forged') });
    expect([write.status, write.json.code]).toEqual([401, 'UNAUTHORIZED']);
  });

  it('the admin token opens every kind of route [ADMIN-010]', async () => {
    const answers = [
      await space.get('/'),
      await client.schema('GET', 'nodetypes'),
      await server.admin('GET', `/api/workspaces/${client.repository}`),
      await server.admin('GET', '/api/repositories'),
      await client.revisions(),
    ];
    for (const { status } of answers) expect(status).toBe(200);
  });
});

describe('an idempotency key', () => {
  let keys = 0;
  const freshKey = () => `key-${++keys}`;
  const send = (method: string, path: string, key: string, body?: unknown) =>
    server.request(method, space.url(path), {
      token: server.adminToken,
      headers: { 'idempotency-key': key },
      ...(body === undefined ? {} : { body }),
    });

  it('answers the first outcome again and takes effect once [IDEM-001]', async () => {
    const parent = await space.add('/', 'keyed');
    const key = freshKey();
    const first = await send('POST', '/keyed', key, folder('once'));
    const again = await send('POST', '/keyed', key, folder('once'));
    expect(first.status).toBe(201);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(revisionOf(again)).toBe(revisionOf(first));
    expect(await space.names('/keyed')).toEqual(['once']);
    expect(parent.id).toBe((await space.node('/keyed')).id);
    const update = freshKey();
    const put = await send('PUT', '/keyed', update, { properties: { n: 1 } });
    await space.put('/keyed', { properties: { n: 2 } });
    expect((await send('PUT', '/keyed', update, { properties: { n: 1 } })).text).toBe(put.text);
    expect((await space.node('/keyed')).properties.n).toBe(2);
  });

  it('covers commands, deletions, properties and schema [IDEM-001]', async () => {
    await space.add('/', 'run', { n: 1 });
    const requests = [
      ['POST', '/run/svc:publish', {}],
      ['POST', '/run/svc:unpublish', {}],
      ['PUT', '/run@n', 5],
      ['DELETE', '/run', undefined],
    ] as const;
    for (const [method, path, body] of requests) {
      const key = freshKey();
      const first = await send(method, path, key, body);
      const again = await send(method, path, key, body);
      expect(first.status, path).toBe(200);
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      expect(revisionOf(again)).toBe(revisionOf(first));
    }
    const key = { 'idempotency-key': freshKey() };
    const define = () =>
      server.request('POST', `/api/management/${client.repository}/main/nodetypes`, {
        token: server.adminToken,
        headers: key,
        body: { node_type: { name: 'idem:Once' } },
      });
    expect((await define()).status).toBe(201);
    const second = await define();
    expect([second.status, second.json.version]).toEqual([201, 1]);
  });

  it('covers repositories and branches, also when they were changed, removed or recreated since [IDEM-001]', async () => {
    const admin = (method: string, path: string, body?: unknown, key?: string) =>
      server.request(method, path, {
        token: server.adminToken,
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
        ...(body === undefined ? {} : { body }),
      });
    const branches = `/api/management/repositories/default/${client.repository}/branches`;
    await space.add('/', 'forked');
    for (const [list, item, body, change, other] of [
      [
        '/api/repositories',
        '/api/repositories/idem-made',
        { repo_id: 'idem-made', description: 'first', supported_languages: ['DE-de'] },
        { description: 'second' },
        { repo_id: 'idem-made', description: 'other' },
      ],
      [
        branches,
        `${branches}/idem-made`,
        { name: 'idem-made', upstream_branch: 'main', description: 'first' },
        { description: 'second' },
        { name: 'idem-made', description: 'other' },
      ],
    ] as const) {
      const key = freshKey();
      const first = await admin('POST', list, body, key);
      expect([first.status, first.json]).toEqual([201, (await admin('GET', item)).json]);
      const repeated = async () => {
        const { status, text } = await admin('POST', list, body, key);
        expect([status, text]).toEqual([201, first.text]);
      };
      await repeated();
      expect((await admin(list === branches ? 'PATCH' : 'PUT', item, change)).status).toBeLessThan(300);
      await repeated();
      expect((await admin('DELETE', item)).status).toBeLessThan(300);
      await repeated();
      expect((await admin('GET', item)).status).toBe(404);
      expect((await admin('POST', list, other)).status).toBe(201);
      await repeated();
      expect((await admin('GET', item)).text).toContain('other');
      expect((await admin('DELETE', item)).status).toBeLessThan(300);
    }
  });

  it('covers branches and tags whose source was deleted since [IDEM-001, IDEM-002]', async () => {
    const managed = `/api/management/repositories/default/${client.repository}`;
    const post = (list: string, key: string, body: unknown) =>
      server.request('POST', `${managed}/${list}`, {
        token: server.adminToken,
        headers: { 'idempotency-key': key },
        body,
      });
    const remove = async (item: string) =>
      expect((await server.admin('DELETE', `${managed}/${item}`)).status).toBe(204);
    expect((await post('branches', freshKey(), { name: 'source', upstream_branch: 'main' })).status).toBe(
      201,
    );
    const added = await server.admin(
      'POST',
      `/api/repository/${client.repository}/source/head/${space.name}/`,
      folder('only-there'),
    );
    const revision = revisionOf(added);
    const requests = [
      ['branches', freshKey(), { name: 'of-branch', upstream_branch: 'source' }],
      ['branches', freshKey(), { name: 'of-revision', from_revision: revision }],
      ['tags', freshKey(), { name: 'of-tag', revision }],
    ] as const;
    const first = [];
    for (const [list, key, body] of requests) first.push(await post(list, key, body));
    expect(first.map(({ status }) => status)).toEqual([201, 201, 201]);
    for (const item of ['branches/of-branch', 'branches/of-revision', 'tags/of-tag', 'branches/source'])
      await remove(item);
    for (const [index, [list, key, body]] of requests.entries()) {
      const { status, text } = await post(list, key, body);
      expect([status, text]).toEqual([201, first[index]!.text]);
    }
    expect((await server.admin('GET', `${managed}/branches/of-branch`)).status).toBe(404);
    const late = ['branches', freshKey(), { name: 'late', upstream_branch: 'source' }] as const;
    const refused = await post(...late);
    expect([refused.status, refused.json.code, refused.json.field]).toEqual([
      404,
      'BRANCH_NOT_FOUND',
      'upstream_branch',
    ]);
    expect((await post('branches', freshKey(), { name: 'source', upstream_branch: 'main' })).status).toBe(
      201,
    );
    const again = await post(...late);
    expect([again.status, again.json.message]).toEqual([404, refused.json.message]);
    await remove('branches/source');
  });

  it('answers a failure the same way [IDEM-002]', async () => {
    await space.addAll('/failing', '/failing/taken');
    const key = freshKey();
    const first = await send('POST', '/failing', key, folder('taken'));
    await space.delete('/failing/taken');
    const again = await send('POST', '/failing', key, folder('taken'));
    expect(first.status).toBe(409);
    expect([again.status, again.json.code, again.json.message]).toEqual([
      409,
      first.json.code,
      first.json.message,
    ]);
    expect(await space.names('/failing')).toEqual([]);
  });

  it('belongs to one request [IDEM-003]', async () => {
    const key = freshKey();
    await send('POST', '/', key, folder('mine'));
    const others = [
      await send('POST', '/', key, folder('yours')),
      await send('POST', '/keyed', key, folder('mine')),
      await send('PUT', '/mine', key, { properties: {} }),
    ];
    for (const { json, status } of others) {
      expect(status).toBe(422);
      expect(json?.code ?? 'IDEMPOTENCY_MISMATCH').toBe('IDEMPOTENCY_MISMATCH');
    }
    expect((await space.get('/yours')).status).toBe(404);
  });

  it('writes once for many requests at the same time [IDEM-004]', async () => {
    await space.add('/', 'parallel');
    const key = freshKey();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send('POST', '/parallel', key, folder('one'))),
    );
    for (const { status } of answers) expect([201, 409]).toContain(status);
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    for (const { json, status } of answers) {
      if (status === 409) expect(json.code).toBe('IDEMPOTENCY_IN_PROGRESS');
    }
    expect(await space.names('/parallel')).toEqual(['one']);
  });

  it('outlives a restart [IDEM-005]', async () => {
    const own = await startServer();
    try {
      const theirs = await ContentClient.on(own);
      const place = await theirs.workspace();
      const post = () =>
        own.request('POST', place.url('/'), {
          token: own.adminToken,
          headers: { 'idempotency-key': 'lasting' },
          body: folder('kept', { commit: { message: 'once' } }),
        });
      const first = await post();
      await own.restart();
      const again = await post();
      expect([again.status, again.text]).toEqual([201, first.text]);
      expect(await place.names()).toEqual(['kept']);
    } finally {
      await own.close();
    }
  });
});

describe('many writers', () => {
  it('to one path: one wins, the others get the conflict', async () => {
    const own = await client.workspace();
    await own.add('/', 'arena');
    const answers = await Promise.all(Array.from({ length: 500 }, () => own.post('/arena', folder('prize'))));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const losers = answers.filter(({ status }) => status !== 201);
    for (const { json, status } of losers) {
      expect([status, json.code]).toEqual([409, 'NODE_ALREADY_EXISTS']);
    }
    expect(await own.names('/arena')).toEqual(['prize']);
  });

  it('get revisions that rise in the order they took effect [REV-008]', async () => {
    const own = await client.workspace();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => own.post('/', folder(`w${index}`))),
    );
    const revisions = answers.map(revisionOf);
    expect(new Set(revisions).size).toBe(200);
    const sorted = [...revisions].sort(compareRevisionTexts);
    const { json } = await client.revisions('?limit=200');
    expect(json.revisions.map(({ revision }: { revision: string }) => revision).reverse()).toEqual(sorted);
  });
});
