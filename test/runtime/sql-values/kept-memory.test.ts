import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { resolveAggregate } from '#runtime/sql-values/aggregates/resolve-aggregate.ts';
import { resolveCast } from '#runtime/sql-values/casts/resolve-cast.ts';
import { valueBytes } from '#runtime/sql-values/ordering/value-bytes.ts';
import { Jsonb, type SqlValue, StoredJson } from '#runtime/sql-values/sql-value.ts';
import { arrayOf, textType } from '#runtime/sql-values/types/basic-types.ts';
import { call } from './functions/call.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The bytes by which the heap is larger while values are kept. */
function keptBytes(make: (index: number) => SqlValue): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const kept = Array.from({ length: 30 }, (_, index) => make(index));
  collectGarbage();
  const after = process.memoryUsage().heapUsed;
  expect(kept).not.toContain(null);
  return after - before;
}

/** Units of the text of which a part is kept. */
const LENGTH = 1_000_000;

const part = 'twenty characters or so';

/** A text with a part that ends with a comma, and characters of one byte each. */
const long = (index: number): string => [part, 'x'.repeat(LENGTH), index].join(',');

const toTexts = resolveCast(textType, arrayOf(textType))!;

const parts: readonly (readonly [string, (text: string) => SqlValue])[] = [
  ['SUBSTRING with a length', (text) => call('SUBSTRING', text, 1, part.length)],
  ['SUBSTRING to the end', (text) => call('SUBSTRING', text, LENGTH)],
  ['LEFT', (text) => call('LEFT', text, part.length)],
  ['RIGHT', (text) => call('RIGHT', text, part.length)],
  ['SPLIT_PART', (text) => call('SPLIT_PART', text, ',', 1)],
  ['LTRIM', (text) => call('LTRIM', `${' '.repeat(LENGTH)}${text.slice(0, 20)}`)],
  ['LPAD', (text) => call('LPAD', text, part.length)],
  ['RPAD with a part of the fill', (text) => call('RPAD', '', part.length, text)],
  ['STRING_TO_ARRAY', (text) => (call('STRING_TO_ARRAY', text, ',') as SqlValue[])[0] as SqlValue],
  ['a cast to TEXT[]', (text) => (toTexts.evaluate(`{${text}}`) as SqlValue[])[0] as SqlValue],
];

describe('a part of a text', () => {
  it.each(parts)('of %s does not keep the text in memory', (_name, partOf) => {
    expect(keptBytes((index) => partOf(long(index)))).toBeLessThan(10 * LENGTH);
  });
});

describe('STRING_AGG of short texts', () => {
  it('keeps about as many bytes as it has characters', () => {
    const { start } = resolveAggregate('STRING_AGG', [textType, textType]);
    const bytes = keptBytes(() => {
      const accumulator = start();
      for (let row = 0; row < 3_000; row += 1) accumulator.add(['ab', ',']);
      return accumulator.result();
    });
    expect(bytes).toBeLessThan(30 * 3_000 * 3 * 3);
  });
});

describe('stored JSON that has been read', () => {
  const shapes: readonly (readonly [string, (index: number) => unknown])[] = [
    ['empty objects', () => ({})],
    ['empty arrays', () => []],
    ['objects in objects', (index) => ({ a: { b: [index] } })],
    ['numbers', (index) => index + 0.5],
    ['texts', (index) => `a title that is long ${index}`],
  ];

  it.each(shapes)('takes no more memory than is counted while it is a text: %s', (_name, shape) => {
    const text = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => shape(index)));
    let counted = 0;
    const bytes = keptBytes(() => {
      const value = new Jsonb(new StoredJson(text, { spend: () => {} }));
      counted += valueBytes(value);
      expect(value.value).toHaveLength(20_000);
      return value;
    });
    expect(bytes).toBeLessThan(counted);
  });
});
