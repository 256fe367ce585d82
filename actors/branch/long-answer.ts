import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/json-text.ts';
import type { Range, Row, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import type { JsonAnswer } from './messages.ts';

/** Characters gathered before a piece of a stream is handed over. */
const CHUNK_CHARACTERS = 65_536;

/** Longest answer made in one go, in characters. */
const WHOLE_CHARACTERS_MAX = 4 * CHUNK_CHARACTERS;

/**
 * A read that may be long, as a generator: it yields wherever the event loop may be given back. Everything it
 * reads comes through the reader it is given, and it holds no open range over a yield.
 */
export type Steps<Y, T> = (reader: TableReader) => Generator<Y, T>;

/** Says, before a large piece of a text is made, how long it is going to be. */
export class LargePiece {
  readonly bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }
}

/** A piece of a text, or that the next one is large. */
export type Piece = string | LargePiece;

/** What whoever takes a stream may give with `next`: waits until there is room for a chunk of so many bytes. */
type MakeRoom = (bytes: number) => Promise<void>;

/** Reads from the free view, until the turn has to end and the same state is pinned. */
class HandedOverReader implements TableReader {
  #reader: TableReader;

  constructor(reader: TableReader) {
    this.#reader = reader;
  }

  get(table: number, key: string): Uint8Array | undefined {
    return this.#reader.get(table, key);
  }

  range(table: number, range: Range): Iterable<Row> {
    return this.#reader.range(table, range);
  }

  handOver(reader: TableReader): void {
    this.#reader = reader;
  }
}

/**
 * Carries out a read whose result is small but whose work may be long. A quick one is answered within this turn
 * of the event loop; otherwise what the view shows now is pinned, and the rest follows in slices.
 *
 * @throws {ServiceError} what the read throws; `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
 */
export function settle<T>(context: QueryContext, work: Steps<unknown, T>): T | Promise<T> {
  const reader = new HandedOverReader(context.view);
  const steps = work(reader);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = context.pause();
    // Pinned within the turn that saw the view: nothing can have changed in between.
    if (wait !== undefined) return settleLater(context, reader, context.pin(), steps, wait);
  }
}

async function settleLater<T>(
  context: QueryContext,
  reader: HandedOverReader,
  snapshot: ShardSnapshot,
  steps: Generator<unknown, T>,
  firstWait: Promise<void>,
): Promise<T> {
  try {
    reader.handOver(snapshot);
    await firstWait;
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      const wait = context.pause();
      if (wait !== undefined) await wait;
    }
  } finally {
    snapshot.close();
  }
}

/**
 * As {@link settle}, for a read whose work holds so much that not all who ask may have begun at once: it begins when
 * there is room.
 *
 * @param bytes what the work holds at most
 * @param work reads what is large itself, so that nothing of it is held while it waits
 */
export function settleLarge<T>(
  context: QueryContext,
  bytes: number,
  work: Steps<unknown, T>,
): T | Promise<T> {
  const wait = context.takeRoom(bytes);
  // Pinned within the turn that saw the view, as above.
  if (wait !== undefined) return settleWithRoom(context, bytes, work, context.pin(), wait);
  let result: T | Promise<T> | undefined;
  try {
    result = settle(context, work);
  } finally {
    if (!(result instanceof Promise)) context.giveRoom(bytes);
  }
  return result instanceof Promise ? result.finally(() => context.giveRoom(bytes)) : result;
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
      // One answer that ends makes room for many: they do not all begin in its turn.
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
 * Answers a JSON document that may be large. A small one is text at once. A large one is a stream over pinned
 * state; nothing is pinned before somebody reads the stream, so one that is thrown away costs nothing.
 *
 * @param work yields pieces of the text, and a {@link LargePiece} before a large one; may be started twice
 * @param isLong skips the attempt to answer at once
 * @throws {ServiceError} what the read throws at its beginning
 */
export function answerText(
  context: QueryContext,
  work: Steps<Piece, void>,
  isLong: boolean = false,
): JsonAnswer {
  const whole = isLong ? undefined : wholeText(context, work);
  return whole === undefined ? { chunks: textStream(context, work) } : new JsonText(whole);
}

/** Longest page that is answered as one text, in characters. */
const PAGE_CHARACTERS_MAX = 16 * CHUNK_CHARACTERS;

/** What a page takes while it is made in slices, in bytes: its text, of two bytes a character. */
const PAGE_BYTES = 2 * PAGE_CHARACTERS_MAX;

/**
 * Answers a page, which is a text unless its nodes are large: it is made in slices and then answered whole, so that it
 * can be compressed. A longer one begins anew as a stream. One that is not made within its first slice takes room;
 * where it has to wait for that, what has been made of it is thrown away.
 *
 * @param work as for {@link answerText}
 * @throws {ServiceError} what the read throws; `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
 */
export function answerPage(
  context: QueryContext,
  work: Steps<Piece, void>,
): JsonAnswer | Promise<JsonAnswer> {
  const answerOf = (text: string | undefined): JsonAnswer =>
    text === undefined ? { chunks: textStream(context, work) } : new JsonText(text);
  const reader = new HandedOverReader(context.view);
  const steps = joined(work(reader));
  for (;;) {
    const step = steps.next();
    if (step.done === true) return answerOf(step.value);
    const wait = context.pause();
    if (wait !== undefined) return pageLater(context, work, reader, steps, wait).then(answerOf);
  }
}

/** The rest of a page, with room. Called within the turn that saw the view. */
function pageLater(
  context: QueryContext,
  work: Steps<Piece, void>,
  reader: HandedOverReader,
  begun: Generator<undefined, string | undefined>,
  wait: Promise<void>,
): Promise<string | undefined> {
  const room = context.takeRoom(PAGE_BYTES);
  const snapshot = context.pin();
  if (room === undefined) {
    return settleLater(context, reader, snapshot, begun, wait).finally(() => context.giveRoom(PAGE_BYTES));
  }
  begun.return(undefined);
  // Whoever is not waited for any more is told by the room.
  wait.catch(() => {});
  return settleWithRoom(context, PAGE_BYTES, (pinned) => joined(work(pinned)), snapshot, room);
}

/** The text of all pieces; undefined when it is too long for one. */
function* joined(pieces: Iterable<Piece>): Generator<undefined, string | undefined> {
  let text = '';
  for (const piece of pieces) {
    if (typeof piece !== 'string') return undefined;
    text += piece;
    if (text.length > PAGE_CHARACTERS_MAX) return undefined;
    yield undefined;
  }
  return text;
}

/** Work on the way to a text that is no text itself: it only gives the rests on. */
export function* silently<T>(work: Generator<unknown, T>): Generator<'', T> {
  let step = work.next();
  for (; step.done !== true; step = work.next()) yield '';
  return step.value;
}

function wholeText(context: QueryContext, work: Steps<Piece, void>): string | undefined {
  let text = '';
  for (const piece of work(context.view)) {
    if (typeof piece !== 'string') return undefined;
    text += piece;
    if (text.length > WHOLE_CHARACTERS_MAX || context.mustPause()) return undefined;
  }
  return text;
}

/** The text of a work in chunks. What `next` is given is used while the chunk that it asks for is made. */
function textStream(context: QueryContext, work: Steps<Piece, void>): AsyncIterable<string> {
  let given: MakeRoom | undefined;
  const chunks = textChunks(context, work, async (bytes) => given?.(bytes));
  const iterator: AsyncIterator<string, void, MakeRoom | undefined> = {
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
  work: Steps<Piece, void>,
  makeRoom: MakeRoom,
): AsyncGenerator<string, void> {
  const snapshot = context.pin();
  try {
    let text = '';
    for (const piece of work(snapshot)) {
      if (typeof piece === 'string') text += piece;
      if (text.length >= CHUNK_CHARACTERS || (text !== '' && typeof piece !== 'string')) {
        yield text;
        text = '';
      }
      if (typeof piece !== 'string') await makeRoom(piece.bytes);
      const wait = context.pause();
      if (wait !== undefined) await wait;
    }
    if (text !== '') yield text;
  } finally {
    snapshot.close();
  }
}
