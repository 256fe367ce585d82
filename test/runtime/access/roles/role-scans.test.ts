import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchQuery, NodePage } from '#actors/branch/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import {
  administrator,
  type BranchFixture,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';
import { largeText } from '#test/support/large-rows.ts';
import { policyOf } from './access-fixture.ts';

const workspace = WORKSPACE;

const { principal } = administrator;

/** Who writes nodes as the identity `me` of the fixture of roles. */
const me: Caller = {
  ...administrator,
  principal: principal.kind === 'admin' ? { ...principal, username: 'me' } : principal,
};

const byType = { type: 'RunDslQuery', workspace, filter: { node_type: { eq: 'svc:Folder' } } } as const;

/** What reads many nodes at the root. */
const scans: readonly [string, (at: { readonly at?: Revision }) => BranchQuery][] = [
  ['children', (at) => ({ type: 'ListChildren', workspace, place: { path: '/' }, scope: '', ...at })],
  [
    'a page of children',
    (at) => ({ type: 'ListChildren', workspace, place: { path: '/' }, scope: '', limit: 50, ...at }),
  ],
  ['a tree', (at) => ({ type: 'ReadTree', workspace, place: { path: '/' }, levels: 1, form: 'flat', ...at })],
  ['a query by type', (at) => ({ type: 'RunQuery', workspace, selector: { nodeType: 'svc:Folder' }, ...at })],
  ['a query by parent', (at) => ({ type: 'RunQuery', workspace, selector: { parent: '/' }, ...at })],
  ['a boolean query', (at) => ({ ...byType, ...at })],
];

/** Permissions, and which of the nodes they show. */
const cases: readonly [string, JsonValue, readonly string[]][] = [
  ['nothing', [], []],
  ['everything', [{ path: '**', operations: ['read'] }], ['draft', 'large', 'mine', 'other', 'other-page']],
  ['a path', [{ path: '/other/**', operations: ['read'] }], ['other']],
  ['a pattern', [{ path: '/other*', operations: ['read'] }], ['other', 'other-page']],
  ['a column', [{ path: '**', operations: ['read'], condition: 'own' }], ['mine']],
  ['a property', [{ path: '**', operations: ['read'], condition: 'draft' }], ['draft', 'large']],
  [
    'several',
    [
      { path: '**', operations: ['read'], condition: 'draft', node_types: ['svc:Folder'] },
      { path: '/oth?r', operations: ['read'] },
      { path: '/mine/**', operations: ['update'] },
    ],
    ['draft', 'large', 'other'],
  ],
];

describe('scans under a policy of roles', () => {
  let branch: BranchFixture;
  let past: Revision;

  beforeAll(async () => {
    branch = await openBranch({});
    await branch.create('/draft', { status: 'draft' });
    await branch.create('/large', { text: largeText('word'), status: 'draft' });
    await branch.create('/other', { status: 'live' });
    await branch.create('/other-page', { status: 'live' });
    const node = { name: 'mine', nodeType: 'svc:Folder', properties: {} };
    const made = { type: 'CreateNode', workspace, parentPath: '/', node, deep: false } as const;
    past = parseRevision((await branch.command(made, me)).revision) as Revision;
    await branch.create('/later', { status: 'draft' });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/later' } });
  });
  afterAll(() => branch.close());

  describe.each(cases)('that permits %s', (_, permissions, shown) => {
    const caller: Caller = { ...administrator, policy: policyOf(permissions) };

    it.each(scans)('show by %s what may be read, now and at a revision', async (__, scan) => {
      for (const at of [{}, { at: past }]) {
        const answer = (await branch.query(scan(at), caller)) as NodePage | readonly NodeObject[];
        const nodes = ('items' in answer ? answer.items : answer) as unknown as readonly NodeObject[];
        expect(nodes.map(({ name }) => name).sort()).toEqual(shown);
      }
    });
  });
});
