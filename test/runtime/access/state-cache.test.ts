import { beforeEach, describe, expect, it } from 'vitest';
import { StateCache } from '#runtime/access/state-cache.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const times = { freshMs: 100, graceMs: 1_000, waitMs: 50, retryMs: 20 };

/** What the owner has, and how it answers. */
let stored: string;
let reads: number;
let answer: (value: string) => string | Promise<string>;
let clock: TestClock;
let cache: StateCache<string>;

beforeEach(() => {
  stored = 'first';
  reads = 0;
  answer = (value) => value;
  clock = new TestClock();
  cache = new StateCache<string>({
    ...times,
    clock,
    entriesMax: 2,
    read: () => {
      reads += 1;
      return answer(stored);
    },
  });
});

/** The owner cannot be reached. */
function lost(): never {
  throw new Error('no owner');
}

/** The owner does not answer before `release` is called, and then with what it had when it was asked. */
function held(): () => void {
  let release = (): void => {};
  answer = (value) =>
    new Promise((resolve) => {
      release = () => resolve(value);
    });
  return () => release();
}

describe('a cache of states', () => {
  it('answers a fresh value without a read, and reads again after its time', () => {
    expect([cache.get('a'), cache.get('a'), reads]).toEqual(['first', 'first', 1]);
    stored = 'second';
    clock.advance(99);
    expect(cache.get('a')).toBe('first');
    clock.advance(1);
    expect([cache.get('a'), reads]).toEqual(['second', 2]);
  });

  it('reads a forgotten value at once', () => {
    void cache.get('a');
    stored = 'second';
    cache.forget('a');
    expect(cache.get('a')).toBe('second');
  });

  it('does not keep what a read answers that began before the value was forgotten', async () => {
    const release = held();
    const asked = cache.get('a');
    stored = 'second';
    cache.forget('a');
    answer = (value) => value;
    release();
    expect(await asked).toBe('second');
    expect(cache.get('a')).toBe('second');
  });

  it('shares a read among all who ask meanwhile', async () => {
    const release = held();
    const asked = [cache.get('a'), cache.get('a')];
    release();
    expect(await Promise.all(asked)).toEqual(['first', 'first']);
    expect(reads).toBe(1);
  });

  it('uses the last value while reads fail, for a bounded time', async () => {
    void cache.get('a');
    clock.advance(100);
    answer = lost;
    expect(await cache.get('a')).toBe('first');
    clock.advance(899);
    expect(await cache.get('a')).toBe('first');
    clock.advance(1);
    await expect(async () => cache.get('a')).rejects.toThrow('no owner');
  });

  it('does not ask again for a moment after a read that failed', async () => {
    void cache.get('a');
    clock.advance(100);
    answer = lost;
    await cache.get('a');
    expect([cache.get('a'), reads]).toEqual(['first', 2]);
    clock.advance(20);
    await cache.get('a');
    expect(reads).toBe(3);
  });

  it('lets only one caller wait while the owner is away, and reads beside the requests until it is back', async () => {
    void cache.get('a');
    clock.advance(100);
    answer = () => Promise.reject(new Error('no owner'));
    expect(cache.get('a')).toBeInstanceOf(Promise);
    await settle();
    clock.advance(20);
    const release = held();
    expect([cache.get('a'), reads]).toEqual(['first', 3]);
    stored = 'second';
    release();
    await settle();
    expect(cache.get('a')).toBe('first');
    cache.forget('a');
    answer = (value) => value;
    expect(cache.get('a')).toBe('second');
  });

  it('uses the last value when a read takes long, and nobody waits for the same read again', async () => {
    void cache.get('a');
    clock.advance(100);
    const release = held();
    const asked = cache.get('a');
    await settle();
    clock.advance(50);
    expect(await asked).toBe('first');
    expect(cache.get('a')).toBe('first');
    stored = 'second';
    release();
    await settle();
    clock.advance(50);
    answer = (value) => value;
    expect(cache.get('a')).toBe('second');
  });

  it('has no last value of what was forgotten, however long a read takes', async () => {
    void cache.get('a');
    clock.advance(100);
    held();
    const asked = cache.get('a');
    stored = 'second';
    cache.forget('a');
    answer = (value) => value;
    clock.advance(50);
    expect(await asked).toBe('second');
    answer = lost;
    cache.forget('a');
    await expect(async () => cache.get('a')).rejects.toThrow('no owner');
  });

  it('reads everything again when changes may have been missed, and uses it if that fails', async () => {
    void cache.get('a');
    stored = 'second';
    cache.doubt();
    expect(cache.get('a')).toBe('second');
    cache.doubt();
    answer = lost;
    expect(await cache.get('a')).toBe('second');
  });

  it('keeps a bounded number of values', () => {
    for (const key of ['a', 'b', 'c']) void cache.get(key);
    void cache.get('c');
    expect(reads).toBe(3);
    void cache.get('a');
    expect(reads).toBe(4);
  });
});
