import { open, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import { decodeRecord } from '#cluster/replication/record-format.ts';
import type { FlushJournal } from './flush-journal.ts';

/** Number of messages on each side. */
export interface ExportedSides {
  readonly stream: number;
  readonly journal: number;
}

interface Message {
  readonly sequence: number;
  readonly bytes: Buffer;
}

/**
 * Writes the messages of a stream, and those of a member's flush journal, to two files with one line of JSON for each
 * message, for an operator who must decide between them. It changes neither.
 *
 * @param folder created when it is missing; gets `stream.jsonl` and `journal.jsonl`
 */
export async function exportSides(
  stream: LogStream,
  journal: FlushJournal,
  folder: string,
): Promise<ExportedSides> {
  await mkdir(folder, { recursive: true });
  const { firstSequence, lastSequence } = await stream.state();
  const mark = journal.flushed;
  return {
    stream: await writeLines(join(folder, 'stream.jsonl'), stream.range(firstSequence, lastSequence)),
    journal: await writeLines(
      join(folder, 'journal.jsonl'),
      mark === undefined ? none() : journal.read(journal.first, mark.sequence),
    ),
  };
}

async function writeLines(path: string, messages: AsyncIterable<Message>): Promise<number> {
  const file = await open(path, 'w', 0o600);
  try {
    let count = 0;
    for await (const message of messages) {
      await file.write(`${lineOf(message)}\n`);
      count += 1;
    }
    await file.sync();
    return count;
  } finally {
    await file.close();
  }
}

function lineOf({ bytes, sequence }: Message): string {
  const record = decodeRecord(bytes);
  const told =
    'fault' in record
      ? { fault: record.fault }
      : {
          kind: record.kind,
          epoch: record.epoch,
          entries: record.entries,
          chain: record.chain.toString('hex'),
        };
  return JSON.stringify({ sequence, ...told, bytes: bytes.toString('base64') });
}

async function* none(): AsyncGenerator<Message, void, void> {
  // A member without a journal has no messages.
}
