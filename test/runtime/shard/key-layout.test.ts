import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NODE_ID_BYTES_MAX } from '#runtime/content/content-node.ts';
import { ORDER_KEY_LENGTH_MAX } from '#runtime/content/order-key.ts';
import { PATH_BYTES_MAX } from '#runtime/content/path.ts';
import { revisionMax } from '#runtime/content/revision.ts';
import { TYPE_NAME_LENGTH_MAX } from '#runtime/content/definitions/type-name.ts';
import { indexKey } from '#runtime/index/index-key.ts';
import { uniqueValue } from '#runtime/index/unique-value.ts';
import { KEY_BYTES_MAX } from '#runtime/shard/binary-key.ts';
import {
  auditKey,
  childKey,
  childVersionKey,
  countKey,
  definitionVersionKey,
  feedKey,
  feedSequence,
  manualVersionKey,
  nodeVersionKey,
  parentVersionKey,
  pathVersionKey,
  propertyPrefix,
  readPropertyKey,
  propertyKey,
  referenceKey,
  typeKey,
  uniqueKey,
} from '#runtime/shard/key-layout.ts';

describe('the keys of a branch', () => {
  it('fit into a shard with any parts, each part at its own bound', () => {
    // Every char code of a key is one byte.
    const workspace = 'w'.repeat(63);
    const id = 'ü'.repeat(NODE_ID_BYTES_MAX / 2);
    const type = 't'.repeat(TYPE_NAME_LENGTH_MAX);
    const path = `/${'p'.repeat(PATH_BYTES_MAX - 1)}`;
    const endless = 'ü'.repeat(100_000);
    const orderKey = 'o'.repeat(ORDER_KEY_LENGTH_MAX + 1);
    const keys = [
      nodeVersionKey(workspace, id, revisionMax),
      pathVersionKey(workspace, path, revisionMax),
      childKey(workspace, id, orderKey),
      childVersionKey(workspace, id, orderKey, revisionMax),
      parentVersionKey(workspace, id, revisionMax),
      typeKey(workspace, type, path),
      countKey(workspace, type),
      propertyKey(workspace, endless, indexKey(endless), id),
      uniqueKey(workspace, type, endless, uniqueValue(endless) as string),
      referenceKey(workspace, id, 'relation', workspace, id, endless),
      referenceKey(workspace, id, 'property', workspace, id, endless),
      definitionVersionKey('element_type', endless, revisionMax),
      manualVersionKey(workspace, id, 0xffffffff),
      auditKey(workspace, id, revisionMax, 0xffffffff),
    ];
    for (const [index, key] of keys.entries()) {
      expect([index, key.length <= KEY_BYTES_MAX]).toEqual([index, true]);
      expect([...key].every((char) => char.charCodeAt(0) < 256)).toBe(true);
    }
  });

  it('of the feed sort as its numbers', () => {
    const number = fc.oneof(fc.nat({ max: 300 }), fc.integer({ min: 0, max: 2 ** 48 - 1 }));
    fc.assert(
      fc.property(number, number, (a, b) => {
        expect(feedSequence(feedKey(a))).toBe(a);
        expect(feedKey(a) < feedKey(b)).toBe(a < b);
      }),
    );
  });

  it('tell the value and the id of a row of the property index', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 4 }),
        fc.string({ unit: 'grapheme', minLength: 1 }),
        (text, id) => {
          const value = indexKey(text);
          const key = propertyKey('w', 'p', value, id);
          expect(readPropertyKey(key, propertyPrefix('w', 'p'))).toEqual({ value, id });
          expect(key.startsWith(propertyPrefix('w', 'p'))).toBe(true);
        },
      ),
    );
  });
});
