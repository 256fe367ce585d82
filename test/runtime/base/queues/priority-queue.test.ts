import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PriorityQueue } from '#runtime/base/queues/priority-queue.ts';

describe('a priority queue', () => {
  it('returns items in order, after any earlier puts and takes', () => {
    const step = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant('pop' as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new PriorityQueue<number>((a, b) => a < b);
        let model: number[] = [];
        for (const item of steps) {
          if (item === 'pop') {
            const [first, ...rest] = model.sort((a, b) => a - b);
            expect(queue.pop()).toBe(first);
            model = rest;
          } else {
            queue.push(item);
            model.push(item);
          }
          expect(queue.size).toBe(model.length);
        }
      }),
    );
  });

  it('has nothing to hand out when it is empty', () => {
    expect(new PriorityQueue<number>(() => false).pop()).toBeUndefined();
  });
});
