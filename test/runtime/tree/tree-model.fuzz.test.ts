import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { type Revision, revisionZero } from '#runtime/content/revision.ts';
import { HeadNodeReader, type NodeReader } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { MODEL_ROOT, TreeModel } from './tree-model.ts';
import { TreeUnderTest } from './tree-under-test.ts';
import { history, Stepper, types } from './tree-workload.ts';

/** What a reader says of a node, in the model's terms. */
function seen(record: NodeRecord | undefined): unknown {
  if (record === undefined) return undefined;
  const { id, path, parentId, orderKey, nodeType, version } = record.header;
  return { id, path, parentId, orderKey, nodeType, version, title: record.property('title') };
}

function compare(
  workspace: string,
  reader: NodeReader,
  model: TreeModel,
  revision: number,
  ids: Iterable<string>,
  paths: Iterable<string>,
): void {
  const parents = [MODEL_ROOT, ...ids];
  for (const id of ids) expect(seen(reader.byId(workspace, id))).toEqual(model.nodesAt(revision).get(id));
  for (const path of paths) {
    const id = model.idAt(revision, path);
    expect([path, reader.idAt(workspace, path)]).toEqual([path, id]);
    const node = id === undefined || id === MODEL_ROOT ? undefined : model.nodesAt(revision).get(id);
    expect(seen(atOnce(reader.byPathInSteps(workspace, path)))).toEqual(node);
  }
  for (const parent of parents) {
    const wanted = model.children(revision, parent).map(({ id, orderKey }) => ({ id, orderKey }));
    expect([...reader.children(workspace, parent)]).toEqual(wanted);
    expect([...reader.children(workspace, parent, { reverse: true })]).toEqual(wanted.toReversed());
    expect(reader.hasChildren(workspace, parent)).toBe(wanted.length > 0);
    for (const [index, { orderKey }] of wanted.entries()) {
      const behind = reader.children(workspace, parent, { after: orderKey });
      expect([...behind]).toEqual(wanted.slice(index + 1));
      const before = reader.children(workspace, parent, { after: orderKey, reverse: true });
      expect([...before]).toEqual(wanted.slice(0, index).toReversed());
    }
  }
}

describe('a tree over time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tree-'));
  let tree: TreeUnderTest;
  let runs = 0;

  beforeAll(() => {
    tree = new TreeUnderTest(folder, () => types);
  });
  afterAll(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('reads at every revision as a full copy of each would, at the head too, and keeps every index whole', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (revisions) => {
        runs += 1;
        const workspace = `w${runs}`;
        const model = new TreeModel();
        const made: Revision[] = [];
        const ids = new Set<string>();
        for (const { steps, apply } of revisions) {
          const revision = tree.commit((writer) => {
            model.commit((nodes) => {
              const stepper = new Stepper(workspace, nodes, writer, ids);
              for (const each of steps) stepper.run(each);
            });
          });
          made.push(revision);
          if (apply) await tree.apply();
        }
        const paths = new Set(['/']);
        for (let n = 0; n <= model.newest; n++) {
          for (const { path } of model.nodesAt(n).values()) paths.add(path);
        }
        const { reader } = tree;
        compare(workspace, new PastNodeReader(reader, revisionZero), model, 0, ids, paths);
        for (const [index, revision] of made.entries()) {
          compare(workspace, new PastNodeReader(reader, revision), model, index + 1, ids, paths);
          // A moment between two revisions shows the earlier one.
          const between = { ms: revision.ms + 5, counter: 0 };
          compare(workspace, new PastNodeReader(reader, between), model, index + 1, ids, paths);
        }
        compare(workspace, new HeadNodeReader(reader), model, model.newest, ids, paths);
      }),
      { numRuns: workloadCount(150) },
    );
    expect(findDamage(tree.reader)).toEqual([]);
    await tree.apply();
    expect(findDamage(tree.reader)).toEqual([]);
  });
});
