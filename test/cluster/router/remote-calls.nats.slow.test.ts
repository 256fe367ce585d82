import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Call,
  CALL_VERSION,
  decodeFrame,
  encodeFrame,
  type Frame,
  FrameKind,
} from '#cluster/router/call-frames.ts';
import { type CallHandler, CallServer, TAKEN, WINDOW_FRAMES } from '#cluster/router/call-server.ts';
import { type CallOutcome, RemoteCalls } from '#cluster/router/remote-calls.ts';
import type { MemberSeal } from '#cluster/seal/member-seal.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { DatedAnswer } from '#runtime/content/dated-answer.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callBytes, messagesOf } from '#test/support/call-bytes.ts';
import { hearPulse, testSeal } from '#test/support/member-seals.ts';
import { WORKS_MAX, WorkedTurns } from '#test/support/worked-turns.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const nats = sharedNatsCluster(1);
const subjectOf = (member: number): string => `test.call.${member}`;

let owner: NatsConnection;
let caller: NatsConnection;
let calls: RemoteCalls;
let server: CallServer;
let slices: SliceScheduler;
let seal: MemberSeal;
let handle: CallHandler;
let reported: unknown[];

beforeAll(async () => {
  [owner, caller] = await Promise.all([connect({ servers: nats().urls }), connect({ servers: nats().urls })]);
});

afterAll(async () => {
  await Promise.all([owner.close(), caller.close()]);
});

beforeEach(async () => {
  // Calls to member 1 are sealed. What tests send or answer themselves is not: as a member of an older version does it.
  const [ours, theirs] = ['test.caller', subjectOf(1)].map(
    (name) => testSeal(name, { acceptsUnsigned: true }).seal,
  );
  hearPulse(ours as MemberSeal, theirs as MemberSeal);
  seal = theirs as MemberSeal;
  slices = new SliceScheduler(systemClock);
  calls = new RemoteCalls(caller, systemClock, slices, ours as MemberSeal);
  reported = [];
  server = new CallServer(
    owner,
    `test.m.${Date.now().toString(36)}`,
    subjectOf(1),
    systemClock,
    slices,
    seal,
    (call, who) => handle(call, who),
    (error) => reported.push(error),
  );
  await Promise.all([owner.flush(), caller.flush()]);
});

afterEach(() => {
  calls.close();
  server.close();
});

const principal = { kind: 'admin', tenant: 'acme', userId: 'u1', username: 'ann' } as never;

function callOf(message: unknown): Call {
  return {
    version: CALL_VERSION,
    kind: 'query',
    actor: 'acme/site~1/repository',
    message,
    principal,
    waitMs: 20_000,
  };
}

function ask(message: unknown, options: { member?: number; waitMs?: number; signal?: AbortSignal } = {}) {
  const { member = 1, waitMs = 20_000, signal } = options;
  const deadlineMs = systemClock.monotonicMs() + waitMs;
  return calls.call(subjectOf(member), callOf(message), deadlineMs, signal);
}

async function answerTo(message: unknown): Promise<unknown> {
  const outcome = (await ask(message)) as Extract<CallOutcome, { kind: 'answered' }>;
  expect(outcome.kind).toBe('answered');
  return outcome.answer;
}

describe('a call to the owner of a partition', () => {
  it('delivers the message with its caller, and returns the answer', async () => {
    handle = (call, who) => ({ message: call.message, actor: call.actor, who: who.principal });
    expect(await answerTo({ type: 'Read', at: [1, null] })).toEqual({
      message: { type: 'Read', at: [1, null] },
      actor: 'acme/site~1/repository',
      who: principal,
    });
  });

  it('may be answered with nothing, with ready text, later, and with many megabytes', async () => {
    const large = JSON.stringify('ü'.repeat(5_000_000));
    handle = ({ message }) => {
      if (message === 'nothing') return undefined;
      if (message === 'text') return new JsonText('{"a":1}');
      if (message === 'later') return Promise.resolve({ items: new JsonText('[1]'), next: null });
      return new JsonText(large);
    };
    expect(await answerTo('nothing')).toBeUndefined();
    expect(await answerTo('text')).toEqual(new JsonText('{"a":1}'));
    expect(await answerTo('later')).toEqual({ items: new JsonText('[1]'), next: null });
    expect((await answerTo('large')) as JsonText).toEqual(new JsonText(large));
  });

  it('takes many megabytes there and back in slices, and many callers at once', async () => {
    const text = 'ö"'.repeat(2_000_000);
    const message = { text, node: new JsonText(JSON.stringify(text)), list: ['a', 12345678901234567890n] };
    handle = (call) => ({ whole: call.message, node: new JsonText('{}') });
    const before = slices.turn;
    const answers = await Promise.all([answerTo(message), answerTo(message), answerTo('short')]);
    expect(answers[0]).toEqual({ whole: message, node: new JsonText('{}') });
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual({ whole: 'short', node: new JsonText('{}') });
    expect(slices.turn - before).toBeGreaterThan(10);
    expect(server.runningCount).toBe(0);
  });

  it('of many megabytes is done once when it is sent twice, and not at all when it is taken back', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    let asked = 0;
    handle = () => {
      asked += 1;
      return promise;
    };
    const call = { ...callOf('x'.repeat(4_000_000)), id: { session: 'bb', slot: 0, number: 7 } };
    const deadlineMs = systemClock.monotonicMs() + 20_000;
    const first = calls.call(subjectOf(1), call, deadlineMs);
    const again = calls.call(subjectOf(1), call, deadlineMs);
    // Once the owner has both, the one that began first hears nothing more.
    expect((await Promise.race([first, again])).kind).toBe('lost');
    expect(server.runningCount).toBe(1);
    resolve('done');
    expect((await Promise.all([first, again])).map(({ kind }) => kind).sort()).toEqual(['answered', 'lost']);
    expect(asked).toBe(1);
    const controller = new AbortController();
    const taken = calls.call(subjectOf(1), callOf(call.message), deadlineMs, controller.signal);
    controller.abort(new ServiceError('REQUEST_CANCELLED'));
    await expect(taken).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect(await answerTo('short')).toBe('done');
    expect(asked).toBe(2);
  }, 20_000);

  it('returns an error with its code, field and details, and no internal information', async () => {
    handle = ({ message }) => {
      if (message === 'inside') throw new Error('secret path /etc');
      throw new ServiceError('VALIDATION_FAILED', 'Too long', { field: 'name', details: { max: 3 } });
    };
    await expect(ask('bad')).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: 'Too long',
      field: 'name',
      details: { max: 3 },
    });
    await expect(ask('inside')).rejects.toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
    await expect(ask('inside')).rejects.not.toMatchObject({ message: expect.stringContaining('secret') });
    expect(reported).toEqual([new Error('secret path /etc'), new Error('secret path /etc')]);
  });

  it('of another version is refused before anything is done, with what to do [CLU-043]', async () => {
    let handled = 0;
    handle = () => (handled += 1);
    for (const version of [0, CALL_VERSION + 1]) {
      const deadlineMs = systemClock.monotonicMs() + 20_000;
      const call = { ...callOf('anything'), version };
      await expect(calls.call(subjectOf(1), call, deadlineMs, undefined)).rejects.toMatchObject({
        code: 'MEMBER_VERSIONS_DIFFER',
        message: expect.stringMatching(
          new RegExp(`version \\d to one that takes ${CALL_VERSION}; nothing was done. Finish the upgrade`),
        ),
      });
    }
    expect(handled).toBe(0);
    expect(await answerTo('as usual')).toBe(1);
  });

  it('returns the date of an answer, in one piece, in many and in a stream, and answers that nothing was done', async () => {
    const large = new JsonText(JSON.stringify('ü'.repeat(1_000_000)));
    async function* pieces() {
      yield '[1,';
      yield '2]';
    }
    handle = ({ message }) => {
      if (message === 'refuted') throw new PreconditionRefuted();
      if (message === 'large') return new DatedAnswer('7-1', large);
      if (message === 'stream') return Promise.resolve(new DatedAnswer('7-2', { chunks: pieces() }));
      return new DatedAnswer('7-3', { a: 1 });
    };
    expect(await answerTo('large')).toEqual(new DatedAnswer('7-1', large));
    const { answer, head } = (await answerTo('stream')) as DatedAnswer;
    const chunks: string[] = [];
    for await (const chunk of (answer as { chunks: AsyncIterable<string> }).chunks) chunks.push(chunk);
    expect([head, chunks.join('')]).toEqual(['7-2', '[1,2]']);
    expect(await answerTo('value')).toEqual(new DatedAnswer('7-3', { a: 1 }));
    await expect(ask('refuted')).rejects.toThrow(PreconditionRefuted);
    expect(reported).toEqual([]);
  });

  it('reports that nothing was done when the called member is absent, or does not own the partition', async () => {
    expect(await ask('x', { member: 2 })).toEqual({ kind: 'elsewhere' });
    handle = () => {
      throw new ServiceError('NOT_OWNER');
    };
    expect(await ask('x')).toEqual({ kind: 'elsewhere' });
    server.close();
    await owner.flush();
    expect(await ask('x')).toEqual({ kind: 'elsewhere' });
  });

  it('streams as the caller takes, and stops when the caller has enough', async () => {
    let told = 0;
    let isClosed = false;
    async function* chunks(): AsyncGenerator<string> {
      try {
        for (; ; told++) yield `${told} ü `.padEnd(20_000, 'x');
      } finally {
        isClosed = true;
      }
    }
    handle = () => ({ chunks: chunks() });
    const { chunks: stream } = (await answerTo('all')) as { chunks: AsyncIterable<string> };
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(told).toBeLessThan(40);
    let text = '';
    for await (const chunk of stream) {
      text += chunk;
      if (text.length > 2_000_000) break;
    }
    expect(text.slice(20_000 * 60, 20_000 * 60 + 4)).toBe('60 ü');
    for (let wait = 0; !isClosed && wait < 500; wait++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect([isClosed, server.runningCount]).toEqual([true, 0]);
  });

  it('ends a stream with the error it ended with', async () => {
    async function* chunks(): AsyncGenerator<string> {
      yield 'first';
      throw new ServiceError('DATA_CORRUPTED');
    }
    handle = () => ({ chunks: chunks() });
    const { chunks: stream } = (await answerTo('all')) as { chunks: AsyncIterable<string> };
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const chunk of stream) seen.push(chunk);
    };
    await expect(read()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(seen).toEqual(['first']);
  });

  it('is cancelled by its caller and by its deadline, and the owner is notified of both', async () => {
    const aborted: unknown[] = [];
    handle = (_call, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          aborted.push((signal.reason as ServiceError).code);
          reject(signal.reason);
        });
      });
    const controller = new AbortController();
    const given = ask('x', { signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort(new ServiceError('REQUEST_CANCELLED'));
    await expect(given).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    await expect(ask('x', { waitMs: 100 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    for (let wait = 0; aborted.length < 2 && wait < 500; wait++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(aborted).toEqual(['REQUEST_CANCELLED', 'REQUEST_CANCELLED']);
  });

  it('is one call when it is sent again under its id: the last caller gets the answer, from its beginning', async () => {
    const { promise, resolve } = Promise.withResolvers<JsonText>();
    const signals: AbortSignal[] = [];
    handle = (_call, { signal }) => {
      signals.push(signal as AbortSignal);
      return promise;
    };
    const call = { ...callOf('x'), id: { session: 'aa', slot: 0, number: 1 } };
    const askAgain = (signal?: AbortSignal) =>
      calls.call(subjectOf(1), call, systemClock.monotonicMs() + 20_000, signal);
    // Listens to what it is told and takes nothing of it, as a caller that stands still.
    const frames: number[] = [];
    const still = caller.subscribe('test.still', {
      callback: (_error, { data }) => void frames.push(decodeFrame(data).kind),
    });
    caller.publish(subjectOf(1), callBytes(call), { reply: 'test.still' });
    resolve(new JsonText(JSON.stringify('ü'.repeat(10_000_000))));
    const hasStalled = (): boolean =>
      frames.filter((kind) => kind === FrameKind.text).length === WINDOW_FRAMES;
    for (let wait = 0; !hasStalled() && wait < 1000; wait++)
      await new Promise((again) => setTimeout(again, 10));
    expect(await askAgain()).toEqual({ kind: 'answered', answer: await promise });
    expect([signals.length, server.runningCount, hasStalled()]).toEqual([1, 0, true]);
    still.unsubscribe();
  });

  it('is cancelled for a repeated call as for the first one', async () => {
    let asked = 0;
    const aborted = Promise.withResolvers<unknown>();
    handle = (_call, { signal }) => {
      asked += 1;
      return new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          aborted.resolve((signal.reason as ServiceError).code);
          reject(signal.reason);
        });
      });
    };
    const call = { ...callOf('x'), id: { session: 'aa', slot: 0, number: 2 } };
    const deadlineMs = systemClock.monotonicMs() + 20_000;
    const first = calls.call(subjectOf(1), call, deadlineMs);
    await caller.flush();
    const controller = new AbortController();
    const again = calls.call(subjectOf(1), call, deadlineMs, controller.signal);
    again.catch(() => undefined);
    // The first one hears nothing more.
    expect(await first).toEqual({ kind: 'lost' });
    controller.abort(new ServiceError('REQUEST_CANCELLED'));
    expect(await aborted.promise).toBe('REQUEST_CANCELLED');
    await expect(again).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect(asked).toBe(1);
  }, 20_000);

  it('begins, with others that come at once, for a bounded time in each turn of the event loop', async () => {
    const worked = new WorkedTurns();
    handle = ({ message }) => {
      worked.work();
      return message;
    };
    const flooded = new CallServer(
      owner,
      'test.flooded',
      subjectOf(10),
      worked.clock,
      new SliceScheduler(worked.clock),
      seal,
      (call, who) => handle(call, who),
      (error) => reported.push(error),
    );
    await owner.flush();
    const answered = new Set<string>();
    const back = caller.subscribe('test.flood.*', {
      callback: (_error, { data, subject }) => {
        if (decodeFrame(data).kind === FrameKind.value) answered.add(subject);
      },
    });
    for (let count = 0; count < 200; count += 1)
      caller.publish(subjectOf(10), callBytes(callOf(count)), { reply: `test.flood.${count}` });
    await expect.poll(() => answered.size, { timeout: 10_000 }).toBe(200);
    expect(worked.total).toBe(200);
    expect(worked.most).toBeLessThanOrEqual(WORKS_MAX);
    back.unsubscribe();
    flooded.close();
  });

  it('goes on while its caller moves to another server, and ends when the caller does not return', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const signals: AbortSignal[] = [];
    handle = (_call, { signal }) => {
      signals.push(signal as AbortSignal);
      return promise;
    };
    // Signs of work every 20 ms, so that the test need not wait.
    const quick = { ...systemClock, after: (ms: number, run: () => void) => systemClock.after(ms / 50, run) };
    const hurried = new CallServer(
      owner,
      'test.hurried',
      subjectOf(8),
      quick,
      slices,
      seal,
      handle,
      () => undefined,
    );
    await owner.flush();
    const call = callBytes(callOf('x'));
    caller.publish(subjectOf(8), call, { reply: 'test.away.1' });
    await expect.poll(() => signals.length).toBe(1);
    // Its first sign of work, and what the server says to it, are behind this round trip.
    await owner.flush();
    const frames: Frame[] = [];
    const back = caller.subscribe('test.away.1', {
      callback: (_error, { data }) => void frames.push(decodeFrame(data)),
    });
    await caller.flush();
    expect(signals[0]?.aborted).toBe(false);
    resolve('done');
    await expect.poll(() => frames.at(-1)?.kind).toBe(FrameKind.value);
    back.unsubscribe();
    const { promise: never } = Promise.withResolvers<string>();
    hurried.close();
    handle = (_call, { signal }) => {
      signals.push(signal as AbortSignal);
      return never;
    };
    const again = new CallServer(
      owner,
      'test.again',
      subjectOf(9),
      quick,
      slices,
      seal,
      handle,
      () => undefined,
    );
    await owner.flush();
    caller.publish(subjectOf(9), call, { reply: 'test.away.2' });
    await expect
      .poll(() => signals[1]?.reason, { timeout: 10_000 })
      .toMatchObject({ code: 'REQUEST_CANCELLED' });
    again.close();
  }, 20_000);

  it('is lost when a piece of its answer is lost, with any number of further pieces', async () => {
    const pieces = (kind: FrameKind): Uint8Array[] =>
      [0, 1, 2].map((number) => encodeFrame(kind, number === 2, number, Buffer.from('"piece"')));
    let toSend: Uint8Array[] = [];
    const told: string[] = [];
    const owed = owner.subscribe(subjectOf(7), {
      callback: (_error, { reply }) => {
        for (const frame of toSend) owner.publish(reply as string, frame, { reply: 'test.told' });
      },
    });
    const heard = owner.subscribe('test.told', {
      callback: (_error, message) => void told.push(message.string()),
    });
    await owner.flush();
    const [first, , last] = pieces(FrameKind.text) as [Uint8Array, Uint8Array, Uint8Array];
    toSend = [first, last];
    expect(await ask('x', { member: 7 })).toEqual({ kind: 'lost' });
    // The owner says that it sent two, of which one has come; what comes later is declined.
    toSend = [first, encodeFrame(FrameKind.working, false, 2), encodeFrame(FrameKind.working, false, 2)];
    expect(await ask('x', { member: 7 })).toEqual({ kind: 'lost' });
    await expect.poll(() => told.at(-1)).toBe('-');
    const [begin, , end] = pieces(FrameKind.chunk) as [Uint8Array, Uint8Array, Uint8Array];
    toSend = [begin, end];
    const outcome = (await ask('x', { member: 7 })) as Extract<CallOutcome, { kind: 'answered' }>;
    const read = async (): Promise<string> => {
      let text = '';
      for await (const chunk of (outcome.answer as { chunks: AsyncIterable<string> }).chunks) text += chunk;
      return text;
    };
    await expect(read()).rejects.toMatchObject({ code: 'NOT_OWNER' });
    owed.unsubscribe();
    heard.unsubscribe();
  });

  it('is delivered to its end although acknowledgements of its caller were lost', async () => {
    handle = () => new JsonText(JSON.stringify('x'.repeat(20_000_000)));
    const frames: Frame[] = [];
    let control = '';
    const taking = caller.subscribe('test.taking', {
      callback: (_error, { data, reply }) => {
        control = reply as string;
        const frame = decodeFrame(data);
        if (frame.kind === FrameKind.text) frames.push(frame);
      },
    });
    caller.publish(subjectOf(1), callBytes(callOf('x')), { reply: 'test.taking' });
    const patience = { timeout: 20_000 };
    await expect.poll(() => frames.length, patience).toBe(WINDOW_FRAMES);
    caller.publish(control, `${TAKEN}${WINDOW_FRAMES}`);
    await expect.poll(() => frames.length, patience).toBe(2 * WINDOW_FRAMES);
    caller.publish(control, `${TAKEN}${2 * WINDOW_FRAMES}`);
    await expect.poll(() => frames.at(-1)?.isLast, patience).toBe(true);
    taking.unsubscribe();
  });

  it('in parts is heard of before all of it has come, until a part is missing', async () => {
    const [first, second, , last] = messagesOf(callBytes(callOf('x'.repeat(1_800_000)))) as Uint8Array[];
    const kinds: FrameKind[] = [];
    const inbox = caller.subscribe('test.parts', {
      callback: (_error, { data }) => void kinds.push(decodeFrame(data).kind),
    });
    const send = async (part: Uint8Array | undefined): Promise<void> => {
      caller.publish(subjectOf(1), part as Uint8Array, { reply: 'test.parts' });
      await caller.flush();
    };
    await send(first);
    await expect.poll(() => kinds).toEqual([FrameKind.working]);
    await send(second);
    await expect.poll(() => kinds).toHaveLength(2);
    await send(last);
    handle = (call) => call.message;
    expect(await answerTo('another')).toBe('another');
    expect(kinds).toHaveLength(2);
    inbox.unsubscribe();
  });

  it('waits while the owner reports progress, and is lost when the owner falls silent', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    handle = () => promise;
    const slow = ask('slow');
    const lost = ask('lost');
    await new Promise((wait) => setTimeout(wait, 4000));
    resolve('done');
    expect(await slow).toEqual({ kind: 'answered', answer: 'done' });
    await lost;
    // Takes the call and never says anything.
    const silent = owner.subscribe(subjectOf(7), { callback: () => {} });
    await owner.flush();
    expect(await ask('x', { member: 7 })).toEqual({ kind: 'lost' });
    silent.unsubscribe();
  }, 20_000);
});
