import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNumber } from '#runtime/base/text/exact-number.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { columnKey, columnRanges, isCutColumn } from '#runtime/index/compound-key.ts';
import { indexKey } from '#runtime/index/index-key.ts';
import { keyRanges } from '#runtime/index/key-range.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { compareModel, isSameKind, numbers, values } from './indexed-values.ts';

const COLUMNS = 3;

const short = values.filter((value) => !isCutColumn(indexKey(value), COLUMNS));
const row = fc.tuple(short, short, short, fc.constantFrom('0', 'a', '\u00ff'));
const directions = fc.tuple(fc.boolean(), fc.boolean(), fc.boolean());

type Row = readonly [JsonValue | undefined, JsonValue | undefined, JsonValue | undefined, string];

function keyOf([a, b, c, id]: Row, isDescending: readonly boolean[]): string {
  const columns = [a, b, c].map((value, at) =>
    columnKey(indexKey(value), isDescending[at] === true, COLUMNS),
  );
  return `${columns.join('')}\0${id}`;
}

describe('keys of compound indexes', () => {
  it('are in the order of their columns, each in its direction', () => {
    fc.assert(
      fc.property(row, row, directions, (one, other, isDescending) => {
        let order = 0;
        for (let at = 0; order === 0 && at < COLUMNS; at += 1) {
          const compared = compareModel(one[at] as JsonValue, other[at] as JsonValue);
          order = isDescending[at] === true ? -compared : compared;
        }
        const [x, y] = [keyOf(one, isDescending), keyOf(other, isDescending)];
        if (order !== 0) expect(x < y).toBe(order < 0);
        else expect(x.slice(0, -one[3].length)).toBe(y.slice(0, -other[3].length));
      }),
      { numRuns: workloadCount(4000) },
    );
  });

  it('have ranges for a comparison with the column behind equal ones', () => {
    const comparison = fc.tuple(
      fc.constantFrom('eq' as const, 'gt' as const, 'gte' as const, 'lt' as const, 'lte' as const),
      fc.oneof(numbers, fc.constantFrom('', 'a', 'a\0', 'ab', 'ü')),
    );
    fc.assert(
      fc.property(
        short,
        row,
        directions,
        comparison,
        fc.nat(7),
        (other, found, isDescending, asked, same) => {
          // Mostly the columns of the row itself.
          const leading = same === 0 ? other : found[0];
          const [operator, given] = asked;
          const isGiven = same < 4 || !(isNumber(found[1]) || typeof found[1] === 'string');
          const value = isGiven ? given : (found[1] as typeof given);
          const start = columnKey(indexKey(leading), isDescending[0], COLUMNS);
          const ranges = columnRanges(start, keyRanges({ operator, value }), isDescending[1]);
          const key = keyOf(found, isDescending);
          const isInside = ranges.some((range) => key >= range.start && key < range.end);
          const order = compareModel(found[1], value);
          const holds = {
            eq: order === 0,
            gt: order > 0,
            gte: order >= 0,
            lt: order < 0,
            lte: order <= 0,
          }[operator];
          const isLed = indexKey(found[0]) === indexKey(leading);
          expect(isInside).toBe(isLed && isSameKind(found[1], value) && holds);
        },
      ),
      { numRuns: workloadCount(6000) },
    );
  });

  it('are bounded, also of long values', () => {
    const long = 'x'.repeat(5_000);
    const key = columnKey(indexKey(long), false, 8);
    expect(key.length).toBeLessThan(150);
    expect(columnKey(indexKey(`${long}1`), false, 8)).not.toBe(key);
    expect(isCutColumn(indexKey(long), 8)).toBe(true);
  });
});
