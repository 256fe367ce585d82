import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand } from '#actors/branch/messages.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

const workspace = WORKSPACE;

describe('a pair of branches', () => {
  let family: BranchFamily;
  let names = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  /** A branch with some content, and a fork of it. */
  async function pair(): Promise<[own: string, other: string]> {
    names += 1;
    const [own, other] = [`own-${names}`, `other-${names}`];
    await family.fork(own, 'main');
    for (const name of ['a', 'b', 'c']) await family.create(own, `/${name}`, name, name);
    await family.fork(other, own);
    return [own, other];
  }

  const translate = (branch: string, path: string, locale: string, title: string) => {
    const command: BranchCommand = {
      type: 'TranslateNode',
      workspace,
      place: { path },
      locale,
      translations: { '/title': title },
    };
    return family.command(branch, command);
  };
  const define = (branch: string, name: string, property: string) => {
    const definition = { name, properties: [{ name: property, type: 'String' }] };
    return family.command(branch, { type: 'PutDefinition', kind: 'node_type', definition });
  };

  it('keeps what happened to a node, to its locales and to its place apart, on each side', async () => {
    const [own, other] = await pair();
    await translate(own, '/a', 'de', 'A auf Deutsch');
    await translate(own, '/a', 'fr', 'A');
    await family.update(own, '/b', 'changed');
    await translate(other, '/b', 'de', 'B auf Deutsch');
    const place = { path: '/c' };
    await family.command(other, {
      type: 'ReorderNode',
      workspace,
      place,
      targetPath: '/a',
      position: 'before',
    });
    const found = await family.pair(own, other);
    expect(found.own.nodes).toEqual({
      a: { operation: 'modified', isNode: false, locales: ['de', 'fr'], isReordered: false },
      b: { operation: 'modified', isNode: true, locales: [], isReordered: false },
    });
    expect(found.other.nodes).toEqual({
      b: { operation: 'modified', isNode: false, locales: ['de'], isReordered: false },
      c: { operation: 'reordered', isNode: false, locales: [], isReordered: true },
    });
    const mirrored = await family.pair(other, own);
    expect(mirrored).toEqual({ own: found.other, other: found.own });
  });

  it('may pause after each changed node', async () => {
    const [own, other] = await pair();
    for (const path of ['/a', '/b', '/c']) await family.update(own, path, 'ours');
    const found = await family.pair(own, other);
    expect(Object.keys(found.own.nodes)).toHaveLength(3);
    expect(found.own.nodesAtOnce).toBe(1);
  });

  it('reports nothing about a branch that is deleted during the comparison, at any time', async () => {
    const [own, other] = await pair();
    await family.update(own, '/a', 'ours');
    await family.create(other, '/d', 'theirs', 'd');
    await define(other, 'svc:Deleted', 'title');
    const whole = await family.pair(own, other);
    expect(Object.keys(whole.other.nodes)).toEqual(['d']);
    let asksMax = 0;
    for (let isWhole = false; !isWhole; asksMax += 1) {
      const seen = await family.pair(own, other, asksMax).catch((error: { code?: string }) => error.code);
      isWhole = seen !== 'NOT_FOUND';
      if (isWhole) expect(seen).toEqual(whole);
    }
    expect(asksMax).toBeGreaterThan(4);
  });

  it('has net changes of definitions, a definition written again as it was among none', async () => {
    const [own, other] = await pair();
    await define(own, 'test:Mine', 'one');
    await define(other, 'test:Theirs', 'one');
    await define(other, 'test:Gone', 'one');
    await family.command(other, { type: 'DeleteDefinition', kind: 'node_type', name: 'test:Gone' });
    const found = await family.pair(own, other);
    expect(found.own.definitions).toEqual({ 'test:Mine': 'added' });
    expect(found.other.definitions).toEqual({ 'test:Theirs': 'added' });
    const third = `third-${names}`;
    await family.fork(third, own);
    await define(third, 'test:Mine', 'two');
    expect((await family.pair(third, own)).own.definitions).toEqual({ 'test:Mine': 'modified' });
    await define(third, 'test:Mine', 'one');
    expect((await family.pair(third, own)).own.definitions).toEqual({});
  });

  it('sees an edit that a third branch took back before it was merged the second time', async () => {
    const [own, other] = await pair();
    const third = `third-${names}`;
    await family.fork(third, own);
    await family.update(third, '/a', 'for a while');
    await family.bringOver(own, third);
    await family.update(third, '/a', 'a');
    await family.bringOver(other, third);
    const found = await family.pair(own, other);
    expect(found.own.nodes).toEqual({});
    expect(found.other.nodes).toMatchObject({ a: { operation: 'modified' } });
  });

  it('takes, of several merge bases, for each node the one that changed it', async () => {
    const [own, other] = await pair();
    const [one, two] = [`one-${names}`, `two-${names}`];
    await family.fork(one, own);
    await family.fork(two, own);
    await family.update(one, '/a', 'of one');
    await family.update(two, '/b', 'of two');
    for (const target of [own, other]) {
      await family.bringOver(target, one);
      await family.bringOver(target, two);
    }
    const none = { nodes: {}, definitions: {}, nodesAtOnce: 0 };
    expect(await family.pair(own, other)).toEqual({ own: none, other: none });
    await family.update(own, '/a', 'of own');
    const found = await family.pair(own, other);
    expect(Object.keys(found.own.nodes)).toEqual(['a']);
    expect(found.other.nodes).toEqual({});
  });
});
