import { FlushJournal } from '#cluster/replica-durability/flush-journal.ts';
import type { ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { MemoryStream } from './memory-stream.ts';

/** The partition whose log others wrote over. */
export const PARTITION = 1;

/** Who keeps it. */
export const NAMES: readonly string[] = ['m1', 'm2', 'm3'];

/** What a member flushes its log with; nobody confirms. */
export const silentFlush = {
  channel: { tell: () => {}, ask: () => {}, onConfirmation: () => () => {}, onRequest: () => () => {} },
  votersWanted: () => NAMES,
};

/** Opens the log as a member. */
export function openLog(stream: MemoryStream, member: string): Promise<PartitionLog> {
  return openPartition({
    position: undefined,
    leaseMs: 1,
    clock: systemClock,
    random: systemRandom,
    stream: stream.link(),
    partition: PARTITION,
    member,
    report: () => {},
  });
}

/** Puts everything the stream has into a flush journal. @param identity of the stream, as the journal knows it */
export async function fillJournal(
  files: FileSystem,
  folder: string,
  stream: MemoryStream,
  identity = 'memory',
): Promise<void> {
  const journal = await FlushJournal.open({ files, folder, clock: systemClock, random: systemRandom });
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) {
    decoder.take(message);
    journal.add(identity, message, decoder.fold.state);
  }
  await journal.close();
}

/** How a member stands that read the stream up to a message. */
export function statusIn(
  stream: MemoryStream,
  member: string,
  sequence: number = stream.messages.length,
): ReplicaStatus {
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages.slice(0, sequence)) decoder.take(message);
  const { chain, epoch } = decoder.fold.state;
  return { member, identity: 'memory', epoch, sequence, chain: chain.toString('hex'), voters: undefined };
}
