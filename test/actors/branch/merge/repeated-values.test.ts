import { describe, expect, it } from 'vitest';
import { RepeatedValues } from '#actors/branch/merge/violations/repeated-values.ts';

/** Values of each kind. */
const VALUES = 2_000;

describe('repeated values', () => {
  const values = (kind: string) => Array.from({ length: VALUES }, (_, index) => `"${kind}-${index}"`);

  it('are those that were noted twice, or more often, and next to none besides', () => {
    const repeated = new RepeatedValues();
    const [once, twice, often] = [values('once'), values('twice'), values('often')];
    for (const value of [...once, ...twice, ...often, ...twice]) repeated.note(value);
    for (let time = 0; time < 4; time++) for (const value of often) repeated.note(value);
    const said = (some: readonly string[]) => some.filter((value) => repeated.mayRepeat(value)).length;
    expect([said(twice), said(often)]).toEqual([VALUES, VALUES]);
    expect(said(once) + said(values('never'))).toBeLessThan(VALUES / 100);
  });
});
