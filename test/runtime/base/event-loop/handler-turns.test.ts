import { beforeEach, describe, expect, it } from 'vitest';
import { HANDLERS_MS, HandlerTurns } from '#runtime/base/event-loop/handler-turns.ts';
import { TurnClock } from '#test/support/turn-clock.ts';

let clock: TurnClock;
let turns: HandlerTurns;
/** The handlers that have begun, in order. */
let begun: string[];

beforeEach(() => {
  clock = new TurnClock();
  turns = new HandlerTurns(clock);
  begun = [];
});

/** A request arrives whose handler works for so long. */
function arrive(key: string, workMs: number, isWanted = () => true): void {
  const begin = (): void => {
    begun.push(key);
    clock.work(workMs);
  };
  if (turns.mayBegin()) begin();
  else turns.wait(key, isWanted, begin);
}

async function pass(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await clock.turn();
}

describe('the handlers of one turn', () => {
  it('hold it for a bounded time, for any number of requests', async () => {
    await clock.turn(() => {
      for (let index = 0; index < 1_000; index += 1) arrive('a', 2);
    });
    expect(begun).toHaveLength(HANDLERS_MS / 2);
    await pass(1_000);
    expect(begun).toHaveLength(1_000);
    expect(Math.max(...clock.turnsMs)).toBeLessThanOrEqual(HANDLERS_MS + 2);
  });

  it('all begin at once while they are short', async () => {
    await clock.turn(() => {
      for (let index = 0; index < 100; index += 1) arrive('a', 0.01);
    });
    expect(begun).toHaveLength(100);
  });

  it('have what other work of the turn left', async () => {
    await clock.turn(() => {
      arrive('a', 1);
      clock.work(HANDLERS_MS);
      arrive('a', 1);
    });
    expect(begun).toHaveLength(1);
    await pass(1);
    expect(begun).toHaveLength(2);
  });

  it('count what follows from them', async () => {
    const afterwards = (): void => {
      begun.push('b');
      void Promise.resolve().then(() => clock.work(HANDLERS_MS));
    };
    await clock.turn(() => {
      arrive('a', HANDLERS_MS);
      for (let index = 0; index < 3; index += 1) turns.wait('b', () => true, afterwards);
    });
    await pass(1);
    expect(begun).toEqual(['a', 'b']);
    await pass(2);
    expect(begun).toEqual(['a', 'b', 'b', 'b']);
  });
});

describe('those that wait', () => {
  it('begin in turn by key, and of a key in the order of arrival', async () => {
    await clock.turn(() => {
      arrive('first', HANDLERS_MS);
      for (const key of ['a', 'a', 'a', 'b', 'c']) arrive(key, HANDLERS_MS);
    });
    await pass(5);
    expect(begun).toEqual(['first', 'a', 'b', 'c', 'a', 'a']);
  });

  it('are not overtaken by one that arrives in the next turn', async () => {
    await clock.turn(() => {
      for (let index = 0; index < 3; index += 1) arrive('a', HANDLERS_MS);
    });
    await clock.turn(() => arrive('a late one', 0));
    expect(begun).toEqual(['a', 'a']);
    await pass(2);
    expect(begun).toEqual(['a', 'a', 'a late one', 'a']);
  });

  it('are removed when they are no longer awaited', async () => {
    await clock.turn(() => {
      arrive('a', HANDLERS_MS);
      arrive('gone', 1, () => false);
      arrive('a', 1);
    });
    await pass(1);
    expect(begun).toEqual(['a', 'a']);
  });
});
