import { afterAll, beforeAll, expect, it } from 'vitest';
import fc from 'fast-check';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { findReferences } from '#runtime/content/values/references.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import type { NodeObject } from '#test/support/branch-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const workspaces = [WORKSPACE, 'other', 'content-2'];
const ids = ['a', 'ab', 'b', 'é', 'a b'];

let family: BranchFamily;
let branches = 0;

beforeAll(async () => {
  family = await BranchFamily.open();
  for (const name of workspaces.slice(1)) await family.putWorkspace(name);
});

afterAll(() => family.close());

/** A node of the workload. */
interface Place {
  readonly workspace: string;
  readonly id: string;
}

interface Link {
  readonly target: Place;
  readonly key: string;
}

type Edit =
  | { readonly do: 'write'; readonly node: Place; readonly links: readonly Link[] }
  | {
      readonly do: 'relate' | 'unrelate';
      readonly node: Place;
      readonly target: Place;
      readonly type: string;
    }
  | { readonly do: 'delete'; readonly node: Place }
  | { readonly do: 'back'; readonly steps: number };

const place: fc.Arbitrary<Place> = fc.record({
  workspace: fc.constantFrom(...workspaces),
  id: fc.constantFrom(...ids),
});
const link: fc.Arbitrary<Link> = fc.record({
  target: place,
  key: fc.constantFrom('x', 'y/z', 'k'.repeat(900), '\ud800'),
});
const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      node: place,
      links: fc.array(link, { maxLength: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('relate' as const, 'relate' as const, 'unrelate' as const),
      node: place,
      target: place,
      type: fc.constantFrom('r', 'r2', 'é'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), node: place }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('back' as const), steps: fc.integer({ min: 1, max: 3 }) }),
  },
);

const pathOf = (id: string): string => `/n${ids.indexOf(id)}`;

function propertiesOf(links: readonly Link[]): JsonObject {
  const values = links.map(({ key, target }) => ({
    [key]: { [key]: { 'svc:ref': target.id, 'svc:workspace': target.workspace } },
  }));
  return { values };
}

/** Carries an edit out; one that is refused changes nothing. */
async function apply(branch: string, step: Edit, revisions: readonly string[]): Promise<void> {
  try {
    if (step.do === 'back') {
      const revision = revisions.at(-1 - step.steps);
      if (revision !== undefined) await family.command(branch, { type: 'MoveHead', revision });
      return;
    }
    const { id, workspace } = step.node;
    const on = { workspace, place: { id } };
    if (step.do === 'delete') await family.command(branch, { type: 'DeleteNode', ...on });
    else if (step.do === 'write') {
      const properties = propertiesOf(step.links);
      const name = pathOf(id).slice(1);
      const node = { id, name, nodeType: 'svc:Folder', properties };
      await family
        .command(branch, { type: 'CreateNode', workspace, parentPath: '/', node, deep: false })
        .catch(() => family.command(branch, { type: 'UpdateNode', ...on, properties }));
    } else {
      const target = { targetWorkspace: step.target.workspace, targetPath: pathOf(step.target.id) };
      await (step.do === 'relate'
        ? family.command(branch, {
            type: 'AddRelation',
            ...on,
            ...target,
            relationType: step.type,
            weight: 1,
          })
        : family.command(branch, { type: 'RemoveRelation', ...on, ...target, relationType: step.type }));
    }
  } catch (error) {
    if ((error as { code?: string }).code !== 'NODE_NOT_FOUND') throw error;
  }
}

/** What links to each node, read out of all nodes there are. */
async function linksAt(branch: string, at?: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const moment = at === undefined ? {} : { at: parseRevision(at) };
  const links = new Map<string, string[]>();
  for (const workspace of workspaces) {
    const query = { type: 'ReadTree', workspace, place: { path: '/' }, levels: 1, form: 'flat' } as const;
    const nodes = await family.query<readonly NodeObject[]>(branch, { ...query, ...moment });
    for (const node of nodes)
      links.set(`${workspace}:${node.id}`, links.get(`${workspace}:${node.id}`) ?? []);
    for (const { id, properties, relations } of nodes) {
      const add = (target: string, entry: string): void => {
        const all = links.get(target) ?? [];
        links.set(target, all);
        if (!all.includes(entry)) all.push(entry);
      };
      for (const { pointer, ref, workspace: inside } of findReferences(properties))
        add(`${inside ?? workspace}:${ref}`, `${workspace}:${id} property ${pointer}`);
      for (const { relation_type, target, workspace: inside } of relations)
        add(
          `${inside as string}:${target as string}`,
          `${workspace}:${id} relation ${relation_type as string}`,
        );
    }
  }
  return links;
}

interface Entry {
  readonly kind: string;
  readonly source: Place;
  readonly pointer?: string;
  readonly relation_type?: string;
}

/** What the pages of a node have; undefined when there is no such node. */
async function listed(
  branch: string,
  node: Place,
  limit: number,
  at?: string,
): Promise<string[] | undefined> {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: Entry[]; next_cursor: string | null } | undefined = await family
      .query<{ items: Entry[]; next_cursor: string | null }>(branch, {
        type: 'ListIncomingReferences',
        workspace: node.workspace,
        place: { id: node.id },
        scope: branch,
        limit,
        ...(at === undefined ? {} : { at: parseRevision(at) }),
        ...(cursor === null ? {} : { cursor }),
      })
      .catch((error: { code?: string }) => {
        if (error.code !== 'NODE_NOT_FOUND') throw error;
        return undefined;
      });
    if (page === undefined) return undefined;
    for (const { kind, pointer, relation_type, source } of page.items)
      found.push(`${source.workspace}:${source.id} ${kind} ${pointer ?? relation_type}`);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

it('lists exactly what the nodes have, at the head and at every revision, by pages of any size [LINK-002, LINK-004]', async () => {
  const check = async (branch: string, limit: number, at?: string): Promise<void> => {
    const expected = await linksAt(branch, at);
    for (const workspace of workspaces) {
      for (const id of ids) {
        const found = await listed(branch, { workspace, id }, limit, at);
        // Who is not there is not asked, although others may refer to it.
        if (found === undefined) continue;
        expect(found.toSorted()).toEqual((expected.get(`${workspace}:${id}`) ?? []).toSorted());
        expect(await listed(branch, { workspace, id }, 1_000, at)).toEqual(found);
      }
    }
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(edit, { minLength: 4, maxLength: 16 }),
      fc.integer({ min: 1, max: 5 }),
      async (edits, limit) => {
        branches += 1;
        const branch = `b${branches}`;
        await family.fork(branch, 'main');
        const revisions: string[] = [];
        for (const step of edits) {
          await apply(branch, step, revisions);
          revisions.push(await family.head(branch));
        }
        await check(branch, limit);
        for (const at of new Set(revisions)) await check(branch, limit, at);
        await family.remove(branch);
      },
    ),
    { numRuns: workloadCount(15) },
  );
});
