import { describe, expect, it } from 'vitest';
import { patternOf } from '#runtime/content/patterns/pattern-cache.ts';

describe('patternOf', () => {
  it('compiles a pattern once for all users, and meters the work then', () => {
    let spent = 0;
    const meter = {
      spend(work: number): void {
        spent += work;
      },
    };
    const first = patternOf('^once[0-9]$', meter);
    const once = spent;
    expect(once).toBeGreaterThan(0);
    expect(patternOf('^once[0-9]$', meter)).toBe(first);
    expect(spent).toBe(once);
  });

  it('keeps a bounded number of patterns and states, and compiles again what has gone', () => {
    const small = patternOf('^small$');
    for (let index = 0; index < 512; index += 1) patternOf(`^p${index}$`);
    expect(patternOf('^small$')).not.toBe(small);
    const large = patternOf('^x{1,400}$');
    for (let index = 0; index < 90; index += 1) patternOf(`^y{1,400}${index}$`);
    const again = patternOf('^x{1,400}$');
    expect(again).not.toBe(large);
    expect(again.test('x'.repeat(400))).toBe(true);
  });
});
