import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Call, CALL_VERSION, encodeFrame, FrameKind } from '#cluster/router/call-frames.ts';
import { type CallHandler, CallServer } from '#cluster/router/call-server.ts';
import { RemoteCalls } from '#cluster/router/remote-calls.ts';
import type { MemberSeal } from '#cluster/seal/member-seal.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callBytes, messagesOf } from '#test/support/call-bytes.ts';
import { hearPulse, testSeal } from '#test/support/member-seals.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { settle } from '#test/support/test-clock.ts';
import { WorkedTurns } from '#test/support/worked-turns.ts';

const nats = sharedNatsCluster(1);
const subjectOf = (member: number): string => `test.call.${member}`;

/** What is encoded, sent and decoded in several slices on any machine. */
const LONG = 'x'.repeat(15_000_000);

/** For what the machine may be slow at. */
const patience = { timeout: 5_000 };

let owner: NatsConnection;
let caller: NatsConnection;
let calls: RemoteCalls;
let seal: MemberSeal;
let slices: SliceScheduler;
/** What a member does with calls, and the callers it was called for. */
let handle: CallHandler;
let asked: Caller[];
let servers: CallServer[];
let started = 0;

beforeAll(async () => {
  [owner, caller] = await Promise.all([connect({ servers: nats().urls }), connect({ servers: nats().urls })]);
});

afterAll(async () => {
  await Promise.all([owner.close(), caller.close()]);
});

beforeEach(() => {
  const [ours, theirs] = ['test.caller', subjectOf(1)].map(
    (name) => testSeal(name, { acceptsUnsigned: true }).seal,
  );
  hearPulse(ours as MemberSeal, theirs as MemberSeal);
  seal = theirs as MemberSeal;
  slices = new SliceScheduler(systemClock);
  calls = new RemoteCalls(caller, systemClock, slices, ours as MemberSeal);
  asked = [];
  servers = [];
});

afterEach(() => {
  calls.close();
  for (const server of servers) server.close();
});

/** Starts a member that takes calls. */
async function serve(clock: Clock = systemClock): Promise<CallServer> {
  started += 1;
  const server = new CallServer(
    owner,
    `test.guard.${started}`,
    subjectOf(1),
    clock,
    new SliceScheduler(clock),
    seal,
    (call, who) => {
      asked.push(who);
      return handle(call, who);
    },
    () => {},
  );
  servers.push(server);
  await meet();
  return server;
}

/** Everything that was sent has arrived, and the answers to it: both connections have it behind two rounds each. */
async function meet(): Promise<void> {
  for (let round = 0; round < 4; round += 1) {
    await Promise.all([owner.flush(), caller.flush()]);
    await settle();
  }
}

const principal = { kind: 'admin', tenant: 'acme', userId: 'u1', username: 'ann' } as never;

function callOf(message: unknown, more: Partial<Call> = {}): Call {
  const actor = 'acme/site~1/repository';
  return { version: CALL_VERSION, kind: 'query', actor, message, principal, waitMs: 20_000, ...more };
}

function ask(call: Call, { member = 1, signal }: { member?: number; signal?: AbortSignal } = {}) {
  const pending = calls.call(subjectOf(member), call, systemClock.monotonicMs() + 20_000, signal);
  // It may be left when the test is over.
  pending.catch(() => undefined);
  return pending;
}

describe('the member that is called', () => {
  it('does a call anew that was cancelled and is sent again, whenever the first attempt ends', async () => {
    await serve();
    const answers = [0, 1, 2].map(() => Promise.withResolvers<string>());
    handle = () => answers[asked.length - 1]?.promise;
    const call = callOf('x', { id: { session: 'aa', slot: 0, number: 1 } });
    const controller = new AbortController();
    void ask(call, { signal: controller.signal });
    await meet();
    controller.abort(new ServiceError('REQUEST_CANCELLED'));
    await expect.poll(() => asked[0]?.signal?.aborted, patience).toBe(true);
    void ask(call);
    await expect.poll(() => asked.length, patience).toBe(2);
    answers[0]?.resolve('first');
    await meet();
    const last = ask(call);
    await meet();
    expect(asked).toHaveLength(2);
    answers[1]?.resolve('second');
    expect(await last).toEqual({ kind: 'answered', answer: 'second' });
  });

  it('begins none of the calls that wait for a turn when it closes', async () => {
    const worked = new WorkedTurns();
    const server = await serve(worked.clock);
    let isClosed = false;
    let late = 0;
    handle = () => {
      worked.work();
      if (isClosed) late += 1;
      if (worked.total === 20) {
        isClosed = true;
        server.close();
      }
    };
    for (let count = 0; count < 200; count += 1)
      caller.publish(subjectOf(1), callBytes(callOf(count)), { reply: `test.waiting.${count}` });
    await expect.poll(() => isClosed, patience).toBe(true);
    await server.settled(20_000);
    await meet();
    expect(late).toBe(0);
  });

  it('is settled when those calls are answered as well', async () => {
    const worked = new WorkedTurns();
    const server = await serve(worked.clock);
    handle = () => worked.work();
    const { promise: settled, resolve } = Promise.withResolvers<void>();
    let heard = 0;
    /** How many there were when it was asked. */
    let waited = 0;
    const look = (): void => {
      if (waited > 0 || heard <= asked.length) return;
      waited = heard;
      void server.settled(20_000).then(resolve);
    };
    const hearing = owner.subscribe(subjectOf(1), {
      callback: () => {
        heard += 1;
        queueMicrotask(look);
      },
    });
    await meet();
    for (let count = 0; count < 200; count += 1)
      caller.publish(subjectOf(1), callBytes(callOf(count)), { reply: `test.waiting.${count}` });
    await settled;
    expect(asked.length).toBeGreaterThanOrEqual(waited);
    hearing.unsubscribe();
  });

  it('ends the calls under way when it closes, and tells their callers', async () => {
    const server = await serve();
    handle = (_, { signal }) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    const pending = ask(callOf('x'));
    await expect.poll(() => asked.length, patience).toBe(1);
    server.close();
    await expect(pending).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  it('does nothing of a long call when it closes while it decodes it', async () => {
    const server = await serve();
    handle = () => 'done';
    for (const part of messagesOf(callBytes(callOf(LONG))))
      caller.publish(subjectOf(1), part, { reply: 'test.long' });
    while (server.runningCount === 0) await settle(1);
    server.close();
    await expect.poll(() => server.runningCount, patience).toBe(0);
    expect(asked).toHaveLength(0);
  });

  it('knows until when the caller waits, and on what it relies', async () => {
    const { clock } = new WorkedTurns();
    await serve(clock);
    handle = () => 'done';
    const precondition = { actor: 'acme/site~1/repository', query: { type: 'Find' }, uid: 'u' };
    await ask(callOf('x', { waitMs: 5_000, precondition }));
    expect(asked[0]).toMatchObject({ precondition, deadlineMs: clock.monotonicMs() + 5_000 });
  });
});

describe('a call to a member', () => {
  /** Lets a member answer each call with frames. @returns what it is told about them */
  async function answerWith(frames: readonly Uint8Array[]): Promise<string[]> {
    const told: string[] = [];
    started += 1;
    const control = `test.told.${started}`;
    owner.subscribe(subjectOf(7), {
      max: 1,
      callback: (_error, { reply }) => {
        for (const frame of frames) owner.publish(reply as string, frame, { reply: control });
      },
    });
    owner.subscribe(control, { callback: (_error, message) => void told.push(message.string()) });
    await meet();
    return told;
  }

  const piece = (kind: FrameKind, number: number, isLast = false): Uint8Array =>
    encodeFrame(kind, isLast, number, Buffer.from('"piece"'));

  it('is not sent when its caller has left already', async () => {
    await serve();
    handle = () => 'done';
    const signal = AbortSignal.abort(new ServiceError('REQUEST_CANCELLED'));
    await expect(ask(callOf('x'), { signal })).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
  });

  it('is not sent to its end when its caller leaves meanwhile', async () => {
    const parts: Uint8Array[] = [];
    const sent = owner.subscribe(subjectOf(6), { callback: (_error, { data }) => void parts.push(data) });
    await meet();
    const controller = new AbortController();
    const call = callOf(LONG);
    const pending = ask(call, { member: 6, signal: controller.signal });
    controller.abort(new ServiceError('REQUEST_CANCELLED'));
    await expect(pending).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    await settle(200);
    await meet();
    expect(parts.length).toBeLessThan(messagesOf(callBytes(call)).length);
    sent.unsubscribe();
  });

  it('may have been done when a piece of its answer is missing', async () => {
    await answerWith([piece(FrameKind.text, 0), piece(FrameKind.text, 2, true)]);
    expect(await ask(callOf('x'), { member: 7 })).toEqual({ kind: 'lost' });
  });

  it('says again what it has read when it hears that the member still works', async () => {
    const told = await answerWith([piece(FrameKind.text, 0), encodeFrame(FrameKind.working, false, 1)]);
    void ask(callOf('x'), { member: 7 });
    await expect.poll(() => told, patience).toEqual(['+1', '+1']);
  });

  it('is given up with those to the same member alone', async () => {
    await serve();
    await answerWith([]);
    const answer = Promise.withResolvers<string>();
    handle = () => answer.promise;
    const other = ask(callOf('x'));
    const lost = ask(callOf('x'), { member: 7 });
    await meet();
    calls.lose(subjectOf(7));
    expect(await lost).toEqual({ kind: 'lost' });
    answer.resolve('done');
    expect(await other).toEqual({ kind: 'answered', answer: 'done' });
  });

  it('ends before its own member stops to hear answers', async () => {
    await answerWith([]);
    const pending = ask(callOf('x'), { member: 7 });
    calls.endAt(systemClock.monotonicMs());
    await expect(pending).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });
});
