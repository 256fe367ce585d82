import { afterEach, describe, expect, it } from 'vitest';
import { firstSeed, isInTurn, presentPart, workloadCount } from './workload-count.ts';

const before = process.env.WORKLOADS;

afterEach(() => {
  if (before === undefined) delete process.env.WORKLOADS;
  else process.env.WORKLOADS = before;
});

describe('the workloads of a run', () => {
  it.each([
    ['all', 300],
    ['many', 1200],
    ['part', 100],
    ['few', 15],
  ])('are with WORKLOADS=%s of three hundred %d', (wanted, count) => {
    process.env.WORKLOADS = wanted;
    expect(workloadCount(300)).toBe(count);
  });

  it('are a quarter elsewhere, and never fewer than four', () => {
    delete process.env.WORKLOADS;
    expect(workloadCount(300)).toBe(75);
    expect(workloadCount(5)).toBe(4);
  });

  it('are another third of the seeds for each commit, and in a whole run all of them', () => {
    process.env.WORKLOADS = 'part';
    expect(firstSeed(1000, 400)).toBe(1000 + presentPart() * workloadCount(400));
    expect([0, 1, 2]).toContain(presentPart());
    process.env.WORKLOADS = 'all';
    expect(firstSeed(1000, 400)).toBe(1000);
  });

  it('are of many cases that are alike those whose turn it is, and in a whole run all of them', () => {
    const cases = Array.from({ length: 30 }, (_, index) => index);
    process.env.WORKLOADS = 'part';
    expect(cases.filter(isInTurn)).toEqual(cases.filter((index) => index % 3 === presentPart()));
    process.env.WORKLOADS = 'many';
    expect(cases.filter(isInTurn)).toEqual(cases);
  });
});
