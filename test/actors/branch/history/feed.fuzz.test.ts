import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatRevision, parseRevision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { changeDetails } from '#runtime/tree/change-details.ts';
import type { ChangeDetails, NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { readBranchHead, readRevision } from '#runtime/tree/revision-store.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { feedAfter, type LookAt, lookedAt, nodesAt, partsOf } from '#test/support/feed-reader.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { BranchRun } from '../workload/branch-run.ts';
import { workloads } from '../workload/workload-step.ts';

/** Weights with which the rarer kinds of changes and entries occur more often. */
const weights = {
  like: 8,
  unlike: 5,
  publish: 6,
  reorder: 10,
  translate: 6,
  forward: 14,
  rewind: 5,
  commit: 8,
};

/** A change without what depends on the order in which it was found. */
function plain({ kinds, properties, ...rest }: ChangeDetails): unknown {
  const names = properties === undefined || properties === null ? properties : [...properties].sort();
  return { kinds: [...kinds].sort(), properties: names, ...rest };
}

/** What a consumer knows of a branch: where each node is. */
type Places = Map<string, { readonly path: string; readonly type: string }>;

function placesOf(nodes: ReadonlyMap<string, NodeRecord>): Places {
  const entries = [...nodes].map(([key, { header }]) => {
    return [key, { path: header.path, type: header.nodeType }] as const;
  });
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function apply(places: Places, change: NodeChange): void {
  const key = `${change.workspace} ${change.node_id}`;
  const { details } = change;
  if (details === undefined) throw new Error('a change of this build has details');
  const known = places.get(key);
  const isNew = details.kinds.includes('created');
  const isGone = details.kinds.includes('deleted');
  if (details.kinds.length > 0) expect(known === undefined).toBe(isNew);
  if (known !== undefined && !isNew) {
    expect(details.pathBefore ?? change.path).toBe(known.path);
    expect(details.typeBefore ?? change.node_type).toBe(known.type);
  }
  if (isGone) places.delete(key);
  else if (known !== undefined || isNew) places.set(key, { path: change.path, type: change.node_type });
}

/** Replays the feed of a branch and compares each of its changes with the states before and after it. */
function requireFeed(reader: TableReader): void {
  const at = (revision: string): Map<string, NodeRecord> => nodesAt(reader, revision, [WORKSPACE]);
  let head = '0-0';
  let places: Places = new Map();
  let sequence: number | undefined;
  for (const entry of feedAfter(reader)) {
    if (sequence !== undefined) expect(entry.sequence).toBe(sequence + 1);
    sequence = entry.sequence;
    const parts = partsOf(reader, entry);
    if (entry.kind === 'created') places = placesOf(at(entry.revision));
    else {
      if (!('previous' in entry)) throw new Error(`nothing makes an entry '${entry.kind}' here`);
      expect(entry.previous).toBe(head);
    }
    for (const { changes, isUndone, revision } of parts) {
      const record = readRevision(reader, parseRevision(revision)) as RevisionRecord;
      const states = [at(record.parent ?? '0-0'), at(revision)] as const;
      const [before, after] = isUndone ? states.toReversed() : states;
      const seen = new Set<string>();
      for (const change of changes) {
        const key = `${change.workspace} ${change.node_id}`;
        expect(seen.has(key)).toBe(false);
        seen.add(key);
        const old = before?.get(key)?.header;
        // Moved and then deleted by one commit.
        const wasMoved = !after?.has(key) && old !== undefined && old.path !== change.path;
        const expected = {
          ...changeDetails(before?.get(key), after?.get(key)),
          ...(wasMoved ? { pathBefore: old.path } : {}),
        };
        expect(plain(change.details as ChangeDetails), `${entry.kind} ${revision} ${key}`).toEqual(
          plain(expected),
        );
        apply(places, change);
      }
    }
    head = entry.revision;
    expect(
      [...places].sort(([a], [b]) => (a < b ? -1 : 1)),
      `${entry.kind} ${head}`,
    ).toEqual([...placesOf(at(head))]);
  }
  expect(head).toBe(formatRevision(readBranchHead(reader).head));
}

describe('the feed of a branch', () => {
  let family: BranchFamily;
  let runs = 0;

  beforeAll(async () => {
    family = await BranchFamily.open(lookedAt);
  });
  afterAll(() => family.close());

  it('leads from the first state to the head, and tells of each change once what it did', async () => {
    await fc.assert(
      fc.asyncProperty(workloads(8, 32, weights), async (steps) => {
        runs += 1;
        const run = new BranchRun(family, `e${runs}`);
        await run.begin();
        for (const step of steps) await run.take(step);
        for (const branch of run.branches) {
          const query: LookAt = { type: 'LookAt', look: requireFeed };
          await family.query(branch, query as never);
          expect(await family.damage(branch)).toEqual([]);
        }
      }),
      { numRuns: workloadCount(12) },
    );
  });
});
