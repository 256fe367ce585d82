import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteQueue } from '#runtime/base/queues/byte-queue.ts';

describe('ByteQueue', () => {
  it('keeps the order and both bounds, for any puts and takes', () => {
    const step = fc.oneof(fc.constant('take' as const), fc.nat({ max: 60 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new ByteQueue<{ bytes: number }>({ itemsMax: 5, bytesMax: 100 });
        const model: { bytes: number }[] = [];
        const bytes = () => model.reduce((sum, item) => sum + item.bytes, 0);
        for (const each of steps) {
          if (each === 'take') expect(queue.shift()).toBe(model.shift());
          else {
            const item = { bytes: each };
            const fits = model.length < 5 && (model.length === 0 || bytes() + each <= 100);
            expect(queue.push(item)).toBe(fits);
            if (fits) model.push(item);
          }
          expect([queue.length, queue.bytes]).toEqual([model.length, bytes()]);
        }
        queue.clear();
        expect([queue.length, queue.bytes, queue.shift()]).toEqual([0, 0, undefined]);
      }),
    );
  });

  it('takes one item that is larger than the bound when it is empty', () => {
    const queue = new ByteQueue<{ bytes: number }>({ itemsMax: 2, bytesMax: 10 });
    expect(queue.push({ bytes: 50 })).toBe(true);
    expect(queue.push({ bytes: 1 })).toBe(false);
  });
});
