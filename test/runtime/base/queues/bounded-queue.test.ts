import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import { BoundedQueue } from '#runtime/base/queues/bounded-queue.ts';

describe('a bounded queue', () => {
  it('hands items out in the order they came', () => {
    const queue = new BoundedQueue<string>(3);
    for (const item of ['a', 'b', 'c']) expect(queue.push(item)).toBe(true);
    expect([queue.shift(), queue.shift(), queue.shift(), queue.shift()]).toEqual(['a', 'b', 'c', undefined]);
  });

  it('refuses one more than its bound, and takes it when there is room again', () => {
    const queue = new BoundedQueue<number>(2);
    expect([queue.push(1), queue.push(2), queue.push(3)]).toEqual([true, true, false]);
    expect(queue.length).toBe(2);
    queue.shift();
    expect(queue.push(4)).toBe(true);
    expect([queue.shift(), queue.shift()]).toEqual([2, 4]);
  });

  it('has room for one at least', () => {
    expect(() => new BoundedQueue(0)).toThrow(InvariantError);
  });

  it('behaves as an array does, over thousands of items', () => {
    const steps = fc.array(fc.integer({ min: -3000, max: 3000 }), { maxLength: 12 });
    fc.assert(
      fc.property(steps, (list) => {
        const queue = new BoundedQueue<number>(5000);
        const model: number[] = [];
        let next = 0;
        for (const step of list) {
          for (let count = 0; count < step; count += 1) {
            next += 1;
            expect(queue.push(next)).toBe(model.length < 5000);
            if (model.length < 5000) model.push(next);
          }
          for (let count = 0; count > step; count -= 1) {
            if (queue.shift() !== model.shift()) throw new Error('another item than the oldest');
          }
          expect(queue.length).toBe(model.length);
        }
      }),
      { numRuns: 15 },
    );
  });
});
