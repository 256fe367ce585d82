import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { drainOnSignals } from '#server/drain.ts';
import { TestClock } from '#test/support/test-clock.ts';

function watched(drain: () => Promise<void>) {
  const source = new EventEmitter();
  const exits: number[] = [];
  let drains = 0;
  const hooks = {
    drain: () => {
      drains += 1;
      return drain();
    },
    exit: (code: number) => void exits.push(code),
  };
  const clock = new TestClock();
  drainOnSignals(source, hooks, clock);
  return { source, exits, drains: () => drains, clock };
}

describe('signals', () => {
  it('drain once, then end with 0', async () => {
    for (const signal of ['SIGTERM', 'SIGINT']) {
      const { source, exits, drains } = watched(() => Promise.resolve());
      source.emit(signal, signal);
      await expect.poll(() => exits).toEqual([0]);
      expect(drains()).toBe(1);
    }
  });

  it('cut a drain short when they come twice', () => {
    const { source, exits, drains } = watched(() => new Promise(() => undefined));
    source.emit('SIGINT', 'SIGINT');
    expect(exits).toEqual([]);
    source.emit('SIGTERM', 'SIGTERM');
    expect([exits, drains()]).toEqual([[1], 1]);
  });

  it('are one when they come at the same time: npm passes on a Ctrl-C that the terminal sends to all', () => {
    const { clock, source, exits, drains } = watched(() => new Promise(() => undefined));
    for (let count = 0; count < 2; count += 1) source.emit('SIGINT', 'SIGINT');
    expect([exits, drains()]).toEqual([[], 1]);
    clock.advance(1_000);
    source.emit('SIGINT', 'SIGINT');
    expect([exits, drains()]).toEqual([[1], 1]);
  });

  it('end with 1 when draining fails', async () => {
    const { source, exits } = watched(() => Promise.reject(new Error('stuck')));
    source.emit('SIGTERM', 'SIGTERM');
    await expect.poll(() => exits).toEqual([1]);
  });
});
