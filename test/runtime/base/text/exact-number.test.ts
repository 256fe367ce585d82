import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  InexactNumberError,
  parseExactJson,
  parseExactJsonInSteps,
  TooManyBigintsError,
} from '#runtime/base/text/exact-json.ts';
import {
  compareNumbers,
  type ExactNumber,
  exactNumber,
  isMultiple,
} from '#runtime/base/text/exact-number.ts';
import { indexKey } from '#runtime/index/index-key.ts';

describe('a number that is read', () => {
  it.each([
    ['0', 0],
    ['-0', -0],
    ['1.0', 1],
    ['0.1', 0.1],
    ['1e2', 100],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['1795381430123456789', 1795381430123456789n],
    ['1152921504606846976', 1152921504606846976n],
    ['1152921504606847000', 1152921504606847000],
    ['123456789012345678e3', 123456789012345678000n],
    ['12345678901234567890.0', 12345678901234567890n],
    ['99999999999999999999999999999999999999', 99999999999999999999999999999999999999n],
    ['1e300', 1e300],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', 5e-324],
    ['0.30000000000000004', 0.1 + 0.2],
    // As programs write doubles that do not look for the shortest text.
    ['0.10000000000000001', 0.1],
    ['0.00000000000000000000', 0],
    ['1.8449088554279299e+186', Number('1.8449088554279299e+186')],
    ['4.9406564584124654e-324', Number.MIN_VALUE],
    ['4.9e-324', Number.MIN_VALUE],
    ['2.2250738585072009e-308', Number('2.2250738585072009e-308')],
    ['4503599627370495.5', 4503599627370495.5],
    ['9007199254740994.0', 9007199254740994],
  ])('%s is kept', (text, value) => {
    expect(exactNumber(text)).toBe(value);
    expect(parseExactJson(text)).toBe(value);
    expect(parseExactJson(JSON.stringify([value]))).toEqual([value === 0 ? 0 : value]);
  });

  it.each([
    '0.10000000000000000000001',
    '1e-400',
    '100000000000000000000000000000000000001',
    '1795381430123456789.5',
    '4503599627370496.5',
    '9007199254740993.5',
    '-90071992547409935e-1',
    '3e-324',
    '-7e-324',
    '1.2345678901234567e-320',
  ])('%s would become another one', (text) => {
    expect(exactNumber(text)).toBeUndefined();
    expect(() => parseExactJson(`{"a":[${text}]}`)).toThrow(InexactNumberError);
    expect(parseExactJson(`"${text}"`)).toBe(text);
  });

  it('is Infinity when it is out of range, which values are not', () => {
    for (const text of ['1e400', '1e309']) {
      expect(exactNumber(text)).toBeUndefined();
      expect(parseExactJson(text)).toBe(Number.POSITIVE_INFINITY);
    }
  });

  it('has one form for each value, and is written as it was read', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }), fc.nat(5), (value, zeros) => {
        const read = exactNumber(String(value));
        expect(read).toBeDefined();
        expect(BigInt(JSON.stringify(read))).toBe(value);
        expect(exactNumber(`${value}.${'0'.repeat(zeros + 1)}`)).toBe(read);
        expect(parseExactJson(JSON.stringify(read))).toBe(read);
      }),
    );
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = JSON.stringify(value);
        expect(exactNumber(text)).toBe(JSON.parse(text));
        expect(exactNumber(value.toPrecision(17))).toBeDefined();
      }),
    );
  });
});

describe('a text that is read', () => {
  it('is what JSON.parse makes of it, but for large whole numbers', () => {
    const long = '12345678901234567890';
    const text = `{"${long}":"${long} \\" ${long}","__proto__":{"a":${long}},"b":[1,[${long},"\\\\"],${long}]}`;
    const value = parseExactJson(text) as Record<string, unknown>;
    expect(Object.keys(value)).toEqual([long, '__proto__', 'b']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(value, '__proto__')?.value).toEqual({ a: BigInt(long) });
    expect(value[long]).toBe(`${long} " ${long}`);
    expect(value.b).toEqual([1, [BigInt(long), '\\'], BigInt(long)]);
    expect(JSON.stringify(value)).toBe(text);
  });

  it.each([
    '{12345678901234567890:1}',
    '[12345678901234567890',
    '["12345678901234567890]',
    '[1.2.3456789012345678901]',
    '[012345678901234567890]',
    '[12345678901234567890 1]',
    '[--12345678901234567890]',
    '12345678901234567890 "',
    '{"a":12345678901234567890,}',
  ])('is refused where JSON.parse refuses it: %s', (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  });

  it('is written as it was read, with any text around the numbers', () => {
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map((value) => exactNumber(String(value))),
        fc.constantFrom('12345678901234567890', '"', '\\', '\\"', ''),
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.oneof(fc.string(), fc.constant('9007199254740993')), tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(json.value as fc.Arbitrary<unknown>, fc.nat(2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.stringify(parseExactJson(text), null, indent)).toBe(text);
      }),
    );
  });

  it('may hold runs of digits of any length, in text values', () => {
    const digits = '1234567890'.repeat(200_000);
    expect(parseExactJson(`["${digits}",12345678901234567890,"${digits}"]`)).toEqual([
      digits,
      12345678901234567890n,
      digits,
    ]);
    for (const literal of [digits, `0.${digits}`, `1${'0'.repeat(2_000_000)}`, `${'1.'.repeat(1_000_000)}`])
      expect(() => parseExactJson(`[${literal}]`)).toThrow(InexactNumberError);
  });

  it('may be bounded in how many large numbers it has', () => {
    const text = `[${Array(11).fill('12345678901234567890').join(',')}]`;
    const read = (most: number): unknown => {
      const steps = parseExactJsonInSteps(text, most);
      let step = steps.next();
      while (step.done !== true) step = steps.next();
      return step.value;
    };
    expect(read(11)).toHaveLength(11);
    expect(() => read(10)).toThrow(TooManyBigintsError);
  });

  it('may be read beside another one', () => {
    const steps = parseExactJsonInSteps(
      `["${'\\"'.repeat(40_000)}",${'"x",'.repeat(400)}12345678901234567890]`,
    );
    expect(steps.next().done).toBe(false);
    expect(parseExactJson('[1,98765432109876543210]')).toEqual([1, 98765432109876543210n]);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    expect((step.value as unknown[]).at(-1)).toBe(12345678901234567890n);
  });
});

/** Numbers near each other, in both forms. */
const near: fc.Arbitrary<ExactNumber> = fc
  .tuple(
    fc.constantFrom(2n ** 53n, 2n ** 60n, 10n ** 18n, 10n ** 23n, 10n ** 37n),
    fc.integer({ min: -3000, max: 3000 }),
    fc.boolean(),
  )
  .map(([base, offset, isNegative]) => {
    const value = base + BigInt(offset);
    return exactNumber(String(isNegative ? -value : value)) as ExactNumber;
  });

/** Of those of {@link near}, which have one digit where they have an exponent. */
function wholeOf(value: ExactNumber): bigint {
  return BigInt(String(value).replace(/e\+(\d+)$/, (_, zeros: string) => '0'.repeat(Number(zeros))));
}

const anyNumber = fc.oneof(near, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer());

function sign(value: number): number {
  return value < 0 ? -1 : value > 0 ? 1 : 0;
}

describe('numbers in order', () => {
  it('compare by value, in any notation', () => {
    fc.assert(
      fc.property(near, near, (a, b) => {
        const [x, y] = [wholeOf(a), wholeOf(b)];
        expect(compareNumbers(a, b)).toBe(x < y ? -1 : x > y ? 1 : 0);
        expect(compareNumbers(a, b) === 0).toBe(a === b);
      }),
    );
    expect(compareNumbers(1152921504606847000, 1152921504606846990n)).toBe(1);
    expect(compareNumbers(0.5, 12345678901234567890n)).toBe(-1);
    expect(compareNumbers(-1e300, -12345678901234567890n)).toBe(-1);
  });

  it('have the same order in an index, with equal ones at one place', () => {
    fc.assert(
      fc.property(anyNumber, anyNumber, (a, b) => {
        const [x, y] = [indexKey(a), indexKey(b)];
        // What follows a value in a key sorts below every character of one.
        const order = `${x}\0` < `${y}\0` ? -1 : x === y ? 0 : 1;
        expect(order).toBe(sign(compareNumbers(a, b)));
      }),
      { numRuns: 1000 },
    );
  });

  it('are multiples or not, digit by digit', () => {
    expect(isMultiple(9007199254740993n, 3)).toBe(true);
    expect(isMultiple(9007199254740993n, 2)).toBe(false);
    expect(isMultiple(9007199254740993n, 0.5)).toBe(true);
    expect(isMultiple(9007199254740993n, 0.7)).toBe(false);
    expect(isMultiple(12345678901234567890n, 12345678901234567890n)).toBe(true);
  });
});
