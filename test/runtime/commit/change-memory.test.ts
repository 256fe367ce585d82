import { describe, expect, it } from 'vitest';
import { ChangeRoom } from '#runtime/base/event-loop/change-room.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Answers, LoopFixture, OWN_TABLE, put, type TestCommand } from '#test/support/loop-fixture.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

/** Less than one large command takes. */
const ROOM_BYTES = 10_000;
const LARGE_CHANGES = 30;
/** Of one change of a large command, with everything that is counted for it. */
const CHANGE_BYTES_MAX = 1_500;
const APPLY_DELAY_MS = 5_000;

/** Two actors of one process, whose logs take nothing by themselves. */
class TwoActors {
  readonly clock = new TestClock();
  readonly changes = new ChangeRoom(ROOM_BYTES);
  readonly first: LoopFixture;
  readonly second: LoopFixture;
  readonly answers = new Answers();
  /** Changes that the large command of each has made. */
  readonly made = { first: 0, second: 0 };

  constructor() {
    const slices = new SliceScheduler(this.clock, undefined, this.changes);
    const setup = { clock: this.clock, slices, apply: { applyBytes: 1 << 30, applyDelayMs: APPLY_DELAY_MS } };
    this.first = new LoopFixture(setup);
    this.second = new LoopFixture(setup);
  }

  /** Sends a large command, each change of which takes more than a slice. */
  writeMuch(which: 'first' | 'second'): void {
    const { clock, made } = this;
    const command: TestCommand = function* (turn) {
      for (let n = 1; n <= LARGE_CHANGES; n += 1) {
        turn.put(OWN_TABLE, `k${n}`, Buffer.alloc(1_000));
        made[which] = n;
        clock.advance(10);
        yield;
      }
      return 'done';
    };
    this.answers.listen(which, this[which].submit(command));
  }

  /** Lets the logs take everything and the shards nothing. @returns lets the shards take it */
  holdShards(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const { log } of [this.first, this.second]) {
      log.isOpen = true;
      log.flushing = promise;
    }
    return resolve;
  }

  /** Sends small commits, one after another, until one has to wait. @returns how many were answered */
  async fill(which: 'first' | 'second'): Promise<number> {
    for (let count = 0; count <= LARGE_CHANGES; count += 1) {
      const before = this.answers.heard.length;
      const small: TestCommand = (turn) => {
        turn.put(OWN_TABLE, `small${count}`, Buffer.alloc(1_000));
        return 'done';
      };
      this.answers.listen(`${which} last`, this[which].submit(small));
      await settle(40);
      if (this.answers.heard.length === before) return count;
    }
    throw new Error('everything found room');
  }

  write(which: 'first' | 'second', key: string): void {
    this.answers.listen(`${which} ${key}`, this[which].submit(put(key, 'x')));
  }
}

describe('the changes of all actors of a process', () => {
  it('let one large command come to its end, and hold the others up until there is room', async () => {
    const actors = new TwoActors();
    const { answers, changes, clock, first, made, second } = actors;
    actors.writeMuch('first');
    actors.writeMuch('second');
    await settle(400);
    const held = Object.values(made).toSorted((a, b) => a - b);
    expect(held[1]).toBe(LARGE_CHANGES);
    expect(held[0]).toBeLessThan(LARGE_CHANGES / 2);
    expect(changes.used).toBeLessThan(LARGE_CHANGES * CHANGE_BYTES_MAX + ROOM_BYTES);
    const [done, waiting] = made.first === LARGE_CHANGES ? [first, second] : [second, first];
    done.log.acknowledge();
    await settle(400);
    // It is durable, and the other one is the one that goes on now.
    expect([made.first, made.second]).toEqual([LARGE_CHANGES, LARGE_CHANGES]);
    waiting.log.acknowledge();
    await settle();
    expect(answers.heard.toSorted()).toEqual(['first: done', 'second: done']);
    clock.advance(APPLY_DELAY_MS);
    await settle(20);
    expect(changes.used).toBe(0);
  });

  it('and the nodes that a large command compares are counted, without making small commits wait', async () => {
    const { answers, changes, clock, first, second } = new TwoActors();
    first.log.isOpen = true;
    second.log.isOpen = true;
    const compared = Promise.withResolvers<void>();
    const held: number[] = [];
    let isCompared = false;
    void compared.promise.then(() => (isCompared = true));
    answers.listen(
      'merge',
      first.submit(function* (turn) {
        turn.budget.hold(2 * ROOM_BYTES);
        while (!isCompared) {
          clock.advance(10);
          yield;
        }
        held.push(changes.used);
      }),
    );
    await settle(40);
    answers.listen('write', second.submit(put('k', 'x')));
    await settle(40);
    expect(answers.heard).toEqual(['write: k=x']);
    compared.resolve();
    await settle(400);
    expect(held[0]).toBeGreaterThan(2 * ROOM_BYTES);
    expect(answers.heard.at(-1)).toBe('merge: undefined');
  });

  it('hold new batches up until they are applied, those of the large command excepted', async () => {
    const actors = new TwoActors();
    const { answers, changes } = actors;
    const apply = actors.holdShards();
    actors.writeMuch('first');
    await settle(400);
    expect([answers.heard, changes.isFull]).toEqual([['first: done'], false]);
    const fitting = await actors.fill('second');
    expect([fitting * 1_000 > ROOM_BYTES / 2, changes.isFull]).toEqual([true, true]);
    expect(changes.used).toBeLessThan(LARGE_CHANGES * CHANGE_BYTES_MAX + ROOM_BYTES + CHANGE_BYTES_MAX);
    actors.write('first', 'later');
    await settle(40);
    expect(answers.heard).toHaveLength(1 + fitting);
    apply();
    await settle(40);
    expect(answers.heard.slice(1 + fitting).toSorted()).toEqual([
      'first later: later=x',
      'second last: done',
    ]);
  });

  it('do not hold others up while one large batch of short commands is encoded and appended', async () => {
    const actors = new TwoActors();
    const { answers, changes, first, second } = actors;
    second.log.isOpen = true;
    const many: TestCommand = (turn) => {
      for (let n = 0; n < 5_000; n += 1) turn.put(OWN_TABLE, `k${n}`, Buffer.alloc(10));
      return 'done';
    };
    answers.listen('many', first.submit(many));
    await settle(400);
    expect([answers.heard, changes.used > ROOM_BYTES, changes.isFull]).toEqual([[], true, false]);
    actors.write('second', 'small');
    await settle(40);
    expect(answers.heard).toEqual(['second small: small=x']);
  });

  it('refuse a batch that waits too long for the others', async () => {
    const actors = new TwoActors();
    const { answers, clock } = actors;
    actors.holdShards();
    actors.writeMuch('first');
    await settle(400);
    await actors.fill('second');
    clock.advance(10_000);
    await settle();
    expect(answers.heard.at(-1)).toBe('second last! OVERLOADED');
  });

  it('count no more when their actor is closed without them', async () => {
    const actors = new TwoActors();
    const { changes, first } = actors;
    first.log.isOpen = true;
    first.shardFailure = () => new ServiceError('STORAGE_FULL');
    actors.writeMuch('first');
    await settle(400);
    expect(changes.isFull).toBe(true);
    await first.writer.abandon();
    expect(changes.used).toBe(0);
  });

  it.each(['is in the shard', 'cannot be brought there'])(
    'let the next large command continue when what was made %s',
    async (outcome) => {
      const actors = new TwoActors();
      const { clock, first, second, made } = actors;
      const { promise, resolve } = Promise.withResolvers<void>();
      for (const { log } of [first, second]) {
        log.isOpen = true;
        log.flushing = promise;
      }
      if (outcome !== 'is in the shard')
        for (const actor of [first, second]) actor.shardFailure = () => new ServiceError('STORAGE_FULL');
      actors.writeMuch('first');
      actors.writeMuch('second');
      await settle(800);
      const least = (): number => Math.min(made.first, made.second);
      expect([Math.max(made.first, made.second), least() < LARGE_CHANGES / 2]).toEqual([LARGE_CHANGES, true]);
      resolve();
      await settle(400);
      clock.advance(1_000);
      await settle(400);
      expect(least()).toBe(LARGE_CHANGES);
    },
  );

  it('are refused where one commit has more than it may', async () => {
    const fixture = new LoopFixture({ limits: { commitBytesMax: 5_000 } });
    fixture.log.isOpen = true;
    const answers = new Answers();
    const large: TestCommand = (turn) => {
      for (let n = 0; n < 10; n += 1) turn.put(OWN_TABLE, `k${n}`, Buffer.alloc(1_000));
    };
    answers.listen('large', fixture.submit(large));
    await settle(40);
    expect(answers.heard).toEqual(['large! COMMIT_TOO_LARGE']);
  });

  it('are counted with what undoes them, and a large batch once more while it is written', async () => {
    const changes = new ChangeRoom(1 << 30);
    const clock = new TestClock();
    const apply = { applyBytes: 1 << 30, applyDelayMs: APPLY_DELAY_MS };
    const fixture = new LoopFixture({ clock, slices: new SliceScheduler(clock, undefined, changes), apply });
    const size = 9 * 1024 * 1024;
    const held = (): number => Math.floor(changes.used / size);
    const counts: number[] = [];
    void fixture.submit(function* (turn) {
      turn.put(OWN_TABLE, 'k', Buffer.alloc(size));
      turn.remove(OWN_TABLE, 'k');
      yield;
      clock.advance(10);
      yield;
      counts.push(held());
      turn.put(OWN_TABLE, 'k', Buffer.alloc(size));
    });
    await settle(400);
    counts.push(held());
    fixture.log.acknowledge();
    await settle(400);
    counts.push(held());
    expect(counts).toEqual([1, 2, 1]);
  });
});
