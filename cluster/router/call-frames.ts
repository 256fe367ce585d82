import { decodeUtf8InSteps, textSlices } from '#runtime/base/text/sliced-text.ts';
import { DatedAnswer, undated } from '#runtime/content/dated-answer.ts';
import { JsonPieces } from '#runtime/content/values/json-pieces.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { VersionedMessage } from '#runtime/actor/message-version.ts';
import { isLargeJson } from '#runtime/base/text/sliced-json.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { errorRegistry } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { CallId, IdempotencyKey, Precondition } from '#runtime/commit/behaviour.ts';
import { blocksOf } from './byte-blocks.ts';
import { decodeMessage, decodeMessageInSteps, encodeMessage, messagePieces } from './message-codec.ts';

/**
 * Version of the calls between members. 1: the first. 2: a call may have a precondition, and frames of its reply a
 * date. 3: messages may state that they need it, see {@link VersionedMessage}, and the frames of a reply contain its
 * entity tag when the query requests it. 4: a difference of branches may be asked for with the changes of each entry, and what
 * links to a node may be listed. 5: the caller may be an identity, or an administrator who acts as a user. 6: statements of SQL
 * may be run. 7: statements of SQL may write.
 *
 * A build with a new version still accepts the previous one, and makes calls in a version that all members accept, see
 * `commonFormats`. A call of an unsupported version is refused before anything is done.
 */
export const CALL_VERSION = 7;

/** The oldest supported version; a call that needs no newer one uses it. */
export const OLDEST_CALL_VERSION = 1;

/** The first version in which a call may have a {@link Call.precondition}. */
export const PRECONDITION_CALL_VERSION = 2;

/** The first version in which callers have permissions that the owner finds, see `CallerPolicies`. */
const GRANTED_CALLER_VERSION = 5;

/** Operations on the owner of an actor. */
export type CallKind =
  | 'command'
  | 'query'
  /** A query that waits until the log has confirmed the owner. */
  | 'strict-query'
  | 'create'
  | 'fork'
  | 'destroy'
  | 'exists'
  | 'names';

/** A call between members. */
export interface Call {
  readonly version: number;
  readonly kind: CallKind;
  /** The actor; for `destroy` the owner of those that are removed. */
  readonly actor: string;
  /** Command or query; the source of a fork. */
  readonly message: unknown;
  readonly principal: Principal;
  /** Must hold at the owner, otherwise nothing is done; from {@link PRECONDITION_CALL_VERSION} on. */
  readonly precondition?: Precondition;
  readonly idempotency?: IdempotencyKey;
  /** Identifies a call that may have an effect: repeated under the same id it takes effect once. */
  readonly id?: CallId;
  /** Whether it was sent before with an unknown outcome. */
  readonly isRepeated?: true;
  /** Time for which the caller still waits, in milliseconds; absent: until it cancels. */
  readonly waitMs?: number;
}

/** Returns the version of the calls that a message of a caller needs. */
export function versionNeeded(message: unknown, { kind }: Pick<Principal, 'kind'>): number {
  const isObject = typeof message === 'object' && message !== null;
  const needed = (isObject ? (message as VersionedMessage).since : undefined) ?? OLDEST_CALL_VERSION;
  return kind === 'identity' || kind === 'impersonating' ? Math.max(needed, GRANTED_CALLER_VERSION) : needed;
}

/** Encodes a call in pieces; the work may pause between any two of them. */
export function encodeCall(call: Call): Iterable<string> {
  return messagePieces(call);
}

/**
 * Decodes a call; yields where the work may pause.
 *
 * @throws {ServiceError} `MEMBER_VERSIONS_DIFFER` @throws {SyntaxError} when it is invalid @throws {TypeError} the same
 */
export function* decodeCall(bytes: Uint8Array): Generator<undefined, Call> {
  const call = (yield* decodeMessageInSteps(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  )) as Call;
  const { version } = call;
  // No member makes a call in an old version with features of a newer one.
  const oldest = call.precondition === undefined ? OLDEST_CALL_VERSION : PRECONDITION_CALL_VERSION;
  if (!(version >= oldest && version <= CALL_VERSION)) {
    throw new ServiceError(
      'MEMBER_VERSIONS_DIFFER',
      `A member made a call of version ${version} to one that takes ${CALL_VERSION}; nothing was done. Finish ` +
        'the upgrade, or undo it.',
    );
  }
  return call;
}

/** Kinds of the frames of a reply. */
export const FrameKind = {
  /** The owner has the call and works on it; repeated until it replies. */
  working: 0,
  /** Part of the message of the reply. */
  value: 1,
  /** Part of a reply that is ready JSON text. */
  text: 2,
  /** A piece of a streamed reply. */
  chunk: 3,
  /** The reply is an error, or the stream ends with one. */
  error: 4,
  /** Nothing was done: this member does not own the actor. */
  elsewhere: 5,
  /** Nothing was done: the precondition of the call does not hold. */
  refuted: 6,
} as const;

/** See {@link FrameKind}. */
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

/** A decoded frame. */
export interface Frame {
  readonly kind: FrameKind;
  /** Whether it is the last frame. */
  readonly isLast: boolean;
  /** Number of pieces of the reply that were sent before it; fewer have arrived when a lost connection dropped some. */
  readonly number: number;
  readonly body: Buffer;
  /** Head of the replying branch, in the first frame of a `DatedAnswer`. */
  readonly head?: string;
  /** Entity tag of a text, in its first frame. */
  readonly tag?: string;
}

/** Kind, flags, number. */
const HEAD_BYTES = 6;

/**
 * Flags: it is the last frame; its body begins with the length of {@link Frame.head} in a byte and the head; after
 * that, with {@link Frame.tag} in the same form.
 */
const LAST = 1;
const DATED = 2;
const TAGGED = 4;

/** Facts that precede the body of a first frame. */
export interface FrameFacts {
  readonly head?: string | undefined;
  readonly tag?: string | undefined;
}

const noFacts: FrameFacts = Object.freeze({});

/** Maximum size of a frame's body in bytes: NATS accepts at most a mebibyte. */
export const FRAME_BODY_BYTES_MAX = 512 * 1024;

/** Encodes a frame. @param number see {@link Frame.number} */
export function encodeFrame(
  kind: FrameKind,
  isLast: boolean,
  number: number,
  body: Uint8Array = new Uint8Array(0),
  { head, tag }: FrameFacts = noFacts,
): Uint8Array {
  const start = HEAD_BYTES + factBytes(head) + factBytes(tag);
  const bytes = Buffer.allocUnsafe(start + body.length);
  bytes[0] = kind;
  bytes[1] = (isLast ? LAST : 0) | (head === undefined ? 0 : DATED) | (tag === undefined ? 0 : TAGGED);
  bytes.writeUInt32BE(number, 2);
  writeFact(bytes, writeFact(bytes, HEAD_BYTES, head), tag);
  bytes.set(body, start);
  return bytes;
}

function factBytes(text: string | undefined): number {
  return text === undefined ? 0 : 1 + text.length;
}

/** @returns the offset after it */
function writeFact(bytes: Buffer, at: number, text: string | undefined): number {
  if (text === undefined) return at;
  bytes[at] = text.length;
  bytes.write(text, at + 1, 'latin1');
  return at + factBytes(text);
}

/** Decodes a frame. */
export function decodeFrame(bytes: Uint8Array): Frame {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = buffer[0] as FrameKind;
  const flags = buffer[1] as number;
  const isLast = (flags & LAST) !== 0;
  const number = buffer.readUInt32BE(2);
  if ((flags & (DATED | TAGGED)) === 0) return { kind, isLast, number, body: buffer.subarray(HEAD_BYTES) };
  const head = readFact(buffer, HEAD_BYTES, (flags & DATED) !== 0);
  const tag = readFact(buffer, HEAD_BYTES + factBytes(head), (flags & TAGGED) !== 0);
  const body = buffer.subarray(HEAD_BYTES + factBytes(head) + factBytes(tag));
  return {
    kind,
    isLast,
    number,
    body,
    ...(head === undefined ? {} : { head }),
    ...(tag === undefined ? {} : { tag }),
  };
}

function readFact(buffer: Buffer, at: number, isThere: boolean): string | undefined {
  return isThere ? buffer.toString('latin1', at + 1, at + 1 + (buffer[at] as number)) : undefined;
}

function piecesOf(answer: unknown): Iterable<string> {
  if (answer instanceof JsonPieces) return answer.pieces;
  return answer instanceof JsonText ? textSlices(answer.text) : messagePieces(answer);
}

/** Yields the frames of a complete reply, and undefined where the work may pause. */
export function* answerFrames(told: unknown): Generator<Uint8Array | undefined, void> {
  const answer = undated(told);
  const head = told instanceof DatedAnswer ? told.head : undefined;
  const tag = answer instanceof JsonText ? answer.tag : undefined;
  const isText = answer instanceof JsonText;
  const kind = isText || answer instanceof JsonPieces ? FrameKind.text : FrameKind.value;
  const pieces = piecesOf(answer);
  for (const block of blocksOf(pieces, FRAME_BODY_BYTES_MAX)) {
    if (block === undefined) yield undefined;
    else {
      const { body, isLast, number } = block;
      yield encodeFrame(kind, isLast, number, body, number === 0 ? { head, tag } : noFacts);
    }
  }
}

/**
 * Decodes a reply from the joined bodies of its frames; yields where the work may pause. @param tag see
 * {@link Frame.tag}
 */
export function* decodeAnswer(
  kind: typeof FrameKind.text | typeof FrameKind.value,
  body: Buffer,
  tag?: string,
): Generator<undefined, unknown> {
  if (kind === FrameKind.value) return yield* decodeMessageInSteps(body);
  return new JsonText(yield* decodeUtf8InSteps(body), tag);
}

/**
 * Returns whether a call or a reply is so large that it is processed in slices; a smaller one fits into one message.
 */
export function isLongMessage(message: unknown): boolean {
  return isLargeJson(message instanceof JsonText ? message.text : message);
}

/** Encodes the frame of an error. Only information for the caller is sent. @param number see {@link Frame.number} */
export function errorFrame(error: unknown, number: number): Uint8Array {
  const shown = error instanceof ServiceError ? error : new ServiceError('INTERNAL_SERVER_ERROR');
  const { code, message, field, details } = shown;
  const body = Buffer.from(encodeMessage({ code, message, field, details }));
  return encodeFrame(FrameKind.error, true, number, body);
}

/** Decodes the error of {@link errorFrame}. */
export function errorOf(body: Buffer): ServiceError {
  const { code, message, field, details } = decodeMessage(body.toString()) as {
    readonly code: string;
    readonly message: string;
    readonly field?: string;
    readonly details?: Record<string, unknown>;
  };
  // A newer member may use error codes that this one does not know.
  const known: ErrorCode = Object.hasOwn(errorRegistry, code) ? (code as ErrorCode) : 'INTERNAL_SERVER_ERROR';
  return new ServiceError(known, message, {
    ...(field === undefined ? {} : { field }),
    ...(details === undefined ? {} : { details }),
  });
}
