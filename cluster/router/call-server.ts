import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { policyFor } from '#runtime/access/policy.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { type Clock, sleep, type Timer } from '#runtime/base/time/clock.ts';
import type { HandlerTurns } from '#runtime/base/event-loop/handler-turns.ts';
import { runInSlices } from '#runtime/base/event-loop/run-in-slices.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { sliceKeyOf } from '#runtime/commit/waiting-caller.ts';
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

/** Interval of the progress reports for a running call, in milliseconds. */
export const WORKING_MS = 1000;

/**
 * Key under which messages wait for a turn before their caller is known: one queue, because the parts of a call have
 * an order.
 */
const ARRIVED = 'arrived';

/** Maximum size of a call that is decoded in one step, in bytes. */
const SMALL_CALL_BYTES = 64 * 1024;

/** Consecutive "no responders" reports after which the caller is gone; it may be reconnecting to another server. */
const UNHEARD_MAX = 10;

/** Maximum number of frames of one reply that are sent without being acknowledged. */
export const WINDOW_FRAMES = 16;

/** Interval of the checks whether every reply has been sent, in milliseconds. */
const SETTLE_POLL_MS = 5;

/** Control message: the caller cancels a call. */
export const CANCEL = '-';

/** Prefix of the control message with the total count of acknowledged frames, so that one message may get lost. */
export const TAKEN = '+';

/** Executes a call; throws `NOT_OWNER` when nothing was done because the actor is elsewhere. */
export type CallHandler = (call: Call, caller: Caller) => unknown;

/** A streamed reply. */
interface Streamed {
  readonly chunks: AsyncIterable<string | Uint8Array>;
}

/** Subjects and seal of the reply to a call. */
interface AnswerPlace {
  readonly replyTo: string;
  /** Subject on which the caller sends control messages about the call. */
  readonly control: string;
  readonly seal: AnswerSeal;
}

/** A call whose reply is not complete. */
class RunningCall {
  readonly #server: CallServer;
  #place: AnswerPlace;
  /** Number of times it was received. */
  #deliveries = 1;
  readonly #controller = new AbortController();
  /** Key of the caller for scheduling long work; empty until the caller is known. */
  sliceKey = '';
  #timer: Timer | undefined;
  /** Frames of the reply that were sent and acknowledged since the last delivery of the call. */
  #sent = 0;
  #taken = 0;
  #wake: (() => void) | undefined;
  /** Consecutive progress reports without a receiver, and whether the last one is known to be one of them. */
  #unheard = 0;
  #wasUnanswered = false;

  constructor(server: CallServer, place: AnswerPlace) {
    this.#server = server;
    this.#place = place;
  }

  get place(): AnswerPlace {
    return this.#place;
  }

  /** Rises when the caller sends the call again; the reply is then sent from its beginning. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** The caller has received nothing for long and sends the call again, with another reply subject. */
  redirect(place: AnswerPlace): void {
    this.#place = place;
    this.#deliveries += 1;
    this.#sent = 0;
    this.#taken = 0;
    this.#timer?.cancel();
    this.reportProgress();
    this.#wake?.();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Frames of the reply that were sent since the last delivery of the call. */
  get sent(): number {
    return this.#sent;
  }

  /**
   * Handles a control message of the caller; or, with empty data, a server's report that the reply subject has no
   * responders. The caller may just be reconnecting to another server, so only repeated reports count.
   */
  onControl(data: Uint8Array): void {
    const text = data.length === 0 ? '' : this.#place.seal.openControl(this.#place.control, data);
    if (text === undefined) return;
    if (text === '') this.#wasUnanswered = true;
    else if (text === CANCEL) this.cancel(new ServiceError('REQUEST_CANCELLED'));
    else if (text.startsWith(TAKEN)) this.#taken = Math.max(this.#taken, Number(text.slice(TAKEN.length)));
    this.#wake?.();
  }

  cancel(reason: ServiceError): void {
    this.#controller.abort(reason);
    this.#wake?.();
  }

  /** Reports progress periodically. */
  reportProgress(): void {
    this.#unheard = this.#wasUnanswered ? this.#unheard + 1 : 0;
    this.#wasUnanswered = false;
    if (this.#unheard === UNHEARD_MAX) this.cancel(new ServiceError('REQUEST_CANCELLED'));
    this.#server.send(this.#place, encodeFrame(FrameKind.working, false, this.#sent));
    this.#timer = this.#server.clock.after(WORKING_MS, () => this.reportProgress());
  }

  /**
   * Sends one frame when the window has space for it.
   *
   * @returns false when the caller sent the call again meanwhile: the frame was not sent
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

  /** Sends a complete reply; from its beginning when the caller sends the call again. */
  async sendAll(answer: unknown): Promise<void> {
    const work = this.#server.sliced(this);
    let isSent = false;
    while (!isSent) {
      isSent = true;
      for (const frame of answerFrames(answer)) {
        if (frame !== undefined) isSent = await this.send(frame);
        if (!isSent) break;
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
 * Answers the calls of other members for the partitions this one owns. Each member subscribes to one subject for its
 * lifetime: a call reaches one member, and that member replies, also with the refusal that the partition is
 * elsewhere. If each partition had a subject, a call could reach two members (a suspended owner and its
 * successor) or be lost (while servers exchange their subscriptions).
 */
export class CallServer {
  readonly clock: Clock;
  readonly #slices: SliceScheduler;
  /** Receives and starts calls for a bounded time in each turn, together with the requests of clients. */
  readonly #turns: HandlerTurns;
  readonly #connection: NatsConnection;
  readonly #handle: CallHandler;
  readonly #seal: MemberSeal;
  readonly #calls: Subscription;
  readonly #assembly = new CallAssembly();
  readonly #running = new Map<string, RunningCall>();
  /** Those of {@link #running} that have an id, by id. */
  readonly #named = new Map<string, RunningCall>();
  readonly #report: (error: unknown) => void;
  readonly #inbox: string;
  readonly #control: Subscription;
  #count = 0;
  /** Number of messages that wait for a turn. */
  #arrived = 0;
  #isClosed = false;

  /**
   * @param inbox a subject of this process alone, for control messages about running calls
   * @param subject on which calls to this member arrive
   * @param report receives errors whose cause is not sent to the caller
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
    this.#turns = slices.handlers;
    this.#seal = seal;
    this.#handle = handle;
    this.#report = report;
    this.#inbox = inbox;
    this.#control = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#running.get(message.subject)?.onControl(message.data);
      },
    });
    this.#calls = connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) this.#arrive(message);
      },
    });
  }

  /** Number of calls whose replies are not complete. */
  get runningCount(): number {
    return this.#running.size;
  }

  /**
   * Resolves when every reply has been sent, or after `graceMs`. Without a reply a caller would not know the outcome.
   */
  async settled(graceMs: number): Promise<void> {
    const untilMs = this.clock.monotonicMs() + graceMs;
    while (this.#running.size + this.#arrived > 0 && this.clock.monotonicMs() < untilMs)
      await sleep(this.clock, SETTLE_POLL_MS);
  }

  /** Accepts no more calls and ends those under way with `SHUTTING_DOWN`. */
  close(): void {
    this.#isClosed = true;
    this.#calls.unsubscribe();
    this.#control.unsubscribe();
    for (const running of this.#running.values()) running.cancel(new ServiceError('SHUTTING_DOWN'));
  }

  /** Publishes a frame. */
  send({ control, replyTo, seal }: AnswerPlace, frame: Uint8Array): void {
    if (this.#connection.isClosed()) return;
    this.#connection.publish(replyTo, seal.seal(replyTo, control, frame), { reply: control });
  }

  /** Verifies and decodes a message now, or in a later turn when this one's time is used up. */
  #arrive(message: Msg): void {
    if (this.#turns.mayBegin()) {
      this.#take(message);
      return;
    }
    this.#arrived += 1;
    const begin = (): void => {
      this.#arrived -= 1;
      if (!this.#isClosed) this.#take(message);
    };
    this.#turns.wait(ARRIVED, () => true, begin);
  }

  #take({ data, reply, subject }: Msg): void {
    if (reply === undefined) return;
    // A sender that is not a member gets no reply: it could name any subject.
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
        // The complete call may take longer than its caller waits without a sign of life.
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
      answer = this.#begin(call, running);
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
    running.reportProgress();
    void this.#finish(running, name, answer);
  }

  /** Decodes a call in slices and reports progress meanwhile. No slice begins after the call was cancelled. */
  async #takeLong(running: RunningCall, bytes: Uint8Array): Promise<void> {
    const { place } = running;
    this.#running.set(place.control, running);
    running.reportProgress();
    let call: Call;
    try {
      call = await runInSlices(this.sliced(running), decodeCall(bytes));
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
    return await this.#begin(call, running);
  }

  /** Starts a call in this turn, or in a later one when this one's time is used up: callers take turns. */
  #begin(call: Call, running: RunningCall): unknown {
    const caller = this.#callerOf(call, running);
    if (this.#turns.mayBegin()) return this.#handle(call, caller);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        try {
          running.signal.throwIfAborted();
          resolve(this.#handle(call, caller));
        } catch (error) {
          reject(error);
        }
      };
      this.#turns.wait(running.sliceKey, () => true, begin);
    });
  }

  /** Returns the scheduling of long work for a call. */
  sliced({ signal, sliceKey }: RunningCall): SlicedWork {
    return this.#slices.begin('read', { sliceKey, requireWaiting: () => signal.throwIfAborted() });
  }

  /** @returns whether the call is already running and not cancelled; then its reply goes to the last caller */
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
    const { precondition, principal, waitMs } = call;
    const policy = policyFor(principal, principal.tenant);
    const { signal } = running;
    const caller =
      precondition === undefined
        ? { principal, policy, signal }
        : { principal, policy, signal, precondition };
    return waitMs === undefined ? caller : { ...caller, deadlineMs: this.clock.monotonicMs() + waitMs };
  }
}

async function sendStream(running: RunningCall, { chunks }: Streamed, head?: string): Promise<void> {
  // Announces the stream at once: the first piece may take long.
  await running.send(encodeFrame(FrameKind.chunk, false, running.sent, undefined, { head }));
  for await (const chunk of chunks) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
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
  if (error instanceof PreconditionRefuted) return encodeFrame(FrameKind.refuted, true, number);
  return errorFrame(error, number);
}

function isStreamed(answer: unknown): answer is Streamed {
  return typeof answer === 'object' && answer !== null && 'chunks' in answer;
}

/** Returns the name under which a call with a possible effect runs. */
function nameOf({ id }: Call): string | undefined {
  return id === undefined ? undefined : `${id.session} ${id.number}`;
}
