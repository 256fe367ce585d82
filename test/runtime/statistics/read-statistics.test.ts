import { beforeEach, describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { ProjectionRows } from '#runtime/projection/projection-rows.ts';
import { readStatistics, type TypeStatistics } from '#runtime/statistics/read-statistics.ts';
import { statisticsProjection } from '#runtime/statistics/statistics-projection.ts';
import { encodeNumbers, facetKey, nodesKey } from '#runtime/statistics/statistics-rows.ts';
import { FeedBranch } from '#test/support/feed-branch.ts';

let branch: FeedBranch;

beforeEach(() => {
  branch = new FeedBranch();
});

/** Stores the rows of a type whose nodes have some properties. */
function store(workspace: string, nodeType: string, properties: number): void {
  const turn = branch.turn();
  const rows = new ProjectionRows(turn, statisticsProjection.name);
  const set = (key: string, ...numbers: readonly number[]): void =>
    rows.set(turn, key, encodeNumbers(numbers));
  set(nodesKey(workspace, nodeType), 3, 1, 8, 90, 5);
  for (const day of ['2026-02-01', '2026-01-31', '2026-11-27'])
    set(facetKey(workspace, nodeType, 'days', day), 1);
  for (let index = 0; index < properties; index++)
    set(facetKey(workspace, nodeType, 'properties', `p${index}`), 2, 0, 0, 0, 0, 1);
}

function read(workspace?: string): readonly TypeStatistics[] {
  return atOnce(readStatistics(branch.reader, workspace)).flatMap(({ nodeTypes }) => nodeTypes);
}

describe('statistics that are read', () => {
  it('have the first and the last day, and no rows of another workspace', () => {
    store('a', 'svc:Page', 1);
    store('a-b', 'svc:Folder', 0);
    store('b', 'svc:Folder', 0);
    expect(atOnce(readStatistics(branch.reader)).map(({ name }) => name)).toEqual(['a', 'a-b', 'b']);
    expect(read('a')).toEqual([
      {
        name: 'svc:Page',
        nodes: 3,
        published: 1,
        versions: 8,
        propertyBytes: 90,
        notListed: 5,
        oldestChange: '2026-01-31',
        newestChange: '2026-11-27',
        archetypes: [],
        locales: [],
        relations: [],
        properties: [{ name: 'p0', nodes: 3, kinds: { string: 2, null: 1 } }],
      },
    ]);
  });

  it('list a thousand properties of a type, and count the others', () => {
    store('a', 'svc:Page', 1_010);
    const [type] = read();
    expect(type?.properties).toHaveLength(1_000);
    expect(type?.notListed).toBe(5 + 10 * 3);
  });

  it('list twenty thousand entries of all types, and count the others', () => {
    for (let index = 0; index < 21; index++) store('a', `svc:T${String.fromCharCode(65 + index)}`, 1_000);
    const types = read();
    expect(types).toHaveLength(21);
    expect(types.at(-1)).toMatchObject({ nodes: 3, properties: [], notListed: 5 + 1_000 * 3 });
    expect(types.at(-2)?.properties).toHaveLength(1_000);
  });
});
