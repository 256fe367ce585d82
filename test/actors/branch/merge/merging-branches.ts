import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type {
  ConflictList,
  MergeConflict,
  MergeResolution,
  MergeResult,
} from '#actors/branch/merge-messages.ts';
import type { DefinitionKind } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

const workspace = WORKSPACE;

/** The strict type of articles that both branches of a pair have. */
export const ARTICLE = 'test:Article';
/** How conflicts name it. */
export const articleId = `node_type:${ARTICLE}`;

/** A property of type String. */
export const text = (name: string, more: object = {}) => ({ name, type: 'String', ...more });

/** {@link ARTICLE} with a further property that is required. */
export const stricter = {
  strict: true,
  properties: [text('title'), text('author', { required: true })],
};

export const ours = (nodeId: string): MergeResolution => ({ type: 'keep-ours', nodeId });
export const theirs = (nodeId: string): MergeResolution => ({ type: 'keep-theirs', nodeId });
export const manual = (nodeId: string, properties: JsonObject | null): MergeResolution => ({
  type: 'manual',
  nodeId,
  properties,
});

/** Branches for tests of what does not fit together; ids of nodes are their names. Whole at the end of every test. */
export function mergingBranches() {
  let family: BranchFamily;
  let names = 0;
  let used: string[] = [];

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());
  afterEach(async () => {
    for (const branch of used) expect(await family.damage(branch)).toEqual([]);
    used = [];
  });

  /** A branch with a strict type of articles, one of which is there, and a fork of it. */
  async function pair(): Promise<[target: string, source: string]> {
    names += 1;
    const [target, source] = [`target-${names}`, `source-${names}`];
    await family.fork(target, 'main');
    await define(target, ARTICLE, { strict: true, properties: [text('title')] });
    await article(target, '/old', { title: 'old' });
    await family.fork(source, target);
    used.push(target, source);
    return [target, source];
  }

  const define = (branch: string, name: string, definition: object, kind: DefinitionKind = 'node_type') =>
    family.command(branch, { type: 'PutDefinition', kind, definition: { name, ...definition } });
  const undefine = (branch: string, name: string, kind: DefinitionKind = 'node_type') =>
    family.command(branch, { type: 'DeleteDefinition', kind, name });
  const create = (
    branch: string,
    path: string,
    nodeType: string,
    properties: JsonObject,
    archetype?: string,
  ) => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const node = { name, id: name, nodeType, properties };
    return family.command(branch, {
      type: 'CreateNode',
      workspace,
      parentPath: path.slice(0, path.lastIndexOf('/')) || '/',
      node: archetype === undefined ? node : { ...node, archetype },
      deep: false,
    });
  };
  const article = (branch: string, path: string, properties: JsonObject) =>
    create(branch, path, ARTICLE, properties);
  const update = (branch: string, path: string, properties: JsonObject) =>
    family.command(branch, { type: 'UpdateNode', workspace, place: { path }, properties });

  const mergeCommand = (source: string, dryRun: boolean) =>
    ({
      type: 'MergeBranch',
      source: family.actor(source),
      sourceName: source,
      strategy: 'ThreeWay',
      dryRun,
    }) as const;
  const merge = (target: string, source: string, dryRun = false): Promise<MergeResult> =>
    family.command(target, mergeCommand(source, dryRun));
  const resolve = (
    target: string,
    source: string,
    resolutions: readonly MergeResolution[],
    dryRun = false,
  ): Promise<MergeResult> =>
    family.command(target, {
      type: 'ResolveMerge',
      source: family.actor(source),
      sourceName: source,
      resolutions,
      dryRun,
    });

  /** The list; a merge that is refused, a dry run and a resolve without resolutions say the same and write nothing. */
  async function conflicts(target: string, source: string): Promise<readonly MergeConflict[]> {
    const query = { type: 'ListConflicts', source: family.actor(source) } as const;
    const head = await family.head(target);
    const { conflicts: listed } = await family.query<ConflictList>(target, query);
    for (const dryRun of [true, false]) {
      const said = { success: listed.length === 0, conflicts: listed };
      if (listed.length > 0 || dryRun) {
        expect(await merge(target, source, dryRun)).toMatchObject(said);
        expect(await resolve(target, source, [], dryRun)).toMatchObject(said);
      }
    }
    expect(await family.head(target)).toBe(head);
    return listed;
  }

  /** Ids with what is wrong: `[id, violation type, ids of the others]`. */
  async function wrongs(target: string, source: string) {
    return briefly(await conflicts(target, source));
  }
  function briefly(listed: readonly MergeConflict[]) {
    return listed.flatMap(({ node_id, violations = [] }) =>
      violations.map(({ violation_type, with: others }) => [
        node_id,
        violation_type,
        others.map((other) => other.node_id),
      ]),
    );
  }

  /** `id path properties`, in document order. */
  const shown = async (branch: string): Promise<string[]> => {
    const query = { type: 'ReadTree', workspace, place: { path: '/' }, levels: 100, form: 'flat' } as const;
    const nodes: { id: string; path: string; properties: JsonObject }[] = await family.query(branch, query);
    return nodes.map(({ id, path, properties }) => {
      const stored = Object.entries(properties).filter(([name]) => !name.startsWith('$'));
      return `${id} ${path} ${JSON.stringify(Object.fromEntries(stored))}`;
    });
  };
  const definition = (branch: string, name: string, kind: DefinitionKind = 'node_type') =>
    family.query<JsonObject>(branch, { type: 'ReadDefinition', kind, name });

  /** Nothing is left to argue about, and both branches come to the same. */
  async function expectSettled(target: string, source: string): Promise<void> {
    expect(await conflicts(target, source)).toEqual([]);
    expect(await merge(target, source)).toMatchObject({ success: true, nodes_changed: 0 });
    expect(await merge(source, target)).toMatchObject({ success: true, conflicts: [] });
    expect(await shown(source)).toEqual(await shown(target));
  }

  /** A fork of a branch that is looked at as those of a pair are. */
  async function forkOf(branch: string, name: string): Promise<string> {
    await family.fork(name, branch);
    used.push(name);
    return name;
  }

  return {
    get family() {
      return family;
    },
    pair,
    forkOf,
    define,
    undefine,
    definition,
    create,
    article,
    update,
    merge,
    resolve,
    conflicts,
    wrongs,
    briefly,
    shown,
    expectSettled,
  };
}
