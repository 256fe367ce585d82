import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { pendingTypes } from '#runtime/tree/index-catalog.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, type NodeObject, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';

const workspace = WORKSPACE;
/** Those that are there at the beginning, and one for renames. */
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const name = fc.constantFrom(...names, 'h');

/** Values by the type a property is declared with; texts that earlier builds and this one key differently. */
const valuesOf = {
  String: ['x', 'x\0', 'x\u0001', null],
  Number: [1, -0, 2 ** 60, null],
  Array: [['x'], [], null],
} as const satisfies Record<string, readonly JsonValue[]>;
type Kind = keyof typeof valuesOf;
const kind = fc.constantFrom<Kind>('String', 'Number', 'Array');

/** Values by their number among those of the declared type. */
const properties = fc.dictionary(fc.constantFrom('p', 'q'), fc.nat({ max: 3 }));
const nodeType = fc.constantFrom('test:One', 'test:Other');

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('create' as const), name, nodeType, properties }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('update' as const), name, properties }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('rename' as const), name, to: name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('head' as const), to: fc.nat({ max: 60 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('type' as const),
      nodeType,
      indexed: fc.subarray(['p', 'q']),
      unique: fc.subarray(['q']),
      kind,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('build' as const), nodes: fc.integer({ min: 1, max: 2 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function typeOf(
  typeName: string,
  kindOf: Kind,
  indexed: readonly string[],
  unique: readonly string[],
): JsonObject {
  const declared = ['p', 'q'].map((property) => ({
    name: property,
    type: kindOf,
    unique: unique.includes(property),
    ...(indexed.includes(property) ? { index: ['Property'] } : {}),
  }));
  return { name: typeName, properties: declared };
}

function given(kindOf: Kind, numbers: Readonly<Record<string, number>>): JsonObject {
  const values = valuesOf[kindOf];
  const entries = Object.entries(numbers).map(([property, at]) => [property, values[at % values.length]]);
  return Object.fromEntries(entries) as JsonObject;
}

/** @returns the revision, if there is one */
async function carryOut(
  branch: BranchFixture,
  each: Step,
  seen: readonly string[],
  kinds: Map<string, Kind>,
): Promise<unknown> {
  const place = { path: `/${'name' in each ? each.name : ''}` };
  switch (each.do) {
    case 'create': {
      const values = given(kinds.get(each.nodeType) ?? 'String', each.properties);
      const node = { name: each.name, nodeType: each.nodeType, properties: values };
      return branch.command({ type: 'CreateNode', workspace, parentPath: '/', node, deep: false });
    }
    case 'update': {
      const { node_type: typeName } = await branch.read(place.path);
      const values = given(kinds.get(typeName) ?? 'String', each.properties);
      return branch.command({ type: 'UpdateNode', workspace, place, properties: values });
    }
    case 'delete':
      return branch.command({ type: 'DeleteNode', workspace, place });
    case 'rename':
      return branch.command({ type: 'RenameNode', workspace, place, newName: each.to });
    case 'head': {
      const revision = seen[each.to % Math.max(seen.length, 1)];
      if (revision !== undefined) await branch.command({ type: 'MoveHead', revision });
      return undefined;
    }
    case 'type': {
      const definition = typeOf(each.nodeType, each.kind, each.indexed, each.unique);
      const written = await branch.command({ type: 'PutDefinition', kind: 'node_type', definition });
      kinds.set(each.nodeType, each.kind);
      return written;
    }
    case 'build': {
      const command = { type: 'BuildIndexes', nodesMax: each.nodes } as const;
      await branch.command(command, engineCaller('acme'));
      return undefined;
    }
  }
}

async function found(branch: BranchFixture, filter: JsonObject): Promise<readonly string[]> {
  const answer = await branch.query({ type: 'RunDslQuery', workspace, filter });
  return (answer as { readonly items: readonly NodeObject[] }).items.map(({ path }) => path);
}

const questions: readonly JsonObject[] = ['p', 'q'].flatMap((property) =>
  [...['x', 'x\0', 'x\u0001', 1, null], ['x']].map((eq) => ({
    node_type: { eq: 'test:One' },
    [`properties.${property}`]: { eq },
  })),
);

it('keeps indexes right while they are built and dropped beside any writes, and completes them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 24 }), async (steps) => {
      const types = ['test:One', 'test:Other'].map((each) => typeOf(each, 'String', ['p'], []));
      const branch = await openBranch({ nodeTypes: types, indexedAtOnceMax: 1 });
      try {
        for (const [at, each] of names.entries())
          await branch.create(`/${each}`, { p: 'x' }, at % 3 === 0 ? 'test:Other' : 'test:One');
        const seen: string[] = [];
        const kinds = new Map<string, Kind>();
        for (const each of steps) {
          try {
            const answer = (await carryOut(branch, each, seen, kinds)) as
              | { readonly revision?: string }
              | undefined;
            if (typeof answer?.revision === 'string') seen.push(answer.revision);
          } catch (error) {
            // What may not be done is refused.
            if (!(error instanceof ServiceError) || error.entry.status >= 500) throw error;
          }
          await branch.inspect((reader) => expect([each, findDamage(reader)]).toEqual([each, []]));
        }
        for (const filter of questions)
          expect(await found(branch, filter)).toEqual(await found(branch, { not: { not: filter } }));
        await branch.buildIndexes();
        await branch.inspect((reader) => {
          expect(pendingTypes(reader)).toEqual([]);
          expect(findDamage(reader)).toEqual([]);
        });
        for (const filter of questions)
          expect(await found(branch, filter)).toEqual(await found(branch, { not: { not: filter } }));
      } finally {
        await branch.close();
      }
    }),
    { numRuns: workloadCount(24) },
  );
});
