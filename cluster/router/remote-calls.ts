import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { runInSlices } from '#runtime/base/event-loop/run-in-slices.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { DatedAnswer } from '#runtime/content/dated-answer.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { sliceKeyOf } from '#runtime/commit/waiting-caller.ts';
import { newInbox } from '#cluster/nats/connection.ts';
import type { CallerSeal, MemberSeal } from '#cluster/seal/member-seal.ts';
import {
  type Call,
  decodeAnswer,
  decodeFrame,
  encodeCall,
  errorOf,
  type Frame,
  FrameKind,
  isLongMessage,
} from './call-frames.ts';
import { callMessages } from './call-parts.ts';
import { CANCEL, TAKEN, WORKING_MS } from './call-server.ts';

/** Silence after which a call counts as lost, in milliseconds: its owner reports progress every second. */
export const SILENCE_MS = 3 * WORKING_MS;

/** Interval of the checks of the calls under way, in milliseconds. */
const SWEEP_MS = 250;

/** Status with which a NATS server reports that a message has no responders. */
const NO_RESPONDERS = 503;

/** Outcome of a call that was not refused. */
export type CallOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  /** Nothing was done: the partition has no owner now, or the called member does not own it. */
  | { readonly kind: 'elsewhere' }
  /** There is no reply: it may have been executed or not. */
  | { readonly kind: 'lost' };

/** The kinds of frames that a reply consists of. */
type AnswerKind = typeof FrameKind.value | typeof FrameKind.text;

class PendingCall {
  readonly subject: string;
  /** Opens its replies. */
  readonly seal: CallerSeal;
  readonly #calls: RemoteCalls;
  /** Key of the caller for scheduling long work. */
  readonly #sliceKey: string;
  readonly #resolve: (outcome: CallOutcome | Promise<CallOutcome>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #signal: AbortSignal | undefined;
  readonly deadlineMs: number;
  readonly #parts: Buffer[] = [];
  #stream: FrameStream | undefined;
  #control: string | undefined;
  /** Frames of the reply that have arrived, and those that the caller has read. */
  #received = 0;
  #acknowledged = 0;
  /** See {@link Frame.head}. */
  #head: string | undefined;
  /** See {@link Frame.tag}. */
  #tag: string | undefined;
  heardMs: number;

  constructor(
    subject: string,
    seal: CallerSeal,
    calls: RemoteCalls,
    deadlineMs: number,
    nowMs: number,
    signal: AbortSignal | undefined,
    sliceKey: string,
    resolve: (outcome: CallOutcome | Promise<CallOutcome>) => void,
    reject: (error: unknown) => void,
  ) {
    this.subject = subject;
    this.seal = seal;
    this.#calls = calls;
    this.deadlineMs = deadlineMs;
    this.heardMs = nowMs;
    this.#signal = signal;
    this.#sliceKey = sliceKey;
    this.#resolve = resolve;
    this.#reject = reject;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** @returns whether the call is over */
  take(frame: Frame, control: string | undefined, nowMs: number): boolean {
    this.heardMs = nowMs;
    this.#control = control;
    this.#head ??= frame.head;
    this.#tag ??= frame.tag;
    // A connection broke in transit: the reply is incomplete, and remains so.
    if (frame.number > this.#received && frame.kind !== FrameKind.error) {
      this.lose();
      return true;
    }
    switch (frame.kind) {
      case FrameKind.working:
        // The acknowledgement may have been lost in the same way.
        if (this.#acknowledged > 0) this.#acknowledge();
        return false;
      case FrameKind.elsewhere:
        return this.#settle({ kind: 'elsewhere' });
      case FrameKind.refuted:
        return this.#fail(new PreconditionRefuted());
      case FrameKind.error:
        return this.#fail(errorOf(frame.body));
      case FrameKind.value:
      case FrameKind.text:
        return this.#takePart(frame.kind, frame);
      case FrameKind.chunk:
        return this.#takeChunk(frame);
      default:
        return this.#fail(new ServiceError('INTERNAL_SERVER_ERROR'));
    }
  }

  /** No frame arrived for too long. */
  lose(): void {
    if (this.#stream === undefined) this.#settle({ kind: 'lost' });
    else
      this.#fail(
        new ServiceError('NOT_OWNER', 'The member that sent the answer is gone; repeat the request'),
      );
  }

  /** The call had no responders. */
  undelivered(): void {
    this.#settle({ kind: 'elsewhere' });
  }

  expire(): void {
    this.#cancel();
    this.#fail(new ServiceError('DEADLINE_EXCEEDED'));
  }

  fail(error: unknown): void {
    this.#fail(error);
  }

  readonly #onAbort = (): void => {
    this.#cancel();
    this.#calls.forget(this);
    this.#fail(this.#signal?.reason ?? new ServiceError('REQUEST_CANCELLED'));
  };

  #takePart(kind: AnswerKind, { isLast, body }: Frame): boolean {
    this.#received += 1;
    this.#parts.push(Buffer.from(body));
    if (!isLast) {
      this.#taken();
      return false;
    }
    if (this.#parts.length > 1) return this.#settle(this.#decodeLong(kind));
    const answer = atOnce(decodeAnswer(kind, this.#parts[0] as Buffer, this.#tag));
    return this.#settle({ kind: 'answered', answer: this.#dated(answer) });
  }

  async #decodeLong(kind: AnswerKind): Promise<CallOutcome> {
    const whole = Buffer.concat(this.#parts.splice(0));
    const answer = await runInSlices(
      this.#calls.sliced(this.#sliceKey),
      decodeAnswer(kind, whole, this.#tag),
    );
    return { kind: 'answered', answer: this.#dated(answer) };
  }

  #takeChunk({ isLast, body }: Frame): boolean {
    this.#received += 1;
    if (this.#stream === undefined) {
      this.#stream = new FrameStream(
        () => this.#taken(),
        () => {
          this.#cancel();
          this.#calls.forget(this);
        },
      );
      this.#resolve({ kind: 'answered', answer: this.#dated({ chunks: this.#stream }) });
    }
    this.#stream.push(Buffer.from(body));
    if (!isLast) return false;
    this.#stream.end();
    this.#over();
    return true;
  }

  #dated(answer: unknown): unknown {
    return this.#head === undefined ? answer : new DatedAnswer(this.#head, answer);
  }

  #taken(): void {
    this.#acknowledged += 1;
    this.#acknowledge();
  }

  #acknowledge(): void {
    if (this.#control !== undefined)
      this.#calls.sendControl(
        this.#control,
        this.seal.sealControl(this.#control, `${TAKEN}${this.#acknowledged}`),
      );
  }

  #cancel(): void {
    if (this.#control !== undefined)
      this.#calls.sendControl(this.#control, this.seal.sealControl(this.#control, CANCEL));
  }

  #settle(outcome: CallOutcome | Promise<CallOutcome>): true {
    this.#over();
    this.#resolve(outcome);
    return true;
  }

  #fail(error: unknown): true {
    this.#over();
    if (this.#stream === undefined) this.#reject(error);
    else this.#stream.fail(error);
    return true;
  }

  #over(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

/** The pieces of a streamed reply. The sender's window limits their number. */
class FrameStream implements AsyncIterableIterator<string> {
  readonly #onRead: () => void;
  readonly #onReturn: () => void;
  readonly #decoder = new TextDecoder();
  #pieces: Buffer[] = [];
  #isEnded = false;
  #error: unknown;
  #wake: (() => void) | undefined;

  constructor(onRead: () => void, onReturn: () => void) {
    this.#onRead = onRead;
    this.#onReturn = onReturn;
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#error = error;
    this.end();
  }

  async next(): Promise<IteratorResult<string>> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#onRead();
        // A piece may end inside a character.
        const value = this.#decoder.decode(piece, { stream: true });
        if (value !== '') return { done: false, value };
        continue;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#isEnded) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  return(): Promise<IteratorResult<string>> {
    if (!this.#isEnded) this.#onReturn();
    this.#isEnded = true;
    this.#pieces = [];
    // Ends a pending request for the next piece.
    this.#wake?.();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Calls to the owners of partitions on other members. One subscription receives the replies to all of them. */
export class RemoteCalls {
  readonly #connection: NatsConnection;
  readonly #clock: Clock;
  readonly #seal: MemberSeal;
  readonly #slices: SliceScheduler;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #pending = new Map<string, PendingCall>();
  #count = 0;
  #endMs = Number.POSITIVE_INFINITY;
  #sweep: Timer | undefined;

  constructor(connection: NatsConnection, clock: Clock, slices: SliceScheduler, seal: MemberSeal) {
    this.#connection = connection;
    this.#slices = slices;
    this.#clock = clock;
    this.#seal = seal;
    this.#inbox = newInbox(connection);
    this.#subscription = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#take(message);
      },
    });
  }

  /**
   * Calls the member that subscribes to a subject.
   *
   * @param deadlineMs when the caller stops waiting, on the monotonic clock
   * @throws {ServiceError} the error of the owner; `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
   * @throws {PreconditionRefuted}
   */
  call(subject: string, call: Call, deadlineMs: number, signal?: AbortSignal): Promise<CallOutcome> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const seal = this.#seal.callTo(subject);
      // No heartbeat of that member is known: a call cannot be sealed for it, and nothing was done.
      if (seal === undefined) return resolve({ kind: 'elsewhere' });
      const reply = `${this.#inbox}.${(this.#count++).toString(36)}`;
      const nowMs = this.#clock.monotonicMs();
      const key = sliceKeyOf(call);
      const pending = new PendingCall(subject, seal, this, deadlineMs, nowMs, signal, key, resolve, reject);
      this.#pending.set(reply, pending);
      this.#schedule();
      const messages = callMessages(encodeCall(call));
      if (isLongMessage(call)) {
        this.#publishInSlices(reply, pending, messages, this.sliced(key)).catch((error: unknown) => {
          if (this.#pending.delete(reply)) pending.fail(error);
        });
        return;
      }
      for (const message of messages) if (message !== undefined) this.#publish(reply, pending, message);
    });
  }

  async #publishInSlices(
    reply: string,
    pending: PendingCall,
    messages: Iterable<Uint8Array | undefined>,
    work: SlicedWork,
  ): Promise<void> {
    for (const message of messages) {
      // The caller no longer waits.
      if (this.#pending.get(reply) !== pending) return;
      if (message !== undefined) {
        this.#publish(reply, pending, message);
        // Silence counts from the last part: sending all of them may take long.
        pending.heardMs = this.#clock.monotonicMs();
      }
      const wait = work.pause();
      if (wait !== undefined) await wait;
    }
  }

  #publish(reply: string, { seal, subject }: PendingCall, message: Uint8Array): void {
    this.#connection.publish(subject, seal.seal(reply, message), { reply });
  }

  /** Returns the scheduling of long work for a caller. */
  sliced(sliceKey: string): SlicedWork {
    return this.#slices.begin('read', { sliceKey, requireWaiting: () => undefined });
  }

  /** Gives up the calls to a subject: its member is no longer present. */
  lose(subject: string): void {
    for (const [reply, call] of [...this.#pending]) {
      if (call.subject !== subject) continue;
      this.#pending.delete(reply);
      call.lose();
    }
  }

  /** Sends a control message about a call to its owner. @param said sealed */
  sendControl(control: string, said: Uint8Array | string): void {
    if (!this.#connection.isClosed()) this.#connection.publish(control, said);
  }

  /** Removes a call from the list: its caller no longer waits. */
  forget(call: PendingCall): void {
    for (const [reply, pending] of this.#pending) if (pending === call) this.#pending.delete(reply);
  }

  /** Announces the monotonic time at which this member stops receiving replies: callers get an error before. */
  endAt(endMs: number): void {
    this.#endMs = Math.min(this.#endMs, endMs);
  }

  /** Ends every call with `SHUTTING_DOWN`. */
  close(): void {
    this.#sweep?.cancel();
    this.#subscription.unsubscribe();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const call of pending) call.fail(new ServiceError('SHUTTING_DOWN'));
  }

  #take(message: Msg): void {
    const pending = this.#pending.get(message.subject);
    if (pending === undefined) {
      this.#decline(message);
      return;
    }
    if (message.data.length === 0 && message.headers?.code === NO_RESPONDERS) {
      this.#pending.delete(message.subject);
      pending.undelivered();
      return;
    }
    const frame = pending.seal.open(message.subject, message.reply, message.data);
    // Not a reply of the called member; that one may still arrive.
    if (frame === undefined) return;
    const isOver = pending.take(decodeFrame(frame), message.reply, this.#clock.monotonicMs());
    if (isOver) this.#pending.delete(message.subject);
  }

  /** Cancels a reply whose caller no longer waits, or that was requested again. */
  #decline({ data, reply, subject }: Msg): void {
    if (reply === undefined || data.length === 0) return;
    // Otherwise a forged message could make this member send to any subject.
    const said = this.#seal.openAny(subject, reply, data);
    if (said !== undefined && !decodeFrame(said.frame).isLast)
      this.sendControl(reply, said.sealControl(CANCEL));
  }

  #schedule(): void {
    this.#sweep ??= this.#clock.after(SWEEP_MS, () => {
      this.#sweep = undefined;
      const nowMs = this.#clock.monotonicMs();
      for (const [reply, call] of [...this.#pending]) {
        if (nowMs > Math.min(call.deadlineMs, this.#endMs)) {
          this.#pending.delete(reply);
          call.expire();
        } else if (nowMs - call.heardMs > SILENCE_MS) {
          this.#pending.delete(reply);
          call.lose();
        }
      }
      if (this.#pending.size > 0) this.#schedule();
    });
  }
}
