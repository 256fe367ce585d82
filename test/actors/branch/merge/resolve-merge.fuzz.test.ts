import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  ConflictList,
  MergeConflict,
  MergeResolution,
  MergeResult,
  ResolutionType,
} from '#actors/branch/merge-messages.ts';
import type { BranchCommand } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const workspace = WORKSPACE;

/** One thing somebody does on one of the two branches; there are few ids and names, so that they meet. */
interface Step {
  readonly on: number;
  readonly do:
    | 'create'
    | 'update'
    | 'rename'
    | 'move'
    | 'delete'
    | 'translate'
    | 'reorder'
    | 'define'
    | 'undefine';
  readonly a: number;
  readonly b: number;
}

const step = fc.record<Step>({
  on: fc.nat({ max: 1 }),
  do: fc.constantFrom(
    ...(['create', 'create', 'update', 'rename', 'move', 'move', 'delete', 'translate', 'reorder'] as const),
    ...(['define', 'define', 'undefine'] as const),
  ),
  a: fc.nat({ max: 9 }),
  b: fc.nat({ max: 9 }),
});

/** How conflicts are settled, in turn. */
const choices = fc.array(fc.constantFrom<Choice>('keep-ours', 'keep-theirs', 'manual', 'delete'), {
  minLength: 1,
  maxLength: 5,
});

type Choice = ResolutionType | 'delete';

/** A type whose definition changes. Nodes of odd ids are of it. */
const ITEM = 'test:Item';

/** One of its definitions: a code may be needed, and be unique. */
function itemOf(number: number): JsonObject {
  const code = { name: 'code', type: 'String', required: (number & 1) === 1, unique: (number & 2) === 2 };
  const children = number % 5 === 4 ? [ITEM] : [];
  return { name: ITEM, properties: [{ name: 'title', type: 'String' }, code], allowed_children: children };
}

const isItem = (id: string): boolean => Number(id.slice(1)) % 2 === 1;

interface Shown {
  readonly id: string;
  readonly path: string;
  readonly properties: { readonly title?: string };
  readonly translations: JsonObject | null;
}

type Tree = ReadonlyMap<string, Shown>;

describe('merges with resolutions, after random changes of two branches', () => {
  let family: BranchFamily;
  let names = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
    await family.command('main', { type: 'PutDefinition', kind: 'node_type', definition: itemOf(0) });
    for (const path of ['/n0', '/n0/n1', '/n0/n1/n2', '/n3', '/n3/n4', '/n5']) {
      const slash = path.lastIndexOf('/');
      const id = path.slice(slash + 1);
      const node = {
        name: id,
        id,
        nodeType: isItem(id) ? ITEM : 'svc:Folder',
        properties: { title: 'base' },
      };
      const parentPath = path.slice(0, slash) || '/';
      await family.command('main', { type: 'CreateNode', workspace, parentPath, node, deep: false });
    }
  });
  afterAll(() => family.close());

  async function tree(branch: string): Promise<Tree> {
    const query = { type: 'ReadTree', workspace, place: { path: '/' }, levels: 100, form: 'flat' } as const;
    const nodes = await family.query<readonly Shown[]>(branch, query);
    return new Map(
      nodes.map(({ id, path, properties: { title }, translations }) => [
        id,
        { id, path, properties: { title: title ?? '' }, translations },
      ]),
    );
  }

  /** Undefined when there is nothing to do it to. */
  function commandOf({ a, b, do: what }: Step, present: Tree): BranchCommand | undefined {
    const nodes = [...present.values()];
    const node = nodes[a % Math.max(nodes.length, 1)];
    const other = nodes[b % Math.max(nodes.length, 1)];
    if (what === 'create') {
      const parentPath = node === undefined || b % 3 === 0 ? '/' : node.path;
      const id = `n${a + 6}`;
      const made = { name: `m${b % 4}`, id, nodeType: isItem(id) ? ITEM : 'svc:Folder' };
      const properties = propertiesOf(id, `t${b}`, b);
      return { type: 'CreateNode', workspace, parentPath, node: { ...made, properties }, deep: false };
    }
    if (what === 'define') return { type: 'PutDefinition', kind: 'node_type', definition: itemOf(b) };
    if (what === 'undefine') return { type: 'DeleteDefinition', kind: 'node_type', name: ITEM };
    if (node === undefined || other === undefined) return undefined;
    const on = { workspace, place: { path: node.path } };
    switch (what) {
      case 'update':
        return { type: 'UpdateNode', ...on, properties: propertiesOf(node.id, `u${b}`, b) };
      case 'rename':
        return { type: 'RenameNode', ...on, newName: `m${b % 4}` };
      case 'move':
        return { type: 'MoveNode', ...on, targetPath: `${b % 4 === 0 ? '' : other.path}/m${a % 4}` };
      case 'delete':
        return { type: 'DeleteNode', ...on };
      case 'translate': {
        const locale = b % 2 === 0 ? 'de' : 'fr';
        return { type: 'TranslateNode', ...on, locale, translations: { '/title': `x${b}` } };
      }
      case 'reorder':
        return { type: 'ReorderNode', ...on, targetPath: other.path, position: 'before' };
    }
  }

  const resolve = (target: string, source: string, resolutions: readonly MergeResolution[]) =>
    family.command<MergeResult>(target, {
      type: 'ResolveMerge',
      source: family.actor(source),
      sourceName: source,
      resolutions,
      dryRun: false,
    });
  const merge = (target: string, source: string) =>
    family.command<MergeResult>(target, {
      type: 'MergeBranch',
      source: family.actor(source),
      sourceName: source,
      strategy: 'ThreeWay',
      dryRun: false,
    });
  const conflictsOf = async (target: string, source: string) =>
    (await family.query<ConflictList>(target, { type: 'ListConflicts', source: family.actor(source) }))
      .conflicts;

  /** Undefined when it is refused, as something a caller may have asked for. */
  async function attempt<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof ServiceError && error.entry.status < 500) return undefined;
      throw error;
    }
  }

  function resolutionOf(conflict: MergeConflict, choice: Choice): MergeResolution {
    const { node_id: nodeId, translation_locale: locale, workspace: place } = conflict;
    const named = { nodeId, ...(locale === undefined ? {} : { locale }) };
    if (place === null && choice === 'manual') return { ...named, type: choice, properties: itemOf(0) };
    if (choice === 'delete') return { ...named, type: 'manual', properties: null };
    if (choice !== 'manual') return { ...named, type: choice };
    const given = locale === undefined ? { title: 'given', code: nodeId } : { '/title': 'given' };
    return { ...named, type: 'manual', properties: given };
  }

  /** Settles what is in conflict, and what that brings up. Undefined when it is refused. */
  async function settle(target: string, source: string, how: readonly Choice[]) {
    const settled: MergeConflict[] = [];
    const resolutions: MergeResolution[] = [];
    for (let open = await conflictsOf(target, source); ; ) {
      for (const conflict of open) {
        resolutions.push(resolutionOf(conflict, how[resolutions.length % how.length] as Choice));
        settled.push(conflict);
      }
      const head = await family.head(target);
      const done = await attempt(resolve(target, source, resolutions));
      if (done?.success === true) return { settled, resolutions };
      expect(await family.head(target)).toBe(head);
      if (done === undefined) return undefined;
      expect(done.conflicts).not.toEqual([]);
      open = done.conflicts;
    }
  }

  function expectFollowed(
    { settled, resolutions }: { settled: readonly MergeConflict[]; resolutions: readonly MergeResolution[] },
    before: Tree,
    theirs: Tree,
    after: Tree,
  ): void {
    for (const [index, { node_id: id, translation_locale: locale, workspace: place }] of settled.entries()) {
      if (place === null) continue;
      const { properties, type } = resolutions[index] as MergeResolution;
      const now = after.get(id);
      const from = (type === 'keep-theirs' ? theirs : before).get(id);
      if (locale !== undefined) {
        if (type === 'manual') {
          const given = properties === null ? undefined : { title: 'given' };
          if (now !== undefined) expect(now.translations?.[locale]).toEqual(given);
        } else if (now !== undefined) {
          expect(now.translations?.[locale]).toEqual(from?.translations?.[locale]);
        }
      } else if (type === 'manual') {
        expect(now?.properties.title).toBe(properties === null ? undefined : 'given');
      } else expect(now?.properties.title).toBe(from?.properties.title);
    }
  }

  /** Whatever was decided, both branches can be brought to it, and nothing of it comes up again. */
  async function expectAgreed(target: string, source: string): Promise<void> {
    const agreed = [...(await tree(target)).values()];
    expect(await conflictsOf(target, source)).toEqual([]);
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 0 });
    expect(await merge(source, target)).toMatchObject({ success: true, conflicts: [] });
    const theirs = [...(await tree(source)).values()];
    expect(theirs.toSorted(byId)).toEqual(agreed.toSorted(byId));
    for (const branch of [target, source]) expect(await family.damage(branch)).toEqual([]);
  }

  it('make a whole tree that follows the resolutions and that both branches agree on, or change nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), choices, async (steps, how) => {
        names += 1;
        const [target, source] = [`target-${names}`, `source-${names}`];
        await family.fork(target, 'main');
        await family.fork(source, target);
        for (const one of steps) {
          const branch = one.on === 0 ? target : source;
          const command = commandOf(one, await tree(branch));
          if (command !== undefined) await attempt(family.command(branch, command));
        }
        const head = await family.head(target);
        const [before, theirs] = [await tree(target), await tree(source)];
        let settled = await settle(target, source, how);
        if (settled === undefined) {
          expect([...(await tree(target))]).toEqual([...before]);
          // One side alone always fits together.
          settled = await settle(target, source, [how[0] === 'keep-theirs' ? 'keep-theirs' : 'keep-ours']);
        }
        expect(settled).toBeDefined();
        const after = await tree(target);
        expectFollowed(settled as NonNullable<typeof settled>, before, theirs, after);
        const merged = await family.head(target);
        await expectAgreed(target, source);
        await family.command(target, { type: 'MoveHead', revision: head });
        expect([...(await tree(target))]).toEqual([...before]);
        await family.command(target, { type: 'MoveHead', revision: merged });
        expect([...(await tree(target))]).toEqual([...after]);
        expect(await family.damage(target)).toEqual([]);
        for (const branch of [target, source]) await family.remove(branch);
      }),
      { numRuns: workloadCount(40) },
    );
  });
});

/** Few codes, so that they meet; some have none. */
function propertiesOf(id: string, title: string, number: number): JsonObject {
  return isItem(id) && number % 3 > 0 ? { title, code: `c${number % 3}` } : { title };
}

function byId(a: Shown, b: Shown): number {
  return a.id < b.id ? -1 : 1;
}
