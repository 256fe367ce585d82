import { describe, expect, it } from 'vitest';
import { stableHash } from '#runtime/base/stable-hash.ts';

describe('stableHash', () => {
  it('never changes: stored data rests on it', () => {
    const texts = ['', 'a', 'default/blog~1', 'tenant:default', 'äöü/😀'];
    expect(texts.map(stableHash)).toEqual([2872998923, 444641715, 1295247998, 565715057, 999050774]);
  });

  it('spreads texts that differ in little', () => {
    const buckets = Array.from({ length: 32 }, () => 0);
    for (let index = 0; index < 32_000; index++) {
      const bucket = stableHash(`tenant/repository-${index}`) % 32;
      buckets[bucket] = (buckets[bucket] as number) + 1;
    }
    for (const count of buckets) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});
