import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { indexKey } from '#runtime/index/index-key.ts';
import { type CommonValue, commonValues } from '#runtime/tree/common-values.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { plainHeader } from '#test/support/plain-header.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { values } from '../index/indexed-values.ts';
import { countedReader } from '../scan/counted-reader.ts';
import { resolverOf } from '../scan/indexed-nodes.ts';
import { TreeUnderTest } from './tree-under-test.ts';

const types = resolverOf({ indexed: ['p'], isUnique: false, isCompound: false });

describe('the most common values of an index', () => {
  let folder: string;
  let tree: TreeUnderTest;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'common-'));
    tree = new TreeUnderTest(folder, () => types);
  });
  afterEach(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function fill(workspace: string, given: readonly (JsonValue | undefined)[]): void {
    tree.commit((writer) => {
      for (const [at, value] of given.entries()) {
        const id = `n${String(at).padStart(6, '0')}`;
        const place = { id, name: id, path: `/${id}`, parentId: ROOT_ID, orderKey: `a${id}` };
        const properties: JsonObject = value === undefined ? {} : { p: value };
        const nodeType = at % 5 === 0 ? 'test:Other' : 'test:One';
        const header = { ...plainHeader, ...place, nodeType, revision: formatRevision(writer.revision) };
        writer.add(workspace, makeNodeRecord(header, properties));
      }
    });
  }

  it('are counted where each has few rows', () => {
    let runs = 0;
    fc.assert(
      fc.property(fc.array(values, { maxLength: 40 }), (given) => {
        runs += 1;
        const workspace = `w${runs}`;
        fill(workspace, given);
        const counts = new Map<string, number>();
        for (const value of given) counts.set(indexKey(value), (counts.get(indexKey(value)) ?? 0) + 1);
        const found = atOnce(commonValues(tree.reader, workspace, 'p'));
        const sorted = [...counts.values()].sort((a, b) => b - a).slice(0, 16);
        expect(found.map(({ rows }) => rows)).toEqual(sorted);
        for (const { isExact, key, rows } of found) expect([isExact, counts.get(key)]).toEqual([true, rows]);
      }),
      { numRuns: workloadCount(100) },
    );
  });

  function counted(workspace: string): { readonly found: readonly CommonValue[]; readonly read: number } {
    const read = { rows: 0, nodes: 0 };
    const found = atOnce(commonValues(countedReader(tree.reader, read), workspace, 'p'));
    return { found, read: read.rows + read.nodes };
  }

  it('are estimated where they have many rows, at a bounded cost', async () => {
    const nodes = 9_000;
    // Two of three nodes, then 2,400, 300 and one.
    const few = Array.from({ length: nodes }, (_, at) =>
      at === 7 ? 'one' : at % 3 !== 0 ? 'most' : at % 30 === 0 ? 'some' : 'many',
    );
    fill('few', few);
    await tree.apply();
    const { found, read } = counted('few');
    expect(found.map(({ key }) => key)).toEqual(['most', 'many', 'some', 'one'].map(indexKey));
    expect(found.map(({ isExact }) => isExact)).toEqual([false, false, true, true]);
    expect(found.slice(2).map(({ rows }) => rows)).toEqual([300, 1]);
    expect(found.reduce((sum, { rows }) => sum + rows, 0)).toBe(nodes);
    expect((found[0] as CommonValue).rows).toBeGreaterThan(4_500);
    expect(read).toBeLessThan(nodes / 2);
  });

  it('are found among many others', async () => {
    const many = Array.from({ length: 9_000 }, (_, at) => (at % 4 === 0 ? 'often' : `single ${at}`));
    fill('many', many);
    await tree.apply();
    const { found, read } = counted('many');
    expect(found.map(({ key }) => key)).toEqual([indexKey('often')]);
    expect((found[0] as CommonValue).rows).toBeGreaterThan(1_500);
    expect((found[0] as CommonValue).rows).toBeLessThan(3_500);
    expect(read).toBeLessThan(4_500);
  });
});
