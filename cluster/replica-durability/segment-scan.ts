import { ServiceError } from '#runtime/errors/service-error.ts';
import {
  type DecodedMessage,
  decodeMessage,
  decodeSegmentFacts,
  messageMagic,
  type SegmentFacts,
} from './flush-format.ts';

/** Content of a segment. */
export interface ScannedSegment {
  readonly facts: SegmentFacts;
  /** In order, without a gap. Their bytes are views of the segment's. */
  readonly messages: readonly DecodedMessage[];
  /** Offset after the last message. */
  readonly end: number;
}

/**
 * Reads a segment up to the first message that does not verify: an unfinished write that was never confirmed, or the
 * end.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the invalid message was on the disk before a later one was
 *   written
 */
export function scanSegment(bytes: Buffer, path: string): ScannedSegment {
  const decoded = decodeSegmentFacts(bytes);
  if (decoded === undefined) throw flushJournalDamaged(path, 'its beginning does not verify');
  const { facts } = decoded;
  const messages: DecodedMessage[] = [];
  let { end } = decoded;
  for (let next = facts.firstSequence; ; next += 1) {
    const message = decodeMessage(bytes, end, facts.salt);
    if (message === undefined) {
      requireUnfinished(bytes, end, facts.salt, next, path);
      return { facts, messages, end };
    }
    if (message.sequence !== next)
      throw flushJournalDamaged(path, `message ${message.sequence} is in the place of ${next}`);
    messages.push(message);
    end = message.end;
  }
}

/** No flushed message may be missing: a later message contains the flushed sequence. */
function requireUnfinished(bytes: Buffer, from: number, salt: number, missing: number, path: string): void {
  for (let at = bytes.indexOf(messageMagic, from); at !== -1; at = bytes.indexOf(messageMagic, at + 1)) {
    const later = decodeMessage(bytes, at, salt);
    if (later !== undefined && later.flushedSequence >= missing)
      throw flushJournalDamaged(path, `message ${missing} is damaged`);
  }
}

/** @returns `DATA_CORRUPTED` */
export function flushJournalDamaged(path: string, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${path}: ${what}. The shards of this member do not depend on it: when the partition is healthy on the other members, ` +
      'stop this one and remove the folder of the flush journal; it is written again',
  );
}
