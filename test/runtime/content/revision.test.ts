import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRevision, parseRevision, revisionMax, revisionZero } from '#runtime/content/revision.ts';

describe('the text of a revision', () => {
  it('has both numbers as JavaScript writes them, and is parsed to the same', () => {
    const ms = fc.oneof(
      fc.maxSafeNat().map((value) => value % (revisionMax.ms + 1)),
      fc.nat({ max: 2_000_000 }),
    );
    fc.assert(
      fc.property(
        fc.record({ ms, counter: fc.maxSafeNat().map((value) => value % (revisionMax.counter + 1)) }),
        (revision) => {
          expect(formatRevision(revision)).toBe(`${revision.ms}-${revision.counter}`);
          expect(parseRevision(formatRevision(revision))).toEqual(revision);
        },
      ),
    );
  });

  it.each([
    [revisionZero, '0-0'],
    [{ ms: 999_999, counter: 1 }, '999999-1'],
    [{ ms: 1_000_000, counter: 0 }, '1000000-0'],
    [{ ms: 1_795_000_001_002, counter: 3 }, '1795000001002-3'],
    [revisionMax, '281474976710655-4294967295'],
  ])('of %j is %s', (revision, text) => expect(formatRevision(revision)).toBe(text));
});
