import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;
let space: Space;
let other: Space;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
  space = await client.workspace();
  other = await client.workspace();
});

afterAll(() => server.close());

const LINKS = 'svc:incoming-references';

interface Entry {
  readonly kind: string;
  readonly source: { readonly path: string; readonly workspace: string };
  readonly pointer?: string;
  readonly relation_type?: string;
}

/** What an entry is about, in short. */
const short = ({ kind, pointer, relation_type, source }: Entry) =>
  `${source.path} ${kind} ${pointer ?? relation_type}`;

/** All entries, page by page. @param query begins with `&` */
async function all(path: string, limit: number, query = ''): Promise<Entry[]> {
  const found: Entry[] = [];
  let cursor = '';
  for (;;) {
    const address = `${path}/${LINKS}?limit=${limit}&cursor=${cursor}${query}`;
    const { json } = expectStatus(await space.get(address), 200);
    expect(Object.keys(json)).toEqual(['items', 'next_cursor', 'total']);
    expect(json.items.length).toBeLessThanOrEqual(limit);
    found.push(...json.items);
    if (json.next_cursor === null) return found;
    cursor = json.next_cursor;
  }
}

const relation = (targetPath: string, more: object = {}) => ({
  targetWorkspace: space.name,
  targetPath,
  ...more,
});

describe('what links to a node', () => {
  it('has references and relations of all workspaces, with their sources [LINK-001]', async () => {
    const { id } = await space.add('/', 'target');
    const article = await space.add('/', 'article', { hero: { link: { 'svc:ref': '/target' } } });
    const far = await other.add('/', 'far', {
      list: ['x', { 'svc:ref': id, 'svc:workspace': space.name }],
      // Of its own workspace, where there is no such node.
      near: { 'svc:ref': id },
    });
    await other.done('/far', 'add-relation', relation('/target', { relationType: 'cites', weight: 2 }));
    const source = ({ id: own, name, node_type, path, workspace }: typeof article) => ({
      id: own,
      workspace,
      path,
      name,
      node_type,
    });
    const answer = expectStatus(await space.get(`/target/${LINKS}`), 200);
    expect(answer.json).toEqual({
      items: [
        { kind: 'property', source: source(article), pointer: '/hero/link' },
        { kind: 'property', source: source(far), pointer: '/list/1' },
        { kind: 'relation', source: source(far), relation_type: 'cites', weight: 2 },
      ],
      next_cursor: null,
      total: null,
    });
    expect(revisionOf(answer)).toBe(await client.headRevision());
    for (const address of [
      `/target/svc:cmd/incoming-references`,
      `/target/svc:incoming_references`,
      `/target?command=incoming-references`,
      `/$ref/${id}/${LINKS}`,
    ])
      expect((await space.get(address)).json, address).toEqual(answer.json);
  });

  it('is paged like listings [LINK-002]', async () => {
    await space.add('/', 'paged');
    const to = { 'svc:ref': '/paged' };
    for (let n = 0; n < 4; n += 1) await space.add('/', `from-${n}`, { a: to, b: [to, to] });
    await space.done('/from-1', 'add-relation', relation('/paged'));
    const whole = await all('/paged', 1_000);
    expect(whole.map(short).sort()).toEqual(
      [0, 1, 2, 3]
        .flatMap((n) => ['/a', '/b/0', '/b/1'].map((pointer) => `/from-${n} property ${pointer}`))
        .concat('/from-1 relation references')
        .sort(),
    );
    for (const limit of [1, 4, 13]) expect(await all('/paged', limit)).toEqual(whole);
    const first = expectStatus(await space.get(`/paged/${LINKS}?limit=0`), 200).json;
    expect([first.items.length, first.next_cursor === null]).toEqual([1, false]);
    const { next_cursor: cursor } = first;
    const refused: [Space, string][] = [
      [space, `/from-1/${LINKS}?cursor=${cursor}`],
      [space, `/paged/?cursor=${cursor}`],
      [space, `/paged/${LINKS}?cursor=${cursor}&revision=${await client.headRevision()}`],
      [space, `/paged/${LINKS}?cursor=abc`],
    ];
    await client.branch('aside', { upstream_branch: 'main' });
    refused.push([space.on('aside'), `/paged/${LINKS}?cursor=${cursor}`]);
    for (const [where, address] of refused) {
      const { json, status } = await where.get(address);
      expect([address, status, json.code]).toEqual([address, 400, 'INVALID_CURSOR']);
    }
    expect((await space.on('aside').get(`/paged/${LINKS}`)).json.items).toEqual(whole);
  });

  it('is as of a revision, or of a tag, when that is read [LINK-004]', async () => {
    await space.add('/', 'past');
    await space.add('/', 'gone', { link: { 'svc:ref': '/past' } });
    const added = await space.done('/gone', 'add-relation', relation('/past', { weight: 1 }));
    const revision = revisionOf(added);
    const then = await all('/past', 1_000);
    expect(then.map(short)).toEqual(['/gone property /link', '/gone relation references']);
    expectStatus(await client.managed('POST', '/tags', { name: 'linked', revision }), 200, 201);
    expectStatus(await space.delete('/gone'), 200);
    await space.add('/', 'new', { link: { 'svc:ref': '/past' } });
    expect((await all('/past', 1_000)).map(short)).toEqual(['/new property /link']);
    expect(await all('/past', 1, `&revision=${revision}`)).toEqual(then);
    for (const answer of [
      await space.getAt(revision, `/past/${LINKS}`),
      await space.on('linked').get(`/past/${LINKS}`),
    ]) {
      expect(expectStatus(answer, 200).json.items).toEqual(then);
      expect(revisionOf(answer)).toBe(revision);
    }
  });

  it('is read with GET, of a node that is there, with the parameters of pages [LINK-005]', async () => {
    await space.add('/', 'plain');
    const posted = await space.post(`/plain/${LINKS}`, {});
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET']);
    expect((await space.put(`/plain/${LINKS}`, {})).status).toBe(405);
    expect((await space.get(`/none/${LINKS}`)).json.code).toBe('NODE_NOT_FOUND');
    expect((await space.get(`/${LINKS}`)).json.code).toBe('NODE_NOT_FOUND');
    for (const query of ['lang=de', 'level=2', 'fields=a', 'expand=a', 'limit=x', 'lmit=2']) {
      const { json, status } = await space.get(`/plain/${LINKS}?${query}`);
      expect([query, status, json.code]).toEqual([query, 400, 'VALIDATION_FAILED']);
    }
    expect((await space.get(`/plain@title/${LINKS}`)).status).toBe(400);
  });
});
