import { beforeEach, describe, expect, it } from 'vitest';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Answers, LoopFixture, put, testCaller, textAt } from '#test/support/loop-fixture.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

/** Steps of one answer, each of which takes more than a slice. */
const STEPS = 10;

const key: IdempotencyKey = { key: 'k', requestHash: 'hash' };

/** Two actors of one process. The first one reads what it answers to a repetition again, in several slices. */
class Repetitions {
  readonly clock = new TestClock();
  readonly actor: LoopFixture;
  readonly other: LoopFixture;
  readonly answers = new Answers();
  /** What the next answers fail with before their last step. */
  failure: ServiceError | undefined;

  constructor() {
    const { clock } = this;
    const slices = new SliceScheduler(clock);
    this.actor = new LoopFixture({
      clock,
      slices,
      recall: (kept, _command, view) => this.#recall(String(kept), () => textAt(view, 'text')),
    });
    this.other = new LoopFixture({ clock, slices });
    this.actor.log.isOpen = true;
    this.other.log.isOpen = true;
  }

  *#recall(kept: string, read: () => string | undefined): Generator<undefined, string> {
    const seen = new Set<string | undefined>();
    for (let step = 0; step < STEPS; step += 1) {
      seen.add(read());
      this.clock.advance(10);
      yield;
    }
    if (this.failure !== undefined) throw this.failure;
    return `${kept}, seen ${[...seen].join(' and ')}`;
  }

  send(what: string, caller: Caller = testCaller): void {
    this.answers.listen(what, this.actor.submit(put('text', 'first'), key, caller));
  }
}

let repetitions: Repetitions;

beforeEach(async () => {
  repetitions = new Repetitions();
  await repetitions.actor.submit(put('text', 'first'), key);
});

describe('the outcome of a repeated command', () => {
  it('is restored in slices, which see no write sent meanwhile and hold no other actor up', async () => {
    const { actor, answers, other } = repetitions;
    repetitions.send('again');
    await settle(6);
    answers.listen('later', actor.submit(put('text', 'later')));
    answers.listen('other', other.submit(put('text', 'other')));
    await settle(200);
    const again = 'again: text=first, seen first';
    expect(answers.heard).toEqual(['other: text=other', again, 'later: text=later']);
    expect(actor.read('text')).toBe('later');
  });

  it('sees what ran before it in its batch, and is discarded with it', async () => {
    const { actor, answers } = repetitions;
    actor.log.isOpen = false;
    answers.listen('before', actor.submit(put('text', 'second')));
    repetitions.send('again');
    await settle(200);
    expect(answers.heard).toEqual([]);
    actor.log.acknowledge();
    await settle();
    expect(answers.heard).toEqual(['before: text=second', 'again: text=first, seen second']);
    answers.heard.length = 0;
    answers.listen('before', actor.submit(put('text', 'third')));
    repetitions.send('again');
    await settle(200);
    actor.log.refuse(new ServiceError('LOG_UNAVAILABLE'));
    await settle();
    expect(answers.heard).toEqual(['before! LOG_UNAVAILABLE', 'again! LOG_UNAVAILABLE']);
  });

  it('is not restored for a caller who has gone, and stays kept', async () => {
    const { actor, answers } = repetitions;
    const gone = new AbortController();
    repetitions.send('gone', { ...testCaller, signal: gone.signal });
    await settle(6);
    gone.abort();
    await settle(200);
    repetitions.send('again');
    await settle(200);
    expect(answers.heard).toEqual(['gone! REQUEST_CANCELLED', 'again: text=first, seen first']);
    expect(actor.log.records).toHaveLength(1);
  });

  it('stays kept when it cannot be restored for now', async () => {
    const { actor, answers } = repetitions;
    repetitions.failure = new ServiceError('NODE_NOT_FOUND');
    repetitions.send('too early');
    await settle(200);
    repetitions.failure = undefined;
    repetitions.send('again');
    await settle(200);
    expect(answers.heard).toEqual(['too early! NODE_NOT_FOUND', 'again: text=first, seen first']);
    expect(actor.log.records).toHaveLength(1);
  });
});
