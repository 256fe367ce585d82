import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isAhead } from '#cluster/replication/durability-gate.ts';
import { logRegressed, logUnavailable } from '#cluster/replication/log-errors.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import type { LogStream, StreamState } from '#cluster/replication/log-stream.ts';
import { decodeRecord } from '#cluster/replication/record-format.ts';
import type { FlushMark, FlushJournal } from './flush-journal.ts';
import { isMajority } from './keepers.ts';
import type { ReplicaSurvey } from './replica-survey.ts';
import type { Standing } from './standing.ts';

/** Messages at the end of the stream that are compared with the journal, byte by byte. */
const COMPARED_MESSAGES_MAX = 1024;

/** Appends under way at once. */
const APPENDS_MAX = 64;

/** What a reseed works with. */
export interface ReseedOptions {
  readonly stream: LogStream;
  readonly partition: number;
  /** Name of this member. */
  readonly member: string;
  readonly journal: FlushJournal;
  readonly survey: ReplicaSurvey;
  readonly report: LogReport;
  /** Whether all keepers are waited for, not only a majority of them: in the beginning, when they may be starting. */
  readonly waitsForAll: boolean;
}

/** How an attempt ended. */
export type ReseedOutcome =
  /** The stream has everything the journal has. */
  | { readonly kind: 'whole' }
  /** Not now, and why, for people. */
  | { readonly kind: 'waiting'; readonly reason: string };

/**
 * Gives a stream that lost its end back what this member's journal has of it: the same bytes at the same sequences,
 * each appended behind the very message it followed. It changes nothing else, and does so only when the stream is the
 * same and a strict prefix of the journal, a majority of the keepers answered, nobody is ahead of this member, and no
 * majority of the keepers may have other records in the place of its own.
 *
 * The last one is no matter of course. That somebody has a higher epoch does not prove that he has all that was
 * acknowledged before: a keeper that told a candidate where it is goes on confirming records of the owner. When such a
 * record is acknowledged, the servers lose it, and the opening of the candidate arrives only then, the candidate has an
 * epoch that nobody else confirms, and the others have the record that was acknowledged.
 *
 * Several members may do it at once, and it may be interrupted anywhere: the messages are the same, and each place
 * takes one.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the stream holds something else: an operator has to decide;
 *   `LOG_UNAVAILABLE`
 * @see Reliability: R9
 */
export async function reseed(options: ReseedOptions): Promise<ReseedOutcome> {
  const { journal, stream, survey, partition } = options;
  const mark = journal.flushed;
  const state = await stream.state();
  if (mark === undefined) return { kind: 'waiting', reason: 'this member has no flush journal of it' };
  if (state.identity !== mark.identity)
    throw logRegressed(
      partition,
      'other-stream',
      `its stream is '${state.identity}', and this member knows it as '${mark.identity}'`,
    );
  if (state.lastSequence >= mark.sequence) return { kind: 'whole' };
  const { first } = journal;
  if (first > Math.max(1, state.lastSequence))
    return {
      kind: 'waiting',
      reason: `the stream ends at ${state.lastSequence}, and the flush journal begins at ${first}`,
    };
  const { isEnough, keepers, told } = await survey.once(mark);
  const answered = new Set([options.member, ...told.map(({ member }) => member)]);
  const missing = keepers?.new.filter((name) => !answered.has(name)) ?? [];
  if (!isEnough) return { kind: 'waiting', reason: 'too few of the replicas answer' };
  const ahead = told.find((each) => each.identity === mark.identity && isAhead(each, mark));
  if (ahead !== undefined)
    return { kind: 'waiting', reason: `${ahead.member} has more (record ${ahead.sequence})` };
  if (options.waitsForAll && missing.length > 0)
    return { kind: 'waiting', reason: `not all replicas have answered yet: ${missing.join(', ')}` };
  const others = await othersThan(options, state, mark, told);
  if (others.length > 0 && keepers !== undefined && isMajority(keepers, new Set([...others, ...missing])))
    return {
      kind: 'waiting',
      reason: `${others.join(' and ')} has other records than this member, which a majority may have`,
    };
  await requirePrefix(options, state);
  const last = await appendMissing(options, state, mark);
  // Others do it at the same time, and may have been first everywhere.
  if (last > state.lastSequence) options.report({ kind: 'reseeded', first: state.lastSequence + 1, last });
  return last >= mark.sequence ? { kind: 'whole' } : { kind: 'waiting', reason: `it has reached ${last}` };
}

/** @returns who has other records than this member behind the end of the stream, as their chains say */
async function othersThan(
  { journal }: ReseedOptions,
  { lastSequence }: StreamState,
  mark: FlushMark,
  told: readonly Standing[],
): Promise<readonly string[]> {
  const compared = told.filter(
    ({ chain, identity, sequence }) =>
      identity === mark.identity && chain !== '' && sequence > lastSequence && sequence <= mark.sequence,
  );
  if (compared.length === 0) return [];
  const others = new Set<string>();
  let newest: string | undefined;
  for await (const { bytes, isValid, sequence } of journal.read(lastSequence + 1, mark.sequence)) {
    if (isValid) newest = chainOf(bytes).toString('hex');
    for (const each of compared)
      if (each.sequence === sequence && newest !== undefined && each.chain !== newest)
        others.add(each.member);
  }
  return [...others];
}

/** The chain of a record that is known to be valid. */
function chainOf(bytes: Buffer): Buffer {
  const record = decodeRecord(bytes);
  assert(!('fault' in record), 'a record that counts can be read');
  return record.chain;
}

async function requirePrefix(
  { journal, partition, stream }: ReseedOptions,
  state: StreamState,
): Promise<void> {
  const { firstSequence, lastSequence } = state;
  if (lastSequence === 0) return;
  const first = Math.max(journal.first, firstSequence, lastSequence - COMPARED_MESSAGES_MAX + 1);
  if (first > lastSequence)
    throw new ServiceError(
      'DATA_CORRUPTED',
      `log of partition ${partition}: the stream has none of the messages up to ${lastSequence}, so nothing tells whether it is the same`,
      { details: { partition } },
    );
  const own = journal.read(first, lastSequence);
  for await (const { bytes, sequence } of own) {
    const stored = await stream.fetch(sequence);
    if (stored === undefined) throw logUnavailable(`record ${sequence} is not there at present`);
    if (!stored.bytes.equals(bytes))
      throw logRegressed(
        partition,
        'other-record',
        `record ${sequence} is another than the flush journal of this member has`,
      );
  }
}

/** @returns the last message the stream has then, as far as is known */
async function appendMissing(
  { journal, stream }: ReseedOptions,
  { lastSequence }: StreamState,
  mark: FlushMark,
): Promise<number> {
  let reached = lastSequence;
  let isWell = true;
  const underWay: Promise<void>[] = [];
  for await (const { bytes, sequence } of journal.read(lastSequence + 1, mark.sequence)) {
    const appended = stream.append(sequence - 1, Buffer.from(bytes)).then((outcome) => {
      if (outcome.kind === 'stored' && outcome.sequence === sequence) reached = Math.max(reached, sequence);
      else isWell = false;
    });
    underWay.push(appended);
    if (underWay.length >= APPENDS_MAX) await underWay.shift();
    // What became of the others the next attempt sees, by looking at the stream.
    if (!isWell) break;
  }
  await Promise.all(underWay);
  return reached;
}
