import { expect, test } from 'vitest';
import { isLargeJson, jsonPieces, parseJsonInSteps } from '#runtime/base/text/sliced-json.ts';
import '#runtime/base/text/exact-number.ts';

/** Pseudo-random numbers below one, the same for the same seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const texts = [
  '',
  'a',
  '"',
  '\\',
  '\\\\"',
  '\n\t',
  'ä',
  '😀',
  '\ud800',
  '\udc00x',
  'plain text of some length',
  '__proto__',
  '\u2028',
];

function randomText(next: () => number): string {
  let text = '';
  for (let left = next() * 6; left > 0; left -= 1) text += texts[Math.floor(next() * texts.length)];
  return text;
}

function randomValue(next: () => number, depth: number): unknown {
  const kind = Math.floor(next() * (depth > 4 ? 5 : 8));
  if (kind === 0) return null;
  if (kind === 1) return next() < 0.5;
  if (kind === 2) return Math.floor(next() * 1e6) / 100 - 300;
  if (kind <= 4) return randomText(next);
  const count = Math.floor(next() * 7);
  if (kind === 5) return Array.from({ length: count }, () => randomValue(next, depth + 1));
  const entries = Array.from({ length: count }, () => [randomText(next), randomValue(next, depth + 1)]);
  return Object.fromEntries(entries);
}

function run<T>(steps: Generator<unknown, T>): { readonly value: T; readonly rests: number } {
  for (let rests = 0; ; rests += 1) {
    const step = steps.next();
    if (step.done === true) return { value: step.value, rests };
  }
}

/** What parsing says: a value as text, for keys have an order, or that it refuses. */
function outcome(parse: () => unknown): string {
  try {
    return JSON.stringify(parse());
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return 'refused';
  }
}

const STEPS = [1, 2, 3, 7, 16, 50, 1000];

test('a value is written as JSON.stringify writes it, with any size of a step', () => {
  const next = numbers(7);
  for (let round = 0; round < 3_000; round += 1) {
    const value = randomValue(next, 0);
    const step = STEPS[round % STEPS.length];
    expect([...jsonPieces(value, step)].join('')).toBe(JSON.stringify(value));
  }
});

test('what JSON has no text for is left out, and null in a list', () => {
  const long = 'x'.repeat(60);
  const nothing = [undefined, () => 1, Symbol('s')];
  for (const none of nothing) {
    const values = [
      { none, long },
      { long, none },
      { a: 1, none, long, b: none, c: 2 },
      [none, long, none],
      [{ none }, long],
      { none, list: [none, { none, long }] },
    ];
    for (const value of values)
      for (const step of STEPS) expect([...jsonPieces(value, step)].join('')).toBe(JSON.stringify(value));
    expect([...jsonPieces(none, 10)]).toEqual([]);
  }
});

test('a text is parsed as JSON.parse does it, with any size of a step', () => {
  const next = numbers(11);
  for (let round = 0; round < 3_000; round += 1) {
    const value = randomValue(next, 0);
    const text = JSON.stringify(value, null, round % 3 === 0 ? 1 : 0).replaceAll('ä', '\\u00e4');
    const step = STEPS[round % STEPS.length];
    expect(run(parseJsonInSteps(text, JSON.parse, step)).value).toStrictEqual(JSON.parse(text));
  }
});

test('a text is refused when JSON.parse refuses it, with any size of a step', () => {
  const next = numbers(13);
  const spoil = ['', ',', ']', '}', '[', '{', '"', '\\', ':', ' ', '\u00a0', '1', 'null', '\n', 'x'];
  let refused = 0;
  for (let round = 0; round < 2_000; round += 1) {
    const text = JSON.stringify(randomValue(next, 0), null, round % 3 === 0 ? 1 : 0);
    const at = Math.floor(next() * (text.length + 1));
    const spoilt = text.slice(0, at) + spoil[round % spoil.length] + text.slice(at + (next() < 0.5 ? 1 : 0));
    const wanted = outcome(() => JSON.parse(spoilt));
    for (const step of STEPS)
      expect(outcome(() => run(parseJsonInSteps(spoilt, JSON.parse, step)).value)).toBe(wanted);
    if (wanted === 'refused') refused += 1;
  }
  expect(refused).toBeGreaterThan(500);
});

test('a large text that is no JSON is never parsed as a whole, and space is passed in steps', () => {
  const space = ' '.repeat(10_000);
  const texts = [
    `{"a":"${'x'.repeat(10_000)}"]`,
    `{"a":"${'x'.repeat(10_000)}`,
    `[${'1,'.repeat(5_000)}]`,
    `{"${'k'.repeat(10_000)}":1]`,
    `${space}x`,
    `[${space}}`,
  ];
  const lengths: number[] = [];
  const parse = (part: string): unknown => {
    lengths.push(part.length);
    return JSON.parse(part);
  };
  for (const text of texts) {
    const steps = parseJsonInSteps(text, parse, 100);
    let rests = 0;
    expect(() => {
      for (; steps.next().done !== true; ) rests += 1;
    }).toThrow(SyntaxError);
    expect(rests).toBeGreaterThanOrEqual(90);
  }
  for (const text of [`{${space}}`, `[${space}]`, `{"a"${space}:${space}1${space}}`, `[1${space},2]`])
    expect(run(parseJsonInSteps(text, parse, 100)).value).toEqual(JSON.parse(text));
  expect(Math.max(...lengths)).toBeLessThan(2_100);
});

test('the last of two equal keys counts, in any step, and `__proto__` is a key', () => {
  const text = `{"a":1,"__proto__":{"b":"${'x'.repeat(30)}"},"2":0,"a":[${'1,'.repeat(40)}2],"__proto__":3}`;
  for (const step of STEPS) {
    const { value } = run(parseJsonInSteps(text, JSON.parse, step));
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  }
});

test('large values of every shape are parsed and written in many steps', () => {
  const shapes = [
    'Lorem ipsum '.repeat(200_000),
    'a "quoted"\n\\'.repeat(200_000),
    Array.from({ length: 100_000 }, (_, index) => index * 7919),
    Array.from({ length: 10_000 }, (_, index) => ({
      id: index,
      body: 'Lorem ipsum dolor sit amet. '.repeat(9),
    })),
    Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key ${index}`, [[index]]])),
    [[[['x'.repeat(300_000)]]]],
  ];
  for (const shape of shapes) {
    const text = JSON.stringify(shape);
    const pieces = [...jsonPieces(shape)];
    expect(pieces.join('') === text).toBe(true);
    // No step writes much more than a text that needs escapes throughout.
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(3 << 16);
    const { rests, value } = run(parseJsonInSteps(text));
    expect(JSON.stringify(value) === text).toBe(true);
    expect(rests).toBeGreaterThanOrEqual(Math.floor(text.length / (1 << 16)) - 1);
  }
});

test('a whole number beyond the doubles is written with its digits', () => {
  const value = ['x'.repeat(100), 123456789012345678901234567890n];
  expect([...jsonPieces(value, 10)].join('')).toBe(JSON.stringify(value));
});

test('a large value is recognized without a look at all of it', () => {
  expect(isLargeJson('x'.repeat(70_000))).toBe(true);
  expect(isLargeJson({ a: ['x'.repeat(30_000), { b: 'x'.repeat(40_000) }] })).toBe(true);
  expect(isLargeJson({ a: 'x'.repeat(60_000) })).toBe(false);
});

test('a number that is longer than a step is refused for its beginning, without a look at the whole text', () => {
  const lengths: number[] = [];
  const parse = (part: string): unknown => {
    lengths.push(part.length);
    if (/^\d{50}/.test(part)) throw new RangeError('a number of too many digits');
    return JSON.parse(part);
  };
  const steps = parseJsonInSteps(`{"a":${'1'.repeat(5_000)}}`, parse, 100);
  expect(() => [...steps]).toThrow(RangeError);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(2_000);
});
