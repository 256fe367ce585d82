import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { indexKey } from '#runtime/index/index-key.ts';
import { BranchTable, countKey, propertyKey } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { encodeTypeCount } from '#runtime/tree/index-catalog.ts';
import { indexStatistics } from '#runtime/tree/index-statistics.ts';
import { values } from '../index/indexed-values.ts';
import { TreeUnderTest } from './tree-under-test.ts';

const none = new SchemaResolver({
  nodeType: () => undefined,
  archetype: () => undefined,
  elementType: () => undefined,
});

describe('the statistics of an index', () => {
  let folder: string;
  let tree: TreeUnderTest;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'statistics-'));
    tree = new TreeUnderTest(folder, () => none);
  });
  afterEach(async () => {
    await tree.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Writes an index with these values, one for each node. */
  function fill(workspace: string, indexed: readonly (JsonValue | undefined)[]): void {
    tree.rewrite((turn) => {
      const fields = { properties: ['p'], uniques: [] };
      const row = encodeTypeCount({ count: indexed.length, fields });
      turn.put(BranchTable.counts, countKey(workspace, 'test:Item'), row);
      for (const [at, value] of indexed.entries())
        turn.put(
          BranchTable.properties,
          propertyKey(workspace, 'p', indexKey(value), `n${at}`),
          new Uint8Array(0),
        );
      // Neighbours must not count.
      turn.put(BranchTable.properties, propertyKey(workspace, 'o', 'z', 'x'), new Uint8Array(0));
      turn.put(BranchTable.properties, propertyKey(workspace, 'pp', 'b0', 'x'), new Uint8Array(0));
    });
  }

  it('are exact where there are few values', () => {
    let runs = 0;
    fc.assert(
      fc.property(fc.array(values, { maxLength: 60 }), (indexed) => {
        runs += 1;
        fill(`w${runs}`, indexed);
        const keys = [...new Set(indexed.map(indexKey))].sort();
        expect(indexStatistics(tree.reader, `w${runs}`, 'p')).toEqual({
          rows: indexed.length,
          smallest: keys[0],
          largest: keys.at(-1),
          distinct: keys.length,
        });
      }),
      { numRuns: 60 },
    );
  });

  it('are an estimate where there are many, at a bounded cost', () => {
    const looked = (indexed: readonly JsonValue[], workspace: string) => {
      fill(workspace, indexed);
      const { reader } = tree;
      let rows = 0;
      const counting: TableReader = {
        get: (table, key) => reader.get(table, key),
        *range(table, range) {
          for (const row of reader.range(table, range)) {
            rows += 1;
            yield row;
          }
        },
      };
      return { ...indexStatistics(counting, workspace, 'p'), read: () => rows };
    };
    const different = looked(
      Array.from({ length: 10_000 }, (_, n) => n),
      'a',
    );
    expect(different.distinct).toBe(10_000);
    expect(different.read()).toBeLessThan(500);
    const tenEach = looked(
      Array.from({ length: 10_000 }, (_, n) => n % 1_000),
      'b',
    );
    expect(tenEach.distinct).toBe(1_000);
    expect(tenEach.read()).toBeLessThan(2_000);
    const two = looked(
      Array.from({ length: 10_000 }, (_, n) => n % 2),
      'c',
    );
    expect(two.distinct).toBe(2);
    expect(two.read()).toBeLessThan(200);
  });
});
