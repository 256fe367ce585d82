import { describe, expect, it } from 'vitest';
import { verifyBranchRow } from '#runtime/check/check-branch.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import {
  BranchTable,
  definitionKey,
  definitionVersionKey,
  feedKey,
  manualVersionKey,
} from '#runtime/shard/key-layout.ts';

const since = '1700000000000-3';
const named = encodeJsonRow({ since, definition: { name: 'shop:Artículo' } });
const entry = encodeJsonRow([70_000, 'revision', since]);
const saved = encodeJsonRow({ number: 7, header: { id: 'n-1' } });

/** Whether a row is refused. */
function isRefused(table: number, key: string, value: Uint8Array): boolean {
  try {
    verifyBranchRow(table, { key, value });
    return false;
  } catch {
    return true;
  }
}

/** Every key that differs from this one in one bit, from a byte on. */
function flippedKeys(key: string, from: number): readonly string[] {
  const bytes = Buffer.from(key, 'latin1');
  const flipped: string[] = [];
  for (let bit = from * 8; bit < bytes.length * 8; bit += 1) {
    const copy = Buffer.from(bytes);
    copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
    flipped.push(copy.toString('latin1'));
  }
  return flipped;
}

describe('a row of a branch whose value repeats its key', () => {
  it.each([
    ['a definition', BranchTable.definitions, definitionKey('node_type', 'shop:Artículo'), named, 0],
    [
      'an earlier definition',
      BranchTable.definitionVersions,
      definitionVersionKey('archetype', 'shop:Artículo', parseRevision(since)),
      named,
      0,
    ],
    // Nothing in a version repeats its workspace.
    [
      'a manual version',
      BranchTable.manualVersions,
      manualVersionKey('content', 'n-1', 7),
      saved,
      'content'.length,
    ],
    ['an entry of the feed', BranchTable.feed, feedKey(70_000), entry, 0],
  ])('is refused with any flipped bit in its key: %s [SAL-002] [CHK-002]', (_, table, key, value, from) => {
    expect(isRefused(table, key, value)).toBe(false);
    const taken = flippedKeys(key, from).filter((flipped) => !isRefused(table, flipped, value));
    expect(taken).toEqual([]);
  });

  it('is refused with another kind in the key of a deleted definition, which has no value', () => {
    const key = definitionVersionKey('node_type', 'shop:Article', parseRevision(since));
    const nothing = new Uint8Array(0);
    expect(isRefused(BranchTable.definitionVersions, key, nothing)).toBe(false);
    const taken = flippedKeys(key, 0)
      .slice(0, 'node_type'.length * 8)
      .filter((flipped) => !isRefused(BranchTable.definitionVersions, flipped, nothing));
    expect(taken).toEqual([]);
  });
});
