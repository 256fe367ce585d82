import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
    const { nodeId, revision } = await create('two', { message: 'hello', actor: 'grace' });
    const record = await read(revision);
    expect(record).toEqual({
      revision,
      parent: first.revision,
      merge_parent: null,
      branch: 'main',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      actor: 'grace',
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

  it('are for people with a login, and name no node they may not read', async () => {
    const { revision } = await create('classified');
    const caller = callerWith((_operation, { path }) => path !== '/classified');
    expect(await read(revision, caller)).toMatchObject({ revision, changed_nodes: [] });
    expect(await changes(revision, caller)).toEqual([]);
    const nobody = { ...caller, principal: { kind: 'anonymous', tenant: 'acme', isEnabled: true } as const };
    await expect(list(1, 0, true, nobody)).rejects.toEqual(refusal('UNAUTHORIZED'));
    await expect(read(revision, nobody)).rejects.toEqual(refusal('UNAUTHORIZED'));
    await expect(changes(revision, nobody)).rejects.toEqual(refusal('UNAUTHORIZED'));
  });
});
