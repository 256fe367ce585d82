import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wholeScope } from '#runtime/access/policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { Moment } from '#runtime/scan/moment.ts';
import {
  changedFor,
  countNodes,
  countPlaces,
  type ScanRequest,
  type ScanSource,
  scan,
} from '#runtime/scan/scan.ts';
import { BranchTable, revisionKey } from '#runtime/shard/key-layout.ts';
import { compoundIndexName, CREATED_AT_INDEX } from '#runtime/tree/index-name.ts';
import { TreeUnderTest } from '../tree/tree-under-test.ts';
import { countedReader } from './counted-reader.ts';
import { compounds, type IndexedNode, resolverOf, type Write, writeNodes } from './indexed-nodes.ts';
import { LeavingReader } from './leaving-reader.ts';

const workspace = 'content';
const read = { rows: 0, nodes: 0 };

/** Nodes of the small type, and of the large one. */
const ONES = 100;
const OTHERS = 500;

/** Nodes that changed since the first revision. */
const CHANGED = 8;

const types = resolverOf({ indexed: ['p', 'q'], isUnique: true, isCompound: true });

type Put = Extract<Write, { readonly do: 'put' }>;

function put(id: string, given: Partial<Put> = {}): Put {
  const plain = { prefix: '', nodeType: 'test:One', p: undefined, q: undefined, code: undefined } as const;
  return { do: 'put', id, reference: undefined, relatedTo: [], ...plain, ...given };
}

describe('what a scan by an index costs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'index-scan-cost-'));
  const nodes = new Map<string, IndexedNode>();
  let tree: TreeUnderTest;
  let first: Revision;

  function commit(...writes: Write[]): Revision {
    return tree.commit((writer) => writeNodes(nodes, writes, writer, workspace));
  }

  beforeAll(async () => {
    tree = new TreeUnderTest(folder, () => types);
    const number = (index: number): string => String(index).padStart(3, '0');
    const ones = Array.from({ length: ONES }, (_, index) =>
      put(`o${number(index)}`, { p: index, q: index % 2 === 0 ? 'even' : 'odd', code: index }),
    );
    const others = Array.from({ length: OTHERS }, (_, index) =>
      put(`x${number(index)}`, { nodeType: 'test:Other', p: index, relatedTo: index < 20 ? ['o000'] : [] }),
    );
    first = commit(...ones, ...others);
    await tree.apply();
    // From the range of the tests, into it, and removed.
    for (let index = 0; index < CHANGED; index += 1) commit(put(`o${number(index)}`, { p: 1000 + index }));
    await tree.apply();
  });
  beforeEach(() => {
    read.rows = 0;
    read.nodes = 0;
  });
  afterAll(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function ids(request: Omit<ScanRequest, 'scope'>, at?: Revision): string[] {
    const moment = new Moment(countedReader(tree.reader, read), at);
    const found = [...scan(moment, { scope: wholeScope, ...request })];
    return found.flatMap((row) => (row === undefined ? [] : [row.id]));
  }

  const byP: ScanSource = {
    kind: 'index',
    workspace,
    nodeType: 'test:One',
    index: 'q',
    where: [{ operator: 'eq', value: 'even' }],
  };

  it('reads the rows of a range and the nodes that it answers', () => {
    expect(ids({ source: byP, limit: 3 })).toEqual(['o008', 'o010', 'o012']);
    expect(read.nodes).toBe(3);
    expect(read.rows).toBeLessThan(3 + 5);
  });

  it('reads the changed nodes as well at a revision, and no others', () => {
    expect(ids({ source: byP, limit: 3 }, first)).toEqual(['o000', 'o002', 'o004']);
    // Each changed node is looked up, and those that are answered once more.
    expect(read.nodes).toBe(CHANGED + 3);
    expect(read.rows).toBeLessThan(2 * CHANGED + 20 + 5);
  });

  it.each([
    ['the head', () => undefined, 0],
    ['a revision', () => first, CHANGED],
  ])('leaves out rows by their keys at %s', (_, at, changed) => {
    expect(ids({ source: byP, skip: 30, limit: 2 }, at())).toHaveLength(2);
    expect(read.nodes).toBe(2 + changed);
  });

  it('counts by keys at the head, and the nodes that changed since as they were at a revision', () => {
    const counts = (at?: Revision): readonly (number | undefined)[] => {
      const moment = new Moment(countedReader(tree.reader, read), at);
      return [
        atOnce(countPlaces(moment, byP)),
        atOnce(countPlaces(moment, byP, 9)),
        atOnce(countNodes(moment, byP)),
      ];
    };
    // Half of those that changed had the value.
    const present = ONES / 2 - CHANGED / 2;
    expect(counts()).toEqual([present, 10, present]);
    expect(read.nodes).toBe(0);
    expect(counts(first)).toEqual([ONES / 2, 10, ONES / 2]);
  });

  it('reads the nodes of one type at a revision as at the head, where few changed', () => {
    const source: ScanSource = { kind: 'paths', workspace, nodeType: 'test:One' };
    expect(ids({ source })).toHaveLength(ONES);
    const head = { ...read };
    expect(head.nodes).toBe(ONES);
    Object.assign(read, { rows: 0, nodes: 0 });
    expect(ids({ source }, first)).toHaveLength(ONES);
    expect(read.nodes + read.rows).toBeLessThan(2 * (head.nodes + head.rows));
  });

  it('reads one row for a unique value', () => {
    const source: ScanSource = {
      kind: 'unique',
      workspace,
      nodeType: 'test:One',
      property: 'code',
      value: 50,
    };
    expect(ids({ source })).toEqual(['o050']);
    expect(read.nodes).toBe(1);
    expect(read.rows).toBeLessThan(5);
    expect(ids({ source: { ...source, value: 3 } }, first)).toEqual(['o003']);
    expect(ids({ source: { ...source, value: 3 } })).toEqual([]);
  });

  it('reads a node once that refers to another one in many ways', () => {
    const source: ScanSource = { kind: 'references', workspace, target: { workspace, id: 'o000' } };
    const before = commit();
    const reference = Array.from({ length: 500 }, () => ({ 'svc:ref': 'o000' }));
    commit(put('x300', { nodeType: 'test:Other', reference, relatedTo: ['o000'] }));
    read.rows = 0;
    expect(ids({ source, reverse: true, limit: 2 })).toEqual(['x300', 'x019']);
    expect(read.rows).toBeLessThan(20);
    expect(ids({ source }, before)).toHaveLength(20);
    expect(ids({ source })).toHaveLength(21);
  });

  it('tells where an index is of no use', () => {
    const look = (source: ScanSource, at?: Revision): number | undefined =>
      atOnce(changedFor(new Moment(tree.reader, at), source));
    expect(look(byP)).toBe(0);
    expect(look(byP, first)).toBeGreaterThanOrEqual(CHANGED);
    // The other type has no index of this property.
    expect(look({ kind: 'index', workspace, index: 'q' })).toBeUndefined();
    expect(look({ kind: 'index', workspace, index: CREATED_AT_INDEX })).toBe(0);
    const columns = compounds[0].map(({ ascending, property }) => ({ property, isDescending: !ascending }));
    expect(look({ kind: 'index', workspace, index: compoundIndexName(columns) })).toBe(0);
  });

  it('counts what it keeps where an index is of no use', () => {
    const source: ScanSource = { kind: 'index', workspace, index: 'q' };
    const budget = new RequestBudget({ workMax: 1e12, memoryMax: 30_000 });
    expect(ids({ source })).toHaveLength(nodes.size);
    expect(() => ids({ source, budget })).toThrow(expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }));
  });
});

describe('a scan by an index', () => {
  const folder = mkdtempSync(join(tmpdir(), 'index-scan-cases-'));
  const nodes = new Map<string, IndexedNode>();
  let tree: TreeUnderTest;

  function commit(...writes: Write[]): Revision {
    return tree.commit((writer) => writeNodes(nodes, writes, writer, workspace));
  }

  beforeAll(() => {
    tree = new TreeUnderTest(folder, () => types);
  });
  afterAll(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('sees what changed while it read nodes whose paths are too long for a key', () => {
    const long = 'long'.repeat(400);
    const names = Array.from({ length: 40 }, (_, index) => `n${10 + index}`);
    const head = commit(...names.map((id) => put(id, { prefix: long })));
    const source: ScanSource = { kind: 'paths', workspace, nodeType: 'test:One' };
    for (let leavesAfter = 0; leavesAfter < 6; leavesAfter += 1) {
      const reader = new LeavingReader(tree.reader);
      const found: string[] = [];
      let at = 0;
      for (const row of scan(new Moment(reader, head), { source, scope: wholeScope })) {
        if (row !== undefined) found.push(row.id);
        if (at === leavesAfter) {
          commit(put('n10', { prefix: `${leavesAfter}-` }), { do: 'remove', id: `n${11 + leavesAfter}` });
          reader.leave(tree.reader, head);
        }
        at += 1;
      }
      expect(found).toEqual(names);
    }
  });

  it('does without the index at a revision whose successors are lost', () => {
    const before = commit(put('kept', { p: 'lost', code: 'kept' }));
    const lost = commit(put('kept', { p: 'other', code: 'kept' }));
    commit(put('new', { p: 'lost', code: 'new' }));
    tree.rewrite((turn) => turn.remove(BranchTable.revisions, revisionKey(lost)));
    const source: ScanSource = {
      kind: 'index',
      workspace,
      index: 'p',
      where: [{ operator: 'eq', value: 'lost' }],
    };
    const moment = new Moment(tree.reader, before);
    expect(atOnce(changedFor(moment, source))).toBeUndefined();
    const found = [...scan(moment, { source, scope: wholeScope })];
    expect(found.flatMap((row) => (row === undefined ? [] : [row.id]))).toEqual(['kept']);
  });

  it('compares values that keys do not tell apart', () => {
    // Half a character has no bytes of its own in UTF-8.
    const texts = ['y\ufffd', 'y\ud83c', 'y\udf33'];
    commit(...texts.map((p, index) => put(`alike${index}`, { p, code: `alike${index}` })));
    for (const [index, value] of texts.entries()) {
      const source: ScanSource = {
        kind: 'index',
        workspace,
        nodeType: 'test:One',
        index: 'p',
        where: [{ operator: 'eq', value }],
      };
      const found = [...scan(new Moment(tree.reader), { source, scope: wholeScope })];
      expect(found.flatMap((row) => (row === undefined ? [] : [row.id]))).toEqual([`alike${index}`]);
    }
  });
});
