import { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { AnswerReader, type Movement } from './answer-reader.ts';
import type { JsonAnswer } from './messages.ts';

/** Bytes collected before a chunk of a stream is emitted. */
const CHUNK_BYTES = 65_536;

/** Longest answer produced without a pause, in bytes. */
const WHOLE_BYTES_MAX = 4 * CHUNK_BYTES;

/**
 * A read that may be long, as a generator: it yields wherever it may return to the event loop. It reads only through
 * the reader it is given, and keeps no range open across a yield.
 */
export type Steps<Y, T> = (reader: TableReader) => Generator<Y, T>;

/** Announces the length of a large piece of a text before it is produced. */
export class LargePiece {
  readonly bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }
}

/** A piece of a text, or the announcement of a large one. */
export type Piece = string | LargePiece;

/**
 * A read whose result is a text. It yields pieces of it, and may add others to the text itself before it yields: stored
 * bytes are then copied once, and not decoded. Both are in the order in which they come.
 */
export type TextSteps = (reader: TableReader, text: TextBytes) => Generator<Piece, void>;

/**
 * A function that the consumer of a stream may pass to `next`: waits until there is room for a chunk of so many bytes.
 */
type MakeRoom = (bytes: number) => Promise<void>;

/**
 * Executes a read whose result is small but whose work may be long. A quick read is answered within this turn of the
 * event loop. Otherwise the present state of the view is pinned and the work continues in slices.
 *
 * @param movement whether the work may go over to later snapshots, see {@link AnswerReader}
 * @throws {ServiceError} what the read throws; `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
 */
export function settle<T>(
  context: QueryContext,
  work: Steps<unknown, T>,
  movement: Movement = 'pinned',
): T | Promise<T> {
  return settlePausing(context, work, movement, () => context.pause());
}

/** @param pause called with what the work yields; what it returns is awaited */
function settlePausing<Y, T>(
  context: QueryContext,
  work: Steps<Y, T>,
  movement: Movement,
  pause: (yielded: Y) => Promise<void> | undefined,
): T | Promise<T> {
  const reader = new AnswerReader(context, movement);
  const steps = work(reader);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = pause(step.value);
    if (wait === undefined) continue;
    // Pinned within the turn that read the view: nothing can have changed in between.
    pinFor(reader, wait);
    return settleLater(context, reader, steps, wait, pause);
  }
}

/**
 * Pins the view of a read that has to wait, which fails when all readers of the shard are taken.
 *
 * @param wait nobody awaits it when this throws
 * @param unused called when the wait is over nevertheless
 */
function pinFor(reader: AnswerReader, wait: Promise<void>, unused: () => void = () => {}): void {
  try {
    reader.pin();
  } catch (error) {
    wait.then(unused, () => {});
    throw error;
  }
}

async function settleLater<Y, T>(
  context: QueryContext,
  reader: AnswerReader,
  steps: Generator<Y, T>,
  firstWait: Promise<void>,
  pause: (yielded: Y) => Promise<void> | undefined = () => context.pause(),
): Promise<T> {
  const leave = context.stay();
  try {
    await reader.wait(firstWait);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      reader.refresh();
      const wait = pause(step.value);
      if (wait !== undefined) await reader.wait(wait);
    }
  } finally {
    leave();
    reader.close();
  }
}

/**
 * As {@link settle}, for a read that needs so much memory that not all requests may run at once: it starts when there
 * is room.
 *
 * @param bytes most memory that the work uses
 * @param work reads large values itself, so that none is in memory while the work waits
 */
export function settleLarge<T>(
  context: QueryContext,
  bytes: number,
  work: Steps<unknown, T>,
  movement: Movement = 'pinned',
): T | Promise<T> {
  const wait = context.takeRoom(bytes);
  if (wait !== undefined) {
    const reader = new AnswerReader(context, movement);
    // Pinned within the turn that read the view, as above.
    pinFor(reader, wait, () => context.giveRoom(bytes));
    return settleWithRoom(context, bytes, work, reader, wait);
  }
  let result: T | Promise<T> | undefined;
  try {
    result = settle(context, work, movement);
  } finally {
    if (!(result instanceof Promise)) context.giveRoom(bytes);
  }
  return result instanceof Promise ? result.finally(() => context.giveRoom(bytes)) : result;
}

/**
 * As {@link settle}, for a read that finds out while it runs whether it needs so much memory that not all requests may
 * run at once. It then continues when there is room.
 *
 * @param work yields a {@link LargePiece}, at most once and while it holds little: the most memory it will use
 */
export function settleGrowing<T>(
  context: QueryContext,
  work: Steps<LargePiece | undefined, T>,
  movement: Movement = 'pinned',
): T | Promise<T> {
  let granted = 0;
  let isOver = false;
  const pause = (piece: LargePiece | undefined): Promise<void> | undefined => {
    if (piece === undefined) return context.pause();
    const { bytes } = piece;
    const wait = context.takeRoom(bytes);
    if (wait === undefined) granted = bytes;
    return wait?.then(() => {
      if (isOver) return context.giveRoom(bytes);
      granted = bytes;
      // As for other large answers: those that were waiting for room must not all continue in one turn.
      return context.rest();
    });
  };
  const giveBack = (): void => {
    isOver = true;
    if (granted > 0) context.giveRoom(granted);
  };
  let result: T | Promise<T> | undefined;
  try {
    result = settlePausing(context, work, movement, pause);
  } finally {
    if (!(result instanceof Promise)) giveBack();
  }
  return result instanceof Promise ? result.finally(giveBack) : result;
}

async function settleWithRoom<T>(
  context: QueryContext,
  bytes: number,
  work: Steps<unknown, T>,
  reader: AnswerReader,
  room: Promise<void>,
): Promise<T> {
  const leave = context.stay();
  try {
    // Nothing of it has begun.
    reader.rest();
    await reader.wait(room);
    try {
      // One answer that ends can make room for many: they must not all start in its turn.
      await reader.wait(context.rest());
      const steps = work(reader);
      for (let step = steps.next(); ; step = steps.next()) {
        if (step.done === true) return step.value;
        reader.refresh();
        const wait = context.pause();
        if (wait !== undefined) await reader.wait(wait);
      }
    } finally {
      context.giveRoom(bytes);
    }
  } finally {
    leave();
    reader.close();
  }
}

/**
 * Answers a JSON document that may be large. A small one is text at once. A large one is a stream over pinned state.
 * The state is pinned when the stream is first read, so a discarded stream costs nothing.
 *
 * @param work also yields a {@link LargePiece} before a large piece; may be started twice
 * @param isLong skips the attempt to answer at once
 * @throws {ServiceError} what the read throws before its first piece
 */
export function answerText(context: QueryContext, work: TextSteps, isLong: boolean = false): JsonAnswer {
  const whole = isLong ? undefined : wholeText(context, work);
  return whole === undefined ? { chunks: textStream(context, work, 'pinned') } : new JsonText(whole);
}

/**
 * As {@link answerText}, for a read that shows one state whatever snapshot it reads: through a `Moment`, or rows of history
 * that never change. It pins nothing while the client does not read: otherwise a client could hold old pages of the store
 * for as long as its request may take.
 */
export function answerScan(context: QueryContext, work: TextSteps, isLong: boolean = false): JsonAnswer {
  const whole = isLong ? undefined : wholeText(context, work);
  return whole === undefined ? { chunks: textStream(context, work, 'moving') } : new JsonText(whole);
}

/** Longest page answered as one text, in bytes. */
const PAGE_BYTES_MAX = 16 * CHUNK_BYTES;

/** Memory of a page while it is produced in slices, in bytes: its text, and as much again when that grows. */
const PAGE_MEMORY_BYTES = 2 * PAGE_BYTES_MAX;

/** Memory that a page gets at once, in bytes: enough for a hundred nodes of ordinary size. */
const PAGE_BYTES_EXPECTED = 2 * CHUNK_BYTES;

/**
 * Answers a page. It is one text unless its nodes are large: it is produced in slices and then answered whole, so that
 * it can be compressed. A longer page starts again as a stream. A page that does not finish in its first slice reserves
 * room; if it has to wait for room, its partial text is discarded.
 *
 * @param work as for {@link answerText}
 * @param movement whether the work may go over to later snapshots, see {@link answerScan}
 * @throws {ServiceError} what the read throws; `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
 */
export function answerPage(
  context: QueryContext,
  work: TextSteps,
  movement: Movement = 'pinned',
): JsonAnswer | Promise<JsonAnswer> {
  const answerOf = (text: Uint8Array | undefined): JsonAnswer =>
    text === undefined ? { chunks: textStream(context, work, movement) } : new JsonText(text);
  const reader = new AnswerReader(context, movement);
  const steps = joined(reader, work, PAGE_BYTES_EXPECTED);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return answerOf(step.value);
    const wait = context.pause();
    if (wait !== undefined) return pageLater(context, work, reader, steps, wait).then(answerOf);
  }
}

/** Produces a page that needs room. Called within the turn that read the view. */
function pageLater(
  context: QueryContext,
  work: TextSteps,
  reader: AnswerReader,
  begun: Generator<undefined, Uint8Array | undefined>,
  wait: Promise<void>,
): Promise<Uint8Array | undefined> {
  // First, because it may fail.
  pinFor(reader, wait);
  const room = context.takeRoom(PAGE_MEMORY_BYTES);
  if (room === undefined) {
    return settleLater(context, reader, begun, wait).finally(() => context.giveRoom(PAGE_MEMORY_BYTES));
  }
  begun.return(undefined);
  // The room reports the error when the request is cancelled.
  wait.catch(() => {});
  return settleWithRoom(context, PAGE_MEMORY_BYTES, () => joined(reader, work), reader, room);
}

/** The text of all pieces; undefined when it is too long for one. */
function* joined(
  reader: AnswerReader,
  work: TextSteps,
  bytesExpected?: number,
): Generator<undefined, Uint8Array | undefined> {
  const text = new TextBytes(bytesExpected);
  for (const piece of resting(reader, text, work)) {
    if (!addUpTo(text, piece, PAGE_BYTES_MAX)) return undefined;
    yield undefined;
  }
  return text.end();
}

/** Adds a piece to a text. @returns false when the text is longer than `bytesMax` then, or the piece a large one */
function addUpTo(text: TextBytes, piece: Piece, bytesMax: number): boolean {
  if (typeof piece !== 'string' || text.length + piece.length > bytesMax) return false;
  if (piece !== '') text.add(piece);
  return text.length <= bytesMax;
}

/** Adapts work that produces no text to a text generator: passes on only its pauses. */
export function* silently<T>(work: Generator<unknown, T>): Generator<'', T> {
  let step = work.next();
  for (; step.done !== true; step = work.next()) yield '';
  return step.value;
}

function wholeText(context: QueryContext, work: TextSteps): Uint8Array | undefined {
  const text = new TextBytes();
  for (const piece of work(context.view, text)) {
    if (!addUpTo(text, piece, WHOLE_BYTES_MAX) || context.mustPause()) return undefined;
  }
  return text.end();
}

/**
 * The pieces of a text. Behind a piece the read is at rest: elsewhere it may be inside the value of a large node, whose
 * pieces are those of one state.
 */
function* resting(reader: AnswerReader, text: TextBytes, work: TextSteps): Generator<Piece, void> {
  let seen = text.length;
  for (const piece of work(reader, text)) {
    if (piece !== '' || text.length > seen) reader.rest();
    yield piece;
    seen = text.length;
  }
}

/** The text of the work in chunks. The argument of `next` applies to the chunk that this call produces. */
function textStream(
  context: QueryContext,
  work: TextSteps,
  movement: Movement,
): AsyncIterable<string | Uint8Array> {
  let given: MakeRoom | undefined;
  const chunks = textChunks(context, work, movement, async (bytes) => given?.(bytes));
  const iterator: AsyncIterator<string | Uint8Array, void, MakeRoom | undefined> = {
    next: (makeRoom) => {
      given = makeRoom;
      return chunks.next();
    },
    return: () => chunks.return(),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function* textChunks(
  context: QueryContext,
  work: TextSteps,
  movement: Movement,
  makeRoom: MakeRoom,
): AsyncGenerator<string | Uint8Array, void> {
  const reader = new AnswerReader(context, movement);
  reader.pin();
  const leave = context.stay();
  try {
    // What was read to begin the answer, or tried first, may have used up the slice.
    reader.rest();
    const begun = context.pause();
    if (begun !== undefined) await reader.wait(begun);
    const text = new TextBytes(2 * CHUNK_BYTES);
    for (const piece of resting(reader, text, work)) {
      // A long piece is a chunk of its own: it would take long to encode it here.
      const isLong = typeof piece !== 'string' || piece.length >= CHUNK_BYTES;
      if (!isLong && piece !== '') text.add(piece);
      if (text.length >= CHUNK_BYTES || isLong) {
        reader.suspend();
        if (text.length > 0) yield text.take();
        if (typeof piece === 'string' && isLong) yield piece;
        if (typeof piece !== 'string') await makeRoom(piece.bytes);
        reader.resume();
      } else reader.refresh();
      const wait = context.pause();
      if (wait !== undefined) await reader.wait(wait);
    }
    // The rest of the text needs no state.
    reader.close();
    if (text.length > 0) yield text.take();
  } finally {
    leave();
    reader.close();
  }
}
