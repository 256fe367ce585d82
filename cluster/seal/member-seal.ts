import type { Clock } from '#runtime/base/time/clock.ts';
import { type ClusterKeys, SEAL_BYTES } from './cluster-keys.ts';
import { LIFE_BYTES, PeerLives, type PeerMoment } from './peer-lives.ts';
import type { Refusals } from './refusals.ts';
import { ReplayGuard } from './replay-guard.ts';

/*
 * Layout of sealed messages, in bytes. Big endian; offsets in brackets. A life is the random id of one process.
 *
 *   call     magic [0] 1   life of the sender [1] 8   number [9] 6   life of the receiver [15] 8
 *            time by the receiver's clock: ms [23] 6   seal [29] 16   length of the sender's name [45] 1
 *            the sender's name, then one message of the call
 *            context: subject, reply subject
 *
 *   answer   magic [0] 1   life of the replying member [1] 8   number [9] 6   seal [15] 16   then the frame
 *            context: subject, control subject of its receiver, life of its receiver
 *
 *   control  magic [0] 1   seal [1] 16   then the text
 *            context: subject
 *
 *   news     life of the sender [0] 8   number [8] 6   the sender's clock: ms [14] 6   seal [20] 16
 *            then the sender's name; base64url in a separate header, so that the message itself is unchanged
 *            context: subject, reply subject
 *
 * - A seal covers its context and the message except itself.
 * - Numbers of calls and news rise from 1 for each subject, those of answers over all subjects.
 * - A reply to news has the layout of news, with number 0 and a key of its own: its subject is used for one
 *   request only, so it is invalid for another one.
 */

/** First byte of sealed messages; no unsealed message begins with it. */
const MAGIC = 0xa5;

/** Maximum difference between the time in a sealed call and the receiver's clock, in milliseconds. */
export const SEALED_MS_MAX = 30_000;

const CALL_SEAL = 29;
const CALL_NAME = CALL_SEAL + SEAL_BYTES;
const ANSWER_SEAL = 15;
const ANSWER_BODY = ANSWER_SEAL + SEAL_BYTES;
const CONTROL_BODY = 1 + SEAL_BYTES;
const NEWS_SEAL = 20;
const NEWS_NAME = NEWS_SEAL + SEAL_BYTES;

/** Seals the replies to one call, at the member that replies. */
export interface AnswerSeal {
  /** @param to subject of the reply @param control subject on which its receiver sends control messages */
  seal(to: string, control: string, frame: Uint8Array): Uint8Array;
  /** Opens a control message of the caller. @returns undefined when the caller did not send it */
  openControl(control: string, data: Uint8Array): string | undefined;
}

/** Seals one call and opens its replies, at the caller. */
export interface CallerSeal {
  /** @param replyTo subject of the replies */
  seal(replyTo: string, message: Uint8Array): Uint8Array;
  /** Opens a frame of a reply. @returns undefined when the called member did not send it, or it was received before */
  open(to: string, control: string | undefined, data: Uint8Array): Uint8Array | undefined;
  sealControl(control: string, text: string): Uint8Array | string;
}

/** A message of a call from a member. */
export interface OpenedCall {
  readonly message: Uint8Array;
  readonly answers: AnswerSeal;
}

/** A broadcast to all members, or a reply to one. */
export interface NewsMessage {
  readonly subject: string;
  /** Reply subject; empty when no reply is wanted. */
  readonly replyTo: string;
  readonly data: Uint8Array;
  /** Undefined when the message is unsigned. */
  readonly seal: string | undefined;
}

/** Sender of a broadcast. */
export interface NewsSender {
  /** Empty in a message without a seal. */
  readonly name: string;
  /** Undefined in a message without a seal. */
  readonly life: Buffer | undefined;
  readonly number: number;
  /** Clock of the sender, in milliseconds. */
  readonly tickMs: number;
}

/** Dependencies of {@link MemberSeal}. */
export interface MemberSealOptions {
  readonly keys: ClusterKeys;
  /** Identifies this process of the member; {@link LIFE_BYTES} random bytes. */
  readonly life: Uint8Array;
  readonly clock: Clock;
  readonly refusals: Refusals;
  /** Whether unsigned messages are accepted, and sent to members that are not known to seal. */
  readonly acceptsUnsigned: boolean;
  /** Subject on which a member receives calls, by its name. */
  readonly callSubjectOf: (member: string) => string;
}

/**
 * Seals this member's messages to the others, and opens theirs. A message is accepted only if it was sealed with a key
 * of the cluster for this subject. A message with an effect must also be for this process of this member and for the
 * current time, and must not have been received before.
 *
 * @see docs/decisions/0033-signed-messages.md
 */
export class MemberSeal {
  readonly #options: MemberSealOptions;
  readonly #life: Buffer;
  readonly #lifeText: string;
  readonly #peers = new PeerLives();
  readonly #guard = new ReplayGuard();
  readonly #numbers = new Map<string, number>();
  #name = Buffer.alloc(0);
  #answers = 0;

  constructor(options: MemberSealOptions) {
    this.#options = options;
    this.#life = Buffer.from(options.life.slice(0, LIFE_BYTES));
    this.#lifeText = this.#life.toString('hex');
  }

  /** Sets the name of this member. */
  begin(name: string): void {
    this.#name = Buffer.from(name, 'utf8');
  }

  get acceptsUnsigned(): boolean {
    return this.#options.acceptsUnsigned;
  }

  /** Refusals that raise an alarm, a sentence each. */
  get alarms(): readonly string[] {
    return this.#options.refusals.alarms;
  }

  // ---- calls, at the caller

  /**
   * Seals all messages of a call to the member that subscribes to a subject.
   *
   * @returns undefined when no heartbeat of that member is known: it cannot be called
   */
  callTo(subject: string): CallerSeal | undefined {
    const receiver = this.#peers.at(subject, this.#options.clock.monotonicMs());
    if (receiver !== undefined) return this.#sealedCall(subject, receiver);
    return this.#options.acceptsUnsigned ? unsignedCall : undefined;
  }

  /** Opens a frame of a reply whose caller no longer waits. @returns undefined when it is not from a member */
  openAny(
    to: string,
    control: string,
    data: Uint8Array,
  ): { readonly frame: Uint8Array; readonly sealControl: (text: string) => Uint8Array | string } | undefined {
    const opened = this.#openAnswer(to, control, data);
    if (opened !== undefined)
      return { frame: opened.frame, sealControl: (text) => this.#sealControl(control, text) };
    const isUnsigned = this.#options.acceptsUnsigned && data[0] !== MAGIC;
    return isUnsigned ? { frame: data, sealControl: (text) => text } : undefined;
  }

  #sealControl(control: string, text: string): Uint8Array {
    const body = Buffer.from(text, 'latin1');
    const seal = this.#options.keys.seal('controls', `${control}\n`, body);
    return Buffer.concat([Buffer.of(MAGIC), seal, body]);
  }

  #sealedCall(subject: string, receiver: PeerMoment): CallerSeal {
    let newest = 0;
    return {
      seal: (replyTo, message) => this.#sealCall(subject, replyTo, receiver, message),
      open: (to, control, data) => {
        const opened = this.#openAnswer(to, control ?? '', data);
        if (opened === undefined || !opened.life.equals(receiver.life)) {
          this.#options.refusals.note('answer', data[0] === MAGIC ? 'forged' : 'unsigned', subject);
          return undefined;
        }
        if (opened.number <= newest) {
          this.#options.refusals.note('answer', 'replayed', subject);
          return undefined;
        }
        newest = opened.number;
        return opened.frame;
      },
      sealControl: (control, text) => this.#sealControl(control, text),
    };
  }

  #sealCall(subject: string, replyTo: string, receiver: PeerMoment, message: Uint8Array): Uint8Array {
    const name = this.#name;
    const body = CALL_NAME + 1 + name.length;
    const bytes = Buffer.allocUnsafe(body + message.length);
    bytes[0] = MAGIC;
    bytes.set(this.#life, 1);
    bytes.writeUIntBE(this.#next(subject), 9, 6);
    bytes.set(receiver.life, 15);
    bytes.writeUIntBE(tick(receiver.tickMs), 23, 6);
    bytes[CALL_NAME] = name.length;
    bytes.set(name, CALL_NAME + 1);
    bytes.set(message, body);
    bytes.set(this.#callSeal(subject, replyTo, bytes), CALL_SEAL);
    return bytes;
  }

  #callSeal(subject: string, replyTo: string, bytes: Buffer): Buffer {
    const { keys } = this.#options;
    const context = `${subject}\n${replyTo}\n`;
    return keys.seal('calls', context, bytes.subarray(0, CALL_SEAL), bytes.subarray(CALL_NAME));
  }

  // ---- calls, at the called member

  /** Opens a message of a call. @returns undefined for a refused message, which must not be answered */
  openCall(subject: string, replyTo: string, data: Uint8Array): OpenedCall | undefined {
    const { acceptsUnsigned, clock, refusals } = this.#options;
    if (data[0] !== MAGIC) {
      if (acceptsUnsigned) return { message: data, answers: unsignedAnswers };
      refusals.note('call', 'unsigned', '');
      return undefined;
    }
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    const body = CALL_NAME + 1 + (bytes[CALL_NAME] ?? 0);
    if (bytes.length < body) {
      refusals.note('call', 'forged', '');
      return undefined;
    }
    const sender = bytes.toString('utf8', CALL_NAME + 1, body);
    const isGenuine = this.#options.keys.holds(
      'calls',
      bytes.subarray(CALL_SEAL, CALL_NAME),
      `${subject}\n${replyTo}\n`,
      bytes.subarray(0, CALL_SEAL),
      bytes.subarray(CALL_NAME),
    );
    if (!isGenuine) {
      refusals.note('call', 'forged', sender);
      return undefined;
    }
    const life = bytes.subarray(1, 9);
    // Checked before the other refusals, so that a replay is reported as such, however late.
    const isNew = this.#guard.take(`${subject} ${life.toString('hex')}`, bytes.readUIntBE(9, 6));
    const isLate = Math.abs(bytes.readUIntBE(23, 6) - clock.monotonicMs()) > SEALED_MS_MAX;
    const isElse = !bytes.subarray(15, 23).equals(this.#life);
    if (!isNew || isElse || isLate) {
      refusals.note('call', isNew ? (isElse ? 'misdirected' : 'late') : 'replayed', sender);
      return undefined;
    }
    return { message: bytes.subarray(body), answers: this.#answersTo(life.toString('hex')) };
  }

  #answersTo(caller: string): AnswerSeal {
    const { keys } = this.#options;
    return {
      seal: (to, control, frame) => {
        this.#answers += 1;
        const bytes = Buffer.allocUnsafe(ANSWER_BODY + frame.length);
        bytes[0] = MAGIC;
        bytes.set(this.#life, 1);
        bytes.writeUIntBE(this.#answers, 9, 6);
        const seal = keys.seal(
          'answers',
          answerContext(to, control, caller),
          bytes.subarray(0, ANSWER_SEAL),
          frame,
        );
        bytes.set(seal, ANSWER_SEAL);
        bytes.set(frame, ANSWER_BODY);
        return bytes;
      },
      openControl: (control, data) => {
        const body = data.subarray(CONTROL_BODY);
        const isGenuine =
          data[0] === MAGIC && keys.holds('controls', data.subarray(1, CONTROL_BODY), `${control}\n`, body);
        if (isGenuine) return Buffer.from(body).toString('latin1');
        this.#options.refusals.note('message', data[0] === MAGIC ? 'forged' : 'unsigned', '');
        return undefined;
      },
    };
  }

  #openAnswer(
    to: string,
    control: string,
    data: Uint8Array,
  ): { readonly life: Buffer; readonly number: number; readonly frame: Buffer } | undefined {
    if (data[0] !== MAGIC || data.length < ANSWER_BODY) return undefined;
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    const frame = bytes.subarray(ANSWER_BODY);
    const isGenuine = this.#options.keys.holds(
      'answers',
      bytes.subarray(ANSWER_SEAL, ANSWER_BODY),
      answerContext(to, control, this.#lifeText),
      bytes.subarray(0, ANSWER_SEAL),
      frame,
    );
    return isGenuine ? { life: bytes.subarray(1, 9), number: bytes.readUIntBE(9, 6), frame } : undefined;
  }

  // ---- broadcasts

  /** Seals a broadcast. @param replyTo reply subject; empty when no reply is wanted */
  sealNews(subject: string, replyTo: string, data: Uint8Array): string {
    return this.#sealAll('news', subject, replyTo, this.#next(subject), data);
  }

  /** Seals a reply to {@link sealNews}. */
  sealReply(subject: string, data: Uint8Array): string {
    return this.#sealAll('replies', subject, '', 0, data);
  }

  /**
   * Verifies a broadcast.
   *
   * @param seal result of {@link sealNews}; undefined when there is none
   * @param guard of the listener: refuses replays
   * @returns the sender; undefined when the message is not from a member
   */
  openNews(message: NewsMessage, guard: ReplayGuard): NewsSender | undefined {
    const sender = this.#openAll('news', message);
    if (sender === undefined || sender.life === undefined) return sender;
    if (guard.take(`${message.subject} ${sender.life.toString('hex')}`, sender.number)) return sender;
    this.#options.refusals.note('message', 'replayed', sender.name);
    return undefined;
  }

  /** Returns whether a reply to {@link sealNews} is from a member. */
  opensReply(message: NewsMessage): boolean {
    return this.#openAll('replies', message) !== undefined;
  }

  /** Records a heartbeat of a member: calls to it are sealed for the process that sent the heartbeat. */
  heard({ life, name, tickMs }: NewsSender): void {
    const { callSubjectOf, clock } = this.#options;
    if (life !== undefined) this.#peers.hear(callSubjectOf(name), life, tickMs, clock.monotonicMs());
  }

  /** Records that a member does not seal: it runs an older version again. */
  forget(member: string): void {
    this.#peers.forget(this.#options.callSubjectOf(member));
  }

  #sealAll(
    purpose: 'news' | 'replies',
    subject: string,
    replyTo: string,
    number: number,
    data: Uint8Array,
  ): string {
    const bytes = Buffer.allocUnsafe(NEWS_NAME + this.#name.length);
    bytes.set(this.#life, 0);
    bytes.writeUIntBE(number, 8, 6);
    bytes.writeUIntBE(tick(this.#options.clock.monotonicMs()), 14, 6);
    bytes.set(this.#name, NEWS_NAME);
    bytes.set(this.#newsSeal(purpose, subject, replyTo, bytes, data), NEWS_SEAL);
    return bytes.toString('base64url');
  }

  #newsSeal(
    purpose: 'news' | 'replies',
    subject: string,
    replyTo: string,
    bytes: Buffer,
    data: Uint8Array,
  ): Buffer {
    const name = bytes.subarray(NEWS_NAME);
    const context = newsContext(subject, replyTo, name);
    return this.#options.keys.seal(purpose, context, bytes.subarray(0, NEWS_SEAL), name, data);
  }

  #openAll(purpose: 'news' | 'replies', message: NewsMessage): NewsSender | undefined {
    const { acceptsUnsigned, keys, refusals } = this.#options;
    const { data, replyTo, seal, subject } = message;
    if (seal === undefined || seal === '') {
      if (acceptsUnsigned) return { name: '', life: undefined, number: 0, tickMs: 0 };
      refusals.note('message', 'unsigned', '');
      return undefined;
    }
    const bytes = Buffer.from(seal, 'base64url');
    const name = bytes.toString('utf8', NEWS_NAME);
    const isWhole = bytes.length >= NEWS_NAME;
    const sealed = [bytes.subarray(0, NEWS_SEAL), bytes.subarray(NEWS_NAME), data] as const;
    const context = newsContext(subject, replyTo, sealed[1]);
    if (!isWhole || !keys.holds(purpose, bytes.subarray(NEWS_SEAL, NEWS_NAME), context, ...sealed)) {
      refusals.note('message', 'forged', name);
      return undefined;
    }
    return {
      name,
      life: bytes.subarray(0, LIFE_BYTES),
      number: bytes.readUIntBE(8, 6),
      tickMs: bytes.readUIntBE(14, 6),
    };
  }

  /**
   * Returns the next number of a subject. The subjects are those of the cluster: some for each member and partition.
   */
  #next(subject: string): number {
    const number = (this.#numbers.get(subject) ?? 0) + 1;
    this.#numbers.set(subject, number);
    return number;
  }
}

/** A call to a member that does not seal, during an upgrade of the cluster. */
const unsignedCall: CallerSeal = {
  seal: (_replyTo, message) => message,
  open: (_to, _control, data) => (data[0] === MAGIC ? undefined : data),
  sealControl: (_control, text) => text,
};

/** Replies to a member that does not seal, during an upgrade of the cluster. */
const unsignedAnswers: AnswerSeal = {
  seal: (_to, _control, frame) => frame,
  openControl: (_control, data) => Buffer.from(data).toString('latin1'),
};

/** The length prevents confusing the end of a name with the beginning of the next part. */
function newsContext(subject: string, replyTo: string, name: Uint8Array): string {
  return `${subject}\n${replyTo}\n${name.length}\n`;
}

function answerContext(to: string, control: string, caller: string): string {
  return `${to}\n${control}\n${caller}\n`;
}

function tick(ms: number): number {
  return Math.max(0, Math.floor(ms));
}
