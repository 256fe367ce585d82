import { describe, expect, it } from 'vitest';
import { ByteBudget } from '#runtime/budget/byte-budget.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const limits = { workMax: 2_000_000_000, memoryMax: 1024 * 1024 };

function refusalOf(work: () => void): ServiceError | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  return undefined;
}

describe('RequestBudget', () => {
  it('adds up work of every kind and refuses the step that goes beyond it', () => {
    const budget = new RequestBudget(limits);
    budget.spend(1_500_000_000);
    budget.spend(500_000_000);
    const refused = refusalOf(() => budget.spend(1));
    expect([refused?.code, refused?.entry.status]).toEqual(['REQUEST_TOO_EXPENSIVE', 413]);
    expect(refused?.message).toMatch(/2 s of work.*narrow it down/);
  });

  it('counts memory that is in use, and not what was released', () => {
    const budget = new RequestBudget(limits);
    for (let round = 0; round < 10; round += 1) {
      budget.keep(1024 * 1024);
      budget.free(1024 * 1024);
    }
    budget.keep(1024 * 1024);
    expect(refusalOf(() => budget.keep(1))?.message).toMatch(/1 MiB of memory.*limit/);
  });

  it('of all requests together holds no more than the pool, and what an ended one held is free', () => {
    const pool = new ByteBudget(1_000);
    const [first, second] = [new RequestBudget(limits, pool), new RequestBudget(limits, pool)];
    first.keep(600);
    second.keep(300);
    expect(refusalOf(() => second.keep(101))?.code).toBe('OVERLOADED');
    expect([second.memory, pool.used]).toEqual([300, 900]);
    second.keep(100);
    second.free(250);
    first.close();
    expect(pool.used).toBe(150);
    // What comes late counts nowhere.
    first.free(600);
    first.keep(500);
    first.close();
    expect(pool.used).toBe(150);
    second.close();
    second.close();
    expect(pool.used).toBe(0);
    // An answer that waits, and is read then.
    second.reopen();
    second.reopen();
    expect(pool.used).toBe(150);
    second.keep(50);
    second.close();
    expect(pool.used).toBe(0);
  });
});
