import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeScope } from '#runtime/access/policy.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { formatRevision, parseRevision } from '#runtime/content/revision.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { type ScanSource, scan } from '#runtime/scan/scan.ts';
import { BranchTable, childKey } from '#runtime/shard/key-layout.ts';
import { encodeBinding } from '#runtime/tree/node-reader.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { plainHeader } from '#test/support/plain-header.ts';
import { TreeUnderTest } from '../tree/tree-under-test.ts';
import { types } from '../tree/tree-workload.ts';

const workspace = 'content';

describe('a row of a list of children that names another node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'damaged-children-'));
  let tree: TreeUnderTest;

  beforeAll(() => {
    tree = new TreeUnderTest(folder, () => types);
    const revision = tree.commit((writer) => {
      const add = (id: string, parentId: string, path: string, orderKey: string): void => {
        const place = { id, name: id, path, parentId, orderKey };
        const header = { ...plainHeader, ...place, nodeType: 'test:Item' };
        writer.add(workspace, makeNodeRecord({ ...header, revision: formatRevision(writer.revision) }, {}));
      };
      add('a', ROOT_ID, '/a', 'a1');
      add('b', ROOT_ID, '/b', 'a2');
      add('below', 'a', '/a/below', 'a1');
      add('c', ROOT_ID, '/c', 'a3');
    });
    tree.rewrite((turn) => {
      // A node elsewhere, a node at another place among the same children, and the parent itself.
      const since = parseRevision(formatRevision(revision));
      const damage = (parentId: string, orderKey: string, id: string): void =>
        turn.put(BranchTable.children, childKey(workspace, parentId, orderKey), encodeBinding(since, id));
      damage(ROOT_ID, 'a2', 'below');
      damage(ROOT_ID, 'a3', 'a');
      damage('a', 'a1', 'a');
    });
  });
  afterAll(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const ids = (source: ScanSource, after?: string): string[] =>
    [...scan(new Moment(tree.reader), { source, scope: wholeScope, after, limit: 1 })].flatMap((row) =>
      row === undefined ? [] : [row.id],
    );

  it('is damage, and not a node that is shown twice or below itself', () => {
    const damaged = expect.objectContaining({ code: 'DATA_CORRUPTED' });
    const root: ScanSource = { kind: 'children', workspace, parentId: ROOT_ID };
    expect(ids(root)).toEqual(['a']);
    expect(() => ids(root, 'a1')).toThrow(damaged);
    expect(() => ids(root, 'a2')).toThrow(damaged);
    expect(() => ids({ kind: 'children', workspace, parentId: 'a' })).toThrow(damaged);
    expect(() => ids({ kind: 'subtree', workspace, topId: 'a' })).toThrow(damaged);
  });
});
