import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { parseDslQuery } from '#actors/branch/query/dsl-filter.ts';
import { filterWeight } from '#actors/branch/query/dsl-match.ts';
import { storedFilter } from '#actors/branch/query/stored-filter.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import { plainHeader } from '#test/support/plain-header.ts';

function mayMatch(
  filter: JsonObject,
  properties: JsonObject,
  parentId: string = ROOT_ID,
): boolean | undefined {
  const { filter: condition } = parseDslQuery(filter);
  const stored = storedFilter(condition, filterWeight(condition), new RequestBudget());
  const { bytes } = makeNodeRecord({ ...plainHeader, parentId }, properties);
  const view = new RecordView();
  view.point(Buffer.from(bytes), bytes.length);
  return stored?.(view);
}

const others = Array.from({ length: 50 }, (_, number) => ({ 'properties.p': { eq: number } }));

describe('what the stored bytes of a node tell of a filter', () => {
  it('leaves out a node that does not match, or is not at the root', () => {
    expect(mayMatch({ 'properties.p': { eq: 1 } }, { p: 1 })).toBe(true);
    expect(mayMatch({ 'properties.p': { eq: 1 } }, { p: 2 })).toBe(false);
    expect(mayMatch({ 'properties.p': { eq: 1 } }, { p: 1 }, 'folder')).toBe(false);
  });

  it('leaves open what takes long: rows follow each other without a pause', () => {
    expect(mayMatch({ or: others.slice(0, 4) }, { p: 'none' })).toBe(false);
    expect(mayMatch({ or: others }, { p: 'none' })).toBe(true);
    const long = 'a'.repeat(2_000);
    expect(mayMatch({ 'properties.p': { like: 'b'.repeat(8) } }, { p: long })).toBe(false);
    expect(mayMatch({ 'properties.p': { like: 'b'.repeat(80) } }, { p: long })).toBe(true);
    expect(mayMatch({ 'properties.p': { eq: 1 } }, { p: 'a'.repeat(100_000) })).toBe(true);
  });

  it('tells nothing of what is derived from types', () => {
    expect(mayMatch({ not: { 'properties.$mixins': { exists: true } } }, {})).toBeUndefined();
  });
});
