import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import { formatRevision, parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ShardPosition } from '#runtime/shard/shard.ts';
import { COPY_FILE } from './actor-copies.ts';

/**
 * Asks for a copy of everything an actor has stored, as of now; for the engine only. Answer: {@link ShardCopy}. It
 * goes through the router, so it comes from whichever member owns the actor.
 */
export interface CopyShard {
  readonly type: 'CopyShard';
}

/**
 * A copy on its way: a line of JSON with its position and size, then the file in base64, in pieces that end
 * anywhere. Text, because that is what answers to other members are streamed as.
 */
export interface ShardCopy {
  readonly chunks: AsyncIterable<string>;
}

/** The line before the file. */
interface Head {
  readonly sequence: number;
  readonly clock: string;
  readonly bytes: number;
}

/** Bytes read at a time; a multiple of three, so that the texts put together are the text of the whole. */
const PIECE_BYTES = 3 * 64 * 1024;

/** Longest line before the file, in characters. */
const HEAD_CHARACTERS_MAX = 1_000;

/** Rights of new files and folders: content is nobody else's to read. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/**
 * Tells a copy.
 *
 * @param done called when nobody reads it any more
 * @param begun called when somebody begins to
 */
export async function* shardChunks(
  folder: string,
  { clock, sequence }: ShardPosition,
  done: () => Promise<void>,
  begun: () => void,
): AsyncGenerator<string, void> {
  begun();
  try {
    const file = await open(join(folder, COPY_FILE), 'r');
    try {
      const { size } = await file.stat();
      const head: Head = { sequence, clock: formatRevision(clock), bytes: size };
      yield `${JSON.stringify(head)}\n`;
      const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
      for (let position = 0; position < size; ) {
        const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, position);
        position += bytesRead;
        yield piece.toString('base64', 0, bytesRead);
      }
    } finally {
      await file.close();
    }
  } finally {
    await done();
  }
}

/**
 * Writes a copy that is told into a new folder, on the disk when it resolves.
 *
 * @returns what it reaches
 * @throws {ServiceError} `NOT_OWNER` when it was not told to its end; what the telling fails with
 */
export async function receiveShard(chunks: AsyncIterable<string>, folder: string): Promise<ShardPosition> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const file = await open(join(folder, COPY_FILE), 'wx', FILE_MODE);
  try {
    let head: Head | undefined;
    let text = '';
    let received = 0;
    for await (const chunk of chunks) {
      text += chunk;
      if (head === undefined) {
        const end = text.indexOf('\n');
        assert(end >= 0 || text.length <= HEAD_CHARACTERS_MAX, 'a copy begins with a line about it');
        if (end < 0) continue;
        head = JSON.parse(text.slice(0, end)) as Head;
        text = text.slice(end + 1);
      }
      // Four characters are three bytes.
      const whole = text.length - (text.length % 4);
      const bytes = Buffer.from(text.slice(0, whole), 'base64');
      text = text.slice(whole);
      await file.writeFile(bytes);
      received += bytes.length;
    }
    if (head === undefined || received !== head.bytes) {
      throw new ServiceError('NOT_OWNER', 'The copy of an actor was not told to its end');
    }
    await file.sync();
    return { sequence: head.sequence, clock: parseRevision(head.clock) };
  } finally {
    await file.close();
  }
}
