import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { MergeResult } from '#actors/branch/merge-messages.ts';
import type { BranchCommand, Written } from '#actors/branch/messages.ts';
import type { RevertedRevisions, RevertResult } from '#actors/branch/revert-messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

const workspace = WORKSPACE;

/** A node object as reads answer it. */
type Shown = Record<string, unknown> & { readonly id: string; readonly path: string };

/** What a write moves on although the content stays the same. */
const stamps = ['version', 'updated_at', 'updated_by', 'published_at', 'published_by'];

let family: BranchFamily;
let branch: string;
let branches = 0;

beforeAll(async () => {
  family = await BranchFamily.open();
});

afterAll(() => family.close());

beforeEach(async () => {
  branch = await newBranch();
  for (const path of ['/a', '/a/a1', '/b', '/c'])
    await family.create(branch, path, `${path} base`, nameOf(path));
});

async function newBranch(source = 'main'): Promise<string> {
  branches += 1;
  await family.fork(`branch-${branches}`, source);
  return `branch-${branches}`;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

const revert = (which: RevertedRevisions, more: object = {}): Promise<RevertResult> =>
  family.command(branch, { type: 'RevertRevisions', which, dryRun: false, ...more });
/** Reverts revisions that are not in the way of each other. */
const reverted = async (...revisions: readonly string[]): Promise<RevertResult> => {
  const result = await revert({ revisions });
  expect(result).toMatchObject({ success: true, conflicts: [], fast_forward: false });
  return result;
};
const conflictsOf = async (...revisions: readonly string[]) => {
  const before = [await family.head(branch), await content()];
  const result = await revert({ revisions });
  expect(result).toMatchObject({ success: false, nodes_changed: 0, fast_forward: false, head: before[0] });
  expect([await family.head(branch), await content()]).toEqual(before);
  return result.conflicts;
};
const write = async (command: BranchCommand): Promise<string> =>
  (await family.command<Written>(branch, command)).revision as string;
const onNode = { workspace };
const update = async (path: string, title: string) =>
  (await family.update(branch, path, title)).revision as string;
const remove = async (path: string) => (await family.delete(branch, path)).revision as string;
const rename = async (path: string, to: string) => (await family.rename(branch, path, to)).revision as string;
const create = (path: string, title = '') => family.create(branch, path, title, nameOf(path));
const move = (path: string, targetPath: string) =>
  write({ type: 'MoveNode', ...onNode, place: { path }, targetPath });
const translate = (path: string, locale: string, text: string) =>
  write({ type: 'TranslateNode', ...onNode, place: { path }, locale, translations: { '/title': text } });
const reorder = (path: string, targetPath: string) =>
  write({ type: 'ReorderNode', ...onNode, place: { path }, targetPath, position: 'before' });
const define = (name: string, properties: readonly object[], rest: object = {}) =>
  write({ type: 'PutDefinition', kind: 'node_type', definition: { name, properties, ...rest } });
const createOf = (nodeType: string, name: string, properties: JsonObject) =>
  write({
    type: 'CreateNode',
    ...onNode,
    parentPath: '/',
    node: { name, nodeType, properties, id: name },
    deep: false,
  });

async function tree(at?: string): Promise<readonly Shown[]> {
  const moment = at === undefined ? {} : { at: parseRevision(at) };
  const place = { path: '/' };
  return family.query(branch, { type: 'ReadTree', workspace, place, levels: 100, form: 'flat', ...moment });
}

/** Everything there is to see, without stamps. */
async function content(at?: string): Promise<readonly Shown[]> {
  return (await tree(at)).map((node) => {
    const kept = Object.entries(node).filter(([name]) => !stamps.includes(name));
    const { id, path } = node;
    return { ...Object.fromEntries(kept), id, path, isPublished: node.published_at !== null };
  });
}

const nodeOf = async (wanted: string, at?: string) => (await tree(at)).find(({ id }) => id === wanted);
const paths = async () => (await tree()).map(({ id, path }) => `${id} ${path}`);
const title = (text: string) => ({ title: text });

describe('reverting a revision', () => {
  it('is one new revision that names what it changed, and leaves history alone [REVERT-001]', async () => {
    const before = await content();
    const done = await update('/b', 'changed');
    const result = await reverted(done);
    expect(result).toMatchObject({ nodes_changed: 1, head: await family.head(branch) });
    expect(result.revision).toBe(Number(result.head.split('-')[0]));
    expect(await content()).toEqual(before);
    const record = await family.query(branch, { type: 'ReadRevision', revision: parseRevision(result.head) });
    expect(record).toMatchObject({
      parent: done,
      merge_parent: null,
      is_system: false,
      message: expect.stringMatching(/^Revert "/),
      changed_nodes: [{ node_id: 'b', workspace, operation: 'modified' }],
    });
    expect((await nodeOf('b', done))?.properties).toMatchObject(title('changed'));
  });

  it('takes message and actor of the caller', async () => {
    const result = await revert(
      { revisions: [await update('/b', 'x')] },
      { commit: { message: 'no', actor: 'grace' } },
    );
    const record = await family.query(branch, { type: 'ReadRevision', revision: parseRevision(result.head) });
    expect(record).toMatchObject({ message: 'no', actor: 'grace', author: 'system' });
  });

  it('undoes a creation, and the creation again when the revert is reverted', async () => {
    const before = await content();
    const made = await create('/a/new', 'new');
    const after = await content();
    const undone = await reverted(made);
    expect(await content()).toEqual(before);
    expect(await reverted(undone.head)).toMatchObject({ nodes_changed: 1 });
    expect(await content()).toEqual(after);
  });

  it('undoes a deletion: the subtree with ids, order, translations, relations, publication [REVERT-005]', async () => {
    await create('/a/a0', 'first');
    await reorder('/a/a0', '/a/a1');
    await translate('/a/a1', 'de', 'Deutsch');
    const relation = { targetWorkspace: workspace, targetPath: '/b', relationType: 'likes', weight: 2 };
    await write({ type: 'AddRelation', ...onNode, place: { path: '/a/a1' }, ...relation });
    const before = await content();
    const versions = new Map((await tree()).map(({ id, version }) => [id, version as number]));
    const gone = await remove('/a');
    await create('/later');
    expect(await reverted(gone)).toMatchObject({ nodes_changed: 3 });
    const [later, ...rest] = [...(await content())].reverse();
    expect(later).toMatchObject({ path: '/later' });
    expect(rest.reverse()).toEqual(before);
    for (const { id, version } of await tree()) {
      const known = versions.get(id);
      if (id.startsWith('a')) expect(version).toBeGreaterThan(known as number);
      else if (known !== undefined) expect(version).toBe(known);
    }
    const incoming = { incoming: [{ relation: { relation_type: 'likes', weight: 2 } }] };
    expect(
      await family.query(branch, { type: 'ReadRelations', ...onNode, place: { path: '/b' } }),
    ).toMatchObject(incoming);
  });

  it('undoes a move and a rename, and what came below since goes along with its version and stamps', async () => {
    const renamed = await rename('/a', 'z');
    const moved = await move('/b', '/z/b');
    await create('/z/mine', 'ours');
    await create('/z/b/deep', 'ours');
    const known = new Map((await tree()).map((node) => [node.id, node]));
    expect(await reverted(moved)).toMatchObject({ nodes_changed: 2 });
    expect(await paths()).toEqual(['a /z', 'a1 /z/a1', 'mine /z/mine', 'b /b', 'deep /b/deep', 'c /c']);
    expect(await reverted(renamed)).toMatchObject({ nodes_changed: 3 });
    expect(await paths()).toEqual(['a /a', 'a1 /a/a1', 'mine /a/mine', 'b /b', 'deep /b/deep', 'c /c']);
    for (const node of await tree()) {
      if (!['mine', 'deep', 'a1'].includes(node.id)) continue;
      expect([node.version, node.updated_at]).toEqual([
        known.get(node.id)?.version,
        known.get(node.id)?.updated_at,
      ]);
    }
    await reverted(await family.head(branch));
    expect((await paths()).slice(0, 3)).toEqual(['a /z', 'a1 /z/a1', 'mine /z/mine']);
  });

  it('undoes one locale and leaves others, and the node, as they have become', async () => {
    const german = await translate('/b', 'de', 'eins');
    await translate('/b', 'fr', 'deux');
    await update('/b', 'edited');
    expect(await reverted(german)).toMatchObject({ nodes_changed: 1 });
    const record = await family.query(branch, {
      type: 'ReadRevisionChanges',
      revision: parseRevision(await family.head(branch)),
    });
    expect(record).toMatchObject([{ node_id: 'b', operation: 'modified', translation_locale: 'de' }]);
    const node = await nodeOf('b');
    expect(node).toMatchObject({ properties: title('edited'), translations: { fr: { title: 'deux' } } });
    expect(Object.keys(node?.translations as object)).toEqual(['fr']);
  });

  it('undoes a reorder, and never conflicts about a place', async () => {
    const first = await reorder('/c', '/a');
    expect(await reverted(first)).toMatchObject({ nodes_changed: 1 });
    expect((await paths()).map((text) => text[0])).toEqual(['a', 'a', 'b', 'c']);
    const second = await reorder('/c', '/a');
    await reorder('/c', '/b');
    expect(await reverted(second)).toMatchObject({ nodes_changed: 0 });
    expect((await paths()).map((text) => text[0])).toEqual(['a', 'a', 'c', 'b']);
  });

  it('publishes again what was unpublished, and the other way round', async () => {
    const before = await content();
    const publish = (isPublished: boolean) =>
      write({ type: 'PublishNode', ...onNode, place: { path: '/b' }, publish: isPublished, tree: false });
    const published = await publish(true);
    const after = await content();
    await reverted(await publish(false));
    expect(await content()).toEqual(after);
    await reverted(published);
    expect(await content()).toEqual(before);
  });

  it('with nothing left to undo writes no revision [REVERT-009]', async () => {
    const done = await update('/b', 'x');
    await update('/b', '/b base');
    const head = await family.head(branch);
    expect(await reverted(done)).toMatchObject({ nodes_changed: 0, head });
    const made = await create('/new');
    const gone = await remove('/new');
    expect(await reverted(made, gone)).toMatchObject({ nodes_changed: 0, head: gone });
  });

  it('only reports in a dry run', async () => {
    const defined = await define('test:Dry', []);
    const done = await update('/b', 'x');
    const before = await content();
    const result = await revert({ from: defined, to: done }, { dryRun: true });
    expect(result).toMatchObject({ success: true, nodes_changed: 1, head: done });
    expect([await family.head(branch), await content()]).toEqual([done, before]);
    await createOf('test:Dry', 'still', {});
    await update('/b', 'y');
    expect(await revert({ revisions: [done] }, { dryRun: true })).toMatchObject({ success: false });
  });
});

describe('reverting several revisions', () => {
  it('takes a range with both ends, or a list in any order, and leaves the others [REVERT-002]', async () => {
    const before = await content();
    const made = [
      await update('/b', 'one'),
      await create('/a/new', 'x'),
      await rename('/c', 'd'),
      await update('/a/new', 'y'),
      await remove('/a/a1'),
    ] as const;
    const head = await content();
    const [first, , third, , last] = made;
    const all = await revert({ from: first, to: last });
    expect(all).toMatchObject({ success: true, nodes_changed: 4 });
    expect(await content()).toEqual(before);
    await reverted(all.head);
    expect(await content()).toEqual(head);
    expect(await revert({ from: third, to: third })).toMatchObject({ success: true, nodes_changed: 1 });
    expect(await paths()).toContain('c /c');
    expect(await reverted(made[3], first, made[3], made[1])).toMatchObject({ nodes_changed: 2 });
    expect(await paths()).toEqual(['a /a', 'b /b', 'c /c']);
    expect((await nodeOf('b'))?.properties).toMatchObject(title('/b base'));
  });

  it('names what was before the first and after the last of them in a conflict', async () => {
    const first = await update('/b', 'one');
    const second = await update('/b', 'two');
    await update('/b', 'three');
    expect(await conflictsOf(second, first)).toEqual([
      {
        node_id: 'b',
        workspace,
        path: '/b',
        conflict_type: 'BothModified',
        base_properties: title('two'),
        target_properties: title('three'),
        source_properties: title('/b base'),
        base_path: '/b',
        target_path: '/b',
        source_path: '/b',
        base_published: false,
        target_published: false,
        source_published: false,
      },
    ]);
  });

  it('does not undo changes of others in between', async () => {
    const first = await update('/b', 'one');
    await update('/b', 'between');
    const third = await update('/b', 'three');
    const conflicts = await conflictsOf(first, third);
    expect(conflicts).toMatchObject([
      {
        base_properties: title('one'),
        target_properties: title('between'),
        source_properties: title('/b base'),
      },
    ]);
    await reverted(third);
    expect(await nodeOf('b')).toMatchObject({ properties: title('between') });
  });

  it('lets nodes trade places and unique values back', async () => {
    await define('test:Coded', [{ name: 'code', type: 'String', unique: true }]);
    await createOf('test:Coded', 'one', { code: '1' });
    await createOf('test:Coded', 'two', { code: '2' });
    const before = await content();
    const code = (path: string, value: string) =>
      write({ type: 'UpdateNode', ...onNode, place: { path }, properties: { code: value } });
    const first = await code('/one', '3');
    await code('/two', '1');
    await code('/one', '2');
    await rename('/b', 'tmp');
    await rename('/c', 'b');
    const last = await rename('/tmp', 'c');
    expect(await revert({ from: first, to: last })).toMatchObject({ success: true, nodes_changed: 4 });
    expect(await content()).toEqual(before);
  });

  it('lets nodes trade unique values back that one commit traded', async () => {
    await define('test:Coded', [{ name: 'code', type: 'String', unique: true }]);
    await createOf('test:Coded', 'one', { code: '1' });
    await createOf('test:Coded', 'two', { code: '2' });
    const before = await content();
    const trade = await write({
      type: 'CommitOperations',
      workspace,
      commit: { message: 'trade' },
      operations: [
        { type: 'update', nodeId: 'one', properties: { code: '2' } },
        { type: 'update', nodeId: 'two', properties: { code: '1' } },
      ],
    });
    const after = await content();
    const back = await reverted(trade);
    expect(await content()).toEqual(before);
    await reverted(back.head);
    expect(await content()).toEqual(after);
    expect(await family.damage(branch)).toEqual([]);
  });
});

describe('a revert in conflict', () => {
  it('reports the values of the revision, of the branch and before the revision [REVERT-004]', async () => {
    const done = await update('/b', 'reverted');
    await update('/b', 'later');
    expect(await conflictsOf(done)).toMatchObject([
      {
        node_id: 'b',
        path: '/b',
        conflict_type: 'BothModified',
        base_properties: title('reverted'),
        target_properties: title('later'),
        source_properties: title('/b base'),
      },
    ]);
  });

  it('distinguishes deletions by either side', async () => {
    const made = await create('/new', 'made');
    await update('/new', 'later');
    expect(await conflictsOf(made)).toMatchObject([
      {
        conflict_type: 'DeletedBySourceModifiedByTarget',
        base_properties: title('made'),
        target_properties: title('later'),
        source_properties: null,
      },
    ]);
    const edited = await update('/c', 'edited');
    await remove('/c');
    expect(await conflictsOf(edited)).toMatchObject([
      {
        conflict_type: 'ModifiedBySourceDeletedByTarget',
        path: '/c',
        base_properties: title('edited'),
        target_properties: null,
        source_properties: title('/c base'),
      },
    ]);
    const gone = await remove('/b');
    await create('/b', 'other');
    expect(await conflictsOf(gone)).toMatchObject([
      {
        node_id: 'b',
        conflict_type: 'BothAdded',
        base_properties: null,
        target_properties: title('other'),
        source_properties: title('/b base'),
      },
    ]);
  });

  it('is about one locale where that was translated again, and about a node that was translated since it came', async () => {
    const german = await translate('/b', 'de', 'eins');
    await translate('/b', 'de', 'zwei');
    expect(await conflictsOf(german)).toMatchObject([
      {
        translation_locale: 'de',
        base_properties: { '/title': 'eins' },
        target_properties: { '/title': 'zwei' },
        source_properties: null,
        conflict_type: 'DeletedBySourceModifiedByTarget',
      },
    ]);
    const made = await create('/new');
    const translated = await translate('/new', 'fr', 'nouveau');
    expect(await conflictsOf(made)).toMatchObject([{ conflict_type: 'DeletedBySourceModifiedByTarget' }]);
    await reverted(made, translated);
    expect((await paths()).includes('new /new')).toBe(false);
  });

  it('stops a deletion of what others put children below [REVERT-006]', async () => {
    const made = await create('/new', 'made');
    const child = await create('/new/child', 'later');
    expect(await conflictsOf(made)).toMatchObject([
      {
        node_id: 'new',
        path: '/new',
        conflict_type: 'DeletedBySourceModifiedByTarget',
        base_properties: title('made'),
        target_properties: title('made'),
        source_properties: null,
      },
    ]);
    expect(await reverted(child, made)).toMatchObject({ nodes_changed: 2 });
  });

  it('stops a node from coming back below one that is gone [REVERT-006]', async () => {
    const gone = await remove('/a/a1');
    const moved = await move('/b', '/c/b');
    await remove('/a');
    expect(await conflictsOf(gone)).toMatchObject([
      {
        node_id: 'a',
        path: '/a',
        conflict_type: 'ModifiedBySourceDeletedByTarget',
        base_properties: title('/a base'),
        target_properties: null,
        source_properties: title('/a base'),
      },
    ]);
    await reverted(moved, gone, await family.head(branch));
    expect(await paths()).toEqual(['a /a', 'a1 /a/a1', 'b /b', 'c /c']);
  });

  it('stops a node from leaving what moved into it without a home', async () => {
    const made = await create('/new', 'made');
    await move('/b', '/new/b');
    const left = await move('/new/b', '/b');
    expect(await conflictsOf(made, left)).toMatchObject([
      { node_id: 'new', conflict_type: 'DeletedBySourceModifiedByTarget', source_properties: null },
    ]);
  });

  it('stops two nodes at one place [REVERT-006]', async () => {
    const gone = await remove('/b');
    const renamed = await rename('/c', 'd');
    await family.create(branch, '/b', 'holder', 'holder');
    await family.create(branch, '/c', 'other', 'other');
    expect(await conflictsOf(gone, renamed)).toMatchObject([
      {
        node_id: 'holder',
        path: '/b',
        conflict_type: 'BothAdded',
        base_properties: null,
        target_properties: title('holder'),
        source_properties: title('/b base'),
      },
      {
        node_id: 'c',
        path: '/d',
        conflict_type: 'BothModified',
        base_properties: title('/c base'),
        target_properties: title('/c base'),
        source_properties: title('/c base'),
      },
    ]);
  });

  it('stops two nodes that would both come back to one place', async () => {
    const first = await remove('/b');
    await family.create(branch, '/b', 'second', 'second');
    const second = await remove('/b');
    expect(await conflictsOf(first, second)).toMatchObject([{ conflict_type: 'BothAdded', path: '/b' }]);
    await reverted(second);
    expect(await paths()).toContain('second /b');
  });

  it('stops moves that would make a node its own ancestor [REVERT-006]', async () => {
    await move('/b', '/a/b');
    const out = await move('/a/b', '/b');
    await move('/a', '/b/a');
    expect(await conflictsOf(out)).toMatchObject([
      { node_id: 'b', conflict_type: 'BothModified' },
      { node_id: 'a', conflict_type: 'BothModified' },
    ]);
  });

  it('is reported in path order', async () => {
    const c = await update('/c', 'x');
    const b = await update('/b', 'x');
    await update('/c', 'y');
    await update('/b', 'y');
    expect((await conflictsOf(b, c)).map(({ path }) => path)).toEqual(['/b', '/c']);
  });
});

describe('reverting merges', () => {
  const merge = (source: string, strategy: 'ThreeWay' | 'FastForward' = 'ThreeWay'): Promise<MergeResult> =>
    family.command(branch, {
      type: 'MergeBranch',
      source: family.actor(source),
      sourceName: source,
      strategy,
      dryRun: false,
    });

  it('restores what the branch had before, and the next merge does not apply the change again [REVERT-007]', async () => {
    const source = await newBranch(branch);
    await family.update(source, '/b', 'theirs');
    await family.create(source, '/a/new', 'theirs', 'new');
    await family.delete(source, '/c');
    await update('/a', 'ours');
    const before = await content();
    const merged = await merge(source);
    const after = await content();
    const undone = await reverted(merged.head);
    expect(undone.nodes_changed).toBe(3);
    expect(await content()).toEqual(before);
    expect(await merge(source)).toMatchObject({ success: true, nodes_changed: 0, head: undone.head });
    await family.create(source, '/more', '', 'more');
    expect(await merge(source)).toMatchObject({ success: true, nodes_changed: 1 });
    await reverted(await family.head(branch), undone.head);
    expect(await content()).toEqual(after);
  });

  it('undoes revisions that came by a fast-forward, and those a fork inherited', async () => {
    const source = await newBranch(branch);
    const before = await content();
    const first = await family.create(source, '/new', '', 'new');
    const second = (await family.update(source, '/b', 'theirs')).revision as string;
    await merge(source, 'FastForward');
    branch = await newBranch(branch);
    expect(await revert({ from: first, to: second })).toMatchObject({ success: true, nodes_changed: 2 });
    expect(await content()).toEqual(before);
  });
});

describe('reverting schema changes', () => {
  const loose = [{ name: 'title', type: 'String' }];
  const strict = [...loose, { name: 'needed', type: 'String', required: true }];
  const read = (name: string) =>
    family.query<JsonObject | undefined>(branch, { type: 'ReadDefinition', kind: 'node_type', name });

  it('restores and removes definitions, with increasing versions', async () => {
    const made = await define('test:Kind', loose);
    const changed = await define('test:Kind', strict);
    const gone = await write({ type: 'DeleteDefinition', kind: 'node_type', name: 'test:Kind' });
    const back = await reverted(gone);
    expect(back).toMatchObject({ nodes_changed: 0, head: await family.head(branch) });
    expect(await read('test:Kind')).toMatchObject({ properties: [{}, { name: 'needed' }] });
    await reverted(changed);
    expect((await read('test:Kind'))?.properties).toHaveLength(1);
    expect((await read('test:Kind'))?.version).toBe(4);
    const record = await family.query(branch, {
      type: 'ReadRevision',
      revision: parseRevision(await family.head(branch)),
    });
    expect(record).toMatchObject({ changed_node_types: [{ name: 'test:Kind', operation: 'modified' }] });
    const all = await revert({ from: made, to: await family.head(branch) });
    expect(all.success).toBe(true);
    await expect(read('test:Kind')).rejects.toMatchObject({ code: 'NODE_TYPE_NOT_FOUND' });
  });

  it('conflicts with a later change of the definition', async () => {
    const made = await define('test:Other', loose);
    await define('test:Other', strict);
    const [conflict] = await conflictsOf(made);
    expect(conflict).toMatchObject({
      node_id: 'node_type:test:Other',
      workspace: null,
      path: '/node_type/test:Other',
      base_properties: { version: 1 },
      target_properties: { version: 2 },
      source_properties: null,
    });
  });

  it('restores index rows too [REVERT-008]', async () => {
    await define('test:Coded', loose);
    await createOf('test:Coded', 'one', { title: 'same' });
    const unique = await define('test:Coded', [{ name: 'title', type: 'String', unique: true }]);
    await expect(createOf('test:Coded', 'two', { title: 'same' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    await reverted(unique);
    await createOf('test:Coded', 'two', { title: 'same' });
  });

  it('names a node that would not be valid any more, and writes nothing [REVERT-008]', async () => {
    await define('test:Strict', strict);
    const loosened = await define('test:Strict', loose);
    const made = await createOf('test:Strict', 'lacking', { title: 'x' });
    const head = await family.head(branch);
    for (const dryRun of [true, false]) {
      await expect(revert({ revisions: [loosened] }, { dryRun })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringMatching(/revert.*'\/lacking'.*needed/),
      });
    }
    expect(await family.head(branch)).toBe(head);
    const gone = await remove('/lacking');
    const tightened = await define('test:Strict', strict);
    await expect(revert({ revisions: [gone] })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("'/lacking'"),
    });
    await reverted(tightened, gone);
    expect(await paths()).toContain('lacking /lacking');
    await reverted(await family.head(branch), made, loosened);
  });

  it('refuses to take away what a later definition is made of', async () => {
    const parent = await define('test:Parent', loose);
    const child = await define('test:Child', [], { extends: 'test:Parent' });
    await expect(revert({ revisions: [parent] })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("node type 'test:Child'"),
    });
    await reverted(parent, child);
  });

  it('names a node whose unique value another node has taken since', async () => {
    await define('test:Unique', [{ name: 'code', type: 'String', unique: true }]);
    await createOf('test:Unique', 'mine', { code: '1' });
    const gone = await remove('/mine');
    await createOf('test:Unique', 'yours', { code: '1' });
    await expect(revert({ revisions: [gone] })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("'/mine'"),
    });
  });

  it('does not rewrite nodes of an immutable type, unless it stops being one', async () => {
    await define('test:Fixed', loose);
    await createOf('test:Fixed', 'fixed', { title: 'one' });
    const place = { path: '/fixed' };
    const changed = await write({ type: 'UpdateNode', ...onNode, place, properties: { title: 'two' } });
    const froze = await define('test:Fixed', loose, { immutable: true });
    await expect(revert({ revisions: [changed] })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('immutable'),
    });
    await reverted(changed, froze);
    expect(await nodeOf('fixed')).toMatchObject({ properties: title('one') });
  });

  it('leaves the built-in types [REVERT-013]', async () => {
    const { revisions } = await family.query<{ revisions: readonly { revision: string }[] }>(branch, {
      type: 'ListRevisions',
      limit: 1000,
      offset: 0,
      includeSystem: true,
    });
    const installed = revisions.at(-1)?.revision as string;
    await expect(revert({ revisions: [installed] })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(new RegExp(`'${installed}'.*built-in type`)),
    });
  });
});

describe('what can be reverted', () => {
  it('is what leads to the head, and nothing else [REVERT-010]', async () => {
    const head = await family.head(branch);
    await expect(revert({ revisions: [] })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    await expect(revert({ revisions: ['soon'] })).rejects.toMatchObject({ code: 'INVALID_REVISION_NUMBER' });
    for (const missing of ['7-7', '0-0', '99999999999999999999-0']) {
      await expect(revert({ revisions: [missing] })).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' });
      await expect(revert({ from: head, to: missing })).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' });
      await expect(revert({ from: missing, to: head })).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' });
    }
    const left = await update('/b', 'left behind');
    await write({ type: 'MoveHead', revision: head });
    await expect(revert({ revisions: [left] })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    const later = await update('/b', 'later');
    await expect(revert({ from: left, to: later })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    await expect(revert({ from: later, to: head })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    const many = Array.from({ length: 1001 }, () => later);
    await expect(revert({ revisions: many })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await revert({ from: later, to: later })).toMatchObject({ success: true, nodes_changed: 1 });
  });
});
