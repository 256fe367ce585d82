import { describe, expect, it } from 'vitest';
import { BoundedTurns } from '#runtime/base/event-loop/bounded-turns.ts';

/** Works that end when the test says so. */
class Works {
  /** Those that began, in the order they did. */
  readonly begun: string[] = [];
  readonly #ends = new Map<string, { resolve: (name: string) => void; reject: (cause: Error) => void }>();

  work(name: string): () => Promise<string> {
    return () => {
      this.begun.push(name);
      return new Promise((resolve, reject) => this.#ends.set(name, { resolve, reject }));
    };
  }

  end(name: string): void {
    this.#ends.get(name)?.resolve(name);
  }

  fail(name: string): void {
    this.#ends.get(name)?.reject(new Error(name));
  }
}

describe('bounded turns', () => {
  it('begin what there is room for at once, and the rest in the order it came', async () => {
    const turns = new BoundedTurns({ runningMax: 2, waitingMax: 10 });
    const works = new Works();
    const all = ['a', 'b', 'c', 'd', 'e'].map((name) => turns.run(works.work(name)));
    expect(works.begun).toEqual(['a', 'b']);
    works.end('b');
    expect(await all[1]).toBe('b');
    await expect.poll(() => works.begun).toEqual(['a', 'b', 'c']);
    works.end('c');
    await expect.poll(() => works.begun).toEqual(['a', 'b', 'c', 'd']);
    works.end('a');
    await expect.poll(() => works.begun).toEqual(['a', 'b', 'c', 'd', 'e']);
    for (const name of ['d', 'e']) works.end(name);
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('let no caller overtake those that wait', async () => {
    const turns = new BoundedTurns({ runningMax: 1, waitingMax: 10 });
    const works = new Works();
    const first = turns.run(works.work('first'));
    const second = turns.run(works.work('second'));
    works.end('first');
    await first;
    // There is room for a moment, but it belongs to the second.
    const third = turns.run(works.work('third'));
    await expect.poll(() => works.begun).toEqual(['first', 'second']);
    works.end('second');
    await second;
    await expect.poll(() => works.begun).toEqual(['first', 'second', 'third']);
    works.end('third');
    expect(await third).toBe('third');
  });

  it('refuse one more than may wait, without beginning it, and take it when there is room again', async () => {
    const turns = new BoundedTurns({ runningMax: 1, waitingMax: 2 });
    const works = new Works();
    const taken = ['a', 'b', 'c'].map((name) => turns.run(works.work(name)));
    expect(turns.run(works.work('d'))).toBeUndefined();
    works.end('a');
    await taken[0];
    await expect.poll(() => works.begun).toEqual(['a', 'b']);
    const later = turns.run(works.work('e'));
    expect(turns.run(works.work('f'))).toBeUndefined();
    works.end('b');
    await expect.poll(() => works.begun).toEqual(['a', 'b', 'c']);
    works.end('c');
    await expect.poll(() => works.begun).toEqual(['a', 'b', 'c', 'e']);
    works.end('e');
    expect(await later).toBe('e');
  });

  it('continue after work that fails, later or at once', async () => {
    const turns = new BoundedTurns({ runningMax: 1, waitingMax: 5 });
    const works = new Works();
    const failing = turns.run(works.work('failing'));
    const thrown = turns.run(() => {
      throw new Error('at once');
    });
    const last = turns.run(works.work('last'));
    works.fail('failing');
    await expect(failing).rejects.toThrow('failing');
    await expect(thrown).rejects.toThrow('at once');
    await expect.poll(() => works.begun).toEqual(['failing', 'last']);
    works.end('last');
    expect(await last).toBe('last');
  });
});
