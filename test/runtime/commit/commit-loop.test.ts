import { describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import type { Caller, Turn } from '#runtime/commit/behaviour.ts';
import { compareRevisions, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Answers, LoopFixture, OWN_TABLE, put, testCaller, textAt } from '#test/support/loop-fixture.ts';
import { settle } from '#test/support/test-clock.ts';

const refusal = () => {
  throw new ServiceError('VALIDATION_FAILED', 'no');
};

/** Keys and texts of a log entry. */
function written(fixture: LoopFixture, index: number): string[] {
  return (fixture.log.waiting[index]?.writes ?? []).map(({ key, value }) => `${key}=${value}`);
}

describe('1. commands run one at a time, each on what was before it', () => {
  it('shows each command what the earlier ones of its batch and of earlier batches wrote', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    const append = (letter: string) => (turn: Turn) => {
      const text = `${textAt(turn, 'word') ?? ''}${letter}`;
      turn.put(OWN_TABLE, 'word', Buffer.from(text));
      return text;
    };
    const first = await Promise.all(['a', 'b', 'c'].map((letter) => fixture.submit(append(letter))));
    expect(first).toEqual(['a', 'ab', 'abc']);
    expect(fixture.batches).toEqual([3]);
    expect(await fixture.submit(append('d'))).toBe('abcd');
    fixture.clock.advance(100);
    await settle();
    expect(await fixture.submit(append('e'))).toBe('abcde');
  });

  it('keeps other commands waiting while a long one gives the event loop back', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    const order: string[] = [];
    const long = fixture.submit(function* (turn) {
      for (let step = 1; step <= 5; step += 1) {
        order.push(`long ${step}`);
        turn.put(OWN_TABLE, 'long', Buffer.from(`${step}`));
        fixture.clock.advance(10);
        yield;
      }
      return 'long';
    });
    const short = fixture.submit((turn) => {
      order.push('short');
      return textAt(turn, 'long');
    });
    for (let turns = 0; turns < 3; turns += 1) await settle(1);
    // Queries go on meanwhile, and see nothing of the unfinished command.
    order.push(`query ${fixture.read('long')}`);
    expect(await Promise.all([long, short])).toEqual(['long', '5']);
    const query = order.indexOf('query undefined');
    expect(query).toBeGreaterThan(0);
    expect(query).toBeLessThan(order.indexOf('short'));
    expect(order.filter((entry) => !entry.startsWith('query'))).toEqual([
      ...[1, 2, 3, 4, 5].map((step) => `long ${step}`),
      'short',
    ]);
  });

  it('does not wait between steps that are quick', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    let steps = 0;
    const answer = fixture.submit(function* () {
      for (; steps < 1000; steps += 1) yield;
      return steps;
    });
    await settle(1);
    expect(steps).toBe(1000);
    expect(await answer).toBe(1000);
  });
});

describe('2. a command that throws leaves nothing behind', () => {
  it('keeps the others of its batch, those before and those after it', async () => {
    const fixture = new LoopFixture();
    const answers = new Answers();
    answers.listen('one', fixture.submit(put('a', '1')));
    answers.listen(
      'two',
      fixture.submit((turn) => {
        put('a', 'wrong')(turn);
        put('b', 'wrong')(turn);
        turn.remove(OWN_TABLE, 'c');
        turn.emit({ type: 'Wrong' });
        return refusal();
      }),
    );
    answers.listen(
      'three',
      fixture.submit((turn) => {
        put('c', `after ${textAt(turn, 'a')} ${textAt(turn, 'b')}`)(turn);
        turn.emit({ type: 'Right' });
      }),
    );
    await settle();
    expect(written(fixture, 0)).toEqual(['a=1', 'c=after 1 undefined']);
    fixture.log.acknowledge();
    await settle();
    expect(answers.heard).toEqual(['one: a=1', 'two! VALIDATION_FAILED', 'three: undefined']);
    expect(fixture.events).toEqual([{ type: 'Right' }]);
    expect(fixture.forgotten).toBe(1);
    expect([fixture.read('a'), fixture.read('b'), fixture.read('c')]).toEqual([
      '1',
      undefined,
      'after 1 undefined',
    ]);
  });

  it('undoes a long command that throws half-way', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    let cleaned = false;
    const failing = fixture.submit(function* (turn) {
      try {
        put('a', '1')(turn);
        fixture.clock.advance(10);
        yield;
        put('b', '1')(turn);
        refusal();
      } finally {
        cleaned = true;
      }
    });
    const next = fixture.submit((turn) => `${textAt(turn, 'a')} ${textAt(turn, 'b')}`);
    await expect(failing).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await next).toBe('undefined undefined');
    expect(cleaned).toBe(true);
    expect(fixture.log.records).toEqual([]);
  });

  it('needs no log entry for a batch in which nothing is left', async () => {
    const fixture = new LoopFixture();
    const failing = fixture.submit((turn) => {
      put('a', '1')(turn);
      refusal();
    });
    await expect(failing).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await fixture.submit(() => 'changes nothing')).toBe('changes nothing');
    expect(fixture.log.waiting).toEqual([]);
  });

  it('has no command that waits for something', async () => {
    const fixture = new LoopFixture();
    await expect(fixture.submit(async (turn) => put('a', '1')(turn))).rejects.toThrow(InvariantError);
    expect(fixture.loop.isStopped).toBe(true);
  });
});

describe('3. one batch is one log entry, and the next waits for its outcome', () => {
  it('takes together what arrives in one turn', async () => {
    const fixture = new LoopFixture();
    for (let number = 0; number < 20; number += 1) void fixture.submit(put(`k${number}`, 'x'));
    await settle();
    expect(fixture.log.waiting).toHaveLength(1);
    expect(written(fixture, 0)).toHaveLength(20);
  });

  it('appends nothing while an entry is on its way', async () => {
    const fixture = new LoopFixture();
    const first = fixture.submit(put('a', '1'));
    await settle();
    const second = fixture.submit(put('b', '2'));
    await settle(20);
    expect(fixture.log.waiting).toHaveLength(1);
    fixture.log.acknowledge();
    await first;
    await settle();
    expect(written(fixture, 0)).toEqual(['b=2']);
    fixture.log.acknowledge();
    await second;
  });

  it('bounds a batch in commands and in bytes', async () => {
    const fixture = new LoopFixture({ limits: { batchCommandsMax: 4, batchBytesMax: 1000 } });
    fixture.log.isOpen = true;
    await Promise.all(Array.from({ length: 10 }, (_, number) => fixture.submit(put(`k${number}`, 'x'))));
    expect(fixture.batches).toEqual([4, 4, 2]);
    await Promise.all(
      Array.from({ length: 4 }, (_, number) => fixture.submit(put(`k${number}`, 'x'.repeat(600)))),
    );
    expect(fixture.batches.slice(3)).toEqual([2, 2]);
  });

  it('ends a batch when it has held the event loop long enough', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    const slow = (turn: Turn) => {
      put('a', 'x')(turn);
      fixture.clock.advance(4);
    };
    await Promise.all(Array.from({ length: 6 }, () => fixture.submit(slow)));
    expect(fixture.batches).toEqual([2, 2, 2]);
  });

  it('states in an entry a clock no revision of it is above', async () => {
    const fixture = new LoopFixture();
    const revisions: Revision[] = [];
    for (let number = 0; number < 3; number += 1) {
      void fixture.submit((turn) => {
        put('a', 'x')(turn);
        revisions.push(turn.revision);
      });
    }
    await settle();
    expect(fixture.log.waiting[0]?.clock).toEqual(revisions.at(-1));
    for (const [index, revision] of revisions.slice(1).entries())
      expect(compareRevisions(revision, revisions[index] as Revision)).toBeGreaterThan(0);
  });
});

describe('4. nothing leaves before it is durable [DUR-014]', () => {
  it('holds replies, error replies and events, and lets them out in the order the commands ran', async () => {
    const fixture = new LoopFixture();
    const answers = new Answers();
    answers.listen('fails', fixture.submit(refusal));
    answers.listen(
      'writes',
      fixture.submit((turn) => {
        turn.emit({ type: 'Wrote' });
        return put('a', '1')(turn);
      }),
    );
    answers.listen(
      'reads',
      fixture.submit((turn) => textAt(turn, 'a')),
    );
    answers.listen('fails again', fixture.submit(refusal));
    await settle(20);
    expect(answers.heard).toEqual([]);
    expect(fixture.events).toEqual([]);
    fixture.log.acknowledge();
    await settle();
    expect(answers.heard).toEqual([
      'fails! VALIDATION_FAILED',
      'writes: a=1',
      'reads: 1',
      'fails again! VALIDATION_FAILED',
    ]);
    expect(fixture.events).toEqual([{ type: 'Wrote' }]);
  });
});

describe('4. answers of commands that change nothing', () => {
  it('are sent once the log confirms that it had no other writer', async () => {
    const fixture = new LoopFixture();
    const answers = new Answers();
    let confirm = (): void => {};
    fixture.log.confirmation = new Promise((resolve) => {
      confirm = resolve;
    });
    answers.listen(
      'reads',
      fixture.submit(() => 'nothing'),
    );
    answers.listen('fails', fixture.submit(refusal));
    await settle(20);
    expect(answers.heard).toEqual([]);
    confirm();
    await settle();
    expect(answers.heard).toEqual(['reads: nothing', 'fails! VALIDATION_FAILED']);
  });

  it('are refused when another owner has the log', async () => {
    const fixture = new LoopFixture();
    fixture.log.confirmation = Promise.reject(new ServiceError('NOT_OWNER'));
    fixture.log.confirmation.catch(() => {});
    await expect(fixture.submit(() => 'old')).rejects.toMatchObject({ code: 'NOT_OWNER' });
  });
});

describe('5. readers see what is durable, at every moment [DUR-015]', () => {
  it('shows nothing of a batch before its entry is durable, and all of it from then on', async () => {
    const fixture = new LoopFixture();
    void fixture.submit(put('a', '1'));
    void fixture.submit(put('b', '1'));
    await settle(20);
    expect([fixture.read('a'), fixture.read('b')]).toEqual([undefined, undefined]);
    const pinned = fixture.writer.pin();
    fixture.log.acknowledge();
    await settle();
    expect([fixture.read('a'), fixture.read('b')]).toEqual(['1', '1']);
    expect(textAt(pinned, 'a')).toBeUndefined();
    pinned.close();
  });
});

describe('6. a batch the log refuses is thrown away', () => {
  it.each(['STORAGE_FULL', 'OVERLOADED', 'COMMIT_TOO_LARGE', 'LOG_UNAVAILABLE'] as const)(
    'answers %s to all of it, changes nothing and continues',
    async (code) => {
      const fixture = new LoopFixture();
      const answers = new Answers();
      answers.listen('one', fixture.submit(put('a', '1')));
      answers.listen('two', fixture.submit(refusal));
      await settle();
      answers.listen(
        'three',
        fixture.submit((turn) => put('b', `${textAt(turn, 'a')}`)(turn)),
      );
      fixture.log.refuse(new ServiceError(code));
      await settle();
      expect(answers.heard).toEqual([`one! ${code}`, `two! ${code}`]);
      expect(fixture.forgotten).toBe(2);
      expect(fixture.read('a')).toBeUndefined();
      fixture.log.acknowledge();
      await settle();
      expect(answers.heard.slice(2)).toEqual(['three: b=undefined']);
      expect(fixture.events).toEqual([]);
      expect([fixture.stopped, fixture.loop.isStopped]).toEqual([[], false]);
      expect(fixture.batches).toEqual([1]);
    },
  );

  it('stops at any other failure: the outcome is unknown, so nothing may build on it', async () => {
    const fixture = new LoopFixture();
    const answers = new Answers();
    answers.listen('one', fixture.submit(put('a', '1')));
    await settle();
    answers.listen('waiting', fixture.submit(put('b', '1')));
    const cause = new Error('the disk is gone');
    fixture.log.refuse(cause);
    await settle();
    answers.listen('late', fixture.submit(put('c', '1')));
    await settle();
    expect(answers.heard).toEqual(['one! WRITES_STOPPED', 'waiting! WRITES_STOPPED', 'late! WRITES_STOPPED']);
    expect([fixture.stopped, fixture.loop.isStopped]).toEqual([[cause], true]);
    expect(fixture.log.waiting).toEqual([]);
    expect([fixture.read('a'), fixture.loop.idle]).toEqual([undefined, true]);
    await fixture.loop.drained();
  });

  it.each<[string, unknown, boolean, boolean]>([
    ['goes on after a log that stopped and heals', new ServiceError('WRITES_STOPPED'), true, false],
    ['stops with a log that stopped for good', new ServiceError('WRITES_STOPPED'), false, true],
    ['stops at a mistake of the log, also of one that heals', new Error('not encoded'), true, true],
    ['stops at damage, also of a log that heals', new ServiceError('DATA_CORRUPTED'), true, true],
  ])('%s', async (_, cause, heals, isStopped) => {
    const fixture = new LoopFixture();
    fixture.log.heals = heals;
    const answers = new Answers();
    answers.listen('one', fixture.submit(put('a', '1')));
    await settle();
    fixture.log.refuse(cause);
    await settle();
    expect([answers.heard.length, fixture.loop.isStopped]).toEqual([1, isStopped]);
    expect(fixture.read('a')).toBeUndefined();
  });

  it('finds rows again whose removal was thrown away', async () => {
    const fixture = new LoopFixture();
    // Removed rows are passed by each walk from the front, so the loop remembers a stretch of them.
    const keys = Array.from({ length: 40 }, (_, number) => `row ${String(number).padStart(2, '0')}`);
    const found = (turn: Turn): string[] =>
      [...turn.range(OWN_TABLE, { start: '', end: '~' })].map(({ key }) => key);
    fixture.log.isOpen = true;
    await fixture.submit((turn) => {
      for (const key of keys) put(key, 'here')(turn);
    });
    fixture.log.isOpen = false;
    const removal = fixture.submit((turn) => {
      for (const key of keys.slice(0, 30)) turn.remove(OWN_TABLE, key);
      return found(turn);
    });
    const refused = expect(removal).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await settle();
    fixture.log.refuse(new ServiceError('STORAGE_FULL'));
    await refused;
    fixture.log.isOpen = true;
    expect(await fixture.submit(found)).toEqual(keys);
  });

  it('uses no revision twice, although one was thrown away', async () => {
    const fixture = new LoopFixture();
    const revisions: Revision[] = [];
    const command = (turn: Turn) => {
      revisions.push(turn.revision);
      return put('a', '1')(turn);
    };
    const refused = fixture.submit(command).catch(() => {});
    await settle();
    fixture.log.refuse(new ServiceError('STORAGE_FULL'));
    await refused;
    fixture.log.isOpen = true;
    await fixture.submit(command);
    expect(compareRevisions(revisions[1] as Revision, revisions[0] as Revision)).toBeGreaterThan(0);
  });

  it('lets the event loop run between refused batches', async () => {
    const fixture = new LoopFixture({ limits: { batchCommandsMax: 1 } });
    for (let number = 0; number < 3; number += 1) fixture.submit(put('a', '1')).catch(() => {});
    await settle();
    fixture.log.refuse(new ServiceError('STORAGE_FULL'));
    // The log lets go of a refusal in a later turn; the next batch must not come before that.
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    expect(fixture.log.waiting).toEqual([]);
    await settle();
    expect(fixture.log.waiting).toHaveLength(1);
  });
});

describe('commands that are no longer awaited', () => {
  function callerWith(more: Partial<Caller>): Caller {
    return { ...testCaller, ...more };
  }

  it('drops a queued command that is cancelled or late, without running it', async () => {
    const fixture = new LoopFixture();
    const abort = new AbortController();
    let ran = 0;
    const run = () => {
      ran += 1;
    };
    const first = fixture.submit(put('a', '1'));
    await settle();
    const cancelled = fixture.submit(run, undefined, callerWith({ signal: abort.signal }));
    const late = fixture.submit(run, undefined, callerWith({ deadlineMs: fixture.clock.monotonicMs() + 10 }));
    const waiting = fixture.submit(
      run,
      undefined,
      callerWith({ deadlineMs: fixture.clock.monotonicMs() + 1000 }),
    );
    abort.abort();
    fixture.clock.advance(11);
    fixture.log.acknowledge();
    await first;
    await expect(cancelled).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    await expect(late).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await waiting;
    expect(ran).toBe(1);
  });

  it('stops a long command between two slices, and undoes it', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    const abort = new AbortController();
    let cleaned = false;
    const long = fixture.submit(
      function* (turn) {
        try {
          for (;;) {
            put('a', '1')(turn);
            fixture.clock.advance(10);
            yield;
          }
        } finally {
          cleaned = true;
        }
      },
      undefined,
      callerWith({ signal: abort.signal }),
    );
    await settle(3);
    abort.abort();
    await expect(long).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect([cleaned, fixture.read('a'), fixture.log.records.length]).toEqual([true, undefined, 0]);
  });
});

describe('a loop that is given too much', () => {
  it('refuses what its mailbox cannot hold, and answers the rest [ROB-010]', async () => {
    const fixture = new LoopFixture({ limits: { mailboxMax: 5 } });
    const other = new LoopFixture();
    other.log.isOpen = true;
    const answers = new Answers();
    for (let number = 0; number < 8; number += 1)
      answers.listen(`${number}`, fixture.submit(put(`k${number}`, 'x')));
    await settle();
    expect(answers.heard).toEqual(['5! OVERLOADED', '6! OVERLOADED', '7! OVERLOADED']);
    expect(await other.submit(put('a', '1'))).toBe('a=1');
    fixture.log.acknowledge();
    await settle();
    expect(answers.heard).toHaveLength(8);
    expect(answers.heard.slice(3)).toEqual([0, 1, 2, 3, 4].map((number) => `${number}: k${number}=x`));
  });

  it('refuses writes while too many wait to be applied, with the reason, and takes them again by itself [DUR-005]', async () => {
    const fixture = new LoopFixture({ limits: { applyPendingBytesMax: 1000 } });
    fixture.log.isOpen = true;
    fixture.shardFailure = () => new ServiceError('STORAGE_FULL');
    await fixture.submit(put('a', 'x'.repeat(2000)));
    await expect(fixture.submit(put('b', '1'))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(fixture.applyFailures).toHaveLength(1);
    await expect(fixture.submit(put('b', '1'))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(fixture.read('a')).toHaveLength(2000);
    fixture.shardFailure = () => undefined;
    // Nobody can write, so only time can bring the next try.
    fixture.clock.advance(500);
    await settle();
    expect(await fixture.submit(put('b', '1'))).toBe('b=1');
    expect(textAt(fixture.writer.shard, 'a')).toHaveLength(2000);
  });

  it('lets writes wait for the shard while it is copied, and not for ever', async () => {
    const fixture = new LoopFixture({ limits: { applyPendingBytesMax: 1000, mailboxMax: 3 } });
    fixture.log.isOpen = true;
    const { shard } = fixture.writer;
    let copied: () => void = () => {};
    shard.copyTo = () =>
      new Promise<void>((resolve) => {
        copied = resolve;
      });
    const copy = fixture.writer.copyTo('anywhere', () => {});
    await fixture.submit(put('a', 'x'.repeat(2000)));
    const answers = new Answers();
    for (const name of ['b', 'c', 'd', 'e']) answers.listen(name, fixture.submit(put(name, '1')));
    await settle();
    // Memory is bounded: what the mailbox does not hold is refused at once.
    expect(answers.heard).toEqual(['e! OVERLOADED']);
    copied();
    await copy;
    await settle();
    expect(answers.heard.slice(1)).toEqual(['b: b=1', 'c: c=1', 'd: d=1']);

    const second = fixture.writer.copyTo('anywhere', () => {});
    await fixture.submit(put('a', 'y'.repeat(2000)));
    answers.listen('late', fixture.submit(put('late', '1')));
    await settle();
    fixture.clock.advance(9_999);
    await settle();
    expect(answers.heard).toHaveLength(4);
    fixture.clock.advance(1);
    await settle();
    expect(answers.heard.slice(4)).toEqual(['late! OVERLOADED']);
    copied();
    await second;
    expect(await fixture.submit(put('late', '2'))).toBe('late=2');
  });

  it('reports damage of stored data that a command finds, not a log that lost records', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    const damage = new ServiceError('DATA_CORRUPTED');
    const lost = new ServiceError('DATA_CORRUPTED', 'the log ends at 3', { details: { lastSequence: 3 } });
    for (const error of [lost, damage, new ServiceError('CONFLICT')])
      await expect(
        fixture.submit(() => {
          throw error;
        }),
      ).rejects.toBe(error);
    expect(fixture.damages).toEqual([damage]);
    expect(await fixture.submit(put('a', '1'))).toBe('a=1');
  });

  it('notifies when every command has its answer', async () => {
    const fixture = new LoopFixture();
    await fixture.loop.drained();
    const answers = new Answers();
    answers.listen('one', fixture.submit(put('a', '1')));
    const drained = fixture.loop.drained().then(() => answers.heard.push('drained'));
    await settle();
    expect(answers.heard).toEqual([]);
    fixture.log.isOpen = true;
    answers.listen('two', fixture.submit(put('b', '1')));
    fixture.log.acknowledge();
    await drained;
    expect(answers.heard).toEqual(['one: a=1', 'two: b=1', 'drained']);
  });
});

describe('7. a broken invariant stops it', () => {
  const broken = new InvariantError('two and two are five');
  const breaking = (): never => {
    throw broken;
  };

  /** Everything that was asked has its answer, nothing more is done, and why is known. */
  async function expectStopped(fixture: LoopFixture, cause: unknown): Promise<void> {
    await fixture.loop.drained();
    await expect(fixture.submit(put('later', '1'))).rejects.toMatchObject({ code: 'ACTOR_STOPPED' });
    expect(fixture.loop.idle).toBe(true);
    expect(fixture.stopped).toEqual([cause]);
    expect(fixture.loop.stopCause).toBe(fixture.stopped[0]);
    expect(fixture.waitsEnded).toMatchObject([{ code: 'ACTOR_STOPPED' }]);
  }

  it('keeps nothing of the batch, and answers the command at fault differently from the others', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    await fixture.submit(put('before', '1'));
    const answers = new Answers();
    answers.listen('one', fixture.submit(put('a', '1')));
    answers.listen('two', fixture.submit(breaking));
    answers.listen('three', fixture.submit(put('c', '1')));
    await settle();
    expect(answers.heard).toEqual([
      'one! ACTOR_STOPPED',
      'two! two and two are five',
      'three! ACTOR_STOPPED',
    ]);
    expect(['before', 'a', 'c'].map((key) => fixture.read(key))).toEqual(['1', undefined, undefined]);
    expect(fixture.log.records).toHaveLength(1);
    await expectStopped(fixture, broken);
  });

  it('stops for a long command too', async () => {
    const fixture = new LoopFixture();
    const answer = fixture.submit(function* (turn) {
      put('a', '1')(turn);
      fixture.clock.advance(10);
      yield;
      breaking();
    });
    await expect(answer).rejects.toBe(broken);
    await expectStopped(fixture, broken);
  });

  it('keeps no outcome of it under the key of the request', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    const key = { key: 'k', requestHash: 'h' };
    await expect(fixture.submit(breaking, key)).rejects.toBe(broken);
    const anew = new LoopFixture({ disk: fixture.disk, log: fixture.log, clock: fixture.clock });
    expect(await anew.submit(put('a', '1'), key)).toBe('a=1');
  });

  it('answers commands queued behind a batch after which the behaviour fails', async () => {
    const fixture = new LoopFixture();
    fixture.log.isOpen = true;
    const error = new TypeError('no such thing');
    fixture.hookFailure = { of: 'batchEnded', error };
    const first = fixture.submit(put('a', '1'));
    const second = first.then(() => fixture.submit(put('b', '1')));
    expect(await first).toBe('a=1');
    await expect(second).rejects.toMatchObject({ code: 'ACTOR_STOPPED' });
    expect([fixture.read('a'), fixture.read('b')]).toEqual(['1', undefined]);
    await expectStopped(fixture, expect.objectContaining({ cause: error }));
  });

  it('answers a command whose changes cannot be taken back', async () => {
    const fixture = new LoopFixture();
    const answers = new Answers();
    answers.listen('one', fixture.submit(put('a', '1')));
    answers.listen(
      'two',
      fixture.submit((turn) => {
        put('a', '2')(turn);
        Object.assign(turn, { undo: breaking });
        return refusal();
      }),
    );
    await settle();
    expect(answers.heard).toEqual(['one! ACTOR_STOPPED', 'two! ACTOR_STOPPED']);
    expect(fixture.log.waiting).toEqual([]);
    await expectStopped(fixture, broken);
  });

  it('answers a command after which the behaviour cannot forget', async () => {
    const fixture = new LoopFixture();
    fixture.hookFailure = { of: 'forget', error: broken };
    await expect(fixture.submit(refusal)).rejects.toMatchObject({ code: 'ACTOR_STOPPED' });
    await expectStopped(fixture, broken);
  });

  it('answers a batch that the log refuses when the behaviour cannot forget', async () => {
    const fixture = new LoopFixture();
    const answer = fixture.submit(put('a', '1'));
    await settle();
    fixture.hookFailure = { of: 'forget', error: broken };
    fixture.log.refuse(new ServiceError('STORAGE_FULL'));
    await expect(answer).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await expectStopped(fixture, broken);
  });
});
