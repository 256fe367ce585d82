import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRevision, parseRevision, type Revision } from '#runtime/content/revision.ts';
import {
  type Divergence,
  findDivergence,
  type GraphRecord,
  type RevisionSource,
} from '#runtime/tree/revision-graph.ts';

/** A graph by the number of each revision: its parent and its merge parent, both smaller. */
type Graph = ReadonlyMap<number, readonly [parent: number | null, mergeParent: number | null]>;

const textOf = (number: number): string => `${number}-0`;
const numberOf = ({ revision }: GraphRecord): number => parseRevision(revision).ms;

class CountingSource implements RevisionSource {
  lookUps = 0;
  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  record(revision: Revision): GraphRecord | undefined {
    this.lookUps += 1;
    const [parent, mergeParent] = this.#graph.get(revision.ms) ?? [];
    if (parent === undefined || mergeParent === undefined) return undefined;
    return {
      revision: formatRevision(revision),
      parent: parent === null ? null : textOf(parent),
      mergeParent: mergeParent === null ? null : textOf(mergeParent),
    };
  }
}

function divergence(source: RevisionSource, left: number | undefined, right: number | undefined): Divergence {
  const head = (number: number | undefined) =>
    number === undefined ? undefined : parseRevision(textOf(number));
  const steps = findDivergence(head(left), head(right), source);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function ancestors(graph: Graph, head: number): ReadonlySet<number> {
  const seen = new Set<number>();
  const waiting = [head];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    for (const parent of graph.get(next) ?? []) if (parent !== null) waiting.push(parent);
  }
  return seen;
}

const newestFirst = (numbers: Iterable<number>): number[] => [...numbers].sort((a, b) => b - a);

/** Random histories: any revision may continue any earlier one, merge any other, or begin anew. */
const graphs: fc.Arbitrary<Graph> = fc
  .array(fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 0, max: 9 })), { minLength: 1, maxLength: 40 })
  .map((rows) => {
    const graph = new Map<number, readonly [number | null, number | null]>();
    rows.forEach(([one, two, kind], index) => {
      const number = index + 1;
      const parent = index === 0 || kind === 0 ? null : number - 1 - (one % Math.min(index, 6));
      const other = index === 0 || parent === null || kind < 7 ? null : number - 1 - (two % index);
      graph.set(number, [parent, other === parent ? null : other]);
    });
    return graph;
  });

describe('two histories', () => {
  it('differ as their sets of ancestors do, with every merge base, newest first', () => {
    fc.assert(
      fc.property(graphs, fc.nat(), fc.nat(), (graph, one, two) => {
        const left = 1 + (one % graph.size);
        const right = 1 + (two % graph.size);
        const found = divergence(new CountingSource(graph), left, right);
        const ofLeft = ancestors(graph, left);
        const ofRight = ancestors(graph, right);
        const shared = newestFirst([...ofLeft].filter((number) => ofRight.has(number)));
        const isContained = (number: number): boolean =>
          shared.some((other) => other !== number && ancestors(graph, other).has(number));
        expect(found.left.map(numberOf)).toEqual(newestFirst([...ofLeft].filter((n) => !ofRight.has(n))));
        expect(found.right.map(numberOf)).toEqual(newestFirst([...ofRight].filter((n) => !ofLeft.has(n))));
        expect(found.bases.map(numberOf)).toEqual(shared.filter((number) => !isContained(number)));
        expect(found.bases.map(numberOf).at(0)).toBe(shared.at(0));
      }),
      { numRuns: 2_000 },
    );
  });

  it('cost what happened since the fork, not what happened before', () => {
    const graph = new Map<number, readonly [number | null, number | null]>();
    for (let number = 1; number <= 5_000; number++)
      graph.set(number, [number === 1 ? null : number - 1, null]);
    for (let number = 5_001; number <= 5_010; number++) {
      graph.set(number, [number <= 5_002 ? 5_000 : number - 2, null]);
    }
    const source = new CountingSource(graph);
    const found = divergence(source, 5_009, 5_010);
    expect([found.left.length, found.right.length]).toEqual([5, 5]);
    expect(found.bases.map(numberOf)).toEqual([5_000]);
    expect(source.lookUps).toBeLessThanOrEqual(11);
  });

  it('share nothing with a branch that has no revision', () => {
    const source = new CountingSource(new Map([[1, [null, null]]]));
    expect(divergence(source, 1, undefined)).toMatchObject({
      left: [{ revision: '1-0' }],
      right: [],
      bases: [],
    });
    expect(divergence(source, undefined, undefined)).toEqual({ left: [], right: [], bases: [] });
    expect(divergence(source, 0, 1)).toMatchObject({ left: [], right: [{ revision: '1-0' }], bases: [] });
  });

  it('end at a revision that is no longer known, which counts', () => {
    const source = new CountingSource(new Map([[9, [4, null]]]));
    const found = divergence(source, 9, undefined);
    expect(found.left.map(numberOf)).toEqual([9, 4]);
  });
});
