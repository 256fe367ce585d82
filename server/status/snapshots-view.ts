import type { SeenLog } from '#protocols/rest/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { inTime } from '#runtime/base/time/within.ts';
import type { Directory } from '#runtime/directory/ports.ts';
import type { LogStream, StreamState } from '#cluster/replication/log-stream.ts';
import { bestTruncation, isPressed } from '#cluster/snapshot/log-truncation.ts';
import type { IndexEntry, SnapshotIndex } from '#cluster/snapshot/snapshot-index.ts';

/** Maximum time of one request to the servers, in milliseconds. */
const ANSWER_MS_MAX = 700;

/** Sources for the state of the logs. */
export interface SeenLogSources {
  readonly directory: Directory;
  readonly streamOf: (partition: number) => LogStream;
  /** Stored position of each partition on each member. */
  readonly stored: ReadonlyMap<string, ReadonlyMap<number, number>>;
  readonly index: SnapshotIndex;
  readonly clock: Clock;
  /** `[cluster] log_bytes_max`. */
  readonly bytesMax: number;
}

/** Returns the logs by partition; those that are not known in time are omitted. Never rejects. */
export async function seenLogs(sources: SeenLogSources): Promise<ReadonlyMap<number, SeenLog>> {
  const { clock, index } = sources;
  const asked = inTime(clock, ANSWER_MS_MAX, index.all());
  const partitions = Array.from({ length: sources.directory.partitions }, (_, partition) => partition);
  const views = await Promise.all(
    partitions.map(async (partition) => {
      const state = await inTime(clock, ANSWER_MS_MAX, sources.streamOf(partition).state());
      const entries = await asked;
      return state && seenLog(sources, partition, state, entries && (entries.get(partition) ?? none));
    }),
  );
  return new Map(views.flatMap((view, partition) => (view === undefined ? [] : [[partition, view]])));
}

const none: IndexEntry = { records: [], version: 0 };

/** @param entry undefined when the snapshots are unknown */
function seenLog(
  { bytesMax, clock, directory, stored }: SeenLogSources,
  partition: number,
  state: StreamState,
  entry: IndexEntry | undefined,
): SeenLog {
  const records = (entry?.records ?? []).filter(({ position }) => position.identity === state.identity);
  const storedBy = (member: string): number | undefined => stored.get(member)?.get(partition);
  const owner = directory.ownerOf(partition)?.id;
  const best = bestTruncation({
    state,
    records,
    ownerStored: (owner === undefined ? undefined : storedBy(owner)) ?? 0,
    followers: directory.followersOf(partition).map(({ id }) => ({ member: id, stored: storedBy(id) })),
  });
  const isStuck = entry !== undefined && isPressed(state, bytesMax) && best.before === undefined;
  const [newest] = records;
  return {
    bytes: state.bytes,
    bytesMax,
    kept: isStuck ? best.kept : undefined,
    snapshot:
      newest === undefined
        ? undefined
        : {
            sequence: newest.position.sequence,
            ageMs: Math.max(0, clock.wallMs() - newest.takenAtMs),
            bytes: newest.bytes,
            member: newest.member,
          },
  };
}
