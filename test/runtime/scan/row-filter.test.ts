import { describe, expect, it } from 'vitest';
import type { ReadableNode } from '#runtime/access/policy.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { scopeFilter } from '#runtime/scan/row-filter.ts';
import { tooLong } from '#runtime/rel/ports.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import { plainHeader } from '#test/support/plain-header.ts';

const header = {
  ...plainHeader,
  id: 'an-id',
  name: 'a-name',
  path: '/a/a-name',
  nodeType: 'test:A',
  createdBy: 'creator',
  updatedBy: 'updater',
  ownerId: 'owner',
};

/** Shows a stored row to the condition of a scope. */
function show(
  properties: JsonObject,
  look: (node: ReadableNode) => boolean | undefined,
  ownerId: string | null = 'owner',
) {
  const { bytes } = makeNodeRecord({ ...header, ownerId }, properties);
  const view = new RecordView();
  view.point(bytes, bytes.length);
  return scopeFilter({ isAll: false, isNone: false, allows: look })?.(view);
}

describe('the row that the condition of a scope looks at', () => {
  it('has the columns of the node', () => {
    const columns: unknown[] = [];
    const isShown = show({}, (node) => {
      const { createdBy, id, name, nodeType, ownerId, path, updatedBy } = node;
      columns.push(id, name, path, nodeType, createdBy, updatedBy, ownerId);
      return true;
    });
    expect(isShown).toBe(true);
    expect(columns).toEqual(['an-id', 'a-name', '/a/a-name', 'test:A', 'creator', 'updater', 'owner']);
    expect(show({}, (node) => node.ownerId !== null, null)).toBe(false);
  });

  it('passes where it does not tell, and says how long a property is before it is decoded', () => {
    expect(show({}, () => undefined)).toBe(true);
    show({ long: 'x'.repeat(100), short: 'y' }, (node) => {
      expect(node.isInPlace).toBe(true);
      expect(node.property('long', 50)).toBe(tooLong);
      expect(node.property('short', 50)).toBe('y');
      expect(node.property('long', 200)).toHaveLength(100);
      return true;
    });
  });

  it('has the properties of the node, and none that it does not have', () => {
    const properties = {
      text: 'ä "x"',
      list: [1, { a: null }],
      no: null,
      big: 12345678901234567890n,
      flag: false,
    };
    for (const [name, value] of Object.entries(properties))
      show(properties, (node) => {
        expect(node.property(name)).toEqual(value);
        return true;
      });
    show(properties, (node) => {
      for (const name of ['constructor', '__proto__', 'createdBy', 'tex', ''])
        expect(node.property(name)).toBeUndefined();
      return true;
    });
  });
});
