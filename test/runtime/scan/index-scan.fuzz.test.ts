import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInScope, type ReadScope, wholeScope } from '#runtime/access/policy.ts';
import { isNumber } from '#runtime/base/text/exact-number.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { type JsonValue, jsonEquals } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { columnKey } from '#runtime/index/compound-key.ts';
import { indexKey } from '#runtime/index/index-key.ts';
import type { Comparison } from '#runtime/index/key-range.ts';
import { uniqueValue } from '#runtime/index/unique-value.ts';
import type { ValueSource } from '#runtime/scan/index-places.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { ReferenceSource } from '#runtime/scan/reference-places.ts';
import { changedFor, type ScanRequest, type ScanSource, scan } from '#runtime/scan/scan.ts';
import type { UniqueSource } from '#runtime/scan/unique-places.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { compoundIndexName, CREATED_AT_INDEX, UPDATED_AT_INDEX } from '#runtime/tree/index-name.ts';
import { readableNode } from '#test/support/readable-node.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { comparisons, holdsInModel } from '../index/indexed-values.ts';
import { Column } from '#runtime/tree/record/record-layout.ts';
import { TreeUnderTest } from '../tree/tree-under-test.ts';
import {
  compounds,
  type Declared,
  declared,
  type IndexedNode,
  resolverOf,
  typeNames,
  value,
  type Write,
  write,
  writeNodes,
} from './indexed-nodes.ts';
import { LeavingReader } from './leaving-reader.ts';

type IndexSource = ValueSource | UniqueSource | ReferenceSource | Extract<ScanSource, { kind: 'paths' }>;
type Request = ScanRequest & { readonly source: IndexSource };

/** What a scan shows of a node. */
interface Shown {
  readonly position: string;
  readonly id: string;
  readonly path: string;
}

/** What happens between reads. */
type Step =
  | { readonly do: 'commit'; readonly writes: readonly Write[] }
  | { readonly do: 'declare'; readonly declared: Declared }
  | { readonly do: 'build'; readonly nodes: number }
  | { readonly do: 'move'; readonly to: number }
  | { readonly do: 'apply' };

const commit = fc.record({
  do: fc.constant('commit' as const),
  writes: fc.array(write, { minLength: 1, maxLength: 5 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: commit },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('declare' as const), declared }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('build' as const), nodes: fc.nat({ max: 99 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('move' as const), to: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('apply' as const) }) },
);
const all: fc.Arbitrary<Declared> = fc.constant({ indexed: ['p', 'q'], isUnique: false, isCompound: true });

const nodeType = fc.option(fc.constantFrom(...typeNames, 'test:None'), { nil: undefined });
const given = value.filter((each) => each !== undefined) as fc.Arbitrary<JsonValue>;
/** A comparison with a value that nodes may have. */
const likely: fc.Arbitrary<Comparison> = fc.oneof(
  given.map((each) => ({ operator: 'eq' as const, value: each })),
  fc.array(given, { maxLength: 4 }).map((list) => ({ operator: 'in' as const, values: list })),
  fc
    .tuple(
      fc.constantFrom('gt' as const, 'gte' as const, 'lt' as const, 'lte' as const),
      given.filter((each) => isNumber(each) || typeof each === 'string'),
    )
    .map(([operator, each]) => ({ operator, value: each as string })),
);
const where = fc.array(fc.oneof(likely, comparisons), { maxLength: 2 });

/** The numbers a random request is made of; they pick among what is there. */
const draw = fc.record({
  kind: fc.constantFrom('property', 'property', 'time', 'compound', 'unique', 'references', 'paths'),
  nodeType,
  name: fc.constantFrom('p', 'q'),
  where,
  given: fc.array(given, { maxLength: 2 }),
  node: fc.nat(20),
  fixed: fc.nat(2),
  by: fc.constantFrom('property' as const, 'relation' as const, undefined),
  reverse: fc.boolean(),
  after: fc.option(fc.nat(30), { nil: undefined }),
  halves: fc.boolean(),
  scope: fc.constantFrom('all', 'all', 'types', 'tops', 'odd'),
  skip: fc.oneof(fc.constant(0), fc.nat(4)),
  limit: fc.option(fc.nat(8), { nil: undefined }),
  revision: fc.nat(20),
});
type Draw = typeof draw extends fc.Arbitrary<infer Value> ? Value : never;

const workspace = 'content';

function sourceOf(drawn: Draw, nodes: readonly IndexedNode[]): IndexSource {
  const picked = nodes[drawn.node % (nodes.length + 1)];
  const { nodeType: type, name } = drawn;
  switch (drawn.kind) {
    case 'property':
      return { kind: 'index', workspace, nodeType: type, index: name, where: [...drawn.where] };
    case 'time': {
      const index = name === 'p' ? CREATED_AT_INDEX : UPDATED_AT_INDEX;
      const operator = (['gt', 'gte', 'lt', 'lte', 'eq'] as const)[drawn.node % 5] as 'gt';
      const times = picked === undefined ? [] : [{ operator, value: picked.updatedAt }];
      return { kind: 'index', workspace, nodeType: type, index, where: times };
    }
    case 'compound': {
      const columns = compounds[drawn.node % 2] as (typeof compounds)[number];
      const index = compoundIndexName(
        columns.map(({ ascending, property }) => ({ property, isDescending: !ascending })),
      );
      // Mostly the values of a node.
      const found = picked === undefined ? [] : columns.map(({ property }) => columnValue(picked, property));
      const equal = found.map((value, at) => value ?? drawn.given[at] ?? null).slice(0, drawn.fixed);
      const isFull = equal.length === columns.length;
      return {
        kind: 'index',
        workspace,
        nodeType: type,
        index,
        equal,
        where: isFull ? [] : [...drawn.where],
      };
    }
    case 'unique': {
      const value = picked?.properties['code'];
      const wanted = drawn.halves && value !== undefined ? { value } : {};
      return { kind: 'unique', workspace, nodeType: type ?? 'test:One', property: 'code', ...wanted };
    }
    case 'references':
      return { kind: 'references', workspace, target: { workspace, id: picked?.id ?? 'n1' }, by: drawn.by };
    default:
      return { kind: 'paths', workspace, nodeType: type ?? 'test:One', isChildren: drawn.halves };
  }
}

function columnValue(node: IndexedNode, column: string): JsonValue | undefined {
  if (column === '__node_type') return node.nodeType;
  if (column === '__updated_at' || column === UPDATED_AT_INDEX) return node.updatedAt;
  return column === CREATED_AT_INDEX ? node.createdAt : node.properties[column];
}

/** The position of a node in a source; undefined when it is not in it. */
function positionIn(source: IndexSource, node: IndexedNode): string | undefined {
  const end = `\0${textBytes(node.id)}`;
  if ('nodeType' in source && source.nodeType !== undefined && source.nodeType !== node.nodeType)
    return undefined;
  switch (source.kind) {
    case 'paths':
      return textBytes(node.path);
    case 'references': {
      const { id } = source.target;
      const references = node.properties['references'] as
        | readonly { readonly 'svc:ref': string }[]
        | undefined;
      const isNamed = references?.some((each) => each['svc:ref'] === id) === true;
      const isRelated = node.relatedTo.includes(id);
      const refers = { property: isNamed, relation: isRelated, any: isNamed || isRelated }[
        source.by ?? 'any'
      ];
      return refers ? textBytes(node.id) : undefined;
    }
    case 'unique': {
      const value = node.properties[source.property];
      if (value === undefined || value === null) return undefined;
      if (source.value !== undefined && !jsonEquals(source.value, value)) return undefined;
      return (uniqueValue(value) as string) + end;
    }
    case 'index': {
      const { equal = [], index, where: asked = [] } = source;
      const columns = compounds.find(
        (each) =>
          compoundIndexName(
            each.map(({ ascending, property }) => ({ property, isDescending: !ascending })),
          ) === index,
      );
      const found =
        columns === undefined
          ? [columnValue(node, index)]
          : columns.map(({ property }) => columnValue(node, property));
      const isEqual = equal.every((value, at) => {
        const own = found[at];
        return own !== undefined && jsonEquals(own, value);
      });
      if (!isEqual || !asked.every((each) => holdsInModel(each, found[equal.length]))) return undefined;
      if (columns === undefined) return indexKey(found[0]) + end;
      const keys = columns.map(({ ascending }, at) =>
        columnKey(indexKey(found[at]), !ascending, columns.length),
      );
      return keys.join('') + end;
    }
  }
}

function scopeOf({ node, scope }: Draw, nodes: readonly IndexedNode[]): ReadScope {
  const some = { isAll: false, isNone: false };
  switch (scope) {
    case 'types':
      return { ...some, nodeTypes: new Set(['test:Other']) };
    case 'tops':
      return { ...some, tops: [nodes[node % (nodes.length + 1)]?.path ?? '/', '/n1', '/a-n2'] };
    case 'odd':
      return { ...some, allows: ({ id }) => id.charCodeAt(id.length - 1) % 2 === 1 };
    default:
      return wholeScope;
  }
}

const isEven = (path: string): boolean => path.length % 2 === 0;

/** What the request must answer. */
function wanted(request: Request, nodes: readonly IndexedNode[]): Shown[] {
  const { after, limit, predicate, reverse, scope, skip = 0, source } = request;
  const found: Shown[] = [];
  for (const node of nodes) {
    const position = positionIn(source, node);
    const isBehind =
      position !== undefined &&
      (after === undefined || (reverse === true ? position < after : position > after));
    const isShown =
      isInScope(scope, readableNode({ id: node.id, path: node.path, nodeType: node.nodeType })) &&
      (predicate === undefined || isEven(node.path));
    if (isBehind && isShown) found.push({ position, id: node.id, path: node.path });
  }
  found.sort((a, b) => (a.position < b.position === (reverse === true) ? 1 : -1));
  return found.slice(skip, limit === undefined ? undefined : skip + limit);
}

function shownBy(moment: Moment, request: Request, onStep: () => void = () => {}): Shown[] {
  const found: Shown[] = [];
  for (const row of scan(moment, request)) {
    if (row !== undefined) found.push({ position: row.position, id: row.id, path: row.record.path });
    onStep();
  }
  return found;
}

/** A branch, and a full copy of its nodes for each revision. */
class Branch {
  readonly tree: TreeUnderTest;
  readonly made: { readonly revision: Revision; readonly nodes: ReadonlyMap<string, IndexedNode> }[] = [];
  /** Number of the head. */
  head = -1;
  #declared: Declared;
  #types: ReturnType<typeof resolverOf>;

  constructor(folder: string, first: Declared) {
    this.#declared = first;
    this.#types = resolverOf(first);
    this.tree = new TreeUnderTest(folder, () => this.#types);
  }

  get headRevision(): Revision {
    return this.made[this.head]?.revision as Revision;
  }

  async run(step: Step): Promise<void> {
    if (step.do === 'apply') await this.tree.apply();
    else this.runNow(step);
  }

  runNow(step: Exclude<Step, { do: 'apply' }>): void {
    if (step.do === 'commit')
      this.#commit((writer, nodes) => writeNodes(nodes, step.writes, writer, workspace));
    else if (step.do === 'build') this.#commit((writer) => void atOnce(writer.buildIndexes(step.nodes)));
    else if (step.do === 'move') this.#move(step.to);
    else {
      const before = this.#declared;
      this.#declare(step.declared);
      if (!this.#commit((writer) => atOnce(writer.reindex()))) this.#declare(before);
    }
  }

  #declare(next: Declared): void {
    this.#declared = next;
    this.#types = resolverOf(next);
  }

  /** @returns false when unique values were refused */
  #commit(
    change: Parameters<TreeUnderTest['commit']>[0] extends (writer: infer W) => void
      ? (writer: W, nodes: Map<string, IndexedNode>) => void
      : never,
  ): boolean {
    const nodes = new Map(this.made[this.head]?.nodes);
    try {
      const revision = this.tree.commit((writer) => change(writer, nodes));
      this.made.push({ revision, nodes });
      this.head = this.made.length - 1;
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'VALIDATION_FAILED') return false;
      throw error;
    }
  }

  #move(to: number): void {
    const target = this.made[to % (this.made.length + 1)];
    if (target === undefined) return;
    // A head is restored with its types, which refused repeated values.
    if (this.#declared.isUnique && hasRepeated([...target.nodes.values()])) return;
    this.tree.moveHead(target.revision);
    this.head = this.made.indexOf(target);
  }
}

function hasRepeated(nodes: readonly IndexedNode[]): boolean {
  const codes = nodes.flatMap(({ nodeType: type, properties: { code } }) =>
    code === undefined || code === null ? [] : [type + (uniqueValue(code) as string)],
  );
  return new Set(codes).size < codes.length;
}

describe('a scan by an index', () => {
  let folder: string;
  let runs = 0;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'index-scan-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('shows what a full copy of each revision has, while the branch changes', async () => {
    const isRead = { table: 0, sorted: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(all, declared),
        fc.array(step, { minLength: 2, maxLength: 14 }),
        fc.array(
          fc.tuple(draw, fc.nat(20), fc.array(fc.oneof(commit, step), { minLength: 1, maxLength: 3 })),
          {
            minLength: 3,
            maxLength: 7,
          },
        ),
        async (first, steps, draws) => {
          runs += 1;
          const branch = new Branch(join(folder, String(runs)), first);
          try {
            branch.runNow({ do: 'build', nodes: 1 });
            for (const each of steps) await branch.run(each);
            for (const [drawn, leavesAfter, later] of draws) {
              const isHead = drawn.revision >= branch.made.length;
              const { nodes: map, revision } = branch.made[
                isHead ? branch.head : drawn.revision
              ] as Branch['made'][0];
              const at = isHead ? undefined : revision;
              const nodes = [...map.values()];
              const source = sourceOf(drawn, nodes);
              const places = wanted({ source, scope: wholeScope }, nodes);
              const request: Request = {
                source,
                reverse: drawn.reverse,
                after:
                  drawn.after === undefined ? undefined : places[drawn.after % (places.length + 1)]?.position,
                scope: scopeOf(drawn, nodes),
                skip: drawn.skip,
                ...(drawn.halves ? { predicate: (row) => isEven(row.column(Column.path) as string) } : {}),
                ...(drawn.limit === undefined ? {} : { limit: drawn.limit }),
              };
              const answer = wanted(request, nodes);
              const { reader } = branch.tree;
              isRead[atOnce(changedFor(new Moment(reader, at), source)) === undefined ? 'sorted' : 'table'] +=
                1;
              expect(shownBy(new Moment(reader, at), request)).toEqual(answer);
              // In pieces: behind the position of the row before.
              const { skip: _, limit: __, ...whole } = request;
              let { after } = request;
              for (const row of wanted(whole, nodes).slice(0, 4)) {
                const [next] = shownBy(new Moment(reader, at), { ...whole, after, limit: 1 });
                expect(next).toEqual(row);
                after = next?.position;
              }
              // Its snapshot is left in the middle, after more was written.
              const leaving = new LeavingReader(reader);
              const head = branch.headRevision;
              let at2 = 0;
              const left = shownBy(new Moment(leaving, at), request, () => {
                const next = later[at2 - leavesAfter];
                at2 += 1;
                if (next === undefined || next.do === 'apply') return;
                branch.runNow(next);
                leaving.leave(branch.tree.reader, head);
              });
              expect(left).toEqual(answer);
            }
          } finally {
            await branch.tree.close();
          }
        },
      ),
      { numRuns: workloadCount(240) },
    );
    // Both ways were taken.
    expect(Math.min(isRead.table, isRead.sorted)).toBeGreaterThan(0);
  }, 120_000);
});
