import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import { formatRevision, parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ShardPosition } from '#runtime/shard/shard.ts';
import { COPY_FILE } from './actor-copies.ts';

/**
 * Requests a copy of everything an actor has stored at present; for the engine only. Answer: {@link ShardCopy}. It is
 * sent through the router, so the owner of the actor makes the copy.
 */
export interface CopyShard {
  readonly type: 'CopyShard';
}

/**
 * A copy in transit: a line of JSON with its position and size, then the file in base64, in arbitrary pieces. Text,
 * because streamed answers to other members are text.
 */
export interface ShardCopy {
  readonly chunks: AsyncIterable<string>;
}

/** The line that precedes the file. */
interface Head {
  readonly sequence: number;
  readonly clock: string;
  readonly bytes: number;
}

/** Bytes per read; a multiple of three, so that the concatenated base64 texts are the base64 of the whole. */
const PIECE_BYTES = 3 * 64 * 1024;

/** Longest first line, in characters. */
const HEAD_CHARACTERS_MAX = 1_000;

/** Mode of new files and folders: readable by their user only. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/**
 * Sends a copy.
 *
 * @param done called when the reader has finished or stopped
 * @param begun called when a reader starts
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
 * Writes a received copy into a new folder. It is on disk when the promise resolves.
 *
 * @returns position of the copy
 * @throws {ServiceError} `NOT_OWNER` when the copy is incomplete; the errors of the stream
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
