import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { policyFor } from '#runtime/access/policy.ts';
import { PremiseRefuted } from '#runtime/actor/premise.ts';
import { atOnce } from '#runtime/base/at-once.ts';
import { type Clock, sleep, type Timer } from '#runtime/base/clock.ts';
import { inSlices } from '#runtime/base/in-slices.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { sliceKeyOf } from '#runtime/commit/commit-loop.ts';
import { DatedAnswer, undated } from '#runtime/content/dated-answer.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { AnswerSeal, MemberSeal } from '#cluster/seal/member-seal.ts';
import {
  answerFrames,
  type Call,
  decodeCall,
  encodeFrame,
  errorFrame,
  FRAME_BODY_BYTES_MAX,
  FrameKind,
  isLongMessage,
} from './call-frames.ts';
import { CallAssembly } from './call-parts.ts';

/** Between two signs that a call is still being worked on, in milliseconds. */
export const WORKING_MS = 1000;

/** The longest call that is decoded in one step, in bytes. */
const SMALL_CALL_BYTES = 64 * 1024;

/** Times in a row the caller is said not to listen before it is gone; it may be on its way to another server. */
const UNHEARD_MAX = 10;

/** Frames of one answer that may be under way without having been taken. */
export const WINDOW_FRAMES = 16;

/** Between two looks whether every answer has been sent, in milliseconds. */
const SETTLE_POLL_MS = 5;

/** A call is taken back by its caller. */
export const CANCEL = '-';

/** Begins what says how many frames have been taken: the count of all of them, so that one message may get lost. */
export const TAKEN = '+';

/** Does what a call asks; throws `NOT_OWNER` when nothing was done because the actor is elsewhere. */
export type CallHandler = (call: Call, caller: Caller) => unknown;

/** An answer that is told piece by piece. */
interface Streamed {
  readonly chunks: AsyncIterable<string>;
}

/** Where a call is answered, and how. */
interface AnswerPlace {
  readonly replyTo: string;
  /** Where the caller sends what it has to say about the call. */
  readonly control: string;
  readonly seal: AnswerSeal;
}

/** A call whose answer is not over. */
class RunningCall {
  readonly #server: CallServer;
  #place: AnswerPlace;
  /** How often it was asked. */
  #deliveries = 1;
  readonly #controller = new AbortController();
  /** By what long work for its caller is told apart; empty until it is known who that is. */
  sliceKey = '';
  #timer: Timer | undefined;
  /** Frames of the answer that were sent, and of these taken, since it was asked last. */
  #sent = 0;
  #taken = 0;
  #wake: (() => void) | undefined;
  /** Signs of work in a row that nobody heard, and whether the last one is known to be one of them. */
  #unheard = 0;
  #isUnheard = false;

  constructor(server: CallServer, place: AnswerPlace) {
    this.#server = server;
    this.#place = place;
  }

  get place(): AnswerPlace {
    return this.#place;
  }

  /** Rises when the caller asks again; what was told of the answer before is told anew. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** The caller has heard nothing for long and asks again, with another place for the answer. */
  redirect(place: AnswerPlace): void {
    this.#place = place;
    this.#deliveries += 1;
    this.#sent = 0;
    this.#taken = 0;
    this.#timer?.cancel();
    this.keepSaying();
    this.#wake?.();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Frames of the answer that were sent since it was asked last. */
  get sent(): number {
    return this.#sent;
  }

  /**
   * What the caller says; or, with empty data, a server: that nobody listens at the place for the answer. The caller may
   * just be on its way to another server, so that counts only when it is said for long.
   */
  told(data: Uint8Array): void {
    const text = data.length === 0 ? '' : this.#place.seal.openControl(this.#place.control, data);
    if (text === undefined) return;
    if (text === '') this.#isUnheard = true;
    else if (text === CANCEL) this.cancel(new ServiceError('REQUEST_CANCELLED'));
    else if (text.startsWith(TAKEN)) this.#taken = Math.max(this.#taken, Number(text.slice(TAKEN.length)));
    this.#wake?.();
  }

  cancel(reason: ServiceError): void {
    this.#controller.abort(reason);
    this.#wake?.();
  }

  /** Says from time to time that it is being worked on. */
  keepSaying(): void {
    this.#unheard = this.#isUnheard ? this.#unheard + 1 : 0;
    this.#isUnheard = false;
    if (this.#unheard === UNHEARD_MAX) this.cancel(new ServiceError('REQUEST_CANCELLED'));
    this.#server.send(this.#place, encodeFrame(FrameKind.working, false, this.#sent));
    this.#timer = this.#server.clock.after(WORKING_MS, () => this.keepSaying());
  }

  /**
   * Sends one frame when there is room for it.
   *
   * @returns false when the caller asked again meanwhile: it was not sent
   */
  async send(frame: Uint8Array): Promise<boolean> {
    const deliveries = this.#deliveries;
    while (
      this.#sent - this.#taken >= WINDOW_FRAMES &&
      !this.signal.aborted &&
      this.#deliveries === deliveries
    ) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.signal.aborted) throw this.signal.reason;
    if (this.#deliveries !== deliveries) return false;
    this.#sent += 1;
    this.#server.send(this.#place, frame);
    return true;
  }

  /** Sends a whole answer; from its beginning when the caller asks again. */
  async sendAll(answer: unknown): Promise<void> {
    const work = this.#server.sliced(this);
    let isTold = false;
    while (!isTold) {
      isTold = true;
      for (const frame of answerFrames(answer)) {
        if (frame !== undefined) isTold = await this.send(frame);
        if (!isTold) break;
        const wait = work.pause();
        if (wait !== undefined) await wait;
      }
    }
  }

  end(): void {
    this.#timer?.cancel();
  }
}

/**
 * Answers the calls of other members for the partitions this one owns. Each member listens on one subject for as long
 * as it lives: a call reaches one member, and is answered by it, also with the refusal that the partition is
 * elsewhere. Were a partition to have a subject, a call could reach two members (an owner that stood still and its
 * heir) or vanish (while servers tell each other that one listens no more).
 */
export class CallServer {
  readonly clock: Clock;
  readonly #slices: SliceScheduler;
  readonly #connection: NatsConnection;
  readonly #handle: CallHandler;
  readonly #seal: MemberSeal;
  readonly #calls: Subscription;
  readonly #assembly = new CallAssembly();
  readonly #running = new Map<string, RunningCall>();
  /** Those of {@link #running} that have an id, by it. */
  readonly #named = new Map<string, RunningCall>();
  readonly #report: (error: unknown) => void;
  readonly #inbox: string;
  readonly #control: Subscription;
  #count = 0;

  /**
   * @param inbox a subject of this life of the member alone, for what callers say of calls that run
   * @param subject where calls to this member arrive
   * @param report told of errors whose cause the caller is not shown
   */
  constructor(
    connection: NatsConnection,
    inbox: string,
    subject: string,
    clock: Clock,
    slices: SliceScheduler,
    seal: MemberSeal,
    handle: CallHandler,
    report: (error: unknown) => void,
  ) {
    this.#connection = connection;
    this.clock = clock;
    this.#slices = slices;
    this.#seal = seal;
    this.#handle = handle;
    this.#report = report;
    this.#inbox = inbox;
    this.#control = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#running.get(message.subject)?.told(message.data);
      },
    });
    this.#calls = connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) this.#take(message);
      },
    });
  }

  /** Calls whose answers are not over. */
  get runningCount(): number {
    return this.#running.size;
  }

  /** Resolves when every answer has been sent, or `graceMs` have passed: whoever asked would not know what became of it. */
  async settled(graceMs: number): Promise<void> {
    const untilMs = this.clock.monotonicMs() + graceMs;
    while (this.#running.size > 0 && this.clock.monotonicMs() < untilMs)
      await sleep(this.clock, SETTLE_POLL_MS);
  }

  /** Takes nothing more and ends what is under way with `SHUTTING_DOWN`. */
  close(): void {
    this.#calls.unsubscribe();
    this.#control.unsubscribe();
    for (const running of this.#running.values()) running.cancel(new ServiceError('SHUTTING_DOWN'));
  }

  /** Publishes a frame. */
  send({ control, replyTo, seal }: AnswerPlace, frame: Uint8Array): void {
    if (this.#connection.isClosed()) return;
    this.#connection.publish(replyTo, seal.seal(replyTo, control, frame), { reply: control });
  }

  #take({ data, reply, subject }: Msg): void {
    if (reply === undefined) return;
    // Who is no member gets no answer: it would go wherever they like.
    const opened = this.#seal.openCall(subject, reply, data);
    if (opened === undefined) return;
    const control = `${this.#inbox}.${(this.#count++).toString(36)}`;
    const place: AnswerPlace = { replyTo: reply, control, seal: opened.answers };
    const running = new RunningCall(this, place);
    let answer: unknown;
    let name: string | undefined;
    try {
      const bytes = this.#assembly.take(reply, opened.message, this.clock.monotonicMs());
      if (bytes === undefined) {
        // All of it may take longer than its caller bears to hear nothing.
        if (this.#assembly.isComing(reply)) this.send(place, encodeFrame(FrameKind.working, false, 0));
        return;
      }
      if (bytes.length > SMALL_CALL_BYTES) {
        void this.#takeLong(running, bytes);
        return;
      }
      const call = atOnce(decodeCall(bytes));
      name = nameOf(call);
      if (name !== undefined && this.#join(name, place)) return;
      running.sliceKey = sliceKeyOf(call);
      answer = this.#handle(call, this.#callerOf(call, running));
    } catch (error) {
      this.#fail(place, error, 0);
      return;
    }
    if (!(answer instanceof Promise) && !isStreamed(undated(answer)) && !isLongMessage(undated(answer))) {
      for (const frame of answerFrames(answer)) if (frame !== undefined) this.send(place, frame);
      return;
    }
    this.#running.set(control, running);
    if (name !== undefined) this.#named.set(name, running);
    running.keepSaying();
    void this.#finish(running, name, answer);
  }

  /** A call that is decoded in slices; its caller hears meanwhile that it is being worked on. */
  async #takeLong(running: RunningCall, bytes: Uint8Array): Promise<void> {
    const { place } = running;
    this.#running.set(place.control, running);
    running.keepSaying();
    let call: Call;
    try {
      call = await inSlices(this.sliced(running), decodeCall(bytes));
      running.signal.throwIfAborted();
    } catch (error) {
      await this.#finish(running, undefined, Promise.reject(error));
      return;
    }
    running.sliceKey = sliceKeyOf(call);
    const name = nameOf(call);
    if (name !== undefined && this.#join(name, place)) {
      running.end();
      return;
    }
    if (name !== undefined) this.#named.set(name, running);
    await this.#finish(running, name, this.#handled(call, running));
  }

  async #handled(call: Call, running: RunningCall): Promise<unknown> {
    return await this.#handle(call, this.#callerOf(call, running));
  }

  /** Long work for a call. */
  sliced({ signal, sliceKey }: RunningCall): SlicedWork {
    return this.#slices.begin('read', { sliceKey, requireWaiting: () => signal.throwIfAborted() });
  }

  /** @returns whether the call is one that runs already, and was not taken back: it answers to whoever asked last */
  #join(name: string, place: AnswerPlace): boolean {
    const running = this.#named.get(name);
    if (running === undefined || running.signal.aborted) return false;
    this.#running.delete(running.place.control);
    this.#running.set(place.control, running);
    running.redirect(place);
    return true;
  }

  async #finish(running: RunningCall, name: string | undefined, pending: unknown): Promise<void> {
    try {
      const answer = await pending;
      const told = undated(answer);
      if (!isStreamed(told)) await running.sendAll(answer);
      else await sendStream(running, told, answer instanceof DatedAnswer ? answer.head : undefined);
    } catch (error) {
      this.#fail(running.place, error, running.sent);
    } finally {
      running.end();
      this.#running.delete(running.place.control);
      if (name !== undefined && this.#named.get(name) === running) this.#named.delete(name);
    }
  }

  #fail(place: AnswerPlace, error: unknown, number: number): void {
    if (!(error instanceof ServiceError)) this.#report(error);
    this.send(place, failureFrame(error, number));
  }

  #callerOf(call: Call, running: RunningCall): Caller {
    const { premise, principal, waitMs } = call;
    const policy = policyFor(principal, principal.tenant);
    const { signal } = running;
    const caller =
      premise === undefined ? { principal, policy, signal } : { principal, policy, signal, premise };
    return waitMs === undefined ? caller : { ...caller, deadlineMs: this.clock.monotonicMs() + waitMs };
  }
}

async function sendStream(running: RunningCall, { chunks }: Streamed, head?: string): Promise<void> {
  // Says at once that it is a stream: the first piece may take its time.
  await running.send(encodeFrame(FrameKind.chunk, false, running.sent, undefined, head));
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk);
    for (let start = 0; start < bytes.length; start += FRAME_BODY_BYTES_MAX) {
      const body = bytes.subarray(start, start + FRAME_BODY_BYTES_MAX);
      await running.send(encodeFrame(FrameKind.chunk, false, running.sent, body));
    }
  }
  await running.send(encodeFrame(FrameKind.chunk, true, running.sent));
}

function failureFrame(error: unknown, number: number): Uint8Array {
  if (error instanceof ServiceError && error.code === 'NOT_OWNER')
    return encodeFrame(FrameKind.elsewhere, true, number);
  if (error instanceof PremiseRefuted) return encodeFrame(FrameKind.refuted, true, number);
  return errorFrame(error, number);
}

function isStreamed(answer: unknown): answer is Streamed {
  return typeof answer === 'object' && answer !== null && 'chunks' in answer;
}

/** Under what a call that may have an effect runs. */
function nameOf({ id }: Call): string | undefined {
  return id === undefined ? undefined : `${id.session} ${id.number}`;
}
