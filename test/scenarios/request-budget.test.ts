import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, type Space } from '#test/support/content-client.ts';
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

/** A query of so many bytes; it matches nothing. */
const queryOf = (bytes: number): string => `{"path":"/${'x'.repeat(bytes - 12)}"}`;

describe('the order of checks', () => {
  const ask = (repository: string, raw: string, token?: string) =>
    server.request('POST', `/api/repository/${repository}/main/head/${space.name}/query`, {
      raw,
      ...(token === undefined ? {} : { token }),
    });

  it('accepts 64 KiB from a caller without a login [HTTP-017] [HTTP-050]', async () => {
    const { repository } = client;
    expect((await ask(repository, queryOf(64 * 1024))).status).not.toBe(413);
    const refused = await ask(repository, queryOf(64 * 1024 + 1));
    expect([refused.status, refused.json.message]).toEqual([413, expect.stringContaining('log in')]);
    expect((await ask(repository, queryOf(64 * 1024 + 1), server.adminToken)).status).not.toBe(413);
  });

  it('looks repository and branch up before the body is read [HTTP-011, HTTP-012] [HTTP-051]', async () => {
    const missing = await ask('no-such', '{', server.adminToken);
    expect([missing.status, missing.json.message]).toEqual([404, "Repository 'no-such' not found"]);
    const path = `/api/repository/${client.repository}/no-such/head/${space.name}/query`;
    const branch = await server.request('POST', path, { raw: '{', token: server.adminToken });
    expect([branch.status, branch.json.message]).toEqual([404, "Branch 'no-such' not found"]);
  });

  it('reads the body of a query to a tag, and refuses a write to one as before', async () => {
    await client.managed('POST', '/tags', { name: 'v1', revision: await client.headRevision() });
    const tagged = space.on('v1');
    expect((await tagged.query({ path: '/' })).status).toBe(200);
    expect((await tagged.post('/', { name: 'a', node_type: 'svc:Folder' })).status).toBe(405);
  });
});

describe('a body with more JSON than is parsed at once', () => {
  it.each([
    ['keys that differ', `{${Array.from({ length: 30_000 }, (_, index) => `"k${index}":1`).join(',')}}`],
    ['empty objects', `[${'{},'.repeat(300_000)}{}]`],
  ])('is refused with 413: %s [HTTP-052]', async (_, raw) => {
    const refused = await server.request('POST', space.url('/'), { raw, token: server.adminToken });
    expect([refused.status, refused.json.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });
});

describe('a query that takes more than one request may', () => {
  it('is refused with 413, and names the remedy [HTTP-053]', async () => {
    const small = await startServer({ config: '[limits]\nrequest_work_ms = 100\n' });
    try {
      const own = await (await ContentClient.on(small)).workspace();
      const text = 'ab'.repeat(1_000_000);
      await own.post('/', { name: 'n', node_type: 'svc:Folder', properties: { text } });
      const terms = Array.from({ length: 50 }, (_, index) => ({ 'properties.text': { like: `aa${index}` } }));
      const refused = await small.admin('POST', own.url('/query/dsl'), { or: terms });
      expect([refused.status, refused.json]).toEqual([
        413,
        { error: expect.any(String), message: expect.stringMatching(/0\.1 s of work.*narrow it down/) },
      ]);
      const fine = await small.admin('POST', own.url('/query/dsl'), terms[0]);
      expect([fine.status, fine.json.page.total]).toEqual([200, 0]);
    } finally {
      await small.close();
    }
  });
});
