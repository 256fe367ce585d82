import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BranchQuery } from '#actors/branch/messages.ts';
import { EXPANDED_BYTES_MAX } from '#actors/branch/reads/expansion.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';
import { LargeRows, largeText as large } from '#test/support/large-rows.ts';
import { policyThat } from '#test/support/policy-that.ts';

const rows = new LargeRows();
const workspace = WORKSPACE;

/** May read everything, but everything is asked about. */
const restricted = {
  ...callers.admin,
  policy: policyThat(() => true),
};

const place = { path: '/a' };

/** Most of a large row that one step reads: two pieces. */
const PART_MAX = 0.25;

/** What is read about a large node, and how many large rows that takes at an earlier revision. */
const reads: readonly [string, BranchQuery, number | 'some'][] = [
  ['the node', { type: 'ReadNode', workspace, place }, 4],
  ['one of its properties', { type: 'ReadProperty', workspace, place, property: ['title'] }, 4],
  ['its children', { type: 'ListChildren', workspace, place, scope: '' }, 2],
  ['the tree below it', { type: 'ReadTree', workspace, place, levels: 1, form: 'array' }, 2],
  ['its locales', { type: 'ListTranslations', workspace, place }, 2],
  ['the state of a translation', { type: 'ReadStaleness', workspace, place, locale: 'de' }, 4],
  ['references to it', { type: 'ListIncomingReferences', workspace, place, scope: '', limit: 9 }, 'some'],
  ['relations to it', { type: 'ReadRelations', workspace, place: { path: '/small' } }, 'some'],
  ['its relations', { type: 'ReadRelations', workspace, place }, 'some'],
  ['its manual versions', { type: 'ReadVersions', workspace, place }, 2],
  ['its audit log', { type: 'ReadAudit', workspace, place }, 2],
  ['its history', { type: 'ReadHistory', workspace, place }, 4],
];

const root = { path: '/' };

/** What answers large nodes among others. */
const listings: readonly [string, BranchQuery][] = [
  ['all children', { type: 'ListChildren', workspace, place: root, scope: '' }],
  ['a page of children', { type: 'ListChildren', workspace, place: root, scope: '', limit: 9 }],
  ['a flat tree', { type: 'ReadTree', workspace, place: root, levels: 2, form: 'flat' }],
  ['a nested tree', { type: 'ReadTree', workspace, place: root, levels: 2, form: 'array' }],
  ['a tree as a map', { type: 'ReadTree', workspace, place: root, levels: 2, form: 'map' }],
  ['a query by type', { type: 'RunQuery', workspace, selector: { nodeType: 'svc:Folder' } }],
  ['a query by parent', { type: 'RunQuery', workspace, selector: { parent: '/' } }],
  ['a boolean query', { type: 'RunDslQuery', workspace, filter: { node_type: { eq: 'svc:Folder' } } }],
];

describe('large nodes', () => {
  let family: BranchFamily;

  beforeAll(async () => {
    family = await BranchFamily.open((kind) => rows.watch(kind));
    await family.create('main', '/small');
    for (const name of ['a', 'b', 'c']) {
      await family.create('main', `/${name}`, large('base'), name);
      const target = { targetWorkspace: workspace, targetPath: `/${name}` };
      const relation = { ...target, relationType: 'likes', weight: 1 };
      await family.command('main', {
        type: 'AddRelation',
        workspace,
        place: { path: '/small' },
        ...relation,
      });
    }
    // Only what is in the shard is stored in pieces.
    await family.fixture.reopen();
  });
  beforeEach(() => rows.reset());
  afterAll(() => family.close());

  it('are not read to tell that a relation has its target', async () => {
    const read = { type: 'ReadNode', workspace, place: { path: '/small' } } as const;
    for (const lang of [undefined, 'de']) {
      const found = await family.query<{ relations: unknown[] }>(
        'main',
        lang === undefined ? read : { ...read, lang },
      );
      expect(found.relations).toHaveLength(3);
    }
    expect(rows.all).toBe(0);
  });

  it('are read one in a step to tell that a relation may be shown', async () => {
    const read = { type: 'ReadNode', workspace, place: { path: '/small' } } as const;
    const found = await family.query<{ relations: unknown[] }>('main', read, restricted);
    expect(found.relations).toHaveLength(3);
    expect(rows).toMatchObject({ all: 3, longestStep: 1 });
  });

  it('are not read for the relations to them', async () => {
    const read = { type: 'ReadRelations', workspace, place: { path: '/small' } } as const;
    expect((await family.query<{ outgoing: unknown[] }>('main', read)).outgoing).toHaveLength(3);
    expect(rows.all).toBe(0);
  });

  it.each(reads)('are read in parts for %s', async (_, query) => {
    await family.query('main', query);
    expect(rows.longestPart).toBeLessThan(PART_MAX);
  });

  it.each(listings)('are read in parts for %s', async (_, query) => {
    const text = JSON.stringify(await family.query('main', query));
    for (const name of ['a', 'b', 'c']) expect(text).toContain(`"path":"/${name}"`);
    expect(text.split('base base').length).toBeGreaterThan(3 * 1000);
    expect(rows.longestPart).toBeLessThan(PART_MAX);
  });

  it('have children, which a restricted caller may add only where the node may be read', async () => {
    const createAs = (name: string, caller: Caller): Promise<unknown> => {
      const node = { name, nodeType: 'svc:Folder', properties: {} };
      const command = { type: 'CreateNode', workspace, parentPath: '/a', node, deep: false };
      return family.fixture.command(family.actor('main'), command, caller);
    };
    await createAs('one', callers.admin);
    expect(rows.longestPart).toBeLessThan(PART_MAX);
    const allows = (operation: string, { path }: { path: string }) => operation !== 'read' || path !== '/a';
    const policy = policyThat(allows);
    await expect(createAs('two', { ...callers.admin, policy })).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
    });
  });

  describe('at an earlier revision', () => {
    let at: Revision;

    beforeAll(async () => {
      at = parseRevision(await family.head('main'));
      for (const name of ['a', 'b', 'c']) await family.update('main', `/${name}`, large('later'));
      await family.fixture.reopen();
    });

    it.each(reads)('are read in parts for %s', async (_, query, all) => {
      await family.query('main', { ...query, at } as BranchQuery);
      expect(rows).toMatchObject({ ...(all === 'some' ? {} : { all }), longestStep: 1 });
      expect(rows.longestPart).toBeLessThan(PART_MAX);
    });

    it('are shown in place of a reference when only their later states are too large', async () => {
      const create = (name: string, properties: JsonObject): Promise<{ readonly revision: string | null }> =>
        family.command('main', {
          type: 'CreateNode',
          workspace,
          parentPath: '/',
          node: { name, nodeType: 'svc:Folder', id: name, properties },
          deep: false,
        });
      await create('target', { title: 'small' });
      const { revision } = await create('source', {
        to: { 'svc:ref': 'target', 'svc:workspace': workspace },
      });
      await family.update('main', '/target', 'large '.repeat(EXPANDED_BYTES_MAX / 4));
      await family.fixture.reopen();
      const read = { type: 'ReadNode', workspace, place: { path: '/source' }, expand: ['to'] } as const;
      const shown = async (query: object): Promise<unknown> =>
        (await family.query<{ properties: { to: object } }>('main', query as BranchQuery)).properties.to;
      expect(await shown(read)).not.toHaveProperty('svc:node');
      expect(await shown({ ...read, at: parseRevision(revision as string) })).toMatchObject({
        'svc:node': { properties: { title: 'small' } },
      });
    });

    it('are read one in a step past states of other lines', async () => {
      await family.fork('moved', 'main');
      const revision = await family.head('moved');
      for (const word of ['one', 'two', 'three']) await family.update('moved', '/a', large(word));
      await family.command('moved', { type: 'MoveHead', revision } as never);
      const between = await family.create('moved', '/between');
      await family.update('moved', '/a', large('four'));
      rows.reset();
      const read = { type: 'ReadNode', workspace, place, at: parseRevision(between) } as const;
      const found = await family.query<{ properties: { title: string } }>('moved', read);
      expect(found.properties.title).toBe(large('later'));
      // Those of other lines are passed without being read, unless they are in memory.
      expect(rows.all).toBeGreaterThanOrEqual(4);
      expect(rows.longestStep).toBe(1);
    });
  });
});
