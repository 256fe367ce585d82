import { expect, it } from 'vitest';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { SchemaCache } from '#runtime/tree/schema-store.ts';

/** A reader of one state of a schema. */
function stateOf(stamp: string): TableReader {
  const bytes = Buffer.from(stamp, 'latin1');
  return {
    get: (table, key) => (table === CommonTable.meta && key === 'schema' ? bytes : undefined),
    range: () => [],
  };
}

it('is that of the reader, also where it was asked for just before', () => {
  const cache = new SchemaCache();
  const one = stateOf('1-0');
  expect(cache.get(one)).toBe(cache.get(one));
  expect(cache.get(stateOf('1-0'))).toBe(cache.get(one));
  const first = cache.get(one);
  expect(cache.get(stateOf('2-0'))).not.toBe(first);
  expect(cache.get(one)).toBe(first);
});

it('is another one for other pins, and for a revision', () => {
  const cache = new SchemaCache();
  const reader = stateOf('1-0');
  const pins = { 'test:Type': '1-0' };
  const at: Revision = { ms: 1, counter: 0 };
  const plain = cache.get(reader);
  const pinned = cache.get(reader, { pins });
  expect(pinned).not.toBe(plain);
  expect(cache.get(reader, { pins })).toBe(pinned);
  expect(cache.get(reader, { pins: { 'test:Type': '1-1' } })).not.toBe(pinned);
  expect(cache.get(reader, { at })).not.toBe(plain);
  expect(cache.get(reader)).toBe(plain);
});

it('is loaded again after it was dropped from the cache', () => {
  const cache = new SchemaCache();
  const reader = stateOf('1-0');
  const before = cache.get(reader);
  cache.forget();
  expect(cache.get(reader)).not.toBe(before);
});
