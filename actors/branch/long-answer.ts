import { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { StoredRow, StoredValue } from '#runtime/shard/large-value.ts';
import { peekedValue, storedRows, storedValue } from '#runtime/shard/value-in-steps.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import type { Range, Row, RowVisitor, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';
import type { MovingReader } from '#runtime/scan/moment.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
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
 * Reads from the unpinned view until the turn must end, then from a pinned view of the same state. A read through a
 * `Moment` may go over to a later state.
 */
class HandedOverReader implements MovingReader {
  begunAt: Revision | undefined;
  moves = 0;
  #reader: TableReader;

  constructor(reader: TableReader) {
    this.#reader = reader;
  }

  get(table: number, key: string): Uint8Array | undefined {
    return this.#reader.get(table, key);
  }

  peek(table: number, key: string): StoredValue | undefined {
    return peekedValue(this.#reader, table, key);
  }

  stored(table: number, key: string): StoredValue | undefined {
    return storedValue(this.#reader, table, key);
  }

  piece(key: string): Uint8Array | undefined {
    return this.#reader.piece?.(key);
  }

  has(table: number, key: string): boolean {
    return hasRow(this.#reader, table, key);
  }

  range(table: number, range: Range): Iterable<Row> {
    return this.#reader.range(table, range);
  }

  storedRange(table: number, range: Range): Iterable<StoredRow> {
    return storedRows(this.#reader, table, range);
  }

  visit(table: number, range: Range, visitor: RowVisitor): void {
    visitRows(this.#reader, table, range, visitor);
  }

  handOver(reader: TableReader): void {
    this.#reader = reader;
  }

  /** Goes over to a state in which the branch may have another head. @param head before */
  moveOn(reader: TableReader, head: Revision): void {
    this.#reader = reader;
    this.moves += 1;
    if (compareRevisions(readBranchHead(reader).head, head) !== 0) this.begunAt ??= head;
  }
}

/**
 * Executes a read whose result is small but whose work may be long. A quick read is answered within this turn of the
 * event loop. Otherwise the present state of the view is pinned and the work continues in slices.
 *
 * @throws {ServiceError} what the read throws; `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
 */
export function settle<T>(context: QueryContext, work: Steps<unknown, T>): T | Promise<T> {
  return settlePausing(context, work, () => context.pause());
}

/** @param pause called with what the work yields; what it returns is awaited */
function settlePausing<Y, T>(
  context: QueryContext,
  work: Steps<Y, T>,
  pause: (yielded: Y) => Promise<void> | undefined,
): T | Promise<T> {
  const reader = new HandedOverReader(context.view);
  const steps = work(reader);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = pause(step.value);
    if (wait === undefined) continue;
    // Pinned within the turn that read the view: nothing can have changed in between.
    return settleLater(context, reader, pinFor(context, wait), steps, wait, pause);
  }
}

/**
 * Pins the view of a read that has to wait, which fails when all readers of the shard are taken.
 *
 * @param wait nobody awaits it when this throws
 * @param unused called when the wait is over nevertheless
 */
function pinFor(context: QueryContext, wait: Promise<void>, unused: () => void = () => {}): ShardSnapshot {
  try {
    return context.pin();
  } catch (error) {
    wait.then(unused, () => {});
    throw error;
  }
}

async function settleLater<Y, T>(
  context: QueryContext,
  reader: HandedOverReader,
  snapshot: ShardSnapshot,
  steps: Generator<Y, T>,
  firstWait: Promise<void>,
  pause: (yielded: Y) => Promise<void> | undefined = () => context.pause(),
): Promise<T> {
  try {
    reader.handOver(snapshot);
    await firstWait;
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      const wait = pause(step.value);
      if (wait !== undefined) await wait;
    }
  } finally {
    snapshot.close();
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
): T | Promise<T> {
  const wait = context.takeRoom(bytes);
  if (wait !== undefined) {
    // Pinned within the turn that read the view, as above.
    const snapshot = pinFor(context, wait, () => context.giveRoom(bytes));
    return settleWithRoom(context, bytes, work, snapshot, wait);
  }
  let result: T | Promise<T> | undefined;
  try {
    result = settle(context, work);
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
    result = settlePausing(context, work, pause);
  } finally {
    if (!(result instanceof Promise)) giveBack();
  }
  return result instanceof Promise ? result.finally(giveBack) : result;
}

async function settleWithRoom<T>(
  context: QueryContext,
  bytes: number,
  work: Steps<unknown, T>,
  snapshot: ShardSnapshot,
  room: Promise<void>,
): Promise<T> {
  try {
    await room;
    try {
      // One answer that ends can make room for many: they must not all start in its turn.
      await context.rest();
      const steps = work(snapshot);
      for (let step = steps.next(); ; step = steps.next()) {
        if (step.done === true) return step.value;
        const wait = context.pause();
        if (wait !== undefined) await wait;
      }
    } finally {
      context.giveRoom(bytes);
    }
  } finally {
    snapshot.close();
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
  return whole === undefined ? { chunks: textStream(context, work, false) } : new JsonText(whole);
}

/**
 * As {@link answerText}, for a read that reads content through a `Moment` only. It pins nothing while the client does not
 * read: otherwise a client could hold old pages of the store for as long as its request may take.
 */
export function answerScan(context: QueryContext, work: TextSteps, isLong: boolean = false): JsonAnswer {
  const whole = isLong ? undefined : wholeText(context, work);
  return whole === undefined ? { chunks: textStream(context, work, true) } : new JsonText(whole);
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
 * @param isMoving whether it reads content through a `Moment` only, see {@link answerScan}
 * @throws {ServiceError} what the read throws; `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
 */
export function answerPage(
  context: QueryContext,
  work: TextSteps,
  isMoving: boolean = false,
): JsonAnswer | Promise<JsonAnswer> {
  const answerOf = (text: Uint8Array | undefined): JsonAnswer =>
    text === undefined ? { chunks: textStream(context, work, isMoving) } : new JsonText(text);
  const reader = new HandedOverReader(context.view);
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
  reader: HandedOverReader,
  begun: Generator<undefined, Uint8Array | undefined>,
  wait: Promise<void>,
): Promise<Uint8Array | undefined> {
  // First, because it may fail.
  const snapshot = pinFor(context, wait);
  const room = context.takeRoom(PAGE_MEMORY_BYTES);
  if (room === undefined) {
    return settleLater(context, reader, snapshot, begun, wait).finally(() =>
      context.giveRoom(PAGE_MEMORY_BYTES),
    );
  }
  begun.return(undefined);
  // The room reports the error when the request is cancelled.
  wait.catch(() => {});
  return settleWithRoom(context, PAGE_MEMORY_BYTES, (pinned) => joined(pinned, work), snapshot, room);
}

/** The text of all pieces; undefined when it is too long for one. */
function* joined(
  reader: TableReader,
  work: TextSteps,
  bytesExpected?: number,
): Generator<undefined, Uint8Array | undefined> {
  const text = new TextBytes(bytesExpected);
  for (const piece of work(reader, text)) {
    if (!addUpTo(text, piece, PAGE_BYTES_MAX)) return undefined;
    yield undefined;
  }
  return text.take();
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
  return text.take();
}

/** The text of the work in chunks. The argument of `next` applies to the chunk that this call produces. */
function textStream(
  context: QueryContext,
  work: TextSteps,
  isMoving: boolean,
): AsyncIterable<string | Uint8Array> {
  let given: MakeRoom | undefined;
  const chunks = textChunks(context, work, isMoving, async (bytes) => given?.(bytes));
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
  isMoving: boolean,
  makeRoom: MakeRoom,
): AsyncGenerator<string | Uint8Array, void> {
  let snapshot = context.pin();
  const leave = context.stay();
  const reader = new HandedOverReader(snapshot);
  try {
    // What was read to begin the answer, or tried first, may have used up the slice.
    const begun = context.pause();
    if (begun !== undefined) await begun;
    const text = new TextBytes(2 * CHUNK_BYTES);
    let seen = 0;
    for (const piece of work(reader, text)) {
      // A long piece is a chunk of its own: it would take long to encode it here.
      const isLong = typeof piece !== 'string' || piece.length >= CHUNK_BYTES;
      // Only behind a text: the work may pause within the value of a large node, and its pieces are those of one state.
      const moves = isMoving && typeof piece === 'string' && (piece !== '' || text.length > seen);
      if (!isLong && piece !== '') text.add(piece);
      if (text.length >= CHUNK_BYTES || isLong) {
        const { head } = moves ? readBranchHead(snapshot) : { head: revisionZero };
        if (moves) snapshot.close();
        if (text.length > 0) yield text.take();
        if (typeof piece === 'string' && isLong) yield piece;
        if (moves) {
          snapshot = context.pin();
          reader.moveOn(snapshot, head);
        }
      }
      seen = text.length;
      if (typeof piece !== 'string') await makeRoom(piece.bytes);
      const wait = context.pause();
      if (wait !== undefined) await wait;
    }
    if (text.length > 0) yield text.take();
  } finally {
    leave();
    snapshot.close();
  }
}
