import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonError } from '#protocols/http/requests/json-error.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';

describe('findJsonError', () => {
  /** Whether `prefix` can be continued to a JSON text, by the parser's own account. */
  const enginePosition = (text: string): number | undefined => {
    try {
      JSON.parse(text);
    } catch (error) {
      const message = (error as Error).message;
      const found = /at position (\d+)/.exec(message);
      if (found !== null) return Number(found[1]);
      if (/end of JSON input/.test(message)) return text.length;
    }
    return undefined;
  };

  /** The same value with space where it may be. */
  const spaced = (text: string): fc.Arbitrary<string> =>
    fc.constantFrom(0, 1, '\n').map((indent) => JSON.stringify(JSON.parse(text), null, indent));

  it('agrees with the engine whenever the engine names a position', () => {
    const damaged = fc
      .tuple(
        fc.json({ maxDepth: 4 }).chain(spaced),
        fc.nat(),
        fc.constantFrom('', '}', ']', '"', ',', 'x', '\\', '1', '\n'),
      )
      .map(([text, at, put]) => {
        const index = at % (text.length + 1);
        return text.slice(0, index) + put + text.slice(index + 1);
      });
    fc.assert(
      fc.property(damaged, (text) => {
        const engine = enginePosition(text);
        if (engine === undefined || text.trim() === '') return;
        for (const step of [1, 7, 1_000]) {
          const place = atOnce(findJsonError(text, step));
          const before = text.slice(0, engine).split('\n');
          expect(place, text).toEqual({
            position: engine,
            line: before.length,
            column: (before.at(-1) as string).length + 1,
            isEmpty: false,
          });
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('reports a text of nothing but space', () => {
    expect(atOnce(findJsonError(' \r\n\t'))).toMatchObject({ isEmpty: true, position: 4 });
    expect(atOnce(findJsonError(' \u00a0'))).toMatchObject({ isEmpty: false, position: 1 });
  });

  it('yields within long texts of every kind', () => {
    const long = 10_000;
    const nested = `[${'{"a":[]},'.repeat(long / 9)}`;
    const texts = [
      ' '.repeat(long),
      '1'.repeat(long),
      `"${'x'.repeat(long)}`,
      `[${'1,'.repeat(long / 2)}`,
      nested,
    ];
    for (const text of texts) {
      const rests = [...findJsonError(text, 100)].length;
      expect(rests).toBeGreaterThanOrEqual(60);
    }
  });
});
