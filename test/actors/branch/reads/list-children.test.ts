import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodePage, TextStream } from '#actors/branch/messages.ts';
import type { ListChildren } from '#actors/branch/read-messages.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import {
  type BranchFixture,
  callerWith,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';
import { chunkText } from '#test/support/chunk-text.ts';

const workspace = WORKSPACE;
const refusal = (code: string) => expect.objectContaining({ code });

describe('listing children', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      workspaces: { other: { allowed_node_types: [], allowed_root_node_types: [] } },
    });
  });
  afterAll(() => branch.close());

  const listing = (path: string, more: Partial<ListChildren> = {}): ListChildren => ({
    type: 'ListChildren',
    workspace,
    place: { path },
    scope: 'site/main',
    ...more,
  });
  const list = async (path: string, more: Partial<ListChildren> = {}): Promise<readonly string[]> =>
    ((await branch.query(listing(path, more))) as NodeObject[]).map((node) => node.name);
  const page = async (path: string, more: Partial<ListChildren>) => {
    const answer = (await branch.query(listing(path, more))) as NodePage;
    const items = answer.items as unknown as readonly NodeObject[];
    return { names: items.map((node) => node.name), items, nextCursor: answer.next_cursor };
  };
  /** Follows cursors to the end. */
  const pages = async (path: string, limit: number, more: Partial<ListChildren> = {}) => {
    const found: string[][] = [];
    for (let cursor: string | undefined; ; ) {
      const { names, nextCursor } = await page(path, {
        limit,
        ...more,
        ...(cursor === undefined ? {} : { cursor }),
      });
      found.push(names);
      if (nextCursor === null) return found;
      cursor = nextCursor;
    }
  };
  const fill = (parent: string, names: readonly string[]) =>
    Promise.all(names.map((name) => branch.create(`${parent}/${name}`)));

  it('keeps the order of creation, at the root and below, with any names [LIST-015]', async () => {
    await fill('', ['zzz', 'aaa', 'mmm', '1111']);
    await fill('/zzz', ['xxx', 'aaa', '222', '111']);
    expect(await list('/')).toEqual(['zzz', 'aaa', 'mmm', '1111']);
    expect(await list('/zzz')).toEqual(['xxx', 'aaa', '222', '111']);
  });

  it('answers an empty list for a parent without children, and no list for a missing one', async () => {
    await branch.create('/empty');
    expect(await list('/empty')).toEqual([]);
    expect(await branch.query(listing('/', { workspace: 'other' }))).toEqual([]);
    expect(await page('/empty', { limit: 5 })).toEqual({ names: [], items: [], nextCursor: null });
    await expect(branch.query(listing('/nowhere'))).rejects.toEqual(refusal('NODE_NOT_FOUND'));
    await expect(branch.query(listing('/', { workspace: 'nope' }))).rejects.toEqual(
      refusal('WORKSPACE_NOT_FOUND'),
    );
    await expect(branch.query(listing('/', { workspace: 'Ťontent' }))).rejects.toEqual(
      refusal('WORKSPACE_NOT_FOUND'),
    );
  });

  it('reports for each child whether it has children itself, by path and by id alike', async () => {
    const top = await branch.create('/kin');
    await fill('/kin', ['with', 'without']);
    await branch.create('/kin/with/child');
    const byPath = (await branch.query(listing('/kin'))) as NodeObject[];
    expect(byPath.map((node) => [node.name, node.has_children])).toEqual([
      ['with', true],
      ['without', false],
    ]);
    expect(await branch.query(listing('/kin', { place: { id: top.id } }))).toEqual(byPath);
    expect(byPath[0]).toEqual(await branch.read('/kin/with'));
  });

  it('gives every node once over its pages, then null, also when the last page is exactly full [PAGE-001] [PAGE-003]', async () => {
    await branch.create('/six');
    await fill('/six', ['f', 'e', 'd', 'c', 'b', 'a']);
    expect(await pages('/six', 4)).toEqual([
      ['f', 'e', 'd', 'c'],
      ['b', 'a'],
    ]);
    expect(await pages('/six', 3)).toEqual([
      ['f', 'e', 'd'],
      ['c', 'b', 'a'],
    ]);
    expect(await pages('/six', 6)).toEqual([['f', 'e', 'd', 'c', 'b', 'a']]);
    const { nextCursor } = await page('/six', { limit: 2 });
    expect(nextCursor).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it('resumes at the same position when siblings are added, moved and removed in between [PAGE-011]', async () => {
    await branch.create('/lively');
    await fill('/lively', ['a', 'b', 'c', 'd', 'e']);
    const first = await page('/lively', { limit: 2 });
    // The node the cursor stands behind goes, one still to come goes, one comes, one moves from behind to before.
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/lively/b' } });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/lively/c' } });
    await branch.create('/lively/f');
    await branch.command({
      type: 'ReorderNode',
      workspace,
      place: { path: '/lively/e' },
      targetPath: '/lively/a',
      position: 'before',
    });
    const second = await page('/lively', { limit: 10, cursor: first.nextCursor as string });
    expect([first.names, second.names]).toEqual([
      ['a', 'b'],
      ['d', 'f'],
    ]);
  });

  it('refuses a cursor of another path, workspace, branch, revision or locale [PAGE-005] [PAGE-006] [PAGE-007] [PAGE-008]', async () => {
    await branch.create('/here');
    await fill('/here', ['a', 'b']);
    await branch.create('/there');
    await fill('/there', ['a', 'b']);
    const { revision } = await branch.command({
      type: 'CreateNode',
      workspace: 'other',
      parentPath: '/',
      node: { name: 'here', nodeType: 'svc:Folder', properties: {}, id: (await branch.read('/here')).id },
      deep: false,
    });
    const { nextCursor: cursor } = await page('/here', { limit: 1 });
    const at = parseRevision(revision);
    const foreign: readonly (readonly [string, Partial<ListChildren>])[] = [
      ['/there', {}],
      // The same path and even the same id in another workspace.
      ['/here', { workspace: 'other' }],
      ['/here', { scope: 'site/draft' }],
      ['/here', { at }],
      ['/here', { lang: 'de' }],
    ];
    for (const [path, more] of foreign) {
      await expect(branch.query(listing(path, { ...more, cursor: cursor as string }))).rejects.toMatchObject({
        code: 'INVALID_CURSOR',
        message: expect.stringMatching(/belongs to another listing/),
      });
    }
    expect((await page('/here', { cursor: cursor as string })).names).toEqual(['b']);
  });

  it('refuses garbage and cursors of another format with a message that names the remedy [PAGE-004] [PAGE-009]', async () => {
    await branch.create('/plain');
    await fill('/plain', ['a', 'b']);
    const { nextCursor } = await page('/plain', { limit: 1 });
    const bytes = Buffer.from(nextCursor as string, 'base64url');
    const older = Buffer.from(bytes);
    older[0] = 0;
    const cursors = [
      'garbage',
      '',
      '%%%',
      'x'.repeat(5000),
      older.toString('base64url'),
      Buffer.from(JSON.stringify({ last_key: 'a0', revision: '1-0' })).toString('base64url'),
      bytes.subarray(0, 13).toString('base64url'),
      `${nextCursor}=`,
      Buffer.concat([bytes, Buffer.of(0)]).toString('base64url'),
    ];
    for (const cursor of cursors) {
      await expect(branch.query(listing('/plain', { cursor }))).rejects.toMatchObject({
        code: 'INVALID_CURSOR',
        message: expect.stringContaining('start the listing again'),
      });
    }
  });

  it('takes 100 by default and never more than 1000 [LIST-007]', async () => {
    await branch.create('/many');
    const names = Array.from({ length: 1100 }, (_, index) => `n${index}`);
    await fill('/many', names);
    const first = await page('/many', { limit: 1 });
    const byDefault = await page('/many', { cursor: first.nextCursor as string });
    expect(byDefault.names).toEqual(names.slice(1, 101));
    expect((await page('/many', { limit: 5000 })).names).toEqual(names.slice(0, 1000));
    expect((await page('/many', { limit: 0 })).names).toEqual(names.slice(0, 1));
    expect((await page('/many', { limit: -3 })).names).toEqual(names.slice(0, 1));
    expect((await pages('/many', 1000)).flat()).toEqual(names);
  });

  it('streams a large listing as of one moment, while others write and are answered', async () => {
    await branch.create('/large');
    const names = Array.from({ length: 2500 }, (_, index) => `n${index}`);
    await fill('/large', names);
    const answer = branch.ask(listing('/large')) as TextStream;
    expect(answer).not.toBeInstanceOf(JsonText);
    let text = '';
    let chunks = 0;
    for await (const chunk of answer.chunks) {
      if (chunks === 0) {
        await branch.command({ type: 'DeleteNode', workspace, place: { path: '/large/n2499' } });
        await branch.create('/large/late');
      }
      chunks += 1;
      text += chunkText(chunk);
    }
    expect(chunks).toBeGreaterThan(5);
    expect((JSON.parse(text) as NodeObject[]).map((node) => node.name)).toEqual(names);
    expect((await list('/large')).slice(-2)).toEqual(['n2498', 'late']);
  });

  it('gives the event loop back in the middle of a large listing [ROB-012]', async () => {
    let turns = 0;
    let running = true;
    const count = () => {
      turns += 1;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    // Nothing but the listing itself can let the counter in: a consumer that awaits chunks stays in one turn. How often
    // depends on the machine; a listing that never gave the loop back would have ended before the first time.
    expect((await list('/large')).length).toBe(2500);
    running = false;
    expect(turns).toBeGreaterThan(0);
  });

  it('can be left in the middle, and ends with the deadline or the abort of its caller', async () => {
    const leave = async (caller?: Parameters<BranchFixture['ask']>[1]) => {
      const { chunks } = branch.ask(listing('/large'), caller) as TextStream;
      for await (const chunk of chunks) return chunkText(chunk);
      return undefined;
    };
    expect(await leave()).toMatch(/^\[\{/);
    const all = callerWith(() => true);
    const gone = AbortSignal.abort();
    const read = async (caller: Parameters<BranchFixture['ask']>[1]) => {
      let length = 0;
      for await (const chunk of (branch.ask(listing('/large'), caller) as TextStream).chunks)
        length += chunk.length;
      return length;
    };
    await expect(read({ ...all, signal: gone })).rejects.toEqual(refusal('REQUEST_CANCELLED'));
    await expect(read({ ...all, deadlineMs: 0 })).rejects.toEqual(refusal('DEADLINE_EXCEEDED'));
  });

  it('skips nodes that the caller may not read, page by page, up to the end', async () => {
    await branch.create('/mixed');
    await fill('/mixed', ['a1', 'x1', 'x2', 'x3', 'a2', 'x4']);
    const caller = callerWith((operation, { path }) => operation === 'read' && !path.includes('/x'));
    const all = (await branch.query(listing('/mixed'), caller)) as NodeObject[];
    expect(all.map((node) => node.name)).toEqual(['a1', 'a2']);
    const found: string[][] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = listing('/mixed', { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      const answer = (await branch.query(query, caller)) as NodePage;
      found.push(answer.items.map(({ name }) => name as string));
      cursor = answer.next_cursor;
    }
    expect(found).toEqual([['a1'], [], ['a2']]);
    await expect(
      branch.query(
        listing('/mixed'),
        callerWith(() => false),
      ),
    ).rejects.toEqual(refusal('NODE_NOT_FOUND'));
    expect(
      await branch.query(
        listing('/'),
        callerWith(() => false),
      ),
    ).toEqual([]);
  });

  it('shows a locale and leaves out what is hidden in it, on pages too [TRANS-015]', async () => {
    await branch.create('/words');
    await branch.create('/words/one', { description: 'one' });
    await branch.create('/words/two', { description: 'two' });
    await branch.create('/words/three', { description: 'three' });
    const translate = (path: string, value: string) =>
      branch.command({
        type: 'TranslateNode',
        workspace,
        place: { path },
        locale: 'de',
        translations: { '/description': value },
      });
    await translate('/words/one', 'eins');
    await branch.command({
      type: 'ChangeLocale',
      workspace,
      place: { path: '/words/two' },
      locale: 'de',
      change: 'hide',
    });
    const shown = async (more: Partial<ListChildren>) =>
      ((await branch.query(listing('/words', more))) as NodeObject[]).map(
        (node) => node.properties.description,
      );
    expect(await shown({ lang: 'de' })).toEqual(['eins', 'three']);
    expect(await shown({ lang: 'de-ch' })).toEqual(['eins', 'three']);
    expect(await shown({ lang: 'en' })).toEqual(['one', 'two', 'three']);
    expect(await shown({})).toEqual(['one', 'two', 'three']);
    expect(await pages('/words', 1, { lang: 'de' })).toEqual([['one'], [], ['three']]);
    await branch.command({
      type: 'ChangeLocale',
      workspace,
      place: { path: '/words' },
      locale: 'de',
      change: 'hide',
    });
    await expect(branch.query(listing('/words', { lang: 'de' }))).rejects.toEqual(refusal('NODE_NOT_FOUND'));
    await expect(branch.query(listing('/words', { lang: '!' }))).rejects.toEqual(
      refusal('VALIDATION_FAILED'),
    );
  });

  it('shows children, order and has_children as of a revision, paged too [REV-021] [REV-025]', async () => {
    await branch.create('/then');
    await fill('/then', ['a', 'b']);
    const { revision } = await branch.command({
      type: 'UpdateNode',
      workspace,
      place: { path: '/then' },
      properties: {},
    });
    const at = parseRevision(revision);
    await branch.create('/then/a/child');
    await branch.create('/then/c');
    await branch.command({
      type: 'ReorderNode',
      workspace,
      place: { path: '/then/b' },
      targetPath: '/then/a',
      position: 'before',
    });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/then/a' } });
    const past = (await branch.query(listing('/then', { at }))) as NodeObject[];
    expect(past.map((node) => [node.name, node.has_children])).toEqual([
      ['a', false],
      ['b', false],
    ]);
    expect(await pages('/then', 1, { at })).toEqual([['a'], ['b']]);
    expect(await list('/then')).toEqual(['b', 'c']);
  });

  it('pages like the whole listing, for any number of children and any limit', async () => {
    await branch.create('/sizes');
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 4 }), fc.integer({ min: 1, max: 6 }), async (more, limit) => {
        await fill(
          '/sizes',
          Array.from({ length: more }, () => `n${count++}`),
        );
        const found = await pages('/sizes', limit);
        expect(found.flat()).toEqual(await list('/sizes'));
        for (const names of found.slice(0, -1)) expect(names.length).toBe(limit);
        expect(found.length).toBe(Math.max(1, Math.ceil(count / limit)));
      }),
      { numRuns: 20 },
    );
  });
});
