import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import {
  type BranchFixture,
  type NodeObject,
  openBranch,
  WORKSPACE as workspace,
} from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';

const read = { path: '**', operations: ['read'] };

describe('a read', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    const properties = [{ name: 'title', type: 'String' }];
    branch = await openBranch({
      nodeTypes: ['test:A', 'test:B'].map((name) => ({ name, properties, auditable: true })),
    });
    await branch.create('/list', {}, 'test:A');
    for (let index = 0; index < 24; index += 1)
      await branch.create(`/list/n${index}`, { shown: index % 10 < 3 }, 'test:A');
    await branch.create('/x', { title: 'x', secret: 's', a: 1 }, 'test:A');
    await branch.create('/x/one', { title: 'one', secret: 's', a: 1 }, 'test:A');
    await branch.create('/x/two', { title: 'two', secret: 's', a: 1 }, 'test:B');
  });
  afterAll(() => branch.close());

  const node = async (path: string, permissions: Parameters<typeof roleCaller>[0]): Promise<unknown> => {
    const asked = branch.query({ type: 'ReadNode', workspace, place: { path } }, roleCaller(permissions));
    const found = await asked.catch(({ code }: { code: string }) => code);
    if (typeof found === 'string') return found;
    const { $mixins: _, $supertypes: __, ...properties } = (found as NodeObject).properties;
    return properties;
  };

  it('of a page is short where nodes of it are hidden, and goes on while some remain [ACC-005]', async () => {
    const caller = roleCaller([
      { path: '/list', operations: ['read'] },
      { path: '/list/*', operations: ['read'], condition: 'node.shown' },
    ]);
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const answer = (await branch.query(
        {
          type: 'ListChildren',
          workspace,
          place: { path: '/list' },
          scope: 's',
          limit: 10,
          ...(cursor === undefined ? {} : { cursor }),
        },
        caller,
      )) as { items: NodeObject[]; next_cursor: string | null };
      pages.push(answer.items.map(({ name }) => name));
      cursor = answer.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(pages).toEqual([
      ['n0', 'n1', 'n2'],
      ['n10', 'n11', 'n12'],
      ['n20', 'n21', 'n22'],
    ]);
  });

  it('shows nodes of the types of a permission [ACC-029]', async () => {
    const permissions = [{ ...read, node_types: ['test:B'] }];
    expect(await node('/x/two', permissions)).toMatchObject({ title: 'two' });
    expect(await node('/x/one', permissions)).toBe('NODE_NOT_FOUND');
  });

  it('shows the properties of a permission [ACC-031]', async () => {
    expect(await node('/x/one', [{ ...read, except_fields: ['secret'] }])).toEqual({ title: 'one', a: 1 });
    expect(await node('/x/one', [{ ...read, fields: ['a'], except_fields: ['a'] }])).toEqual({ a: 1 });
  });

  it('shows the properties of the most specific permission [ACC-032]', async () => {
    const permissions = [read, { path: '/x/**', operations: ['read'], fields: ['a'] }];
    expect(await node('/x/one', permissions)).toEqual({ a: 1 });
    expect(await node('/list/n0', permissions)).toEqual({ shown: true });
  });

  it('shows what a broad permission shows where the condition of a narrow one is false [ACC-033]', async () => {
    const narrow = { path: '/x/**', operations: ['read'], fields: ['a'], condition: "node.title == 'two'" };
    expect(await node('/x/one', [read, narrow])).toMatchObject({ title: 'one', secret: 's' });
    expect(await node('/x/two', [read, narrow])).toEqual({ a: 1 });
  });

  it('of the past is decided by the state of the past', async () => {
    const permissions = [{ ...read, condition: "node.state == 'open'" }];
    const at = async (): Promise<{ ms: number; counter: number }> => {
      const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
      const [ms, counter] = head.split('-').map(Number) as [number, number];
      return { ms, counter };
    };
    const place = { path: '/past' };
    const set = (value: string): Promise<unknown> =>
      branch.command({ type: 'SetProperty', workspace, place, property: ['state'], value });
    await branch.create('/past', { state: 'open' });
    const open = await at();
    await set('closed');
    const closed = await at();
    const caller = roleCaller(permissions);
    const asked = (moment: { ms: number; counter: number }): Promise<unknown> =>
      branch.query({ type: 'ReadNode', workspace, place, at: moment }, caller);
    await asked(open);
    await expect(asked(closed)).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
    const history = { type: 'ReadHistory', workspace, place } as const;
    await expect(branch.query(history, caller)).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
    await set('open');
    expect(await branch.query(history, caller)).toHaveLength(3);
  });

  it('of a large node is decided by its properties, also in the past', async () => {
    const place = { path: '/large' };
    const text = 'a large text '.repeat(30_000);
    await branch.create('/large', { state: 'open', text });
    const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
    const [ms, counter] = head.split('-').map(Number) as [number, number];
    for (const value of ['closed', 'open'])
      await branch.command({ type: 'SetProperty', workspace, place, property: ['state'], value });
    const [open, closed] = ['open', 'closed'].map((state) =>
      roleCaller([{ ...read, condition: `node.state == '${state}'` }]),
    );
    const titles = roleCaller([{ ...read, fields: ['state'] }]);
    for (const query of [
      { type: 'ReadNode', workspace, place },
      { type: 'ReadNode', workspace, place, at: { ms, counter }, unless: ['no-tag'] },
      { type: 'ReadProperty', workspace, place, at: { ms, counter }, property: ['text'] },
      { type: 'ReadVersions', workspace, place, at: { ms, counter } },
      { type: 'ReadHistory', workspace, place, at: { ms, counter } },
      { type: 'ReadStaleness', workspace, place, at: { ms, counter }, locale: 'de' },
    ] as const) {
      await branch.query(query, open);
      await expect(branch.query(query, closed)).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
      const shown = await branch.query(query, titles).catch(({ code }: { code: string }) => code);
      expect(JSON.stringify(shown)).not.toContain('a large text');
    }
    // To look into so long a text takes more work than a condition has.
    const inside = roleCaller([{ ...read, condition: "node.text.contains('large')" }]);
    await branch.create('/inside', { text: 'a large text' });
    await branch.query({ type: 'ReadNode', workspace, place: { path: '/inside' } }, inside);
    const asked = branch.query({ type: 'ReadNode', workspace, place }, inside);
    await expect(asked).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
    const selector = { path: '/large' };
    expect(await branch.query({ type: 'RunQuery', workspace, selector }, inside)).toMatchObject({
      items: [],
    });
  });

  it('of audit entries shows no path, no node and no property that may not be read', async () => {
    const details = async (permissions: Parameters<typeof roleCaller>[0]): Promise<readonly unknown[]> => {
      const query = { type: 'ReadAudit', workspace, place: { path: '/audited/here' } } as const;
      const entries = (await branch.query(query, roleCaller(permissions))) as readonly JsonObject[];
      return entries.map((entry) => [entry.action, entry.path, entry.details]);
    };
    await branch.create('/audited', {}, 'test:A');
    await branch.create('/audited/there', {}, 'test:A');
    await branch.create('/concealed', {}, 'test:A');
    await branch.create('/concealed/source', {}, 'test:A');
    await branch.command({
      type: 'MoveNode',
      workspace,
      place: { path: '/concealed/source' },
      targetPath: '/audited/here',
    });
    const place = { path: '/audited/here' };
    for (const name of ['secret', 'title'])
      await branch.command({ type: 'SetProperty', workspace, place, property: [name], value: 'x' });
    await branch.command({
      type: 'ReorderNode',
      workspace,
      place,
      targetPath: '/audited/there',
      position: 'before',
    });
    const set = (property: string, shown: JsonObject | null) => [
      'UpdateProperty',
      '/audited/here',
      shown && { property },
    ];
    const seen = { path: '/audited/**', operations: ['read'], except_fields: ['secret'] };
    expect(await details([seen])).toEqual([
      ['Update', '/audited/here', { reordered: 'before', sibling_id: expect.any(String) as string }],
      set('title', {}),
      set('secret', null),
      ['Move', '/audited/here', null],
    ]);
    expect(await details([{ ...seen, path: '/audited/here' }])).toEqual([
      ['Update', '/audited/here', null],
      set('title', {}),
      set('secret', null),
      ['Move', '/audited/here', null],
    ]);
    expect((await details([read])).map((entry) => (entry as unknown[])[1])).toContain('/concealed/source');
  });

  it('by a role that reads everything answers as to an administrator', async () => {
    const caller = roleCaller([read]);
    const place = { path: '/x' };
    for (const query of [
      { type: 'ReadNode', workspace, place },
      { type: 'ListChildren', workspace, place, scope: 's' },
      { type: 'ReadTree', workspace, place: { path: '/' }, levels: 3, form: 'map' },
      { type: 'RunQuery', workspace, selector: { nodeType: 'test:A' }, limit: 5, offset: 3 },
      { type: 'RunDslQuery', workspace, filter: { 'properties.title': { eq: 'x' }, limit: 1 } },
      { type: 'ReadHistory', workspace, place },
      { type: 'ReadAudit', workspace, place },
    ] as const)
      expect(await branch.query(query, caller)).toEqual(await branch.query(query));
    const list = { type: 'ListRevisions', limit: 100, offset: 0, includeSystem: true } as const;
    const all = (await branch.query(list)) as { revisions: readonly { changed_nodes: readonly unknown[] }[] };
    // Revisions of definitions are for administrators.
    const revisions = all.revisions.filter(({ changed_nodes: changes }) => changes.length > 0);
    expect(await branch.query(list, caller)).toEqual({ ...all, revisions });
  });
});
