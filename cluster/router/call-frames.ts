import { decodeUtf8InSteps, textSlices } from '#runtime/base/sliced-text.ts';
import { DatedAnswer, undated } from '#runtime/content/dated-answer.ts';
import { JsonText } from '#runtime/content/json-text.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { isLargeJson } from '#runtime/base/sliced-json.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { errorRegistry } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { CallId, IdempotencyKey, Premise } from '#runtime/commit/behaviour.ts';
import { blocksOf } from './byte-blocks.ts';
import { decodeMessage, decodeMessageInSteps, encodeMessage, messagePieces } from './message-codec.ts';

/**
 * Version of the calls between members. 1: the first. 2: a call may have a premise, and frames of its answer a date.
 *
 * A version that brings another one goes on taking the one before it, and makes calls in what all members take, see
 * `commonFormats`. One that is not taken is refused before anything is done.
 */
export const CALL_VERSION = 2;

/** The oldest version that is taken; a call that needs no newer one is made in it. */
export const OLDEST_CALL_VERSION = 1;

/** The first version in which a call may have a {@link Call.premise}. */
export const PREMISE_CALL_VERSION = 2;

/** What is asked of the owner of an actor. */
export type CallKind =
  | 'command'
  | 'query'
  /** A query that waits for the log to confirm the owner. */
  | 'strict-query'
  | 'create'
  | 'fork'
  | 'destroy'
  | 'exists'
  | 'names';

/** A call as it travels. */
export interface Call {
  readonly version: number;
  readonly kind: CallKind;
  /** The actor; for `destroy` the owner of those that are removed. */
  readonly actor: string;
  /** Command or query; the source of a fork. */
  readonly message: unknown;
  readonly principal: Principal;
  /** What has to hold at the owner, else nothing is done; from {@link PREMISE_CALL_VERSION} on. */
  readonly premise?: Premise;
  readonly idempotency?: IdempotencyKey;
  /** Names what may have an effect: sent again under the same id it takes effect once. */
  readonly id?: CallId;
  /** Whether it was sent before, and what became of that is not known. */
  readonly isRepeated?: true;
  /** How long the caller still waits, in milliseconds; absent: until it says that it does not. */
  readonly waitMs?: number;
}

/** Encodes a call in pieces; the work may rest between any two of them. */
export function encodeCall(call: Call): Iterable<string> {
  return messagePieces(call);
}

/**
 * Decodes a call; yields where the work may rest.
 *
 * @throws {ServiceError} `MEMBER_VERSIONS_DIFFER` @throws {SyntaxError} when it is none @throws {TypeError} the same
 */
export function* decodeCall(bytes: Uint8Array): Generator<undefined, Call> {
  const call = (yield* decodeMessageInSteps(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  )) as Call;
  const { version } = call;
  // A call in an old version that has what only newer ones know was made by no member.
  const oldest = call.premise === undefined ? OLDEST_CALL_VERSION : PREMISE_CALL_VERSION;
  if (!(version >= oldest && version <= CALL_VERSION)) {
    throw new ServiceError(
      'MEMBER_VERSIONS_DIFFER',
      `A member made a call of version ${version} to one that takes ${CALL_VERSION}; nothing was done. Finish ` +
        'the upgrade, or undo it.',
    );
  }
  return call;
}

/** One piece of an answer. */
export const FrameKind = {
  /** The owner has the call and works on it; repeated while it does. */
  working: 0,
  /** Part of the message of the answer. */
  value: 1,
  /** Part of an answer that is ready JSON text. */
  text: 2,
  /** A piece of a streamed answer. */
  chunk: 3,
  /** The answer is an error, or the stream ends with one. */
  error: 4,
  /** Nothing was done: this member does not own the actor. */
  elsewhere: 5,
  /** Nothing was done: the premise of the call does not hold. */
  refuted: 6,
} as const;

/** See {@link FrameKind}. */
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

/** A decoded frame. */
export interface Frame {
  readonly kind: FrameKind;
  /** Whether nothing follows it. */
  readonly isLast: boolean;
  /** Pieces of the answer that were sent before it: fewer have come when a connection broke and lost some. */
  readonly number: number;
  readonly body: Buffer;
  /** Where the one who answers stood, in the first frame of a `DatedAnswer`. */
  readonly head?: string;
}

/** Kind, flags, number. */
const HEAD_BYTES = 6;

/** Flags: it is the last; its body begins with the length of {@link Frame.head} in a byte, and that. */
const LAST = 1;
const DATED = 2;

/** Largest body of a frame in bytes: NATS takes a mebibyte at most. */
export const FRAME_BODY_BYTES_MAX = 512 * 1024;

/** Encodes a frame. @param number see {@link Frame.number} @param head see {@link Frame.head} */
export function encodeFrame(
  kind: FrameKind,
  isLast: boolean,
  number: number,
  body: Uint8Array = new Uint8Array(0),
  head?: string,
): Uint8Array {
  const start = HEAD_BYTES + (head === undefined ? 0 : 1 + head.length);
  const bytes = Buffer.allocUnsafe(start + body.length);
  bytes[0] = kind;
  bytes[1] = (isLast ? LAST : 0) | (head === undefined ? 0 : DATED);
  bytes.writeUInt32BE(number, 2);
  if (head !== undefined) {
    bytes[HEAD_BYTES] = head.length;
    bytes.write(head, HEAD_BYTES + 1, 'latin1');
  }
  bytes.set(body, start);
  return bytes;
}

/** Decodes a frame. */
export function decodeFrame(bytes: Uint8Array): Frame {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = buffer[0] as FrameKind;
  const flags = buffer[1] as number;
  const isLast = (flags & LAST) !== 0;
  const number = buffer.readUInt32BE(2);
  if ((flags & DATED) === 0) return { kind, isLast, number, body: buffer.subarray(HEAD_BYTES) };
  const start = HEAD_BYTES + 1 + (buffer[HEAD_BYTES] as number);
  const head = buffer.toString('latin1', HEAD_BYTES + 1, start);
  return { kind, isLast, number, body: buffer.subarray(start), head };
}

/** The frames of an answer that is there as a whole; yields undefined where the work may rest. */
export function* answerFrames(told: unknown): Generator<Uint8Array | undefined, void> {
  const answer = undated(told);
  const head = told instanceof DatedAnswer ? told.head : undefined;
  const isText = answer instanceof JsonText;
  const kind = isText ? FrameKind.text : FrameKind.value;
  const pieces = isText ? textSlices(answer.text) : messagePieces(answer);
  for (const block of blocksOf(pieces, FRAME_BODY_BYTES_MAX)) {
    if (block === undefined) yield undefined;
    else {
      const { body, isLast, number } = block;
      yield encodeFrame(kind, isLast, number, body, number === 0 ? head : undefined);
    }
  }
}

/** The answer of its frames' bodies together; yields where the work may rest. */
export function* decodeAnswer(
  kind: typeof FrameKind.text | typeof FrameKind.value,
  body: Buffer,
): Generator<undefined, unknown> {
  if (kind === FrameKind.value) return yield* decodeMessageInSteps(body);
  return new JsonText(yield* decodeUtf8InSteps(body));
}

/** Whether a call or an answer is so large that it is worked on in slices; one that is not fits into one message. */
export function isLongMessage(message: unknown): boolean {
  return isLargeJson(message);
}

/** The frame of an error. Only what a caller is meant to see travels. @param number see {@link Frame.number} */
export function errorFrame(error: unknown, number: number): Uint8Array {
  const shown = error instanceof ServiceError ? error : new ServiceError('INTERNAL_SERVER_ERROR');
  const { code, message, field, details } = shown;
  const body = Buffer.from(encodeMessage({ code, message, field, details }));
  return encodeFrame(FrameKind.error, true, number, body);
}

/** The error of {@link errorFrame}. */
export function errorOf(body: Buffer): ServiceError {
  const { code, message, field, details } = decodeMessage(body.toString()) as {
    readonly code: string;
    readonly message: string;
    readonly field?: string;
    readonly details?: Record<string, unknown>;
  };
  // A newer member may know errors this one does not.
  const known: ErrorCode = Object.hasOwn(errorRegistry, code) ? (code as ErrorCode) : 'INTERNAL_SERVER_ERROR';
  return new ServiceError(known, message, {
    ...(field === undefined ? {} : { field }),
    ...(details === undefined ? {} : { details }),
  });
}
