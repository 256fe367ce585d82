import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type FoldState, LogFold } from '#cluster/replication/log-fold.ts';
import type { LogStream, StoredMessage } from '#cluster/replication/log-stream.ts';
import { decodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import { encodeMessage, encodeSegmentFacts, type FlushedMessage, segmentFileName } from './flush-format.ts';
import type { FlushJournal, FlushMark } from './flush-journal.ts';
import { isMajority, type Voters, votersIn } from './voters.ts';
import type { ReplicaSurvey } from './replica-survey.ts';
import type { ReplicaStatus } from './replica-status.ts';

/** Number of messages at the end of the journal that are searched for the first difference. */
const COMPARED_MESSAGES_MAX = 1024;

/** Maximum number of the stream's messages that are read from there to the positions of the others. */
const READ_MESSAGES_MAX = 20_000;

/** The end of a journal that was overwritten in the log. */
export interface SupersededEnd {
  /** The first message that differs from the stream's. */
  readonly first: number;
  /** The last message of the journal. */
  readonly last: number;
  /** The voters that have the stream's records on their disks. */
  readonly confirmedBy: readonly string[];
}

/** Inputs for the decision about a journal's end. */
export interface SupersededOptions {
  readonly stream: LogStream;
  readonly partition: number;
  readonly journal: FlushJournal;
  readonly survey: ReplicaSurvey;
}

/**
 * Returns the end of a journal if it is known never to have been acknowledged, because it was overwritten in the log.
 *
 * Acknowledged records are in the journals of a majority of the voters. So this end was not acknowledged when a
 * majority of them, not including this member, has the stream's records in its place on their disks: two majorities
 * share a member, and a journal has one message at each place. It never will be acknowledged, because none of these
 * members confirms it. Their chains prove that they have the stream's records: the stream is read from the last
 * common record, through the first difference, to their positions, and must give the same chains. One message from a
 * server proves nothing.
 *
 * @returns undefined while that is unknown
 * @throws {ServiceError} `LOG_UNAVAILABLE`, `DATA_CORRUPTED`
 * @see docs/partition-log.md#a-log-that-lost-its-end
 */
export async function supersededEnd(options: SupersededOptions): Promise<SupersededEnd | undefined> {
  const { journal, survey, stream } = options;
  const mark = journal.flushed;
  if (mark === undefined) return undefined;
  const fork = await forkOf(options, mark);
  if (fork === undefined) return undefined;
  const voters = await votersAt(journal, fork.sequence, mark.sequence);
  if (voters === undefined || voters.new.length === 0) return undefined;
  const { received } = await survey.once(mark);
  const { lastSequence } = await stream.state();
  const behind = received.filter(
    ({ identity, sequence }) =>
      identity === mark.identity && sequence >= fork.sequence && sequence <= lastSequence,
  );
  // Checked before anything is read: most often a member is missing.
  if (!isMajority(voters, new Set(behind.map(({ member }) => member)))) return undefined;
  const confirmed = await membersOn(options, fork, behind);
  if (!isMajority(voters, confirmed)) return undefined;
  return { first: fork.sequence, last: mark.sequence, confirmedBy: [...confirmed] };
}

/** The place where a journal and the stream diverge. */
interface Fork {
  readonly sequence: number;
  /** State of the log up to the last common record. */
  readonly common: FoldState;
}

async function forkOf(
  { journal, stream }: SupersededOptions,
  { identity, sequence }: FlushMark,
): Promise<Fork | undefined> {
  const state = await stream.state();
  if (state.identity !== identity) return undefined;
  const first = Math.max(journal.first, state.firstSequence, sequence - COMPARED_MESSAGES_MAX + 1);
  const last = Math.min(sequence, state.lastSequence);
  if (first > last) return undefined;
  let common: FoldState | undefined;
  const own = journal.read(first, last);
  for await (const stored of stream.range(first, last)) {
    const { done, value } = await own.next();
    if (done === true) return undefined;
    if (!stored.bytes.equals(value.bytes)) return common && { sequence: value.sequence, common };
    common = stateBehind(value) ?? common;
  }
  return undefined;
}

/**
 * Returns the voters of which a majority has the acknowledged records after a place. When the journal names other
 * voters there, they count only once a majority of the former ones has that record, so the former ones decide.
 */
async function votersAt(journal: FlushJournal, first: number, last: number): Promise<Voters | undefined> {
  for await (const { bytes, isValid } of journal.read(first, last)) {
    const named = isValid ? votersIn(bytes) : undefined;
    if (named !== undefined) return named.old.length === 0 ? named : { old: named.old, new: named.old };
  }
  return journal.voters;
}

/** Returns the state of the log after a record; undefined for one that does not count, or is a part of a batch. */
function stateBehind({ bytes, epoch, isValid, sequence }: FlushedMessage): FoldState | undefined {
  const record = decodeRecord(bytes);
  if (!isValid || 'fault' in record || record.kind === RecordKind.chunk) return undefined;
  return {
    sequence,
    validSequence: sequence,
    epoch,
    chain: Buffer.from(record.chain),
    clock: record.clock,
    owner: undefined,
    isClosed: record.kind === RecordKind.close,
    firstChunk: undefined,
  };
}

/** @returns the members that have the stream up to their positions, according to their chains */
async function membersOn(
  { partition, stream }: SupersededOptions,
  { common }: Fork,
  received: readonly ReplicaStatus[],
): Promise<ReadonlySet<string>> {
  const members = new Set<string>();
  const last = Math.max(...received.map(({ sequence }) => sequence));
  const first = common.sequence + 1;
  const fold = new LogFold(partition, common);
  for await (const message of stream.range(first, Math.min(last, first + READ_MESSAGES_MAX - 1))) {
    if (!isTaken(fold, message)) break;
    const chain = fold.state.chain.toString('hex');
    for (const each of received)
      if (each.sequence === message.sequence && each.chain === chain) members.add(each.member);
  }
  return members;
}

/** @returns false for a message that is invalid there: later messages prove nothing */
function isTaken(fold: LogFold, message: StoredMessage): boolean {
  try {
    fold.take(message);
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'DATA_CORRUPTED') return false;
    throw error;
  }
}

/**
 * Copies the end of a journal to a separate file, in the format of a segment, before it is given up. A repetition
 * writes the same file.
 *
 * @param folder created when it is missing
 * @returns path of the file, which is on the disk
 */
export async function copyEnd(
  files: FileSystem,
  folder: string,
  journal: FlushJournal,
  { first, last }: SupersededEnd,
): Promise<string> {
  const { chain, identity } = journal.flushed as FlushMark;
  const path = `${folder}/${chain.subarray(0, 4).toString('hex')}-${segmentFileName(first)}`;
  await files.makeDirectory(folder);
  const file = await files.open(`${path}.new`, 'create');
  try {
    const salt = chain.readUInt32LE(0);
    const facts = {
      identity,
      firstSequence: first,
      createdMs: 0,
      salt,
      continues: false,
      voters: undefined,
    };
    const header = encodeSegmentFacts(facts);
    await file.write(header, 0, header.length, 0);
    let at = header.length;
    for await (const message of journal.read(first, last)) {
      const bytes = encodeMessage(message, 0, salt);
      await file.write(bytes, 0, bytes.length, at);
      at += bytes.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(`${path}.new`, path);
  await files.syncDirectory(folder);
  return path;
}
