import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { makeNodeRecord, NodeRecord, withHeader } from '#runtime/tree/node-record.ts';

function headerOf(fields: Partial<NodeHeader>): NodeHeader {
  return {
    id: 'n1',
    name: 'one',
    path: '/one',
    nodeType: 'test:Article',
    archetype: null,
    parentId: 'root',
    orderKey: 'a0',
    version: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    createdBy: 'ann',
    updatedAt: '2026-01-01T00:00:00.000Z',
    updatedBy: 'ann',
    publishedAt: null,
    publishedBy: null,
    ownerId: null,
    translations: null,
    relations: [],
    revision: '1700000000000-0',
    operation: 'added',
    changedLocale: null,
    ...fields,
  };
}

describe('a stored node', () => {
  it('stores long texts as JSON.stringify writes them, whatever is in them', () => {
    const odd = [
      '"',
      '\\',
      '\n',
      '\u0000',
      '\u001f',
      '\u007f',
      '\u2028',
      'ü',
      '€',
      '🌳',
      '\ud800',
      '\udfff',
      '',
    ];
    for (const each of odd) {
      const properties = { before: 1, text: `${'x'.repeat(5_000)}${each}${'y'.repeat(5_000)}`, after: each };
      const made = makeNodeRecord(headerOf({}), properties);
      expect(made.propertiesText).toBe(JSON.stringify(properties));
      const read = new NodeRecord(made.bytes);
      expect(read.properties).toEqual(properties);
      expect(read.property('after')).toBe(each);
    }
  });

  it('tells its revision without decoding the header, whatever its parent is called', () => {
    const id = fc.oneof(
      fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }),
      fc.string({ minLength: 1, unit: fc.constantFrom('"', ',', '\\', 'a') }),
      fc.string({ minLength: 100, maxLength: 400 }),
    );
    fc.assert(
      fc.property(id, fc.maxSafeNat(), fc.nat(), (parentId, ms, counter) => {
        const revision = `${ms}-${counter}`;
        const record = makeNodeRecord(headerOf({ parentId, revision }), { title: 'x' });
        const stored = new NodeRecord(record.bytes);
        expect([record.revision, stored.revision]).toEqual([revision, revision]);
        expect(stored.header.parentId).toBe(parentId);
        expect(stored.revision).toBe(revision);
      }),
    );
  });

  it('has the revision of the header it was given anew', () => {
    const record = makeNodeRecord(headerOf({}), { title: 'x' });
    const next = withHeader(record, headerOf({ revision: '1700000000001-7' }));
    expect(new NodeRecord(next.bytes).revision).toBe('1700000000001-7');
    expect(new NodeRecord(next.bytes).properties).toEqual({ title: 'x' });
  });
});
