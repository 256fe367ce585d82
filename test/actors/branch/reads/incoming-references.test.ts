import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { edgesAt, type IncomingEdge } from '#actors/branch/reads/incoming-edges.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { CommitOperation } from '#actors/branch/messages.ts';
import type { ListIncomingReferences } from '#actors/branch/read-messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import { countedReader } from '#test/runtime/scan/counted-reader.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;

/** One entry of an answer. */
interface Entry {
  readonly kind: 'property' | 'relation';
  readonly source: { readonly id: string; readonly path: string };
  readonly pointer?: string;
  readonly relation_type?: string;
  readonly weight?: number | null;
}

interface Page {
  readonly items: readonly Entry[];
  readonly next_cursor: string | null;
  readonly total: null;
}

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch({
    workspaces: { other: { allowed_node_types: [], allowed_root_node_types: [] } },
  });
});
afterAll(() => branch.close());

/** A reference to a node. */
const to = (id: string, inside?: string): JsonObject => ({
  'svc:ref': id,
  ...(inside === undefined ? {} : { 'svc:workspace': inside }),
});

type Asked = Partial<Omit<ListIncomingReferences, 'type' | 'place'>>;

const page = async (path: string, asked: Asked = {}, caller = administrator) =>
  (await branch.query(
    { type: 'ListIncomingReferences', workspace, place: { path }, scope: 'here', limit: 100, ...asked },
    caller,
  )) as Page;

/** The entries of all pages. */
async function all(path: string, limit: number, at?: Revision, caller = administrator): Promise<Entry[]> {
  const found: Entry[] = [];
  let asked: Asked = { limit, ...(at === undefined ? {} : { at }) };
  for (;;) {
    const { items, next_cursor } = await page(path, asked, caller);
    expect(items.length).toBeLessThanOrEqual(limit);
    found.push(...items);
    if (next_cursor === null) return found;
    expect(next_cursor).not.toBe(asked.cursor);
    asked = { ...asked, cursor: next_cursor };
  }
}

const create = (path: string, properties: JsonObject = {}, id = path.slice(1), inside = workspace) =>
  branch.command({
    type: 'CreateNode',
    workspace: inside,
    parentPath: '/',
    node: { name: path.slice(1), nodeType: 'svc:Folder', properties, id },
    deep: false,
  });

const relate = async (
  path: string,
  targetPath: string,
  relationType: string,
  weight: number | null = null,
) => {
  const target = { targetWorkspace: workspace, targetPath, relationType, weight };
  const { revision } = await branch.command({ type: 'AddRelation', workspace, place: { path }, ...target });
  return parseRevision(revision as string);
};

/** What an entry is about, in short. */
const short = ({ kind, pointer, relation_type, source }: Entry) =>
  `${source.id} ${kind} ${pointer ?? relation_type}`;

describe('incoming references', () => {
  it('are references in properties and relations, of all workspaces [LINK-001]', async () => {
    await create('/t');
    await create('/b', { hero: to('t'), list: [1, { deep: { 'x/y': to('t') } }], aside: to('else') });
    await create('/a', { self: to('a'), other: to('t', 'other') });
    await create('/o', { far: to('t', workspace), near: to('t') }, 'o', 'other');
    await relate('/b', '/t', 'see-also', 0.5);
    await relate('/b', '/t', 'knows');
    const source = (id: string, inside = workspace) => ({
      id,
      workspace: inside,
      path: `/${id}`,
      name: id,
      node_type: 'svc:Folder',
    });
    expect(await page('/t')).toEqual({
      items: [
        { kind: 'property', source: source('b'), pointer: '/hero' },
        { kind: 'property', source: source('b'), pointer: '/list/1/deep/x~1y' },
        { kind: 'relation', source: source('b'), relation_type: 'knows', weight: null },
        { kind: 'relation', source: source('b'), relation_type: 'see-also', weight: 0.5 },
        { kind: 'property', source: source('o', 'other'), pointer: '/far' },
      ],
      next_cursor: null,
      total: null,
    });
    expect((await page('/a')).items.map(short)).toEqual(['a property /self']);
    expect((await page('/b')).items).toEqual([]);
    const byId = { place: { id: 't' } } as const;
    expect(await page('/', byId as Asked)).toEqual(await page('/t'));
    await expect(page('/none')).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
    await expect(page('/')).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
    await expect(page('/t', { workspace: 'none' })).rejects.toMatchObject({ code: 'WORKSPACE_NOT_FOUND' });
  });

  it('follow what is written: moved, changed and deleted sources [LINK-001]', async () => {
    for (const id of ['f', 'f1']) await create(`/${id}`);
    await create('/f2', { at: to('f') });
    await relate('/f1', '/f', 'r');
    const place = { path: '/f2' };
    await branch.command({ type: 'RenameNode', workspace, place, newName: 'renamed' });
    expect((await page('/f')).items.map(({ source }) => source.path)).toEqual(['/f1', '/renamed']);
    const update = { type: 'UpdateNode', workspace, place: { id: 'f2' } } as const;
    await branch.command({ ...update, properties: { moved: [to('f')] } });
    expect((await page('/f')).items.map(short)).toEqual(['f1 relation r', 'f2 property /moved/0']);
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/f1' } });
    expect((await page('/f')).items.map(short)).toEqual(['f2 property /moved/0']);
    await branch.command({ ...update, properties: {} });
    expect(await page('/f')).toEqual({ items: [], next_cursor: null, total: null });
  });

  it('come by pages, of which the last may be full, and the same at any size [LINK-002]', async () => {
    await create('/p');
    for (let n = 0; n < 6; n += 1) await create(`/p${n}`, { one: to('p'), two: [to('p'), to('p')] });
    for (const n of [1, 3]) {
      await relate(`/p${n}`, '/p', 'x');
      await relate(`/p${n}`, '/p', 'y');
    }
    const whole = (await page('/p')).items;
    expect(whole).toHaveLength(22);
    for (const limit of [1, 2, 5, 11, 21, 22]) expect(await all('/p', limit)).toEqual(whole);
    expect((await page('/p', { limit: 22 })).next_cursor).toBeNull();
    expect((await page('/p', { limit: 0 })).items).toHaveLength(1);
    expect((await page('/p', { limit: 5_000 })).items).toHaveLength(22);
    const cursor = (await page('/p', { limit: 7 })).next_cursor as string;
    const rest = (await page('/p', { cursor })).items;
    expect(rest).toEqual(whole.slice(7));
    // What is written between two pages changes nothing else.
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/p2' } });
    await create('/p0a', { one: to('p') });
    expect((await page('/p', { cursor })).items).toEqual(rest.filter(({ source }) => source.id !== 'p2'));
  });

  it('leave out sources that the caller may not read [LINK-003]', async () => {
    await create('/h');
    for (const id of ['h1', 'h2', 'h3']) await create(`/${id}`, { a: to('h'), b: to('h') });
    const at = await relate('/h2', '/h', 'r');
    await create('/later');
    const caller = callerWith((_operation, { path }) => path !== '/h2');
    const expected = ['h1 property /a', 'h1 property /b', 'h3 property /a', 'h3 property /b'];
    expect((await page('/h', {}, caller)).items.map(short)).toEqual(expected);
    for (const limit of [1, 2, 3]) {
      expect((await all('/h', limit, undefined, caller)).map(short)).toEqual(expected);
      expect((await all('/h', limit, at, caller)).map(short)).toEqual(expected);
    }
    const stranger = callerWith((_operation, { path }) => path !== '/h');
    await expect(page('/h', {}, stranger)).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
  });

  it('come in whole pages, whose cursors do not name a source that the caller may not read [LINK-003]', async () => {
    await create('/cut');
    const names = ['cut-1', 'concealed', 'dust'];
    for (const id of names) await create(`/${id}`, { a: to('cut'), b: to('cut') });
    const at = await relate('/concealed', '/cut', 'concealed');
    await create('/behind');
    const caller = callerWith((_operation, { path }) => path !== '/concealed');
    for (const moment of [undefined, at])
      for (const limit of [1, 2, 3, 4]) {
        const asked = moment === undefined ? { limit } : { limit, at: moment };
        const { items, next_cursor: cursor } = await page('/cut', asked, caller);
        expect(items).toHaveLength(limit);
        expect(cursor === null).toBe(limit === 4);
        if (cursor === null) continue;
        expect(Buffer.from(cursor, 'base64url').toString()).not.toContain('concealed');
        const rest = await page('/cut', { ...asked, cursor }, caller);
        expect(items.concat(rest.items).length).toBe(Math.min(2 * limit, 4));
      }
  });

  it('show pointers that no key holds as they are [LINK-001]', async () => {
    await create('/long');
    const names = [`${'k'.repeat(900)}/`, '\ud800', '\u0000', 'é', '__proto__', `${'k'.repeat(900)}~`];
    const nest = (inner: JsonObject): JsonObject =>
      JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(inner)}`).join(',')}}`);
    await create('/l', { p: nest(nest(to('long'))) });
    const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
    const pointers = names.flatMap((a) => names.map((b) => `/p/${escaped(a)}/${escaped(b)}`));
    for (const limit of [1_000, 7, 1]) {
      const found = await all('/long', limit);
      expect(found.map(({ pointer }) => pointer).sort()).toEqual(pointers.sort());
      const at = parseRevision((await branch.command(renaming('/l', `l-${limit}`))).revision as string);
      await branch.command(renaming(`/l-${limit}`, 'l'));
      // The walk of the past finds them in the same order.
      expect((await all('/long', limit, at)).map(({ pointer }) => pointer)).toEqual(
        found.map(({ pointer }) => pointer),
      );
    }
  });

  it('of an earlier revision are those of then [LINK-004]', async () => {
    for (const id of ['w', 'w1', 'w2']) await create(`/${id}`, id === 'w1' ? { a: to('w') } : {});
    const at = await relate('/w2', '/w', 'r', 3);
    const then = (await page('/w')).items;
    expect(then.map(short)).toEqual(['w1 property /a', 'w2 relation r']);
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/w1' } });
    await branch.command({ type: 'UpdateNode', workspace, place: { id: 'w2' }, properties: { b: to('w') } });
    await create('/w3', { c: to('w') });
    await branch.command(renaming('/w2', 'w-two'));
    expect((await page('/w', { at })).items).toEqual(then);
    expect(await all('/w', 1, at)).toEqual(then);
    expect((await all('/w', 1)).map(short)).toEqual(['w2 property /b', 'w2 relation r', 'w3 property /c']);
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/w' } });
    expect((await page('/w', { at })).items).toEqual(then);
  });

  /** Rows and nodes that are read for a page of all references to `/z`. */
  function readsOf(reader: TableReader, at: Revision): number {
    const read = { rows: 0, nodes: 0 };
    const window = { target: { workspace, id: 'z' }, after: undefined, most: 10 };
    const moment = new Moment(countedReader(reader, read), at);
    for (const edge of edgesAt(moment, window, () => moment.tree.byIdInSteps(workspace, 'nothing')))
      expect(edge).toBeUndefined();
    return read.rows + read.nodes;
  }

  it('of an earlier revision are looked for in a bounded number of nodes and bytes at a time', async () => {
    await create('/z');
    for (let n = 0; n < 5; n += 1) await create(`/z${n}`, n % 2 === 0 ? {} : { a: to('z') });
    const at = await relate('/z4', '/z', 'r');
    await branch.command({ type: 'UpdateNode', workspace, place: { id: 'z1' }, properties: {} });
    const expected = (await page('/z', { at })).items.map(short);
    // So many changes that the table of the head does not help.
    const operations: CommitOperation[] = Array.from({ length: 100 }, (_, n) => ({
      type: 'create',
      parentPath: '/',
      node: { name: `later-${n}`, nodeType: 'svc:Folder', properties: {} },
    }));
    const told = await branch.inspect((reader) => readsOf(reader, at));
    await branch.command({ type: 'CommitOperations', workspace, commit: { message: 'many' }, operations });
    expect((await page('/z', { at })).items.map(short)).toEqual(expected);
    // Before that, only nodes that refer to it and those that had changed were read.
    expect(told).toBeLessThan(50);
    expect(await branch.inspect((reader) => readsOf(reader, at))).toBeGreaterThan(100);
    const walk = (scanned: { readonly nodes: number; readonly bytes: number }) => (reader: TableReader) => {
      const tree = new PastNodeReader(reader, at);
      const target = { workspace, id: 'z' };
      const found: string[] = [];
      let after: string | undefined;
      let walks = 0;
      do {
        walks += 1;
        const window = { target, after, most: 10 };
        const read = { rows: 0, nodes: 0 };
        const edges = edgesAt(
          new Moment(countedReader(reader, read), at),
          window,
          ({ id, workspace: inside }) => tree.byIdInSteps(inside, id),
          scanned,
        );
        let step = edges.next();
        for (; step.done !== true; step = edges.next())
          if (step.value !== undefined) found.push(shortEdge(step.value));
        // And the node at which it goes on.
        expect(read.nodes).toBeLessThanOrEqual(scanned.nodes + 1);
        after = step.value;
      } while (after !== undefined);
      return { found, walks };
    };
    expect(expected).toEqual(['z1 property /a', 'z3 property /a', 'z4 relation r']);
    const all = Number.MAX_SAFE_INTEGER;
    for (const scanned of [
      { nodes: 3, bytes: all },
      { nodes: all, bytes: 1 },
    ]) {
      const steps = await branch.inspect(walk(scanned));
      expect(steps.found).toEqual(expected);
      expect(steps.walks).toBeGreaterThan(3);
    }
    const nothing = (reader: TableReader) => new PastNodeReader(reader, at).byIdInSteps(workspace, 'nothing');
    // The last node at the very bound is the end.
    const nodes = await branch.inspect((reader) => {
      const window = { target: { workspace, id: 'z' }, after: undefined, most: 10 };
      const edges = edgesAt(new Moment(reader, at), window, () => nothing(reader));
      return [...edges].length;
    });
    const read = await branch.inspect((reader) => {
      const window = { target: { workspace, id: 'z' }, after: undefined, most: 10 };
      const edges = edgesAt(new Moment(reader, at), window, () => nothing(reader), { nodes, bytes: all });
      let step = edges.next();
      while (step.done !== true) step = edges.next();
      return step.value;
    });
    expect(read).toBeUndefined();
  });

  it('refuse cursors of other listings, and made-up ones do no harm [LINK-002]', async () => {
    await create('/c');
    await create('/c1', { a: to('c'), b: to('c') });
    const at = await relate('/c1', '/c', 'r');
    const cursor = (await page('/c', { limit: 1 })).next_cursor as string;
    for (const [path, asked] of [
      ['/c1', {}],
      ['/c', { at }],
      ['/c', { scope: 'there' }],
    ] as const) {
      const refused = page(path, { cursor, ...asked });
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_CURSOR' });
    }
    const children = { type: 'ListChildren', workspace, place: { path: '/c' }, scope: 'here' } as const;
    await expect(branch.query({ ...children, cursor })).rejects.toMatchObject({ code: 'INVALID_CURSOR' });
    const start = Buffer.from(cursor, 'base64url').subarray(0, 13);
    const forged = (place: string) =>
      Buffer.concat([start, Buffer.from(place, 'latin1')]).toString('base64url');
    for (const place of ['', '\0', '/\0x', 'x'.repeat(1_700), `${workspace}\0${'x'.repeat(1_700)}`, ' \0'])
      await expect(page('/c', { cursor: forged(place) })).rejects.toMatchObject({ code: 'INVALID_CURSOR' });
    const whole = (await page('/c')).items;
    for (const [place, left] of [
      [`${workspace}\0c1\u0001`, 0],
      [`${workspace}\0c1\0nothing`, 3],
      [`${workspace}\0c1\0zzz\0`, 0],
      [`${workspace}\0c1\0property\0/a`, 2],
      [`${workspace}\0${'c'.repeat(1_500)}`, 0],
      [`0\0x\0relation\0`, 3],
    ] as const) {
      expect((await page('/c', { cursor: forged(place) })).items).toEqual(whole.slice(3 - left));
    }
  });

  it('of a node with very many references are found without holding up others', async () => {
    await create('/m');
    const many = Array.from({ length: 40_000 }, () => to('m'));
    const { revision } = await create('/m1', { many });
    const first = await page('/m', { limit: 1_000 });
    expect(first.items).toHaveLength(1_000);
    await branch.command({ type: 'UpdateNode', workspace, place: { id: 'm1' }, properties: {} });
    const past = await page('/m', { limit: 1_000, at: parseRevision(revision as string) });
    expect(past.items).toEqual(first.items);
    expect(past.next_cursor).not.toBeNull();
  });
});

const renaming = (path: string, newName: string) =>
  ({ type: 'RenameNode', workspace, place: { path }, newName }) as const;

function shortEdge(edge: IncomingEdge): string {
  const what = edge.kind === 'property' ? edge.pointer : edge.relation.relation_type;
  return `${edge.source.id} ${edge.kind} ${what}`;
}
