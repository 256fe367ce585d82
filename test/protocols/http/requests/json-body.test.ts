import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonContentType, parseJsonBody, parseJsonInSlices } from '#protocols/http/requests/json-body.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const bounds = { depthMax: 128, valuesMax: 200_000 };
const parse = (text: string, depthMax = 128): unknown =>
  parseJsonBody(Buffer.from(text), { ...bounds, depthMax });

/** Runs a sliced parse to its end. @returns the value, and between how many rests it was made */
function inSlices(bytes: Buffer): { readonly value: unknown; readonly rests: number } {
  const steps = parseJsonInSlices([bytes], bounds);
  for (let rests = 0; ; rests += 1) {
    const step = steps.next();
    if (step.done === true) return { value: step.value, rests };
  }
}

function errorOf(work: () => unknown): ServiceError {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('parseJsonBody', () => {
  it('reads everything that JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parse(text))).toBe(text);
      }),
    );
  });

  it('keeps a __proto__ key as plain data and pollutes nothing', () => {
    const body = parse('{"__proto__": {"polluted": true}, "a": 1}') as object;
    expect(Object.hasOwn(body, '__proto__')).toBe(true);
    expect(Object.keys(body)).toEqual(['__proto__', 'a']);
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('lets the last of two equal keys win', () => {
    expect(parse('{"a": 1, "a": 2}')).toEqual({ a: 2 });
  });

  it('skips a byte order mark', () => {
    expect(parse('\uFEFF{"a":1}')).toEqual({ a: 1 });
  });

  it('keeps a replacement character that the client wrote itself', () => {
    expect(parse('"\uFFFD"')).toBe('\uFFFD');
    expect(parse('\uFEFF"\uFFFD"')).toBe('\uFFFD');
  });

  it('refuses bytes that are not UTF-8', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc3, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ]) {
      expect(errorOf(() => parseJsonBody(Buffer.from(bytes), bounds)).code).toBe('ENCODING_ERROR');
    }
  });

  it.each([
    ['{"a": }', 6, 1, 7],
    ['abc', 0, 1, 1],
    ['{"a": 1,\n  b: 2}', 11, 2, 3],
    ['[1, 2', 5, 1, 6],
    ['{"a": "x\ny"}', 8, 1, 9],
    ['{"a": 1} x', 9, 1, 10],
    ['01', 1, 1, 2],
    ['[1,]', 3, 1, 4],
    ['{"a":1,}', 7, 1, 8],
    ['"\\x"', 2, 1, 3],
    ['"\\u12g4"', 5, 1, 6],
    ['-', 1, 1, 2],
    ['1.e3', 2, 1, 3],
    ['[tru]', 4, 1, 5],
  ])('reports where %j stops being JSON', (text, position, line, column) => {
    const error = errorOf(() => parse(text));
    expect(error.code).toBe('INVALID_JSON');
    expect(error.details).toEqual({ position, line, column });
    expect(error.message).toContain(`position ${position} (line ${line}, column ${column})`);
  });

  it('reports a missing text', () => {
    expect(errorOf(() => parse('')).message).toBe('The body is empty where JSON is expected.');
    expect(errorOf(() => parse(' \n')).code).toBe('INVALID_JSON');
  });

  it('refuses nesting one level beyond its bound, with any brackets', () => {
    const nested = (depth: number, open: string, close: string): string =>
      open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth);
    expect(parse(nested(128, '[', ']'))).toBeInstanceOf(Array);
    expect(parse(nested(128, '{"a":', '}'))).toBeInstanceOf(Object);
    for (const text of [nested(129, '[', ']'), nested(129, '{"a":', '}'), '['.repeat(10_000_000)]) {
      const error = errorOf(() => parse(text));
      expect(error.code).toBe('VALIDATION_FAILED');
      expect(error.message).toContain('deeper than 128 levels');
    }
  });

  it('does not count brackets inside strings', () => {
    const text = JSON.stringify({ a: '[{'.repeat(1000), '{[\\"': '\\"[\\\\' });
    expect(parse(text, 4)).toEqual(JSON.parse(text));
  });
});

describe('parseJsonInSlices', () => {
  it('reads and refuses as parsing in one go does', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string({ unit: 'binary' })), (text) => {
        const outcome = (work: () => unknown): unknown => {
          try {
            return JSON.stringify(work());
          } catch (error) {
            const { code, message } = error as ServiceError;
            return [code, message];
          }
        };
        const bytes = Buffer.from(text);
        expect(outcome(() => inSlices(bytes).value)).toEqual(outcome(() => parseJsonBody(bytes, bounds)));
      }),
    );
  });

  it('cuts a text of many megabytes inside a character, and rests between the pieces', () => {
    for (const letter of ['ü', '€', '🌳']) {
      const text = `x${letter.repeat(700_000)}`;
      const { value, rests } = inSlices(Buffer.from(JSON.stringify(text)));
      expect(value).toBe(text);
      expect(rests).toBeGreaterThanOrEqual(3);
    }
  });

  it('rests between the pieces of a body that is no JSON, until it knows where', () => {
    const bytes = 1 << 22;
    const item = '"Lorem ipsum dolor sit amet, consectetur adipiscing elit", ';
    const bodies = [
      `{"a":"${'x'.repeat(bytes)}`,
      `{"a":"${'x'.repeat(bytes)}"]`,
      `["${'\\"'.repeat(bytes / 2)}"}`,
      `{"${'k'.repeat(bytes)}":1]`,
      `[${item.repeat(bytes / item.length)}]`,
      `[${'\n'.repeat(bytes)}}`,
      ' '.repeat(bytes),
      `[1${'\n'.repeat(bytes)}x`,
    ];
    for (const body of bodies) {
      const steps = parseJsonInSlices([Buffer.from(body)], bounds);
      let rests = 0;
      const error = errorOf(() => {
        for (; steps.next().done !== true; ) rests += 1;
      });
      expect(error.code).toBe('INVALID_JSON');
      // The search for the place takes as many steps as what comes before it.
      expect(rests).toBeGreaterThanOrEqual((2 * bytes) >> 16);
    }
  });

  it('skips a byte order mark and refuses a cut character at the end', () => {
    expect(inSlices(Buffer.from('\uFEFF"ü"')).value).toBe('ü');
    expect(errorOf(() => inSlices(Buffer.from([0x22, 0xc3]))).code).toBe('ENCODING_ERROR');
  });
});

describe('isJsonContentType', () => {
  it('takes JSON, anything +json and no type at all', () => {
    for (const good of [
      undefined,
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/merge-patch+json',
    ]) {
      expect(isJsonContentType(good)).toBe(true);
    }
    for (const bad of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'json',
    ]) {
      expect(isJsonContentType(bad)).toBe(false);
    }
  });
});
