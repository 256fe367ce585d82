import { describe, expect, it } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import type { AdminPrincipal } from '#runtime/access/principal.ts';
import { type Caller, CommonTable, type IdempotencyKey, type Turn } from '#runtime/commit/behaviour.ts';
import { forgetOutcomes, isLasting } from '#runtime/commit/idempotency.ts';
import { errorCodes } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Answers, LoopFixture, OWN_TABLE, put, testCaller, textAt } from '#test/support/loop-fixture.ts';
import { settle } from '#test/support/test-clock.ts';

const everything = { start: '', end: '\u00ff\u00ff' };

function key(name: string, requestHash = 'hash'): IdempotencyKey {
  return { key: name, requestHash };
}

/** Counts how often it ran in the actor's own data, so that a second effect shows. */
function once(turn: Turn): unknown {
  const count = Number(textAt(turn, 'count') ?? 0) + 1;
  turn.put(OWN_TABLE, 'count', Buffer.from(`${count}`));
  return { count, nested: [null, 'text'] };
}

function opened(setup = {}): LoopFixture {
  const fixture = new LoopFixture(setup);
  fixture.log.isOpen = true;
  return fixture;
}

function rows(fixture: LoopFixture, table: number): number {
  return [...fixture.loop.view.range(table, everything)].length;
}

describe('a command sent again under its idempotency key', () => {
  it('answers the first result and takes effect once', async () => {
    const fixture = opened();
    const first = await fixture.submit(once, key('k'));
    const { length } = fixture.log.records;
    expect(await fixture.submit(once, key('k'))).toEqual(first);
    expect(fixture.read('count')).toBe('1');
    expect(fixture.log.records).toHaveLength(length);
    expect(await fixture.submit(once, key('other'))).toEqual({ count: 2, nested: [null, 'text'] });
  });

  it("answers the first error, which is the request's own fault, and stores it once", async () => {
    const fixture = opened();
    const fails = (turn: Turn) => {
      once(turn);
      throw new ServiceError('NODE_ALREADY_EXISTS', 'It is there', { field: 'name' });
    };
    const error = { code: 'NODE_ALREADY_EXISTS', message: 'It is there', field: 'name' };
    await expect(fixture.submit(fails, key('k'))).rejects.toMatchObject(error);
    const { length } = fixture.log.records;
    expect(length).toBe(1);
    for (let time = 0; time < 3; time += 1) {
      fixture.clock.advance(1000);
      await expect(fixture.submit(once, key('k'))).rejects.toMatchObject(error);
    }
    expect(fixture.read('count')).toBeUndefined();
    expect(fixture.log.records).toHaveLength(length);
    expect(rows(fixture, CommonTable.idempotencyExpiry)).toBe(1);
  });

  it('answers an error with its details, unless they are long: a key must not keep a whole body', async () => {
    const fixture = opened();
    const refusedWith = (details: Record<string, unknown>) => () => {
      throw new ServiceError('VALIDATION_FAILED', 'Wrong', { field: 'tags', details });
    };
    for (const [name, length] of [
      ['short', 60_000],
      ['long', 70_000],
    ] as const) {
      const details = { errors: ['x'.repeat(length)] };
      await expect(fixture.submit(refusedWith(details), key(name))).rejects.toMatchObject({ details });
      const kept = name === 'short' ? details : undefined;
      const error = { code: 'VALIDATION_FAILED', message: 'Wrong', field: 'tags', details: kept };
      await expect(fixture.submit(once, key(name))).rejects.toMatchObject(error);
    }
    const stored = [...fixture.loop.view.range(CommonTable.idempotency, everything)];
    expect(Math.max(...stored.map(({ value }) => value.length))).toBeLessThan(61_000);
  });

  it('is refused with another request', async () => {
    const fixture = opened();
    await fixture.submit(once, key('k', 'one'));
    for (let time = 0; time < 2; time += 1) {
      await expect(fixture.submit(once, key('k', 'two'))).rejects.toMatchObject({
        code: 'IDEMPOTENCY_MISMATCH',
      });
    }
    expect(await fixture.submit(once, key('k', 'one'))).toMatchObject({ count: 1 });
    expect(fixture.read('count')).toBe('1');
  });

  it('is refused while the first one runs', async () => {
    const fixture = new LoopFixture();
    const answers = new Answers();
    answers.listen('first', fixture.submit(put('a', '1'), key('k')));
    answers.listen('second', fixture.submit(put('a', '1'), key('k')));
    await settle();
    answers.listen('third', fixture.submit(put('a', '1'), key('k')));
    await settle();
    expect(answers.heard).toEqual(['second! IDEMPOTENCY_IN_PROGRESS', 'third! IDEMPOTENCY_IN_PROGRESS']);
    fixture.log.acknowledge();
    await settle();
    answers.listen('fourth', fixture.submit(once, key('k')));
    await settle();
    expect(answers.heard.slice(2)).toEqual(['first: a=1', 'fourth: a=1']);
  });

  it('is a key of its own for every caller', async () => {
    const fixture = opened();
    const admin = (userId: string): Caller => {
      const accessFlags = {
        console_login: true,
        cli_access: true,
        api_access: true,
        pgwire_access: true,
        can_impersonate: true,
      };
      const principal: AdminPrincipal = {
        kind: 'admin',
        tenant: 'acme',
        userId,
        username: userId,
        accessFlags,
      };
      return { principal, policy: policyFor(principal, 'acme') };
    };
    const answers = await Promise.all(
      [testCaller, admin('ada'), admin('bob')].map((caller) => fixture.submit(once, key('k'), caller)),
    );
    expect(answers).toMatchObject([{ count: 1 }, { count: 2 }, { count: 3 }]);
    expect(await fixture.submit(once, key('k'), admin('ada'))).toMatchObject({ count: 2 });
  });

  it('runs again when the first one was not made durable', async () => {
    const fixture = new LoopFixture();
    const refused = fixture.submit(once, key('k'));
    await settle();
    fixture.log.refuse(new ServiceError('STORAGE_FULL'));
    await expect(refused).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    fixture.log.isOpen = true;
    expect(await fixture.submit(once, key('k'))).toMatchObject({ count: 1 });
  });

  it('runs again after an error that may pass, and keeps nothing of it', async () => {
    const fixture = opened();
    const conflict = () => {
      throw new ServiceError('CONFLICT');
    };
    await expect(fixture.submit(conflict, key('k'))).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(fixture.log.records).toEqual([]);
    expect(await fixture.submit(once, key('k'))).toMatchObject({ count: 1 });
  });

  it('keeps the first outcome although a repetition was cancelled', async () => {
    const fixture = opened();
    const gone = { ...testCaller, signal: AbortSignal.abort() };
    await expect(fixture.submit(once, key('k'), gone)).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect(await fixture.submit(once, key('k'))).toMatchObject({ count: 1 });
    await expect(fixture.submit(once, key('k'), gone)).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect(await fixture.submit(once, key('k'))).toMatchObject({ count: 1 });
  });

  it('runs again when the first one was cancelled half-way', async () => {
    const fixture = opened();
    const abort = new AbortController();
    const long = fixture.submit(
      function* (turn) {
        for (;;) {
          once(turn);
          fixture.clock.advance(10);
          yield;
        }
      },
      key('k'),
      { ...testCaller, signal: abort.signal },
    );
    await settle(2);
    abort.abort();
    await expect(long).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect(await fixture.submit(once, key('k'))).toMatchObject({ count: 1 });
  });

  it('answers the first result after a restart too', async () => {
    const fixture = opened();
    const first = await fixture.submit(once, key('k'));
    await fixture.writer.close();
    const { disk, log, clock } = fixture;
    const again = opened({ disk, log, clock });
    expect(await again.submit(once, key('k'))).toEqual(first);
    expect(again.read('count')).toBe('1');
  });
});

describe('what is kept of idempotency keys', () => {
  const ttlMs = 10_000;

  it('expires, and the key is free again', async () => {
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 100 } });
    await fixture.submit(once, key('k', 'one'));
    fixture.clock.advance(ttlMs);
    expect(await fixture.submit(once, key('k', 'one'))).toMatchObject({ count: 1 });
    fixture.clock.advance(1);
    expect(await fixture.submit(once, key('k', 'two'))).toMatchObject({ count: 2 });
    fixture.clock.advance(ttlMs);
    expect(await fixture.submit(once, key('k', 'two'))).toMatchObject({ count: 2 });
  });

  const dayMs = 86_400_000;

  it('survives a wall clock that jumps ahead, and jumps back or not [IDEM-008]', async () => {
    const fixture = opened({ idempotency: { ttlMs: dayMs, entriesMax: 100 } });
    const first = await fixture.submit(once, key('k'));
    const before = fixture.clock.wallMs();
    for (const wallMs of [before + 2 * dayMs, before, before + 3 * dayMs]) {
      fixture.clock.setWall(wallMs);
      await fixture.submit(once, key(`at ${wallMs}`));
      expect(await fixture.submit(once, key('k'))).toEqual(first);
    }
    fixture.clock.advance(dayMs);
    expect(await fixture.submit(once, key('k'))).toEqual(first);
    fixture.clock.advance(1);
    expect(await fixture.submit(once, key('k'))).not.toEqual(first);
    expect(rows(fixture, CommonTable.idempotency)).toBe(rows(fixture, CommonTable.idempotencyExpiry));
  });

  it('makes room as before when the wall clock jumped [IDEM-008]', async () => {
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 2 } });
    await fixture.submit(once, key('a'));
    await fixture.submit(once, key('b'));
    fixture.clock.setWall(fixture.clock.wallMs() + dayMs);
    await expect(fixture.submit(once, key('c'))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    fixture.clock.advance(ttlMs + 1);
    expect(await fixture.submit(once, key('c'))).toMatchObject({ count: 3 });
  });

  it('is swept while new keys come, faster than they come', async () => {
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 100 } });
    for (let number = 0; number < 60; number += 1) await fixture.submit(once, key(`old${number}`));
    fixture.clock.advance(ttlMs + 1);
    for (let number = 0; number < 30; number += 1) await fixture.submit(once, key(`new${number}`));
    expect(rows(fixture, CommonTable.idempotency)).toBe(30);
    expect(rows(fixture, CommonTable.idempotencyExpiry)).toBe(30);
    expect(await fixture.submit(once, key('new0'))).toMatchObject({ count: 61 });
  });

  it('does not lose a reused key when its old entry is swept', async () => {
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 100 } });
    for (const name of ['a', 'b', 'c']) await fixture.submit(once, key(name));
    fixture.clock.advance(ttlMs + 1);
    // A command sweeps two entries: the old one of this key is swept after it was used anew.
    const again = await fixture.submit(once, key('c'));
    await fixture.submit(once, key('d'));
    await fixture.submit(once, key('e'));
    expect(await fixture.submit(once, key('c'))).toEqual(again);
    expect(rows(fixture, CommonTable.idempotency)).toBe(3);
  });

  it('is forgotten at once by a copy of the actor, and swept there like its own', async () => {
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 3 } });
    for (const name of ['a', 'b', 'c']) await fixture.submit(once, key(name));
    const kept = rows(fixture, CommonTable.idempotency);
    const { length } = fixture.log.records;
    await fixture.submit((turn: Turn) => forgetOutcomes(turn));
    expect(fixture.log.records.at(length)?.entries[0]?.writes.length).toBeLessThanOrEqual(2);
    expect(rows(fixture, CommonTable.idempotency)).toBe(kept);
    // None of them counts, none of them answers, and there is room for as many as ever.
    expect(await fixture.submit(once, key('a', 'another request'))).toMatchObject({ count: 4 });
    expect(await fixture.submit(once, key('b'))).toMatchObject({ count: 5 });
    expect(await fixture.submit(once, key('b'))).toMatchObject({ count: 5 });
    expect(await fixture.submit(once, key('d'))).toMatchObject({ count: 6 });
    await expect(fixture.submit(once, key('e'))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    fixture.clock.advance(ttlMs + 1);
    for (const name of ['f', 'g', 'h']) await fixture.submit(once, key(name));
    expect(rows(fixture, CommonTable.idempotency)).toBe(3);
    expect(rows(fixture, CommonTable.idempotencyExpiry)).toBe(3);
    await expect(fixture.submit(once, key('i'))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });

  it('is forgotten again by a copy of a copy', async () => {
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 100 } });
    for (let copy = 1; copy <= 12; copy += 1) {
      expect(await fixture.submit(once, key('a', `request ${copy}`))).toMatchObject({ count: copy });
      await fixture.submit((turn: Turn) => forgetOutcomes(turn));
    }
  });

  it('is bounded: a full table refuses new keys, drops none, and has room again when they expire', async () => {
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 3 } });
    for (const name of ['a', 'b', 'c']) await fixture.submit(once, key(name));
    for (let time = 0; time < 2; time += 1) {
      await expect(fixture.submit(once, key('d'))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    }
    expect(fixture.read('count')).toBe('3');
    expect(await fixture.submit(once, key('a'))).toMatchObject({ count: 1 });
    expect(await fixture.submit(once)).toMatchObject({ count: 4 });
    fixture.clock.advance(ttlMs + 1);
    for (const name of ['d', 'e', 'f']) await fixture.submit(once, key(name));
    await expect(fixture.submit(once, key('g'))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });

  it('keeps errors in one half only, so that who may not write leaves room for those who may', async () => {
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 6 } });
    const refused = () => {
      throw new ServiceError('PERMISSION_DENIED');
    };
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
      await expect(fixture.submit(refused, key(name))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(rows(fixture, CommonTable.idempotency)).toBe(3);
    await expect(fixture.submit(once, key('a'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    for (const name of ['d', 'e', 'f']) expect(await fixture.submit(once, key(name))).toBeTruthy();
    await expect(fixture.submit(once, key('g'))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await expect(fixture.submit(refused, key('g'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    fixture.clock.advance(ttlMs + 1);
    // Refusals sweep as well.
    for (let time = 0; time < 3; time++)
      await expect(fixture.submit(refused, key(`late ${time}`))).rejects.toBeTruthy();
    for (const name of ['h', 'i', 'j']) expect(await fixture.submit(once, key(name))).toBeTruthy();
  });

  it('keeps errors that are the same at every repetition only', () => {
    const lasting = errorCodes.filter((code) => isLasting(new ServiceError(code)));
    expect(lasting).toContain('VALIDATION_FAILED');
    expect(lasting).toContain('NODE_ALREADY_EXISTS');
    for (const code of [
      'REQUEST_CANCELLED',
      'DEADLINE_EXCEEDED',
      'CONFLICT',
      'OVERLOADED',
      'STORAGE_FULL',
      'RATE_LIMITED',
      'DATA_CORRUPTED',
      'WRITES_STOPPED',
    ] as const)
      expect(lasting).not.toContain(code);
    expect(isLasting(new Error('a bug'))).toBe(false);
  });
});

describe('the sweep of expired outcomes', () => {
  it('passes each of them once, however many removals the shard has not seen yet', async () => {
    const ttlMs = 1000;
    const fixture = opened({ idempotency: { ttlMs, entriesMax: 100_000 }, limits: { mailboxMax: 10_000 } });
    const commands = 1000;
    const send = (name: string) =>
      Promise.all(
        Array.from({ length: commands }, (_, index) => fixture.submit(once, key(`${name}${index}`))),
      );
    await send('old');
    await fixture.writer.settle();
    fixture.clock.advance(ttlMs + 1);
    const visited = countRows(fixture);
    await send('new');
    expect(rows(fixture, CommonTable.idempotencyExpiry)).toBe(commands);
    // Two are removed by each command.
    expect(visited.rows).toBeLessThan(20 * commands);
  });
});

/** Counts the rows that walks over the shard visit from now on. */
function countRows(fixture: LoopFixture): { rows: number } {
  const visited = { rows: 0 };
  const { shard } = fixture.writer;
  const range = shard.range.bind(shard);
  shard.range = function* (table, stretch) {
    for (const row of range(table, stretch)) {
      visited.rows += 1;
      yield row;
    }
  };
  return visited;
}
