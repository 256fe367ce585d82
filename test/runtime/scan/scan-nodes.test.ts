import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wholeScope } from '#runtime/access/policy.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { orderKeyBetween } from '#runtime/content/order-key.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { scan } from '#runtime/scan/scan.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { readerOver } from '#runtime/shard/reader-over.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { TreeWriter } from '#runtime/tree/tree-writer.ts';
import { plainHeader } from '#test/support/plain-header.ts';
import { TreeUnderTest } from '../tree/tree-under-test.ts';
import { types } from '../tree/tree-workload.ts';
import { LeavingReader } from './leaving-reader.ts';

const workspace = 'content';
const source = { kind: 'nodes', workspace } as const;
const scope = wholeScope;
/** More than one slice has, so that a scan rests in between. */
const NODES = 1_200;

describe('a scan of all nodes whose snapshot is left', () => {
  let folder: string;
  let tree: TreeUnderTest;
  let orderKey: string;

  const idOf = (number: number): string => `n${1_000 + number}`;
  const add = (writer: TreeWriter, id: string): void => {
    orderKey = orderKeyBetween(orderKey, null);
    const place = { id, name: id, path: `/${id}`, parentId: ROOT_ID, orderKey };
    const revision = formatRevision(writer.revision);
    const header = { ...plainHeader, ...place, nodeType: 'test:Item', revision };
    writer.add(workspace, makeNodeRecord(header, { title: id }));
  };
  const nodeAt = (id: string): NodeRecord => {
    const found = new HeadNodeReader(tree.reader).byId(workspace, id);
    if (found === undefined) throw new Error(`no node ${id}`);
    return found;
  };
  const change = (writer: TreeWriter, id: string): void => {
    const old = nodeAt(id);
    const header = { ...old.header, revision: formatRevision(writer.revision) };
    writer.replace(workspace, old, makeNodeRecord(header, { title: 'changed' }));
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'scan-nodes-'));
    tree = new TreeUnderTest(folder, () => types);
    orderKey = orderKeyBetween(null, null);
  });
  afterEach(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    [512, idOf(511)],
    [800, idOf(799)],
  ])('says where it goes on, also where its places are used up at a pause: %i', (placesMax, last) => {
    const head = tree.commit((writer) => {
      for (let number = 0; number < NODES; number += 1) add(writer, idOf(number));
    });
    const reader = new LeavingReader(tree.reader);
    const moment = new Moment(reader);
    const rows = scan(moment, { source, scope, placesMax });
    const found: string[] = [];
    let step = rows.next();
    for (; step.done !== true; step = rows.next()) {
      if (step.value !== undefined) found.push(step.value.id);
      else if (moment.at === undefined) {
        // More than a quarter of the nodes change, so that rows in place are given up.
        tree.commit((writer) => {
          for (let number = 0; number < NODES; number += 1) add(writer, `z${number}`);
        });
        reader.leave(tree.reader, head);
      }
    }
    expect(found).toHaveLength(placesMax);
    expect(step.value).toBe(last);
  });

  it.each([1_000, 10])('shows a node that is removed then, where node %i had changed before', (before) => {
    const at = tree.commit((writer) => {
      for (let number = 0; number < NODES; number += 1) add(writer, idOf(number));
    });
    const changed = tree.commit((writer) => change(writer, idOf(before)));
    const reader = new LeavingReader(tree.reader);
    const found: string[] = [];
    let isLeft = false;
    for (const row of scan(new Moment(reader, at), { source, scope })) {
      if (row !== undefined) found.push(row.id);
      else if (!isLeft && found.length > 100) {
        isLeft = true;
        tree.commit((writer) => writer.remove(workspace, nodeAt(idOf(1_000))));
        reader.leave(tree.reader, changed);
      }
    }
    expect(found).toEqual(Array.from({ length: NODES }, (_, number) => idOf(number)));
  });

  it('does not learn what changed in the workspace for a few places', () => {
    const at = tree.commit((writer) => {
      for (let number = 0; number < NODES; number += 1) add(writer, idOf(number));
    });
    for (let number = 0; number < 40; number += 1) tree.commit((writer) => change(writer, idOf(number)));
    const over = readerOver(tree.reader);
    let records = 0;
    const get: TableReader['get'] = (table, key) => {
      if (table === BranchTable.revisions) records += 1;
      return over.get(table, key);
    };
    const found = (placesMax?: number): number => {
      records = 0;
      const bounds = placesMax === undefined ? {} : { placesMax };
      const rows = [...scan(new Moment({ ...over, get }, at), { source, scope, ...bounds })];
      return rows.filter((row) => row !== undefined).length;
    };
    expect([found(), records]).toEqual([NODES, 40]);
    expect([found(50), records]).toEqual([50, 0]);
  });

  it('ends with its limit, also where the next node was changed or removed', () => {
    const at = tree.commit((writer) => {
      for (let number = 0; number < 5; number += 1) add(writer, idOf(number));
    });
    tree.commit((writer) => change(writer, idOf(1)));
    tree.commit((writer) => writer.remove(workspace, nodeAt(idOf(3))));
    for (const limit of [1, 2, 3, 4]) {
      const rows = [...scan(new Moment(tree.reader, at), { source, scope, limit })];
      expect(rows.flatMap((row) => row?.id ?? [])).toEqual([0, 1, 2, 3].map(idOf).slice(0, limit));
    }
  });

  it('passes a removed node as one place, in both directions', () => {
    const at = tree.commit((writer) => {
      for (let number = 0; number < 5; number += 1) add(writer, idOf(number));
    });
    tree.commit((writer) => writer.remove(workspace, nodeAt(idOf(2))));
    const inPages = (reverse: boolean): string[] => {
      const found: string[] = [];
      let after: string | undefined;
      do {
        const rows = scan(new Moment(tree.reader, at), { source, scope, reverse, after, placesMax: 2 });
        let places = 0;
        let step = rows.next();
        for (; step.done !== true; step = rows.next()) {
          if (step.value === undefined) continue;
          places += 1;
          found.push(step.value.id);
        }
        expect(places).toBeLessThanOrEqual(2);
        after = step.value;
      } while (after !== undefined);
      return found;
    };
    const all = [0, 1, 2, 3, 4].map(idOf);
    expect([inPages(false), inPages(true)]).toEqual([all, all.toReversed()]);
  });
});
