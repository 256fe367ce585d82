import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isInScope, type ReadScope, wholeScope } from '#runtime/access/policy.ts';
import { isDescendantPath } from '#runtime/content/path.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { type ScanRequest, type ScanRow, type ScanSource, scan } from '#runtime/scan/scan.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { WantedProperty } from '#runtime/tree/record/property-table.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { readableNode } from '#test/support/readable-node.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { MODEL_ROOT, type ModelNode, TreeModel } from '../tree/tree-model.ts';
import { TreeUnderTest } from '../tree/tree-under-test.ts';
import { LeavingReader } from './leaving-reader.ts';
import { history, Stepper, type Step, step, types } from '../tree/tree-workload.ts';

/** Rows that are read one by one. */
const PIECES_MAX = 4;

/** The sources that follow the tree; index-scan.fuzz.test.ts has the others. */
type TreeSource = Extract<ScanSource, { kind: 'nodes' | 'children' | 'subtree' | 'paths' }>;

/** What a scan shows of a node. */
interface Shown {
  readonly position: string;
  readonly id: string;
  readonly title: string;
  readonly path: string;
}

/** The numbers a random request is made of; they pick among what is there. */
interface Draw {
  readonly kind: TreeSource['kind'];
  readonly node: number;
  readonly typed: boolean;
  readonly direct: boolean;
  readonly reverse: boolean;
  readonly after: number | undefined;
  readonly halves: boolean;
  readonly scope: 'all' | 'none' | 'types' | 'many types' | 'tops' | 'odd';
  readonly skip: number;
  readonly limit: number | undefined;
  readonly revision: number;
}

const draw: fc.Arbitrary<Draw> = fc.record({
  kind: fc.constantFrom('nodes', 'children', 'subtree', 'paths'),
  node: fc.nat(30),
  typed: fc.boolean(),
  direct: fc.boolean(),
  reverse: fc.boolean(),
  after: fc.option(fc.nat(30), { nil: undefined }),
  halves: fc.boolean(),
  scope: fc.constantFrom('all', 'all', 'none', 'types', 'many types', 'tops', 'odd'),
  skip: fc.oneof(fc.constant(0), fc.nat(4)),
  limit: fc.option(fc.nat(8), { nil: undefined }),
  revision: fc.nat(20),
});

/** Every node of a source in its order, by looking at all of them. */
function modelled(source: TreeSource, nodes: readonly ModelNode[]): Shown[] {
  const children = (parentId: string): ModelNode[] =>
    nodes.filter((node) => node.parentId === parentId).sort((a, b) => (a.orderKey < b.orderKey ? -1 : 1));
  const shown = (position: string, { id, path, title }: ModelNode): Shown => ({ position, id, path, title });
  const byPosition = (a: Shown, b: Shown): number => (a.position < b.position ? -1 : 1);
  switch (source.kind) {
    case 'nodes':
      return nodes.map((node) => shown(textBytes(node.id), node)).sort(byPosition);
    case 'children':
      return children(source.parentId).map((node) => shown(node.orderKey, node));
    case 'subtree': {
      const below = (parentId: string, prefix: string): Shown[] =>
        children(parentId).flatMap((node) => {
          const position = prefix + node.orderKey;
          return [shown(position, node), ...below(node.id, `${position}\0`)];
        });
      return below(source.topId, '');
    }
    case 'paths':
      return nodes
        .filter(({ nodeType, path }) => {
          if (source.nodeType !== undefined && source.nodeType !== nodeType) return false;
          const { below = '/', isChildren } = source;
          if (isChildren === true) return path.slice(0, path.lastIndexOf('/')) === below.replace(/^\/$/, '');
          return below === '/' || isDescendantPath(path, below);
        })
        .map((node) => shown(textBytes(node.path), node))
        .sort(byPosition);
  }
}

function sourceOf(
  { direct, kind, node, typed }: Draw,
  workspace: string,
  nodes: readonly ModelNode[],
): TreeSource {
  const picked = nodes[node % (nodes.length + 1)];
  switch (kind) {
    case 'nodes':
      return { kind, workspace };
    case 'children':
      return { kind, workspace, parentId: picked?.id ?? MODEL_ROOT };
    case 'subtree':
      return { kind, workspace, topId: picked?.id ?? MODEL_ROOT };
    case 'paths':
      return {
        kind,
        workspace,
        ...(picked === undefined ? {} : { below: picked.path }),
        ...(typed ? { nodeType: 'test:Item' } : {}),
        ...(direct ? { isChildren: true } : {}),
      };
  }
}

const titleOf = new WantedProperty('title');

function scopeOf({ node, scope }: Draw, nodes: readonly ModelNode[]): ReadScope {
  const some = { isAll: false, isNone: false };
  switch (scope) {
    case 'all':
      return wholeScope;
    case 'none':
      return { ...some, isNone: true };
    case 'types':
      return { ...some, nodeTypes: new Set(['test:Other']) };
    case 'many types':
      return {
        ...some,
        nodeTypes: new Set(['test:Other', ...Array.from('abcdefgh', (name) => `t:${name}`)]),
      };
    case 'tops':
      return { ...some, tops: [nodes[node % (nodes.length + 1)]?.path ?? '/', '/a'] };
    case 'odd':
      return { ...some, allows: ({ id }) => id.charCodeAt(id.length - 1) % 2 === 1 };
  }
}

/** What the request must answer at a revision. */
function wanted(
  request: ScanRequest & { readonly source: TreeSource },
  nodes: readonly ModelNode[],
): Shown[] {
  const { after, limit, predicate, reverse, scope, skip = 0, source } = request;
  const all = modelled(source, nodes);
  const ordered = reverse === true ? all.reverse() : all;
  const types = new Map(nodes.map(({ id, nodeType }) => [id, nodeType]));
  return ordered
    .filter(({ position }) => after === undefined || (reverse === true ? position < after : position > after))
    .filter(({ id, path }) => isInScope(scope, readableNode({ id, path, nodeType: types.get(id) as string })))
    .filter(({ title }) => predicate === undefined || title.length % 2 === 0)
    .slice(skip, limit === undefined ? undefined : skip + limit);
}

function shownBy(moment: Moment, request: ScanRequest, onStep: () => void = () => {}): Shown[] {
  const found: Shown[] = [];
  for (const row of scan(moment, request)) {
    onStep();
    if (row !== undefined) found.push(shownOf(row));
  }
  return found;
}

function shownOf({ id, position, record }: ScanRow): Shown {
  return { position, id, path: record.header.path, title: record.property('title') as string };
}

/** The rows of a scan in pages of so many places, whether they have a row or not. */
function shownInPages(moment: () => Moment, request: ScanRequest): Shown[] {
  const placesMax = 3;
  const found: Shown[] = [];
  let { after } = request;
  do {
    const steps = scan(moment(), { ...request, after, placesMax });
    let rows = 0;
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) {
        after = step.value;
        break;
      }
      if (step.value === undefined) continue;
      rows += 1;
      found.push(shownOf(step.value));
    }
    expect(rows).toBeLessThanOrEqual(placesMax);
  } while (after !== undefined);
  return found;
}

describe('a scan', () => {
  const folder = mkdtempSync(join(tmpdir(), 'scan-'));
  let tree: TreeUnderTest;
  let runs = 0;

  beforeAll(() => {
    tree = new TreeUnderTest(folder, () => types);
  });
  afterAll(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('shows what a full copy of each revision has, in pieces as well, while the branch is written to', async () => {
    const later = fc.array(step, { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        history,
        fc.array(fc.tuple(draw, fc.nat(12), later), { minLength: 4, maxLength: 8 }),
        async (revisions, draws) => {
          runs += 1;
          const workspace = `w${runs}`;
          const model = new TreeModel();
          const made: Revision[] = [];
          const ids = new Set<string>();
          const commit = (steps: readonly Step[]): void => {
            const revision = tree.commit((writer) =>
              model.commit((nodes) => {
                const stepper = new Stepper(workspace, nodes, writer, ids);
                for (const each of steps) stepper.run(each);
              }),
            );
            made.push(revision);
          };
          for (const { apply, steps } of revisions) {
            commit(steps);
            if (apply) await tree.apply();
          }
          for (const [drawn, leavesAfter, steps] of draws) {
            const isHead = drawn.revision >= made.length;
            const number = isHead ? made.length : drawn.revision + 1;
            const nodes = [...model.nodesAt(number).values()];
            const source = sourceOf(drawn, workspace, nodes);
            const places = modelled(source, nodes);
            const request: ScanRequest & { readonly source: TreeSource } = {
              source,
              reverse: drawn.reverse,
              after:
                drawn.after === undefined ? undefined : places[drawn.after % (places.length + 1)]?.position,
              scope: scopeOf(drawn, nodes),
              skip: drawn.skip,
              ...(drawn.halves
                ? { predicate: (row: RecordView) => (row.property(titleOf) as string).length % 2 === 0 }
                : {}),
              ...(drawn.limit === undefined ? {} : { limit: drawn.limit }),
            };
            const at = isHead ? undefined : made[number - 1];
            const answer = wanted(request, nodes);
            expect(shownBy(new Moment(tree.reader, at), request)).toEqual(answer);
            expect(shownBy(new Moment(tree.reader, at), { ...request, isPassing: true })).toEqual(answer);
            // In pieces: behind the position of the row before.
            const { skip: _, limit: __, ...whole } = request;
            const rows = wanted(whole, nodes);
            let { after } = request;
            for (const row of rows.slice(0, PIECES_MAX)) {
              const [next] = shownBy(new Moment(tree.reader, at), { ...whole, after, limit: 1 });
              expect(next).toEqual(row);
              after = next?.position;
            }
            expect(shownInPages(() => new Moment(tree.reader, at), whole)).toEqual(rows);
            // Its snapshot is left in the middle, after more was written.
            const reader = new LeavingReader(tree.reader);
            const head = made.at(-1) as Revision;
            let step = 0;
            const left = shownBy(new Moment(reader, at), request, () => {
              if (step === leavesAfter) {
                reader.leave(tree.reader, head);
                commit(steps);
              }
              step += 1;
            });
            expect(left).toEqual(answer);
          }
        },
      ),
      { numRuns: workloadCount(240) },
    );
  });
});
