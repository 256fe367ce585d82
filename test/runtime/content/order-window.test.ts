import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ORDER_KEY_LENGTH_MAX, orderKeyBetween } from '#runtime/content/order-key.ts';
import { planOrderWindow, relabelOrder } from '#runtime/content/order-window.ts';

interface Entry {
  readonly id: number;
  orderKey: string;
}

/** Siblings kept in a plain list, with keys as an actor would give them. */
class Siblings {
  readonly list: Entry[] = [];
  relabelled = 0;
  windows = 0;

  insert(index: number, id: number): void {
    const before = this.list[index - 1]?.orderKey ?? null;
    const after = this.list[index]?.orderKey ?? null;
    const entry = { id, orderKey: orderKeyBetween(before, after) };
    this.list.splice(index, 0, entry);
    if (entry.orderKey.length > ORDER_KEY_LENGTH_MAX) this.#relabel(index);
  }

  #relabel(index: number): void {
    const { list } = this;
    function* before(): Generator<Entry> {
      for (let at = index - 1; at >= 0; at--) yield list[at] as Entry;
    }
    function* after(): Generator<Entry> {
      for (let at = index + 1; at < list.length; at++) yield list[at] as Entry;
    }
    const taken = new Set(list.map(({ orderKey }) => orderKey));
    const window = planOrderWindow(before(), list[index] as Entry, after());
    this.windows += 1;
    for (const [entry, key] of [...relabelOrder(window)]) {
      expect(taken.has(key)).toBe(false);
      taken.delete(entry.orderKey);
      taken.add(key);
      entry.orderKey = key;
      this.relabelled += 1;
    }
  }

  get isSorted(): boolean {
    return this.list.every(
      ({ orderKey }, at) => at === 0 || (this.list[at - 1] as Entry).orderKey < orderKey,
    );
  }

  get longestKey(): number {
    return Math.max(...this.list.map(({ orderKey }) => orderKey.length));
  }
}

describe('order keys around a place that is used again and again', () => {
  const inserts = 20_000;

  it.each([
    ['behind the same sibling', () => 0],
    ['before the same sibling', () => 1],
    // The worst case: both neighbours of the gap are always new, so the keys on both sides are long.
    ['between the last two that were put there', (turn: number) => turn % 2],
  ])('stay short and cost a bounded share: 20,000 inserts %s', (_name, step) => {
    const siblings = new Siblings();
    const others = 2000;
    for (let id = 0; id < others; id++) siblings.insert(id, id);
    let gap = others / 2;
    for (let turn = 0; turn < inserts; turn++) {
      siblings.insert(gap, others + turn);
      gap += step(turn);
    }
    expect(siblings.isSorted).toBe(true);
    expect(siblings.longestKey).toBeLessThanOrEqual(ORDER_KEY_LENGTH_MAX);
    // Each size of window is used for a while before the next, so each insert pays a few rewrites, not n.
    expect(siblings.relabelled / inserts).toBeLessThan(2);
  });

  it('never need new keys at the ends', () => {
    const siblings = new Siblings();
    for (let id = 0; id < 5000; id++) siblings.insert(id % 2 === 0 ? 0 : siblings.list.length, id);
    expect(siblings.windows).toBe(0);
    expect(siblings.longestKey).toBeLessThan(10);
  });

  it('keep the order of any sequence of inserts, and no key is given while another has it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ at: fc.nat({ max: 100 }), times: fc.integer({ min: 1, max: 400 }) }), {
          minLength: 1,
          maxLength: 12,
        }),
        (steps) => {
          const siblings = new Siblings();
          const expected: number[] = [];
          let id = 0;
          for (const { at, times } of steps) {
            for (let time = 0; time < times; time++) {
              const index = Math.min(at, expected.length);
              siblings.insert(index, id);
              expected.splice(index, 0, id);
              id += 1;
            }
          }
          expect(siblings.list.map((entry) => entry.id)).toEqual(expected);
          expect(siblings.isSorted).toBe(true);
          expect(siblings.longestKey).toBeLessThanOrEqual(ORDER_KEY_LENGTH_MAX);
        },
      ),
      { numRuns: 20 },
    );
  });
});
