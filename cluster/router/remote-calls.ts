import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { PremiseRefuted } from '#runtime/actor/premise.ts';
import { atOnce } from '#runtime/base/at-once.ts';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import { inSlices } from '#runtime/base/in-slices.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import { DatedAnswer } from '#runtime/content/dated-answer.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { sliceKeyOf } from '#runtime/commit/commit-loop.ts';
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

/** Silence after which a call counts as lost, in milliseconds: its owner says every second that it works. */
export const SILENCE_MS = 3 * WORKING_MS;

/** Between two looks at the calls under way, in milliseconds. */
const SWEEP_MS = 250;

/** Status by which a NATS server says that nobody listens. */
const NO_RESPONDERS = 503;

/** What became of a call that was not refused. */
export type CallOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  /** Nothing was done: nobody owns the partition now, or the member asked does not. */
  | { readonly kind: 'elsewhere' }
  /** Nothing is heard of it: it may have been done or not. */
  | { readonly kind: 'lost' };

/** The kinds of frames that an answer is put together from. */
type AnswerKind = typeof FrameKind.value | typeof FrameKind.text;

class PendingCall {
  readonly subject: string;
  /** Opens its answers. */
  readonly seal: CallerSeal;
  readonly #calls: RemoteCalls;
  /** By what long work for the caller is told apart. */
  readonly #sliceKey: string;
  readonly #resolve: (outcome: CallOutcome | Promise<CallOutcome>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #signal: AbortSignal | undefined;
  readonly deadlineMs: number;
  readonly #parts: Buffer[] = [];
  #stream: FrameStream | undefined;
  #control: string | undefined;
  /** Frames of the answer that have come, and of these taken by whoever asked. */
  #received = 0;
  #takenCount = 0;
  /** See {@link Frame.head}. */
  #head: string | undefined;
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
    // A connection broke on the way: what has come is no whole answer, and never will be.
    if (frame.number > this.#received && frame.kind !== FrameKind.error) {
      this.lose();
      return true;
    }
    switch (frame.kind) {
      case FrameKind.working:
        // What was said of it may have been lost the same way.
        if (this.#takenCount > 0) this.#tellTaken();
        return false;
      case FrameKind.elsewhere:
        return this.#settle({ kind: 'elsewhere' });
      case FrameKind.refuted:
        return this.#fail(new PremiseRefuted());
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

  /** Nothing was heard for too long. */
  lose(): void {
    if (this.#stream === undefined) this.#settle({ kind: 'lost' });
    else this.#fail(new ServiceError('NOT_OWNER', 'The member that told the answer is gone; ask again'));
  }

  /** Nobody listens where it was sent. */
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
    const answer = atOnce(decodeAnswer(kind, this.#parts[0] as Buffer));
    return this.#settle({ kind: 'answered', answer: this.#dated(answer) });
  }

  async #decodeLong(kind: AnswerKind): Promise<CallOutcome> {
    const whole = Buffer.concat(this.#parts.splice(0));
    const answer = await inSlices(this.#calls.sliced(this.#sliceKey), decodeAnswer(kind, whole));
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
    this.#takenCount += 1;
    this.#tellTaken();
  }

  #tellTaken(): void {
    if (this.#control !== undefined)
      this.#calls.tell(this.#control, this.seal.sealControl(this.#control, `${TAKEN}${this.#takenCount}`));
  }

  #cancel(): void {
    if (this.#control !== undefined)
      this.#calls.tell(this.#control, this.seal.sealControl(this.#control, CANCEL));
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

/** The pieces of a streamed answer. There are never more than the window of the sender lets through. */
class FrameStream implements AsyncIterableIterator<string> {
  readonly #onTaken: () => void;
  readonly #onReturn: () => void;
  readonly #decoder = new TextDecoder();
  #pieces: Buffer[] = [];
  #isEnded = false;
  #error: unknown;
  #wake: (() => void) | undefined;

  constructor(onTaken: () => void, onReturn: () => void) {
    this.#onTaken = onTaken;
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
        this.#onTaken();
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
    // Who asked for the next piece before is told that there is none.
    this.#wake?.();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Calls to the owners of partitions on other members. One subscription takes the answers of all of them. */
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
   * Asks whoever listens on a subject.
   *
   * @param deadlineMs when the caller stops waiting, on the monotonic clock
   * @throws {ServiceError} what the owner answers; `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
   * @throws {PremiseRefuted}
   */
  call(subject: string, call: Call, deadlineMs: number, signal?: AbortSignal): Promise<CallOutcome> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const seal = this.#seal.callTo(subject);
      // Nothing is known of the one that would be asked: nothing can be sealed for it, and nothing was done.
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
      // Nobody waits for the answer any more.
      if (this.#pending.get(reply) !== pending) return;
      if (message !== undefined) {
        this.#publish(reply, pending, message);
        // Silence counts from what was said last: to say all of it may take long.
        pending.heardMs = this.#clock.monotonicMs();
      }
      const wait = work.pause();
      if (wait !== undefined) await wait;
    }
  }

  #publish(reply: string, { seal, subject }: PendingCall, message: Uint8Array): void {
    this.#connection.publish(subject, seal.seal(reply, message), { reply });
  }

  /** Long work for a caller. */
  sliced(sliceKey: string): SlicedWork {
    return this.#slices.begin('read', { sliceKey, requireWaiting: () => undefined });
  }

  /** Gives up the calls to a subject: whoever listens there is not heard of any more. */
  lose(subject: string): void {
    for (const [reply, call] of [...this.#pending]) {
      if (call.subject !== subject) continue;
      this.#pending.delete(reply);
      call.lose();
    }
  }

  /** Says something about a call to its owner. @param said sealed */
  tell(control: string, said: Uint8Array | string): void {
    if (!this.#connection.isClosed()) this.#connection.publish(control, said);
  }

  /** Takes a call off the list: nobody waits for it any more. */
  forget(call: PendingCall): void {
    for (const [reply, pending] of this.#pending) if (pending === call) this.#pending.delete(reply);
  }

  /** From then on, on the monotonic clock, nobody is there to take an answer: callers are told before. */
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
    // Not an answer of the member that was asked; that one may still come.
    if (frame === undefined) return;
    const isOver = pending.take(decodeFrame(frame), message.reply, this.#clock.monotonicMs());
    if (isOver) this.#pending.delete(message.subject);
  }

  /** More is to come of an answer that nobody waits for, or of one that was asked for anew: its owner is to stop. */
  #decline({ data, reply, subject }: Msg): void {
    if (reply === undefined || data.length === 0) return;
    // Else anybody could have this member send something to wherever they like.
    const said = this.#seal.openAny(subject, reply, data);
    if (said !== undefined && !decodeFrame(said.frame).isLast) this.tell(reply, said.sealControl(CANCEL));
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
