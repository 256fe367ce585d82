import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BranchCommand, CommitOperation } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const workspace = WORKSPACE;

/** Few names and three levels, so that commands meet the same places again and again. */
const names = ['a', 'b', 'c'];
const paths = names.flatMap((one) => [
  `/${one}`,
  ...names.flatMap((two) => [`/${one}/${two}`, ...names.map((three) => `/${one}/${two}/${three}`)]),
]);

/** A node that is there when the step runs, by its number; now and then any path, also one that is not there. */
const path = fc.oneof(
  { weight: 9, arbitrary: fc.nat({ max: 60 }).map((number) => `@${number}`) },
  { weight: 1, arbitrary: fc.constantFrom(...paths) },
);
const name = fc.constantFrom(...names);
/** A place where a node may go: under one that is there, or at the root. */
const target = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(path, name).map(([under, last]) => `${under}/${last}`) },
  { weight: 1, arbitrary: name.map((last) => `/${last}`) },
);
const place = path.map((at) => ({ path: at }));
const properties = fc.dictionary(fc.constantFrom('title', 'code', 'to'), fc.constantFrom('x', 'y'), {
  maxKeys: 2,
});
const node = fc.record({ name, nodeType: fc.constantFrom('svc:Folder', 'test:Coded'), properties });
const parentPath = fc.oneof({ weight: 1, arbitrary: fc.constant('/') }, { weight: 2, arbitrary: path });
const base = { workspace: fc.constant(workspace) };

const of = <T extends BranchCommand['type'], R extends Record<string, fc.Arbitrary<unknown>>>(
  type: T,
  rest: R,
) => fc.record({ type: fc.constant(type), ...base, ...rest }) as unknown as fc.Arbitrary<BranchCommand>;

const locale = fc.constantFrom('de', 'fr');
const command: fc.Arbitrary<BranchCommand> = fc.oneof(
  { weight: 6, arbitrary: of('CreateNode', { parentPath, node, deep: fc.boolean() }) },
  { weight: 2, arbitrary: of('UpdateNode', { place, properties }) },
  { weight: 1, arbitrary: of('DeleteNode', { place }) },
  { weight: 2, arbitrary: of('RenameNode', { place, newName: name }) },
  { weight: 3, arbitrary: of('MoveNode', { place, targetPath: target }) },
  { weight: 2, arbitrary: of('CopyNode', { place, targetPath: target, tree: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: of('ReorderNode', { place, targetPath: path, position: fc.constantFrom('before', 'after') }),
  },
  { weight: 1, arbitrary: of('PublishNode', { place, publish: fc.constant(true), tree: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: of('PublishNode', { place, publish: fc.constant(false), tree: fc.constant(true) }),
  },
  { weight: 1, arbitrary: of('CreateVersion', { place }) },
  { weight: 1, arbitrary: of('RestoreVersion', { place, version: fc.constantFrom(1, 2) }) },
  {
    weight: 1,
    arbitrary: of('AddRelation', {
      place,
      targetWorkspace: fc.constant(workspace),
      targetPath: path,
      relationType: name,
      weight: fc.constantFrom(null, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: of('RemoveRelation', { place, targetWorkspace: fc.constant(workspace), targetPath: path }),
  },
  {
    weight: 1,
    arbitrary: of('TranslateNode', { place, locale, translations: fc.constant({ '/title': 'T' }) }),
  },
  {
    weight: 1,
    arbitrary: of('ChangeLocale', {
      place,
      locale,
      change: fc.constantFrom('hide', 'unhide', 'delete-translation'),
    }),
  },
);

/** Operations name nodes by path here; ids are filled in when the commit is sent. */
const operation = fc.oneof(
  fc.record({ type: fc.constant('create' as const), parentPath, node }),
  fc.record({ type: fc.constant('update' as const), at: path, properties }),
  fc.record({ type: fc.constant('delete' as const), at: path }),
  fc.record({ type: fc.constant('move' as const), at: path, newPath: target }),
  fc.record({ type: fc.constant('rename' as const), at: path, newName: name }),
  fc.record({
    type: fc.constantFrom('copy' as const, 'copy_tree' as const),
    sourcePath: path,
    targetParent: parentPath,
    newName: name,
  }),
);

const step = fc.oneof(
  { weight: 5, arbitrary: command },
  { weight: 1, arbitrary: fc.array(operation, { minLength: 1, maxLength: 4 }) },
);

/** Moves the head to a revision seen before, by its number. */
const headMove = fc.record({ headTo: fc.nat({ max: 60 }) });
/** What is indexed and unique changes with the type. */
const typeChange = fc.record({ isUnique: fc.boolean(), isIndexed: fc.boolean() });

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Where every node stood: id, version and key by path. */
type Tree = ReadonlyMap<string, { readonly id: string; readonly version: number; readonly key: string }>;

async function treeOf(branch: BranchFixture): Promise<Tree> {
  const tree = new Map<string, { id: string; version: number; key: string }>();
  for (const at of paths) {
    if (await branch.isMissing(at)) continue;
    const found = await branch.read(at);
    tree.set(at, { id: found.id, version: found.version, key: found.order_key });
  }
  return tree;
}

/** Puts paths in for the numbers of nodes. */
function withPaths<T>(value: T, present: readonly string[]): T {
  if (typeof value === 'string') {
    const named = value.replace(/^@(\d+)/, (_, number: string) => {
      return present.length === 0 ? '/a' : (present[Number(number) % present.length] as string);
    });
    return named as T;
  }
  if (Array.isArray(value)) return value.map((item: unknown) => withPaths(item, present)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withPaths(item, present)])) as T;
}

/** Definition of the one type of its own the workload has. */
function codedType(isUnique: boolean, isIndexed: boolean): JsonObject {
  const title = { name: 'title', type: 'String', ...(isIndexed ? { index: ['Property'] } : {}) };
  return { name: 'test:Coded', properties: [{ name: 'code', type: 'String', unique: isUnique }, title] };
}

async function send(branch: BranchFixture, sent: Step, before: Tree): Promise<string | null> {
  try {
    if (!Array.isArray(sent)) return (await branch.command(sent)).revision;
    const operations = sent.map((each) => {
      if (!('at' in each)) return each;
      const { at, ...rest } = each;
      return { ...rest, nodeId: before.get(at)?.id ?? 'nobody' };
    }) as CommitOperation[];
    const commit = { message: 'several' };
    return (await branch.command({ type: 'CommitOperations', workspace, commit, operations })).revision;
  } catch (error) {
    // What may not be done is refused, and then nothing has happened.
    if (!(error instanceof ServiceError) || error.entry.status >= 500) throw error;
    expect(await treeOf(branch)).toEqual(before);
    return null;
  }
}

const workload = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: step },
    { weight: 1, arbitrary: headMove },
    { weight: 1, arbitrary: typeChange },
  ),
  { minLength: 15, maxLength: 40 },
);

function refused(error: unknown): void {
  if (!(error instanceof ServiceError) || error.entry.status >= 500) throw error;
}

describe('any sequence of commands', () => {
  it('keeps every table in step with the nodes, and every earlier revision as it was', async () => {
    await fc.assert(
      fc.asyncProperty(workload, async (steps) => {
        const branch = await openBranch({ nodeTypes: [codedType(true, false)] });
        try {
          for (const at of ['/a', '/a/a', '/a/b', '/a/b/c', '/b', '/b/c', '/c']) await branch.create(at);
          const seen: { revision: string; tree: Tree }[] = [];
          let tree = await treeOf(branch);
          for (const each of steps) {
            if ('headTo' in each) {
              const there = seen[each.headTo % Math.max(seen.length, 1)];
              if (there === undefined) continue;
              await branch.command({ type: 'MoveHead', revision: there.revision });
              tree = await treeOf(branch);
              expect(tree).toEqual(there.tree);
              await branch.inspect((reader) => expect(findDamage(reader)).toEqual([]));
              continue;
            }
            if ('isUnique' in each) {
              const definition = codedType(each.isUnique, each.isIndexed);
              await branch.command({ type: 'PutDefinition', kind: 'node_type', definition }).catch(refused);
              continue;
            }
            const revision = await send(branch, withPaths(each, [...tree.keys()]), tree);
            const next = await treeOf(branch);
            if (revision === null) expect(next).toEqual(tree);
            else seen.push({ revision, tree: next });
            tree = next;
          }
          await branch.inspect((reader) => {
            expect(findDamage(reader)).toEqual([]);
            for (const { revision, tree: expected } of seen) {
              const past = new PastNodeReader(reader, parseRevision(revision));
              const found = new Map<string, { id: string; version: number; key: string }>();
              const visit = (parentId: string): void => {
                for (const { id, orderKey } of past.children(workspace, parentId)) {
                  const header = past.byId(workspace, id)?.header;
                  expect(header?.orderKey).toBe(orderKey);
                  expect(past.idAt(workspace, header?.path as string)).toBe(id);
                  found.set(header?.path as string, {
                    id,
                    version: header?.version as number,
                    key: orderKey,
                  });
                  visit(id);
                }
              };
              visit(ROOT_ID);
              // Copies and moves may lead below the third level, where the test does not look.
              const visible = [...found].filter(([at]) => paths.includes(at));
              expect(new Map(visible.sort())).toEqual(new Map([...expected].sort()));
              for (const at of paths) expect(past.idAt(workspace, at)).toBe(expected.get(at)?.id);
            }
          });
        } finally {
          await branch.close();
        }
      }),
      { numRuns: workloadCount(15) },
    );
  });
});
