import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { blockYaml, flowYaml } from '#protocols/rest/nodes/node-yaml.ts';

/** Texts that are something else to a parser of version 1.1 or 1.2, or to some of them, unless they are in quotes. */
const texts = [
  ...[
    'yes',
    'no',
    'on',
    'off',
    'y',
    'n',
    'Yes',
    'NO',
    'On',
    'OFF',
    'Y',
    'N',
    'true',
    'FALSE',
    '~',
    'null',
    'Null',
  ],
  ...[
    '012',
    '0o12',
    '0x1F',
    '0b101',
    '1_000',
    '1_000.5',
    '1:20',
    '190:20:30',
    '190:20:30.15',
    '08',
    '+1',
    '-1',
  ],
  ...[
    '2024-01-31',
    '2001-12-14t21:59:43.10-05:00',
    '2001-12-14 21:59:43.10 -5',
    '2024-1-1',
    '12:30:45',
    '1,000',
  ],
  ...[
    '.inf',
    '-.inf',
    '+.INF',
    '.nan',
    '.NaN',
    '1e3',
    '1.2e+3',
    '685.230_15e+03',
    '.5',
    '1.',
    '-',
    '.',
    '-0',
  ],
  ...[
    '=',
    '<<',
    '',
    ' ',
    ' lead',
    'trail ',
    '!tag',
    '&a',
    '*a',
    '- a',
    'a: b',
    '#x',
    'a #b',
    '? a',
    ': a',
    '%d',
  ],
  ...[
    '@a',
    '`a',
    '{',
    '[',
    '|',
    '>',
    '---',
    '...',
    '--- a',
    "'",
    '"',
    '\\',
    '\\"',
    'two\nlines',
    'ends\n',
    '\n\n',
  ],
  ...[
    '\t',
    'a\tb',
    '\r\n',
    '\u0000',
    '\u0007',
    '\u007f',
    'a\u0085b',
    'a\u2028b',
    'a\u2029b',
    '\ufeff',
    '\ud800',
  ],
  ...['x: \u2028\n y', 'no\u0085\n', '\uffff', 'ä€😀', 'k'.repeat(2000)],
];

const numbers = [0, 1, -1, 0.5, -0.25, 1e21, -1e21, 1.5e300, 1e-7, 5e-324, 123456789012, 0.000001];

/** What a text becomes when it is written and read, as key, as value and within a list. */
const placings = texts.map((text) => ({ value: text, list: [text], nested: { inner: { [text]: text } } }));

const readers = [
  ['1.1', { version: '1.1' }],
  ['1.2', { version: '1.2' }],
] as const;

/** Forms that parsers of version 1.1 take for a number with an exponent, and no others. */
const scientific11 = /^[-+]?\d+\.\d*e[-+]\d+$/;

function flow(value: unknown): string {
  return [...flowYaml(JSON.stringify(value))].join('');
}

const styles = [
  ['block', blockYaml],
  ['flow', flow],
] as const;

describe.each(styles)('the %s style', (_name, write) => {
  it.each(readers)('is read by parsers of version %s as what was written [NODE-072]', (_version, options) => {
    for (const value of placings) expect(parse(write(value), options), write(value)).toEqual(value);
    expect(parse(write({ numbers }), options)).toEqual({ numbers });
    expect(parse(write({ is: [true, false, null] }), options)).toEqual({ is: [true, false, null] });
  });

  it('has nothing that is a line break or not allowed in version 1.1 [NODE-072]', () => {
    for (const value of placings) {
      expect(write(value)).not.toMatch(
        /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/,
      );
      expect(write(value)).not.toMatch(/\p{Surrogate}/u);
    }
  });

  it('writes numbers with an exponent so that version 1.1 takes them for numbers [NODE-072]', () => {
    const written = write(numbers.filter((each) => String(each).includes('e'))).match(/[-+.\de]{2,}/g);
    expect(written).toHaveLength(5);
    for (const number of written ?? []) expect(number).toMatch(scientific11);
  });
});

describe('the block style', () => {
  it('quotes only what has to be', () => {
    expect(
      blockYaml({ title: 'A plain text', yes: 'no', list: ['Yes, it is', 'on'], count: 1, at: null }),
    ).toBe('title: A plain text\n"yes": "no"\nlist:\n  - Yes, it is\n  - "on"\ncount: 1\nat: null\n');
    expect(blockYaml({ tab: 'a\tb' })).toBe('tab: "a\\tb"\n');
    expect(blockYaml({ tab: '\ta\nb' })).toBe('tab: "\\ta\\nb"\n');
    expect(blockYaml({ text: 'two\nlines\n' })).toBe('text: |\n  two\n  lines\n');
  });
});

describe('the flow style', () => {
  it('is JSON that nothing has to be changed in, in pieces of a bounded length', () => {
    const long = {
      text: 'x "quoted" \\ '.repeat(20_000),
      numbers: Array.from({ length: 50_000 }, (_, n) => n * 1.5),
      slashes: '\\'.repeat(200_001),
    };
    const json = JSON.stringify(long);
    const pieces = [...flowYaml(json)];
    expect(pieces.join('')).toBe(json);
    expect(pieces.length).toBeGreaterThan(5);
    for (const piece of pieces) expect(piece.length).toBeLessThan(2 * 64 * 1024);
  });

  it('leaves what looks like a number within a text', () => {
    const value = { a: '1e21 "2e5", 3e7', b: [1e21, '1e21'] };
    expect(flow(value)).toBe(String.raw`{"a":"1e21 \"2e5\", 3e7","b":[1.0e+21,"1e21"]}`);
  });
});
