import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchQuery, RunQuery, TextStream } from '#actors/branch/messages.ts';
import type { ListChildren, ReadTree } from '#actors/branch/read-messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';
import { textOfChunks } from '#test/support/chunk-text.ts';
import { roleCaller } from '#test/support/role-caller.ts';

const workspace = WORKSPACE;

/** How nodes are shown. */
type Shown = Partial<Pick<ListChildren, 'at' | 'lang' | 'fields' | 'expand'>>;

/** Properties of nodes whose texts need care. */
const contents = {
  empty: {},
  plain: { title: 'plain', words: 12, tags: ['a', 'b'] },
  astral: { '💾 key': '💾 \u{10ffff}', 'ключ"\\': 'строка "в кавычках" \\ \u0001\n\u2028' },
  numbers: { exact: 12345678901234567890n.toString(), small: 1e-7, none: null, nested: [{ a: [] }] },
  'relations-text': { text: ',"relations":[{"x":1}]' },
  cjk: { title: '庭園 の 本', 'svc:none': '' },
} as const;

describe('nodes in listings, trees and queries', () => {
  let branch: BranchFixture;
  let names: readonly string[];

  beforeAll(async () => {
    branch = await openBranch();
    await branch.create('/all');
    await branch.create('/aside');
    await branch.create('/gone');
    for (const [name, properties] of Object.entries(contents))
      await branch.create(`/all/${name}`, properties);
    await branch.create('/all/parent', { title: 'has children' });
    await branch.create('/all/parent/below', { title: 'has a parent' });
    await branch.create('/all/large', { text: 'ä"\n💾'.repeat(20_000) });
    await branch.create('/all/huge', { text: 'ö"\n💾'.repeat(150_000) });
    for (const name of ['related', 'half-related']) await branch.create(`/all/${name}`, { title: name });
    const relate = (name: string, targetPath: string) =>
      branch.command({
        type: 'AddRelation',
        workspace,
        place: { path: `/all/${name}` },
        targetWorkspace: workspace,
        targetPath,
        relationType: 'near',
        weight: null,
      });
    await relate('related', '/aside');
    await relate('half-related', '/aside');
    await relate('half-related', '/gone');
    const aside = (await branch.query({
      type: 'ReadNode',
      workspace,
      place: { path: '/aside' },
    })) as { id: string };
    await branch.create('/all/referring', {
      title: 'refers',
      to: { 'svc:ref': aside.id, 'svc:workspace': workspace },
    });
    await branch.create('/all/translated', { title: 'Garden', text: 'English' });
    await branch.command({
      type: 'TranslateNode',
      workspace,
      place: { path: '/all/translated' },
      locale: 'de',
      translations: { '/title': 'Gärten 💾' },
    });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/gone' } });
    names = [
      ...Object.keys(contents),
      ...['parent', 'large', 'huge', 'related', 'half-related', 'referring', 'translated'],
    ];
  });
  afterAll(() => branch.close());

  const textOf = async (query: BranchQuery, caller: Caller): Promise<string> => {
    const answer = await branch.ask(query, caller);
    return answer instanceof JsonText ? answer.text : await textOfChunks((answer as TextStream).chunks);
  };
  const nodeText = (path: string, shown: Shown, caller: Caller): Promise<string> =>
    textOf({ type: 'ReadNode', workspace, place: { path }, ...shown }, caller);
  const childrenOf = (path: string, more: Partial<ListChildren>): ListChildren => ({
    type: 'ListChildren',
    workspace,
    place: { path },
    scope: 'site/main',
    ...more,
  });
  const headOf = async (): Promise<Revision> =>
    parseRevision(((await branch.query({ type: 'ReadBranchState' })) as { head: string }).head);

  /** Compares every way to read many nodes with the texts of single reads. */
  const requireEqual = async (
    shownNames: readonly string[],
    shown: Shown = {},
    caller: Caller = administrator,
  ): Promise<void> => {
    const texts = await Promise.all(shownNames.map((name) => nodeText(`/all/${name}`, shown, caller)));
    expect(await textOf(childrenOf('/all', shown), caller)).toBe(`[${texts.join(',')}]`);
    const paged = await textOf(childrenOf('/all', { ...shown, limit: 100 }), caller);
    expect(paged).toBe(`{"items":[${texts.join(',')}],"next_cursor":null,"total":null}`);
    const belowText = await nodeText('/all/parent/below', shown, caller).catch(() => '');
    const children = `{"below":{"node":${belowText},"children":{}}}`;
    const tree: ReadTree = {
      type: 'ReadTree',
      workspace,
      place: { path: '/all' },
      levels: 1,
      form: 'flat',
      ...shown,
    };
    expect(await textOf(tree, caller)).toBe(`[${texts.join(',')}]`);
    const entries = shownNames.map((name, index) => {
      const below = name === 'parent' ? children : '{}';
      return `${JSON.stringify(name)}:{"node":${texts[index] as string},"children":${below}}`;
    });
    const nested: ReadTree = { ...tree, levels: 2, form: 'map' };
    expect(await textOf(nested, caller)).toBe(`{${entries.join(',')}}`);
    const query: RunQuery = { type: 'RunQuery', workspace, selector: { parent: '/all' }, ...shown };
    const byPath = texts.toSorted((a, b) => Buffer.compare(Buffer.from(pathIn(a)), Buffer.from(pathIn(b))));
    const page = `"page":{"total":${texts.length},"limit":null,"offset":0,"nextOffset":null}`;
    expect(await textOf(query, caller)).toBe(`{"items":[${byPath.join(',')}],${page}}`);
  };
  const pathIn = (text: string): string => (JSON.parse(text) as { path: string }).path;

  it('have the text of a single read byte for byte', () => requireEqual(names));

  it('have it where they are read from the disk', async () => {
    await branch.reopen();
    await requireEqual(names);
    // Again, now that the types are known.
    await requireEqual(names);
  });

  it('have it at an earlier revision', async () => {
    const at = await headOf();
    const before = await textOf(childrenOf('/all', {}), administrator);
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/all/plain' } });
    await branch.create('/all/plain', { title: 'other' });
    expect(await textOf(childrenOf('/all', { at }), administrator)).toBe(before);
    await requireEqual(names, { at });
    names = [...names.filter((name) => name !== 'plain'), 'plain'];
    await requireEqual(names);
  });

  it.each([
    ['a language', { lang: 'de' }],
    ['some properties', { fields: ['title', 'to'] }],
    ['references expanded', { expand: ['to'] }],
    ['some properties in a language', { fields: ['title'], lang: 'de' }],
  ] as const)('have it with %s', (_, shown) => requireEqual(names, shown));

  it('have it for a caller who sees only some', async () => {
    const isHidden = (path: string): boolean => path.startsWith('/all/p') || path === '/all/large';
    const caller = callerWith((operation, { path }) => operation === 'read' && !isHidden(path));
    await requireEqual(
      names.filter((name) => !isHidden(`/all/${name}`)),
      {},
      caller,
    );
  });

  it.each([
    ['one property', { except_fields: ['text'] }],
    ['properties beside each other', { except_fields: ['title', 'words'] }],
    ['names with escapes', { except_fields: ['ключ"\\', 'exact', 'none'] }],
    ['all but some', { fields: ['💾 key', 'tags', 'nested', 'to'] }],
    ['all', { fields: [] }],
  ])('have it for a caller from whom %s are hidden, as nodes that are decoded', async (_, permitted) => {
    const caller = roleCaller([{ path: '**', operations: ['read'], ...permitted }]);
    await requireEqual(names, {}, caller);
    for (const name of names) {
      const query = { type: 'ReadNode', workspace, place: { path: `/all/${name}` }, tagged: true } as const;
      const atOnce = (await branch.ask(query, caller)) as JsonText;
      // A condition is judged with the whole node.
      const judged = (await branch.ask({ ...query, unless: ['other'] }, caller)) as JsonText;
      expect([atOnce.tag, atOnce.text]).toEqual([judged.tag, judged.text]);
      expect(await branch.ask({ ...query, unless: [String(atOnce.tag)] }, caller)).toEqual({
        unchanged: atOnce.tag,
      });
    }
  });

  it('tell which of them have children where parents of elsewhere lie between them', async () => {
    await branch.create('/few');
    await branch.create('/many');
    const expected: string[] = [];
    for (let number = 0; number < 12; number++) {
      await branch.create(`/few/n${number}`);
      if (number % 3 === 0) await branch.create(`/few/n${number}/below`);
      for (const other of ['a', 'b', 'c']) {
        await branch.create(`/many/${other}${number}`);
        await branch.create(`/many/${other}${number}/below`);
      }
      expected.push(await nodeText(`/few/n${number}`, {}, administrator));
    }
    expect(await textOf(childrenOf('/few', {}), administrator)).toBe(`[${expected.join(',')}]`);
    const few = (await branch.query(childrenOf('/few', {}))) as { name: string; has_children: boolean }[];
    expect(few.filter((node) => node.has_children).map(({ name }) => name)).toEqual(['n0', 'n3', 'n6', 'n9']);
  });
});
