import { join } from 'node:path';
import { COPY_FILE } from '#runtime/actor/actor-copies.ts';
import type { ActorHost, ForkMade } from '#runtime/actor/actor-host.ts';
import type { Clock } from '#runtime/base/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { OwnedPartition } from '#cluster/lease/partition-environment.ts';
import type { PartitionMember } from '#cluster/lease/partition-member.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';

/** Looks for what is still to be copied of an owner, at most: actors come and go meanwhile. */
const LOOKS_MAX = 16;

/** An actor at the moment of a snapshot. */
export interface CutActor {
  readonly id: string;
  readonly sequence: number;
  /** The copy of its shard; undefined where it has the sequence that was known. */
  readonly path: string | undefined;
}

/**
 * The actors of a partition as files. Whoever puts them in their place and reads the log from the position on has what
 * everybody has: they are what a member could have on its disk when it starts, which is what replaying begins from.
 */
export interface PartitionCut {
  readonly position: LogPosition;
  readonly actors: readonly CutActor[];
}

/** What of a member's side of a partition is cut through. */
export type CutMember = Pick<PartitionMember, 'owned' | 'still' | 'actors'>;

/** How a cut is made. */
export interface CutOptions {
  /** Sequences at which an actor need not be copied. */
  readonly known: ReadonlyMap<string, number>;
  /** A cut before this record is of no use. */
  readonly least: number;
  /** Takes the copies; it is there, and empty. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Cuts through the shards this member has of a partition: of a follower while they stand still, of an owner one after
 * the other while it serves.
 *
 * @returns undefined when it has none to speak of, or not enough
 * @throws {ServiceError} `DATA_CORRUPTED` when an actor that should be there is lost; `REQUEST_CANCELLED` when it was given up, or the partition is wanted for something else;
 *   `SHUTTING_DOWN` when it is handed over; what copying fails with
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
    // Whoever wants the partition for something else waits for one piece of a file at most.
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
      // Opening a shard to look where it stands takes a moment each.
      await new Promise<void>((resolve) => clock.soon(resolve));
    }
    return { position, actors };
  });
}

/**
 * Each actor has a moment of its own, behind the position. Whoever reads the log from there makes forks again, and must
 * not make one of a source that went on since. So forks are copied as well whose source was copied later than they were
 * made: those that were under way at the beginning are there when all others are copied, and of later ones the host
 * tells. Actors that are removed meanwhile stay among the copies: forks of them may have to be made.
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
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
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

/** Forks whose source has something that came behind them. */
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
