import { join } from 'node:path';
import { COPY_FILE } from '#runtime/actor/copies/actor-copies.ts';
import type { ActorHost, ForkMade } from '#runtime/actor/host/actor-host.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { OwnedPartition } from '#cluster/ownership/partition-environment.ts';
import type { PartitionMember } from '#cluster/ownership/partition-member.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';

/** Maximum number of passes over an owner's actors: actors are created and removed meanwhile. */
const PASSES_MAX = 16;

/** An actor at the moment of a snapshot. */
export interface CutActor {
  readonly id: string;
  readonly sequence: number;
  /** The copy of its shard; undefined when its sequence is the known one. */
  readonly path: string | undefined;
}

/**
 * A consistent cut through a partition: its actors as files. A member that has these files and reads the log from the
 * position on has the complete state: it could have had them on its disk at a start, which is where replay begins.
 */
export interface PartitionCut {
  readonly position: LogPosition;
  readonly actors: readonly CutActor[];
}

/** The part of a member's side of a partition that is needed for a cut. */
export type CutMember = Pick<PartitionMember, 'owned' | 'still' | 'actors'>;

/** Options for a cut. */
export interface CutOptions {
  /** Sequences at which an actor need not be copied. */
  readonly known: ReadonlyMap<string, number>;
  /** A cut before this record is useless. */
  readonly least: number;
  /** Folder for the copies; it exists, and is empty. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Copies the shards that this member has of a partition: those of a follower while no record is applied, those of an
 * owner one after the other while it serves.
 *
 * @returns undefined when it has none, or does not reach far enough
 * @throws {ServiceError} `DATA_CORRUPTED` when an actor that should exist is lost; `REQUEST_CANCELLED` when it was
 *   cancelled, or the partition is needed for something else; `SHUTTING_DOWN` when it is handed over; errors of copying
 */
export async function cutPartition(
  member: CutMember,
  options: CutOptions,
): Promise<PartitionCut | undefined> {
  const { owned } = member;
  return owned === undefined ? cutFollower(member, options) : cutOwner(member, owned, options);
}

/** One moment for all actors: nothing is applied until the last one is copied. */
function cutFollower(member: CutMember, options: CutOptions): Promise<PartitionCut | undefined> {
  const { clock, folder, known, least, signal } = options;
  return member.still(async (shards, position, unwanted) => {
    if (position.sequence < least) return undefined;
    const actors: CutActor[] = [];
    // Other users of the partition wait for one piece of a file at most.
    const either = AbortSignal.any([signal, unwanted]);
    for (const id of await member.actors()) {
      if (either.aborted) throw new ServiceError('REQUEST_CANCELLED');
      const sequence = shards.sequenceOf(id);
      if (sequence === undefined) continue;
      let path: string | undefined;
      if (known.get(id) !== sequence) {
        const copy = join(folder, String(actors.length));
        await shards.copy(id, copy, either);
        path = join(copy, COPY_FILE);
      }
      actors.push({ id, sequence, path });
      crashPoint('mid-snapshot-copy');
      // Opening a shard to read its position takes a moment each.
      await new Promise<void>((resolve) => clock.soon(resolve));
    }
    return { position, actors };
  });
}

/**
 * Copies each actor as of its own moment, after the position. A member that reads the log from there repeats forks,
 * and must not repeat one from a source that has changed since. So a fork is also copied when its source was copied
 * later than the fork was made. Forks that were under way at the beginning exist when all others are copied; the host
 * reports later ones. Actors that are removed meanwhile stay among the copies, because forks of them may have to be
 * repeated.
 */
async function cutOwner(
  member: CutMember,
  { host, log }: OwnedPartition,
  options: CutOptions,
): Promise<PartitionCut | undefined> {
  const { folder, known, least, signal } = options;
  const forks: ForkMade[] = [];
  const stopWatching = host.watchForks((fork) => forks.push(fork));
  try {
    const position = log.releasedPosition;
    if (position.sequence < Math.max(1, least)) return undefined;
    const copied = new Map<string, CutActor>();
    const gone = new Set<string>();
    let copies = 0;
    for (let looks = 0; looks < PASSES_MAX; looks += 1) {
      const wanted = looks < 2 ? await member.actors() : neededForks(forks, copied);
      const fresh = wanted.filter((id) => !copied.has(id) && !gone.has(id));
      if (fresh.length === 0 && looks >= 2) return { position, actors: [...copied.values()] };
      for (const id of fresh) {
        if (signal.aborted || log.ended !== undefined) throw new ServiceError('REQUEST_CANCELLED');
        copies += 1;
        const actor = await copyOwned(host, log, id, known, join(folder, String(copies)));
        if (actor === undefined) gone.add(id);
        else copied.set(id, actor);
        crashPoint('mid-snapshot-copy');
      }
    }
    throw new ServiceError('OVERLOADED', 'Forks of the partition are made all the time; try again');
  } finally {
    stopWatching();
  }
}

/** Returns forks whose source was copied with later changes. */
function neededForks(forks: readonly ForkMade[], copied: ReadonlyMap<string, CutActor>): readonly string[] {
  return forks.flatMap(({ sequence, source, target }) =>
    (copied.get(source)?.sequence ?? 0) > sequence ? [target] : [],
  );
}

/** @returns undefined for an actor that was removed meanwhile */
async function copyOwned(
  host: ActorHost,
  log: OwnedPartition['log'],
  id: string,
  known: ReadonlyMap<string, number>,
  folder: string,
): Promise<CutActor | undefined> {
  try {
    const sequence = host.appliedSequence(id);
    if (known.get(id) === sequence && !log.pending().has(id)) return { id, sequence, path: undefined };
    const copy = await host.copy(id, folder);
    return { id, sequence: copy.sequence, path: join(folder, COPY_FILE) };
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}
