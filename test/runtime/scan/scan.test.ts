import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ReadableNode, wholeScope } from '#runtime/access/policy.ts';
import { formatRevision, type Revision } from '#runtime/content/revision.ts';
import { orderKeyBetween } from '#runtime/content/order-key.ts';
import { pathName } from '#runtime/content/path.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { type ScanRequest, type ScanRow, scan, scanIds } from '#runtime/scan/scan.ts';
import { behindSubtree } from '#runtime/scan/tree-places.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { TreeWriter } from '#runtime/tree/tree-writer.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { TreeUnderTest } from '../tree/tree-under-test.ts';
import { types } from '../tree/tree-workload.ts';
import { runBudgeted } from '#test/support/budgeted-steps.ts';
import { plainHeader } from '#test/support/plain-header.ts';
import { countedReader } from './counted-reader.ts';

const workspace = 'content';
const FOLDERS = 20;
const LEAVES = 50;

const read = { rows: 0, nodes: 0, bytes: 0, ranges: 0 };

describe('what a scan costs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'scan-cost-'));
  let tree: TreeUnderTest;
  let first: Revision;
  let orderKey = orderKeyBetween(null, null);

  function add(
    writer: TreeWriter,
    path: string,
    parentId: string,
    id = path.slice(1).replaceAll('/', '-'),
    workspaceName = workspace,
    title = path,
  ): string {
    orderKey = orderKeyBetween(orderKey, null);
    const place = { id, name: pathName(path), path, parentId, orderKey };
    const revision = formatRevision(writer.revision);
    const header = { ...plainHeader, ...place, nodeType: 'test:Item', revision };
    writer.add(workspaceName, makeNodeRecord(header, { title }));
    return id;
  }

  beforeAll(async () => {
    tree = new TreeUnderTest(folder, () => types);
    first = tree.commit((writer) => {
      for (let f = 10; f < 10 + FOLDERS; f += 1) {
        const id = add(writer, `/f${f}`, ROOT_ID);
        for (let leaf = 10; leaf < 10 + LEAVES; leaf += 1) add(writer, `/f${f}/n${leaf}`, id);
      }
    });
    await tree.apply();
    tree.commit((writer) => void add(writer, '/late', ROOT_ID));
    await tree.apply();
  });
  beforeEach(() => {
    read.rows = 0;
    read.nodes = 0;
    read.bytes = 0;
  });
  afterAll(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  type Request = Omit<ScanRequest, 'scope'> & Partial<Pick<ScanRequest, 'scope'>>;

  function rows(request: Request, at?: Revision): readonly ScanRow[] {
    const moment = new Moment(countedReader(tree.reader, read), at);
    return [...scan(moment, { scope: wholeScope, ...request })].filter((row) => row !== undefined);
  }

  function ids(request: Request, at?: Revision): readonly string[] {
    return rows(request, at).map(({ id }) => id);
  }

  it.each(['children', 'paths'] as const)('leaves out rows of %s by their keys', (kind) => {
    const place = kind === 'children' ? { parentId: 'f15' } : { below: '/f15' };
    const source = { kind, workspace, ...place } as ScanRequest['source'];
    expect(ids({ source, skip: 40, limit: 3 })).toEqual(['f15-n50', 'f15-n51', 'f15-n52']);
    expect(read.nodes).toBe(3);
    expect(read.rows).toBeLessThanOrEqual(LEAVES + 1);
  });

  it.each([
    ['the head', () => undefined],
    ['a revision', () => first],
  ])('passes what is below a child by one look-up, at %s', (_, at) => {
    const names = Array.from({ length: FOLDERS }, (__, index) => `f${index + 10}`);
    const source = { kind: 'paths', workspace, isChildren: true } as const;
    const wanted = at() === undefined ? [...names, 'late'] : names;
    expect(ids({ source }, at())).toEqual(wanted);
    expect(ids({ source, reverse: true }, at())).toEqual(wanted.toReversed());
    // A child, and a row below it, which is passed.
    expect(read.rows).toBeLessThan(2 * 4 * (FOLDERS + 1));
    expect(read.nodes).toBeLessThanOrEqual(2 * 2 * (FOLDERS + 1));
  });

  it('pauses behind a millisecond of what it counts for its filters', () => {
    const rowWork = 40_000;
    const budget = new RequestBudget({ workMax: 1e12, memoryMax: 1e6 });
    const allows = (node: ReadableNode): boolean => {
      node.work?.begin(true);
      node.work?.take(rowWork / 5);
      node.work?.end();
      return false;
    };
    const scope = { isAll: false, isNone: false, allows };
    for (const source of [
      { kind: 'nodes', workspace },
      { kind: 'paths', workspace },
    ] as const) {
      const { longestStep } = runBudgeted(scan(new Moment(tree.reader), { source, scope, budget }), budget);
      expect(longestStep).toBeGreaterThan(rowWork);
      expect(longestStep).toBeLessThan(1_000_000 + 2 * rowWork);
    }
  });

  it.each([
    { kind: 'children', workspace, parentId: 'f15' },
    { kind: 'subtree', workspace, topId: ROOT_ID },
    { kind: 'paths', workspace, nodeType: 'test:Item' },
    { kind: 'nodes', workspace },
  ] as const)('tells the ids of $kind by keys alone, and rests between parts', (source) => {
    const all = ids({ source });
    read.rows = 0;
    read.nodes = 0;
    read.ranges = 0;
    const found = [...scanIds(new Moment(countedReader(tree.reader, read)), source)];
    expect(found.filter((id) => id !== undefined)).toEqual(all);
    expect(found.filter((id) => id === undefined).length).toBe(all.length === LEAVES ? 2 : 7);
    if (source.kind !== 'nodes') expect(read.nodes).toBe(0);
    // A leaf has no range of children that is looked at.
    if (source.kind === 'subtree') expect(read.ranges).toBeLessThan(2 * (FOLDERS + 1) + LEAVES);
  });

  it('goes on behind a node and everything below it', () => {
    const source = { kind: 'subtree', workspace, topId: ROOT_ID } as const;
    const rows = [...scan(new Moment(tree.reader), { source, scope: wholeScope })];
    const all = rows.flatMap((row) => (row === undefined ? [] : [row]));
    for (const id of ['f10', 'f15', 'f15-n20', 'f29']) {
      const from = all.find((row) => row.id === id);
      const wanted = all.slice(all.indexOf(from!) + 1).filter((row) => !row.id.startsWith(`${id}-`));
      expect(ids({ source, after: behindSubtree(from?.position as string) })).toEqual(
        wanted.map((row) => row.id),
      );
    }
  });

  describe('at a revision, where children were moved and removed later', () => {
    const moved = 'moved';
    let then: Revision;

    beforeAll(() => {
      then = tree.commit((writer) => {
        for (const id of ['a', 'b', 'c']) add(writer, `/${id}`, ROOT_ID, id, moved);
        for (const id of ['a1', 'a2', 'a3', 'a4', 'b1'])
          add(writer, `/${id[0]}/${id}`, id[0] as string, id, moved);
      });
      tree.commit((writer) => {
        for (const id of ['a2', 'b1']) writer.remove(moved, writer.head.byId(moved, id) as NodeRecord);
        add(writer, '/c/a5', 'c', 'a5', moved);
      });
    });

    it.each([
      { kind: 'children', workspace: moved, parentId: 'a' },
      { kind: 'subtree', workspace: moved, topId: 'a' },
    ] as const)('lists the $kind of a node as they were, in both directions', (source) => {
      const wanted = ['a1', 'a2', 'a3', 'a4'];
      expect(ids({ source }, then)).toEqual(wanted);
      expect(ids({ source, reverse: true }, then)).toEqual(wanted.toReversed());
    });

    it('goes down to the children that a node had, and to none that it got later', () => {
      const source = { kind: 'subtree', workspace: moved, topId: ROOT_ID } as const;
      const wanted = ['a', 'a1', 'a2', 'a3', 'a4', 'b', 'b1', 'c'];
      expect(ids({ source }, then)).toEqual(wanted);
      expect(ids({ source, reverse: true }, then)).toEqual(wanted.toReversed());
    });
  });

  it('reads only what is at or below the paths of a scope', () => {
    const scope = { isAll: false, isNone: false, tops: ['/f17/n20', '/f25'] };
    const wanted = ['f17-n20', 'f25', ...Array.from({ length: LEAVES }, (_, index) => `f25-n${index + 10}`)];
    const source = { kind: 'paths', workspace, nodeType: 'test:Item' } as const;
    expect(ids({ source, scope })).toEqual(wanted);
    expect(ids({ source, scope, reverse: true })).toEqual(wanted.toReversed());
    expect(read.nodes).toBe(2 * wanted.length);
    expect(ids({ source, scope: { ...scope, isNone: true } })).toEqual([]);
    expect(ids({ source, scope: { ...scope, nodeTypes: new Set(['test:Other']) } })).toEqual([]);
    expect(read.nodes).toBe(2 * wanted.length);
  });

  describe('where the rows of nodes are long', () => {
    const wide = 'wide';
    const title = 'x'.repeat(60 * 1024);
    const names = Array.from({ length: 40 }, (_, index) => `n${index + 100}`);
    const source = { kind: 'nodes', workspace: wide } as const;
    let before: Revision;

    beforeAll(async () => {
      before = tree.commit((writer) => {
        for (const name of names) add(writer, `/${name}`, ROOT_ID, name, wide, title);
      });
      await tree.apply();
    });

    it.each([
      ['at the head', () => undefined],
      ['at a revision', () => before],
      ['at a revision of which only versions are left', () => before],
    ])('reads few of them before the first answer, %s', (name, at) => {
      if (name.endsWith('left'))
        tree.commit((writer) => {
          for (const id of names) writer.remove(wide, writer.head.byId(wide, id) as NodeRecord);
        });
      const rows = scan(new Moment(countedReader(tree.reader, read), at()), {
        source,
        scope: wholeScope,
        reverse: true,
      });
      const firstRow = (): ScanRow => (rows.next().value as ScanRow | undefined) ?? firstRow();
      expect(firstRow()).toMatchObject({ id: names.at(-1) });
      expect(read.bytes).toBeLessThan(8 * title.length);
      expect(ids({ source }, at())).toEqual(names);
    });

    it('passes their other versions by one look-up', async () => {
      const many = 'many';
      const states = Array.from({ length: 6 }, () =>
        tree.commit((writer) => {
          for (const id of ['a', 'b', 'c']) {
            const present = writer.head.byId(many, id);
            if (present === undefined) add(writer, `/${id}`, ROOT_ID, id, many, title);
            else writer.remove(many, present);
          }
        }),
      );
      await tree.apply();
      read.bytes = 0;
      expect(ids({ source: { kind: 'nodes', workspace: many } }, states[4])).toEqual(['a', 'b', 'c']);
      expect(read.bytes).toBeLessThan(7 * title.length);
    });
  });

  describe('where paths are too long for a key', () => {
    const long = 'long';
    /** Exactly as long as a key may be, and longer. */
    const whole = `/${'a'.repeat(1_499)}`;
    const cut = `${whole}/${'b'.repeat(100)}`;
    let before: Revision;

    beforeAll(() => {
      before = tree.commit((writer) => {
        add(writer, whole, ROOT_ID, 'p', long);
        add(writer, cut, 'p', 'q', long);
        add(writer, `${cut}/r`, 'q', 'r', long);
        add(writer, '/z', ROOT_ID, 'z', long);
      });
      tree.commit((writer) => {
        add(writer, '/big', ROOT_ID, 'big', long);
        for (let index = 100; index < 400; index += 1)
          add(writer, `/big/n${index}`, 'big', `n${index}`, long);
      });
    });

    it('lists the children of a node, and not the node', () => {
      const below = (path: string): readonly string[] =>
        ids({ source: { kind: 'paths', workspace: long, below: path, isChildren: true } });
      expect(below(whole)).toEqual(['q']);
      expect(below(cut)).toEqual(['r']);
      expect(below('/')).toEqual(['p', 'big', 'z']);
    });

    it('ends when a scope names a path that shares its beginning with a node', () => {
      const scope = { isAll: false, isNone: false, tops: [`${whole}/${'c'.repeat(50)}`] };
      const source = { kind: 'paths', workspace: long } as const;
      expect(ids({ source, scope })).toEqual([]);
      expect(ids({ source, scope, reverse: true })).toEqual([]);
      expect(ids({ source, scope: { ...scope, tops: [cut] } })).toEqual(['q', 'r']);
      expect(ids({ source, scope: { ...scope, tops: [cut] }, reverse: true })).toEqual(['r', 'q']);
    });

    it('passes what came later below a child by one look-up at a revision', () => {
      const source = { kind: 'paths', workspace: long, isChildren: true } as const;
      expect(ids({ source }, before)).toEqual(['p', 'z']);
      expect(read.rows).toBeLessThan(30);
    });

    it('shows a node once at a revision, after it was deleted', () => {
      const source = { kind: 'paths', workspace: long, nodeType: 'test:Item' } as const;
      tree.commit((writer) => {
        for (const id of ['r', 'q', 'p']) writer.remove(long, writer.head.byId(long, id) as NodeRecord);
      });
      expect(ids({ source }, before)).toEqual(['p', 'q', 'r', 'z']);
      expect(ids({ source, reverse: true }, before)).toEqual(['z', 'r', 'q', 'p']);
    });

    it('goes on behind each node at a revision, where later nodes share their beginnings', () => {
      const source = { kind: 'paths', workspace: 'later' } as const;
      const then = tree.commit((writer) => {
        add(writer, whole, ROOT_ID, 'top', 'later');
        for (const id of ['u', 'v']) add(writer, `${cut}${id}`, 'top', id, 'later');
      });
      tree.commit((writer) => {
        // Among these hashes are some before and some behind those of the two.
        for (let index = 0; index < 20; index += 1)
          add(writer, `${cut}${index}`, 'top', `n${index}`, 'later');
      });
      for (const reverse of [false, true]) {
        const found: string[] = [];
        for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
          const [row] = rows({ source, reverse, after, limit: 1 }, then);
          if (row !== undefined) found.push(row.id);
          after = row?.position;
        }
        expect(found).toEqual(reverse ? ['v', 'u', 'top'] : ['top', 'u', 'v']);
      }
    });

    it('counts the memory of the places that it sorts', () => {
      const budget = new RequestBudget({ workMax: 1e12, memoryMax: 3_000 });
      const source = { kind: 'paths', workspace: long } as const;
      expect(() => ids({ source, budget }, before)).toThrow(
        expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }),
      );
    });
  });
});
