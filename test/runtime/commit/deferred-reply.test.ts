import { expect, it } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import { DeferredReply } from '#runtime/commit/deferred-reply.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { adminOf } from '#test/support/host-fixture.ts';
import { Answers, LoopFixture, put, type TestCommand } from '#test/support/loop-fixture.ts';
import { settle } from '#test/support/test-clock.ts';

const key: IdempotencyKey = { key: 'k', requestHash: 'h' };
const somebody = adminOf('acme');
/** Whoever runs the answering command is somebody else. */
const releaser: Caller = { principal: somebody, policy: policyFor(somebody, 'acme') };

/** A command that owes its reply, and the reply. */
function owing(): { readonly owed: DeferredReply; readonly wait: TestCommand } {
  const owed = new DeferredReply();
  return { owed, wait: () => owed };
}

function answering(owed: DeferredReply, result: unknown): TestCommand {
  return (turn) => {
    const answered = owed.answer(turn, result);
    put('k', 'v')(turn);
    return answered;
  };
}

it('answers with the batch of the command that gives the answer, not before it is durable', async () => {
  const fixture = new LoopFixture();
  const answers = new Answers();
  const { owed, wait } = owing();
  answers.listen('waiting', fixture.submit(wait));
  await settle();
  answers.listen('releasing', fixture.submit(answering(owed, 'granted')));
  await settle();
  expect(answers.heard).toEqual([]);
  fixture.log.acknowledge();
  await settle();
  expect(answers.heard.toSorted()).toEqual(['releasing: true', 'waiting: granted']);
  expect(fixture.events).toEqual([]);
});

it('answers within one batch', async () => {
  const fixture = new LoopFixture();
  fixture.log.isOpen = true;
  const { owed, wait } = owing();
  const [waited] = await Promise.all([fixture.submit(wait), fixture.submit(answering(owed, 1))]);
  expect(waited).toBe(1);
});

it('keeps the outcome under the key of the request that waited', async () => {
  const fixture = new LoopFixture();
  fixture.log.isOpen = true;
  const { owed, wait } = owing();
  const waiting = fixture.submit(wait, key);
  await settle();
  await expect(fixture.submit(wait, key)).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
  await fixture.submit(answering(owed, { token: 7 }), undefined, releaser);
  expect(await waiting).toEqual({ token: 7 });
  const again: TestCommand = () => 'executed again';
  expect(await fixture.submit(again, key)).toEqual({ token: 7 });
  expect(await fixture.submit(again, key, releaser)).toBe('executed again');
});

it('keeps no outcome of a cancelled wait', async () => {
  const fixture = new LoopFixture();
  fixture.log.isOpen = true;
  const { owed, wait } = owing();
  const waiting = fixture.submit(wait, key);
  const refused = expect(waiting).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
  await settle();
  owed.fail(new ServiceError('REQUEST_CANCELLED'));
  await refused;
  expect(await fixture.submit(answering(owed, 1))).toBe(false);
  expect(await fixture.submit(() => 'now', key)).toBe('now');
});

it('ends the wait when the batch of its answer is discarded', async () => {
  const fixture = new LoopFixture();
  const { owed, wait } = owing();
  const waiting = fixture.submit(wait);
  const refused = expect(waiting).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  await settle();
  const releasing = expect(fixture.submit(answering(owed, 1))).rejects.toMatchObject({
    code: 'STORAGE_FULL',
  });
  await settle();
  fixture.log.refuse(new ServiceError('STORAGE_FULL'));
  await Promise.all([refused, releasing]);
});

it('ends a wait that began in a batch that was discarded', async () => {
  const fixture = new LoopFixture();
  const { owed, wait } = owing();
  const waiting = expect(fixture.submit(wait)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  const writing = expect(fixture.submit(put('a', '1'))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  await settle();
  fixture.log.refuse(new ServiceError('STORAGE_FULL'));
  await Promise.all([waiting, writing]);
  expect(owed.isOpen).toBe(false);
});

it('takes the answer of a command that fails back', async () => {
  const fixture = new LoopFixture();
  fixture.log.isOpen = true;
  const { owed, wait } = owing();
  const answers = new Answers();
  answers.listen('waiting', fixture.submit(wait));
  const failing: TestCommand = (turn) => {
    owed.answer(turn, 1);
    throw new ServiceError('CONFLICT');
  };
  await expect(fixture.submit(failing)).rejects.toMatchObject({ code: 'CONFLICT' });
  await settle();
  expect(answers.heard).toEqual([]);
  owed.fail(new ServiceError('OVERLOADED'));
  await settle();
  expect(answers.heard).toEqual(['waiting! OVERLOADED']);
});

it('refuses an answer whose outcome cannot be kept, and notifies its caller', async () => {
  const fixture = new LoopFixture({ idempotency: { ttlMs: 1000, entriesMax: 1 } });
  fixture.log.isOpen = true;
  await fixture.submit(put('a', '1'), { key: 'first', requestHash: 'h' });
  const { owed, wait } = owing();
  const refused = expect(fixture.submit(wait, key)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await settle();
  expect(await fixture.submit(answering(owed, 1))).toBe(false);
  await refused;
});

it('notifies the behaviour of the outcome of a batch before any answer is sent', async () => {
  const fixture = new LoopFixture();
  let heardAfter = -1;
  const first = fixture.submit(put('a', '1')).then(() => {
    heardAfter = fixture.batchesEnded;
  });
  await settle();
  expect(fixture.batchesEnded).toBe(0);
  fixture.log.acknowledge();
  await first;
  expect(heardAfter).toBe(1);
  const second = expect(fixture.submit(put('a', '2'))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  await settle();
  fixture.log.refuse(new ServiceError('STORAGE_FULL'));
  await second;
  expect([fixture.batchesEnded, fixture.forgotten]).toEqual([2, 1]);
});
