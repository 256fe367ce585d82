import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, WORKSPACE } from '#test/support/branch-fixture.ts';

const kinds = ['garden:Bed', 'garden:Plant'] as const;

/** The types of the nodes. One of them has indexes, so that some conditions are answered from these and some are not. */
export const gardenTypes: readonly JsonObject[] = [
  { name: 'garden:Bed' },
  {
    name: 'garden:Plant',
    properties: [
      { name: 'title', type: 'String', index: ['Property'] },
      { name: 'number', type: 'Number', index: ['Property'] },
      { name: 'open', type: 'Boolean', index: ['Property'] },
    ],
  },
];

const titles = ['North', 'south', 'Östen', 'a_b', '100%', '', 'north', 'Zoë'] as const;
const tags: readonly (readonly string[])[] = [['sun', 'herbs'], ['shade'], [], ['sun', 'sun', 'wind']];

/** The properties of a node by its number: values repeat, are of several types, null, or absent. */
function propertiesOf(number: number): JsonObject {
  const all: Record<string, JsonValue> = { number };
  if (number % 7 !== 3) all.title = titles[number % titles.length] ?? null;
  if (number % 3 !== 0) all.area = number % 5 === 0 ? number / 4 : number;
  if (number % 4 !== 1) all.open = number % 2 === 0;
  if (number % 5 !== 2) all.tags = tags[number % tags.length] ?? [];
  if (number % 6 === 0) all.soil = { ph: 5 + (number % 4) / 2, kind: number % 12 === 0 ? 'loam' : null };
  if (number % 9 === 4) all.title = null;
  if (number % 8 === 2) all.stock = String(number * 3);
  return all;
}

/** Paths of a garden: eight beds, four of them with plants, and plants under two of these. */
export const gardenPaths: readonly string[] = Array.from({ length: 8 }, (_, bed) => `/bed${bed}`).flatMap(
  (bed, number) => [
    bed,
    ...(number % 2 === 0
      ? Array.from({ length: 2 + (number % 3) }, (_, plant) => `${bed}/plant${plant}`)
      : []),
    ...(number % 4 === 0 ? [`${bed}/plant0/leaf`, `${bed}/plant1/Leaf`] : []),
  ],
);

/** Fills the workspace of a branch: the same nodes at every run, in one revision. */
export async function fillGarden(branch: BranchFixture): Promise<void> {
  await branch.command({
    type: 'CommitOperations',
    workspace: WORKSPACE,
    commit: { message: 'garden' },
    operations: gardenPaths.map((path, number) => ({
      type: 'create',
      parentPath: path.slice(0, path.lastIndexOf('/')) || '/',
      node: {
        id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
        name: path.slice(path.lastIndexOf('/') + 1),
        nodeType: kinds[number % 3 === 0 ? 0 : 1],
        properties: propertiesOf(number),
      },
    })),
  });
}
