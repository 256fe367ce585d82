import { expect, it } from 'vitest';
import { ByteRoom } from '#runtime/base/event-loop/byte-room.ts';

/** Who takes room, and in which order they got it. */
class Takers {
  readonly room: ByteRoom;
  readonly got: string[] = [];
  readonly refused: string[] = [];
  readonly gone = new Set<string>();

  constructor(bytesMax: number) {
    this.room = new ByteRoom(bytesMax);
  }

  /** @param name begins with its key */
  async take(name: string, bytes: number): Promise<void> {
    const requireWaiting = (): void => {
      if (this.gone.has(name)) throw new Error(`${name} is gone`);
    };
    try {
      await this.room.take(bytes, { sliceKey: name.charAt(0), requireWaiting });
      this.got.push(name);
    } catch {
      this.refused.push(name);
    }
  }

  /** Gives room back, and lets those who get it go on. */
  async give(bytes: number): Promise<void> {
    this.room.give(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('gives room to each key in turn, and to those of a key in the order they came', async () => {
  const takers = new Takers(10);
  const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => takers.take(name, 10));
  for (let round = 0; round < 5; round += 1) {
    expect(takers.room.used).toBe(10);
    await takers.give(10);
  }
  await Promise.all(all);
  expect([takers.got, takers.room.used]).toEqual([['a1', 'a2', 'b1', 'a3', 'b2'], 0]);
});

it('never grants more than there is, and lets no smaller request overtake', async () => {
  const takers = new Takers(10);
  const all = [takers.take('a1', 6), takers.take('b1', 8), takers.take('c1', 2), takers.take('c2', 1)];
  await new Promise((resolve) => setImmediate(resolve));
  expect([takers.got, takers.room.used]).toEqual([['a1'], 6]);
  await takers.give(6);
  expect([takers.got, takers.room.used]).toEqual([['a1', 'b1', 'c1'], 10]);
  await takers.give(8);
  await Promise.all(all);
  expect([takers.got, takers.room.used]).toEqual([['a1', 'b1', 'c1', 'c2'], 3]);
});

it('skips requests that are no longer awaited', async () => {
  const takers = new Takers(10);
  const all = [takers.take('a1', 10), takers.take('a2', 10), takers.take('b1', 5)];
  takers.gone.add('a2');
  await takers.give(10);
  await Promise.all(all);
  expect([takers.got, takers.refused, takers.room.used]).toEqual([['a1', 'b1'], ['a2'], 5]);
});

it('lets one through that is larger than everything, when it is alone', async () => {
  const takers = new Takers(10);
  const all = [takers.take('a1', 1), takers.take('b1', 100)];
  expect(takers.room.used).toBe(1);
  await takers.give(1);
  expect(takers.room.used).toBe(10);
  await takers.give(100);
  await Promise.all(all);
  expect(takers.room.used).toBe(0);
});
