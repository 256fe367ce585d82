import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const refusal = (code: string) => expect.objectContaining({ code });

interface RevisionObject {
  readonly revision: string;
  readonly parent: string | null;
  readonly message: string;
  readonly is_system: boolean;
  readonly changed_nodes: readonly { readonly node_id: string }[];
}

interface RevisionList {
  readonly revisions: readonly RevisionObject[];
  readonly total: number;
  readonly has_more: boolean;
}

describe('the revisions of a branch', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch();
  });
  afterAll(() => branch.close());

  const list = async (limit = 50, offset = 0, includeSystem = false, caller = administrator) =>
    (await branch.query({ type: 'ListRevisions', limit, offset, includeSystem }, caller)) as RevisionList;
  const read = (revision: string, caller = administrator) =>
    branch.query({ type: 'ReadRevision', revision: parseRevision(revision) }, caller);
  const changes = (revision: string, caller = administrator) =>
    branch.query({ type: 'ReadRevisionChanges', revision: parseRevision(revision) }, caller);
  const create = (name: string, commit?: { message: string; actor?: string; isSystem?: boolean }) =>
    branch.command({
      type: 'CreateNode',
      workspace,
      parentPath: '/',
      node: { name, nodeType: 'svc:Folder', properties: {} },
      deep: false,
      ...(commit === undefined ? {} : { commit }),
    });

  it('carry who, when, what was said and which nodes changed how [REV-002] [REV-006] [REV-007]', async () => {
    const first = await create('one');
    expect(await read(first.revision)).not.toHaveProperty('author');
    const { nodeId, revision } = await create('two', { message: 'hello', actor: 'grace' });
    const record = await read(revision);
    expect(record).toEqual({
      revision,
      parent: first.revision,
      merge_parent: null,
      branch: 'main',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      actor: 'grace',
      author: 'ada',
      message: 'hello',
      is_system: false,
      changed_nodes: [{ node_id: nodeId, workspace, operation: 'added' }],
      changed_node_types: [],
      changed_archetypes: [],
      changed_element_types: [],
    });
    expect((await list(1)).revisions).toEqual([record]);
    expect(await changes(revision as string)).toEqual([
      { node_id: nodeId, workspace, operation: 'added', node_type: 'svc:Folder', path: '/two' },
    ]);
  });

  it('name the definitions a schema write changed, and no nodes', async () => {
    const { revision } = await branch.command({
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: 'test:Thing' },
    });
    expect(await read(revision as string)).toMatchObject({
      is_system: true,
      actor: 'system',
      changed_nodes: [],
      changed_node_types: [{ name: 'test:Thing', operation: 'added' }],
    });
    expect(await changes(revision as string)).toEqual([]);
  });

  it('are listed newest first, without system revisions unless asked for, and counted [REV-012]', async () => {
    const { revision: hidden } = await create('quiet', { message: 'by the system', isSystem: true });
    const { revision: shown } = await create('loud');
    const user = await list(100);
    const all = await list(1000, 0, true);
    expect(user.revisions[0]?.revision).toBe(shown);
    expect(user.revisions.every((record) => !record.is_system)).toBe(true);
    expect(all.revisions.slice(0, 2).map((record) => record.revision)).toEqual([shown, hidden]);
    expect(user).toMatchObject({ total: user.revisions.length, has_more: false });
    expect(all).toMatchObject({ total: all.revisions.length, has_more: false });
    expect(all.total).toBeGreaterThan(user.total);
    const times = all.revisions.map((record) => parseRevision(record.revision));
    expect([...times].sort((a, b) => b.ms - a.ms || b.counter - a.counter)).toEqual(times);
  });

  it('are walked by offset, each once [REV-013]', async () => {
    for (let n = 0; n < 5; n++) await create(`walk-${n}`, { message: `${n}`, isSystem: n % 2 === 0 });
    for (const includeSystem of [false, true]) {
      const whole = await list(1000, 0, includeSystem);
      const walked: string[] = [];
      for (let offset = 0; ; offset += 3) {
        const page = await list(3, offset, includeSystem);
        expect(page.total).toBe(whole.total);
        expect(page.has_more).toBe(offset + 3 < whole.total);
        walked.push(...page.revisions.map((record) => record.revision));
        if (!page.has_more) break;
      }
      expect(walked).toEqual(whole.revisions.map((record) => record.revision));
    }
    expect((await list(5, 10_000)).revisions).toEqual([]);
    expect((await list(0)).revisions.length).toBe(1);
  });

  it('list every node of a moved subtree as modified [REV-017]', async () => {
    const top = await branch.create('/mv');
    const inner = await branch.create('/mv/inner');
    const { revision } = await branch.command({
      type: 'MoveNode',
      workspace,
      place: { path: '/mv' },
      targetPath: '/moved',
    });
    expect(await changes(revision as string)).toEqual([
      { node_id: top.id, workspace, operation: 'modified', node_type: 'svc:Folder', path: '/moved' },
      { node_id: inner.id, workspace, operation: 'modified', node_type: 'svc:Folder', path: '/moved/inner' },
    ]);
  });

  it('name the locale of a translation [REV-016] [REV-018]', async () => {
    const { id } = await branch.create('/tr', { description: 'cat' });
    const { revision } = await branch.command({
      type: 'TranslateNode',
      workspace,
      place: { id },
      locale: 'de',
      translations: { '/description': 'Katze' },
    });
    expect(await changes(revision as string)).toEqual([
      {
        node_id: id,
        workspace,
        operation: 'modified',
        node_type: 'svc:Folder',
        path: '/tr',
        translation_locale: 'de',
      },
    ]);
  });

  it('carry thousands of changes whole, in the record and in the list', async () => {
    const operations = Array.from({ length: 2500 }, (_, n) => ({
      type: 'create' as const,
      parentPath: '/',
      node: { name: `bulk-${n}`, nodeType: 'svc:Folder', properties: {} },
    }));
    const { revision } = await branch.command({
      type: 'CommitOperations',
      workspace,
      commit: { message: 'bulk' },
      operations,
    });
    const found = (await changes(revision as string)) as { path: string }[];
    expect(found.map((change) => change.path)).toEqual(operations.map(({ node }) => `/${node.name}`));
    expect(((await read(revision as string)) as RevisionObject).changed_nodes.length).toBe(2500);
    expect((await list(1)).revisions[0]?.changed_nodes.length).toBe(2500);
  });

  it('do not exist for revisions this branch never made', async () => {
    expect(await read('1-0')).toBe(undefined);
    expect(await changes('1-0')).toBe(undefined);
  });

  it('are for people with a login', async () => {
    const { revision } = await create('classified');
    const caller = callerWith((_operation, { path }) => path !== '/classified');
    const nobody = { ...caller, principal: { kind: 'anonymous', tenant: 'acme', isEnabled: true } as const };
    await expect(list(1, 0, true, nobody)).rejects.toEqual(refusal('UNAUTHORIZED'));
    await expect(read(revision, nobody)).rejects.toEqual(refusal('UNAUTHORIZED'));
    await expect(changes(revision, nobody)).rejects.toEqual(refusal('UNAUTHORIZED'));
  });
});

describe('revisions, to a caller to whom nodes are hidden [REV-040]', () => {
  let branch: BranchFixture;
  const made: Record<string, string> = {};

  const reader = callerWith((_operation, { path }) => path.startsWith('/open'));
  const everything = callerWith(() => true);
  const nothing = callerWith(() => false);

  const list = async (caller: Caller, limit = 50, offset = 0, includeSystem = true) =>
    (await branch.query({ type: 'ListRevisions', limit, offset, includeSystem }, caller)) as RevisionList;
  const seen = async (caller: Caller) => (await list(caller)).revisions.map(({ revision }) => revision);
  const read = (name: string, caller: Caller) =>
    branch.query({ type: 'ReadRevision', revision: parseRevision(made[name] as string) }, caller);
  const changes = (name: string, caller: Caller) =>
    branch.query({ type: 'ReadRevisionChanges', revision: parseRevision(made[name] as string) }, caller);
  const commit = async (name: string, ...nodes: readonly string[]) => {
    const { revision } = await branch.command({
      type: 'CommitOperations',
      workspace,
      commit: { message: `message of ${name}`, actor: `author of ${name}` },
      operations: nodes.map((node) => ({
        type: 'create',
        parentPath: '/',
        node: { name: node, nodeType: 'svc:Folder', properties: {} },
      })),
    });
    made[name] = revision as string;
  };

  beforeAll(async () => {
    branch = await openBranch();
    await commit('open', 'open-1', 'open-2');
    await commit('closed', 'closed-1');
    await commit('both', 'closed-2', 'open-3');
    const definition = { name: 'test:Secret' };
    const put = await branch.command({ type: 'PutDefinition', kind: 'node_type', definition });
    made.definition = put.revision as string;
    await commit('late', 'open-4');
  });
  afterAll(() => branch.close());

  it('name their caller as author where the caller gave another actor', async () => {
    expect(await read('open', administrator)).toMatchObject({ actor: 'author of open', author: 'ada' });
    const { revisions } = await list(administrator);
    expect(revisions.find(({ revision }) => revision === made.definition)).toMatchObject({
      actor: 'system',
      author: 'ada',
    });
    for (const { actor, author } of revisions as readonly { actor?: unknown; author?: unknown }[])
      expect(author).not.toBe(actor);
  });

  it('are those with a change that the caller may learn of, as if there were no others', async () => {
    expect(await seen(reader)).toEqual([made.late, made.both, made.open]);
    for (const name of ['closed', 'definition']) {
      expect(await read(name, administrator)).toMatchObject({ revision: made[name] });
      expect([await read(name, reader), await changes(name, reader)]).toEqual([undefined, undefined]);
    }
    const told = JSON.stringify(await list(reader));
    for (const trace of ['author of closed', 'message of closed', 'test:Secret', 'closed-'])
      expect(told).not.toContain(trace);
  });

  it('have no message where one of their changes is hidden', async () => {
    expect(await read('both', reader)).toMatchObject({
      actor: 'author of both',
      message: null,
      changed_nodes: [{ operation: 'added' }],
    });
    expect(await changes('both', reader)).toMatchObject([{ path: '/open-3' }]);
    expect(await read('open', reader)).toMatchObject({
      message: 'message of open',
      changed_nodes: [{ operation: 'added' }, { operation: 'added' }],
    });
  });

  it('are none to a caller who may read nothing', async () => {
    expect(await seen(nothing)).toEqual([]);
    for (const name of Object.keys(made))
      expect([await read(name, nothing), await changes(name, nothing)]).toEqual([undefined, undefined]);
  });

  it('that changed definitions alone are none even to a caller who may read every node', async () => {
    const shown = await seen(everything);
    expect(shown.slice(0, 4)).toEqual([made.late, made.both, made.closed, made.open]);
    expect(shown).not.toContain(made.definition);
    expect(await read('definition', everything)).toBeUndefined();
    expect(await seen(administrator)).toContain(made.definition);
  });

  it('are left out of pages, whose offsets and totals count all', async () => {
    const all = await list(administrator);
    const walked: string[] = [];
    for (let offset = 0; offset < all.total; offset += 2) {
      const page = await list(reader, 2, offset);
      expect(page).toMatchObject({ total: all.total, has_more: offset + 2 < all.total });
      expect(page.revisions.length).toBeLessThanOrEqual(2);
      walked.push(...page.revisions.map(({ revision }) => revision));
    }
    expect(walked).toEqual(await seen(reader));
  });

  it('of thousands of changes are found by their only one that may be read', async () => {
    const nodes = Array.from({ length: 2_500 }, (_, n) => `closed-bulk-${n}`);
    await commit('bulk', ...nodes, 'open-last');
    expect(await changes('bulk', reader)).toMatchObject([{ path: '/open-last' }]);
    expect(await read('bulk', reader)).toMatchObject({ message: null });
    expect((await seen(reader))[0]).toBe(made.bulk);
    await commit('bulk', ...nodes.map((name) => `${name}-again`));
    expect([await changes('bulk', reader), await read('bulk', reader)]).toEqual([undefined, undefined]);
    expect(await seen(reader)).not.toContain(made.bulk);
  });
});
