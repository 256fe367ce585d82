import type { FileSystem } from '#runtime/base/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type FoldState, LogFold } from '#cluster/replication/log-fold.ts';
import type { LogStream, StoredMessage } from '#cluster/replication/log-stream.ts';
import { decodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import { encodeMessage, encodeSegmentFacts, type FlushedMessage, segmentFileName } from './flush-format.ts';
import type { FlushJournal, FlushMark } from './flush-journal.ts';
import { isMajority, type Keepers, keepersIn } from './keepers.ts';
import type { ReplicaSurvey } from './replica-survey.ts';
import type { Standing } from './standing.ts';

/** Messages at the end of the journal among which the first one that differs is looked for. */
const COMPARED_MESSAGES_MAX = 1024;

/** Messages of the stream behind that one, up to where the others are, that are read at most. */
const READ_MESSAGES_MAX = 20_000;

/** The end of a journal that others wrote over. */
export interface SupersededEnd {
  /** The first message of which the stream has another one. */
  readonly first: number;
  /** The last one the journal has. */
  readonly last: number;
  /** The keepers that have what the stream has, on their disks. */
  readonly confirmedBy: readonly string[];
}

/** What the end of a journal is judged by. */
export interface SupersededOptions {
  readonly stream: LogStream;
  readonly partition: number;
  readonly journal: FlushJournal;
  readonly survey: ReplicaSurvey;
}

/**
 * Whether the end of a journal is known never to have been acknowledged, because others wrote over it.
 *
 * What was acknowledged is in the journals of a majority of the keepers. So it was not when a majority of them, this
 * member not among them, has on their disks what the stream has in its place: two majorities share a member, and a
 * journal has one message at each place. It never will be either, for none of these confirms it. That they have it is
 * proven by the chains they tell: the stream is read from the last record both have, through the first that differs, to
 * where they are, and has to come to the same chains. A server that shows something else in one place proves nothing.
 *
 * @returns undefined while that is not known
 * @throws {ServiceError} `LOG_UNAVAILABLE`, `DATA_CORRUPTED`
 * @see Reliability: R9
 */
export async function supersededEnd(options: SupersededOptions): Promise<SupersededEnd | undefined> {
  const { journal, survey, stream } = options;
  const mark = journal.flushed;
  if (mark === undefined) return undefined;
  const fork = await forkOf(options, mark);
  if (fork === undefined) return undefined;
  const keepers = await keepersAt(journal, fork.sequence, mark.sequence);
  if (keepers === undefined || keepers.new.length === 0) return undefined;
  const { told } = await survey.once(mark);
  const { lastSequence } = await stream.state();
  const behind = told.filter(
    ({ identity, sequence }) =>
      identity === mark.identity && sequence >= fork.sequence && sequence <= lastSequence,
  );
  // Before anything is read: most often somebody is away.
  if (!isMajority(keepers, new Set(behind.map(({ member }) => member)))) return undefined;
  const confirmed = await membersOn(options, fork, behind);
  if (!isMajority(keepers, confirmed)) return undefined;
  return { first: fork.sequence, last: mark.sequence, confirmedBy: [...confirmed] };
}

/** Where a journal and the stream part. */
interface Fork {
  readonly sequence: number;
  /** Of the log up to the last record before it that both have. */
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
 * Those a majority of whom has what was acknowledged behind a place. When the journal names others there, they count only
 * once a majority of those before has that, so these decide.
 */
async function keepersAt(journal: FlushJournal, first: number, last: number): Promise<Keepers | undefined> {
  for await (const { bytes, isValid } of journal.read(first, last)) {
    const named = isValid ? keepersIn(bytes) : undefined;
    if (named !== undefined) return named.old.length === 0 ? named : { old: named.old, new: named.old };
  }
  return journal.keepers;
}

/** What the log comes to behind a record; undefined for one that does not count, or is a part of a batch. */
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

/** @returns which of some members have the stream up to where they are, as their chains say */
async function membersOn(
  { partition, stream }: SupersededOptions,
  { common }: Fork,
  told: readonly Standing[],
): Promise<ReadonlySet<string>> {
  const members = new Set<string>();
  const last = Math.max(...told.map(({ sequence }) => sequence));
  const first = common.sequence + 1;
  const fold = new LogFold(partition, common);
  for await (const message of stream.range(first, Math.min(last, first + READ_MESSAGES_MAX - 1))) {
    if (!isTaken(fold, message)) break;
    const chain = fold.state.chain.toString('hex');
    for (const each of told)
      if (each.sequence === message.sequence && each.chain === chain) members.add(each.member);
  }
  return members;
}

/** @returns false for a message that cannot stand there: nothing behind it proves anything */
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
 * Writes the end of a journal to a file of its own, in the format of a segment, before it is given up. Done again it is
 * the same file.
 *
 * @param folder made when it is missing
 * @returns path of the file, which is on the disk
 */
export async function keepAside(
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
      keepers: undefined,
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
