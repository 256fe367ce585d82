import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CallId, CommonTable, type IdempotencyKey, type Turn } from '#runtime/commit/behaviour.ts';
import { OUTCOME_KEPT_MS } from '#runtime/commit/call-outcomes.ts';
import { DeferredReply } from '#runtime/commit/deferred-reply.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { LoopFixture, OWN_TABLE, put, type TestCommand, textAt } from '#test/support/loop-fixture.ts';
import { settle } from '#test/support/test-clock.ts';

const everything = { start: '', end: '\u00ff\u00ff' };
const SESSION = '00ff0102030405fe';

function callOf(number: number, slot = 0, session = SESSION): CallId {
  return { session, slot, number };
}

/** Counts how often it ran in the actor's own data, so that a second effect shows. */
function once(turn: Turn): unknown {
  const count = Number(textAt(turn, 'count') ?? 0) + 1;
  turn.put(OWN_TABLE, 'count', Buffer.from(`${count}`));
  return { count, text: 'ü' };
}

function opened(setup = {}): LoopFixture {
  const fixture = new LoopFixture(setup);
  fixture.log.isOpen = true;
  return fixture;
}

function send(fixture: LoopFixture, command: TestCommand, call: CallId, key?: IdempotencyKey) {
  return fixture.submit(command, key, undefined, call);
}

function rows(fixture: LoopFixture, table: number): number {
  return [...fixture.loop.view.range(table, everything)].length;
}

describe('a command another member sends again under its call id', () => {
  it('answers the first result and takes effect once', async () => {
    const fixture = opened();
    const first = await send(fixture, once, callOf(1));
    expect(await send(fixture, once, callOf(1))).toEqual(first);
    const { length } = fixture.log.records;
    expect(await send(fixture, once, callOf(1))).toEqual({ count: 1, text: 'ü' });
    expect(fixture.log.records).toHaveLength(length);
    expect(fixture.read('count')).toBe('1');
    expect(await send(fixture, once, callOf(2))).toEqual({ count: 2, text: 'ü' });
  });

  it('is answered with the first result by the next owner, which has it from the log or from its shard', async () => {
    const first = opened();
    await send(first, once, callOf(1));
    await send(first, (turn) => void once(turn), callOf(2, 1));
    await first.writer.close();
    const next = opened({ disk: first.disk, log: first.log });
    expect(await send(next, once, callOf(1))).toEqual({ count: 1, text: 'ü' });
    expect(await send(next, once, callOf(2, 1))).toBeUndefined();
    expect(next.read('count')).toBe('2');
  });

  it('is done again where nothing was done: it was refused, or nothing of it became durable', async () => {
    const fixture = opened();
    const refused = (turn: Turn): never => {
      once(turn);
      throw new ServiceError('NODE_ALREADY_EXISTS');
    };
    await expect(send(fixture, refused, callOf(1))).rejects.toMatchObject({ code: 'NODE_ALREADY_EXISTS' });
    expect(fixture.log.records).toHaveLength(0);
    fixture.log.isOpen = false;
    const failing = send(fixture, once, callOf(1));
    await settle();
    fixture.log.refuse(new ServiceError('LOG_UNAVAILABLE'));
    await expect(failing).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
    fixture.log.isOpen = true;
    expect(await send(fixture, once, callOf(1))).toMatchObject({ count: 1 });
  });

  it('is refused when its caller has reused the slot and no longer waits for it', async () => {
    const fixture = opened();
    await send(fixture, once, callOf(5));
    await expect(send(fixture, once, callOf(4))).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect(await send(fixture, once, callOf(4, 1))).toMatchObject({ count: 2 });
    expect(await send(fixture, once, callOf(4, 0, '0000000000000001'))).toMatchObject({ count: 3 });
  });

  it('keeps the outcome of a reply that was owed', async () => {
    const fixture = opened();
    const owed = new DeferredReply();
    const waiting = send(fixture, () => owed, callOf(1));
    await settle();
    await fixture.submit((turn) => owed.answer(turn, { token: 7 }));
    expect(await waiting).toEqual({ token: 7 });
    expect(await send(fixture, once, callOf(1))).toEqual({ token: 7 });
  });

  it('never keeps a deferred reply over the outcome of a later call', async () => {
    const fixture = opened();
    const owed = new DeferredReply();
    const waiting = send(fixture, () => owed, callOf(1));
    await settle();
    await send(fixture, once, callOf(2));
    await fixture.submit((turn) => owed.answer(turn, 'late'));
    expect(await waiting).toBe('late');
    expect(await send(fixture, once, callOf(2))).toMatchObject({ count: 1 });
  });

  it('has one effect and one stored outcome together with the key of a client', async () => {
    const fixture = opened();
    const key = { key: 'k', requestHash: 'h' };
    const first = await send(fixture, once, callOf(1), key);
    expect(await send(fixture, once, callOf(1), key)).toEqual(first);
    expect(await send(fixture, once, callOf(2), key)).toEqual(first);
    expect(rows(fixture, CommonTable.idempotency)).toBe(1);
  });
});

describe('what calls cost', () => {
  it('is one small row for each slot, and none for what changed nothing', async () => {
    const fixture = opened();
    await send(fixture, () => 'looked', callOf(1));
    expect(fixture.log.records).toHaveLength(0);
    for (let number = 2; number < 100; number += 1)
      await send(fixture, put('a', `${number}`), callOf(number));
    const [row] = fixture.loop.view.range(CommonTable.idempotency, everything);
    expect(rows(fixture, CommonTable.idempotency)).toBe(1);
    // Session, slot and number; the result is '"a=99"'.
    expect((row?.key.length ?? 0) + (row?.value.length ?? 0)).toBe(11 + 6 + 6);
    expect(rows(fixture, CommonTable.idempotencyExpiry) + rows(fixture, CommonTable.meta)).toBe(0);
  });

  it('is nothing for commands of this member', async () => {
    const fixture = opened();
    await fixture.submit(once);
    expect(rows(fixture, CommonTable.idempotency)).toBe(0);
  });

  it('is given back: outcomes of callers that are gone are swept by the commands of others', async () => {
    const fixture = opened();
    for (let slot = 0; slot < 300; slot += 1) await send(fixture, put('a', '1'), callOf(slot + 1, slot));
    const alive = (number: number) => send(fixture, put('b', '1'), callOf(number, 0, 'aaaaaaaaaaaaaaaa'));
    const look = async (from: number): Promise<void> => {
      for (let number = from; number < from + 12; number += 1) {
        await alive(number);
        fixture.clock.advance(1000);
      }
    };
    await look(1);
    fixture.clock.advance(OUTCOME_KEPT_MS);
    await look(13);
    expect(rows(fixture, CommonTable.idempotency)).toBe(1);
    expect(await alive(24)).toBe('b=1');
  });

  it('is kept for its whole time also where an earlier call used the same slot', async () => {
    const fixture = opened();
    const others = async (number: number): Promise<void> => {
      await send(fixture, put('a', '1'), callOf(number, 0, 'aaaaaaaaaaaaaaaa'));
      fixture.clock.advance(1000);
    };
    await send(fixture, put('a', '1'), callOf(1));
    fixture.clock.advance(1000);
    await others(1);
    fixture.clock.advance(OUTCOME_KEPT_MS - 10_000);
    await send(fixture, once, callOf(2));
    for (let number = 2; number < 40; number += 1) await others(number);
    expect(await send(fixture, once, callOf(2))).toMatchObject({ count: 1 });
    expect(fixture.read('count')).toBe('1');
  });

  it('is kept for any wall clock of this owner or of the previous one', async () => {
    const fixture = opened();
    await send(fixture, once, callOf(1));
    for (const hours of [2, -1, 24]) {
      fixture.clock.setWall(fixture.clock.wallMs() + hours * 3_600_000);
      for (let slot = 1; slot < 4; slot += 1) {
        await send(fixture, put('a', '1'), callOf(slot + 1, slot));
        fixture.clock.advance(1000);
      }
    }
    expect(await send(fixture, once, callOf(1))).toMatchObject({ count: 1 });
  });

  it('does not use up the room for the keys of clients', async () => {
    const fixture = opened({ idempotency: { ttlMs: 1000, entriesMax: 1 } });
    for (let slot = 0; slot < 5; slot += 1) await send(fixture, put('a', '1'), callOf(slot + 1, slot));
    expect(await fixture.submit(once, { key: 'k', requestHash: 'h' })).toMatchObject({ count: 1 });
  });
});

it('any number of deliveries of calls, in any order and across restarts, has one effect for each', async () => {
  const delivery = fc.record({ slot: fc.nat(2), isNew: fc.boolean(), restarts: fc.nat(9) });
  await fc.assert(
    fc.asyncProperty(fc.array(delivery, { maxLength: 40 }), async (deliveries) => {
      let fixture = opened();
      const answers = new Map<number, unknown>();
      const last = [0, 0, 0];
      let numbers = 0;
      for (const { slot, isNew, restarts } of deliveries) {
        if (isNew || last[slot] === 0) last[slot] = ++numbers;
        const number = last[slot] as number;
        const answer = await send(fixture, once, callOf(number, slot));
        expect(answer).toEqual(answers.get(number) ?? answer);
        answers.set(number, answer);
        if (restarts > 0) continue;
        await fixture.writer.close();
        fixture = opened({ disk: fixture.disk, log: fixture.log });
      }
      expect(Number(fixture.read('count') ?? 0)).toBe(numbers);
    }),
    { numRuns: 50 },
  );
});
