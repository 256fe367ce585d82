import { assert } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isAhead } from '#cluster/replication/durability-gate.ts';
import { logRegressed, logUnavailable } from '#cluster/replication/log-errors.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import type { LogStream, StreamState } from '#cluster/replication/log-stream.ts';
import { decodeRecord } from '#cluster/replication/record-format.ts';
import type { FlushMark, FlushJournal } from './flush-journal.ts';
import { isMajority } from './voters.ts';
import type { ReplicaSurvey } from './replica-survey.ts';
import type { ReplicaStatus } from './replica-status.ts';

/** Number of messages at the end of the stream that are compared with the journal, byte by byte. */
const COMPARED_MESSAGES_MAX = 1024;

/** Maximum number of concurrent appends. */
const APPENDS_MAX = 64;

/** Dependencies of a reseed. */
export interface ReseedOptions {
  readonly stream: LogStream;
  readonly partition: number;
  /** Name of this member. */
  readonly member: string;
  readonly journal: FlushJournal;
  readonly survey: ReplicaSurvey;
  readonly report: LogReport;
  /** Whether all voters must answer, not only a majority of them: at first, when they may be starting. */
  readonly waitsForAll: boolean;
}

/** Outcome of an attempt. */
export type ReseedOutcome =
  /** The stream has all messages of the journal. */
  | { readonly kind: 'whole' }
  /** It is not possible now; the reason is for operators. */
  | { readonly kind: 'waiting'; readonly reason: string };

/**
 * Restores the end of a stream from this member's journal: the same bytes at the same sequences,
 * each appended after exactly the message it followed. It changes nothing else, and requires that the stream is the
 * same and a strict prefix of the journal, a majority of the voters answered, no member is ahead of this one, and no
 * majority of the voters may have other records in the place of its own.
 *
 * The last condition is not implied by the others. A member with a higher epoch need not have all records that were
 * acknowledged before: a voter that told a candidate its position still confirms records of the owner. Such a record
 * may be acknowledged, lost by the servers, and only then the opening of the candidate arrives. Then the candidate
 * has an epoch that no other member confirms, and the others have the acknowledged record.
 *
 * Several members may do this concurrently, and it may be interrupted anywhere: the messages are the same, and each
 * place accepts one.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` when the stream has other records: an operator must decide;
 *   `LOG_UNAVAILABLE`
 * @see docs/partition-log.md#a-log-that-lost-its-end
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
  const { isEnough, voters, received } = await survey.once(mark);
  const answered = new Set([options.member, ...received.map(({ member }) => member)]);
  const missing = voters?.new.filter((name) => !answered.has(name)) ?? [];
  if (!isEnough) return { kind: 'waiting', reason: 'too few of the replicas answer' };
  const ahead = received.find((each) => each.identity === mark.identity && isAhead(each, mark));
  if (ahead !== undefined)
    return { kind: 'waiting', reason: `${ahead.member} has more (record ${ahead.sequence})` };
  if (options.waitsForAll && missing.length > 0)
    return { kind: 'waiting', reason: `not all replicas have answered yet: ${missing.join(', ')}` };
  const others = await othersThan(options, state, mark, received);
  if (others.length > 0 && voters !== undefined && isMajority(voters, new Set([...others, ...missing])))
    return {
      kind: 'waiting',
      reason: `${others.join(' and ')} has other records than this member, which a majority may have`,
    };
  await requirePrefix(options, state);
  const last = await appendMissing(options, state, mark);
  // Other members do the same concurrently, and may have been first at every place.
  if (last > state.lastSequence) options.report({ kind: 'reseeded', first: state.lastSequence + 1, last });
  return last >= mark.sequence ? { kind: 'whole' } : { kind: 'waiting', reason: `it has reached ${last}` };
}

/** @returns the members whose chains show other records than this member's after the end of the stream */
async function othersThan(
  { journal }: ReseedOptions,
  { lastSequence }: StreamState,
  mark: FlushMark,
  received: readonly ReplicaStatus[],
): Promise<readonly string[]> {
  const compared = received.filter(
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

/** Returns the chain of a record that is known to be valid. */
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
      `log of partition ${partition}: the stream has none of the messages up to ${lastSequence}, so it cannot be compared`,
      { details: { partition } },
    );
  const own = journal.read(first, lastSequence);
  for await (const { bytes, sequence } of own) {
    const stored = await stream.fetch(sequence);
    if (stored === undefined) throw logUnavailable(`record ${sequence} is missing at present`);
    if (!stored.bytes.equals(bytes))
      throw logRegressed(
        partition,
        'other-record',
        `record ${sequence} differs from the one in the flush journal of this member`,
      );
  }
}

/** @returns the new last message of the stream, as far as it is known */
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
    // The next attempt reads the stream and finds the outcome of the others.
    if (!isWell) break;
  }
  await Promise.all(underWay);
  return reached;
}
