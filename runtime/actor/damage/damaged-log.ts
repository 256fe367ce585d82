import { isRefusedFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { actorMark } from '#runtime/log/actor-mark.ts';
import { isUnder, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { Log, LogDamage, LostRecords } from '#runtime/log/ports.ts';
import type { CatalogueRow } from '../catalogue/actor-catalogue.ts';
import type { ActorId } from '../ports.ts';

/** Facts about the actors from outside the log. */
export interface StoredActors {
  /** Every actor that has a folder. */
  all(): Promise<readonly ActorId[]>;
  /** Every actor in the catalogue; its folder may be lost. Empty when there is no catalogue. */
  listed(): ReadonlyMap<ActorId, CatalogueRow>;
  /** Sequence its shard has reached. @throws when the shard itself is damaged */
  reached(actor: ActorId): number;
}

/** Classification of the actors of a log that has lost records. */
export interface JudgedActors {
  /** Actors that depend on lost records, each with the reason. */
  readonly dependent: ReadonlyMap<ActorId, string>;
  /**
   * Actors whose shards contain the lost records, with the sequences they have reached. The log cannot rebuild them:
   * without their files that data is lost too.
   */
  readonly past: ReadonlyMap<ActorId, number>;
  /**
   * The actors of both that the catalogue does not have and the log creates without a source, with the sequence of that
   * record. A fork is not acknowledged before the catalogue has it.
   */
  readonly unlisted: ReadonlyMap<ActorId, number>;
}

/** The lost records of a log, and the part of it that was applied before others were removed. */
export type LostSoFar = Pick<LogDamage, 'appliedThrough' | 'lost'>;

/** An actor that occurs in the log. */
interface LoggedActor {
  /** Sequence of the record that created it; undefined when that record is no longer in the log. */
  madeAt: number | undefined;
  /** Source of a fork. */
  source: ActorId | undefined;
  /** Sequence of its first entry of effects. */
  firstAt: number;
}

/**
 * The actors that depend on lost records of a log, with the reasons. An actor does if a lost record is after the end of
 * its shard and may have contained an entry of it: an effect, or its own removal. Effects after the lost one must not
 * be applied, because they build on it. A shard that has reached the lost record or a later one contains it.
 *
 * If the actors of a record are unknown, it may have contained entries of any actor. An actor created after it is not
 * affected. A fork that is not yet created depends on what its source depends on. A listed actor whose folder is lost
 * has only the log, so it is treated as a shard that ends where the log would have to begin.
 */
export async function dependentActors(
  log: Pick<Log, 'read'>,
  lost: LostSoFar,
  stored: StoredActors,
): Promise<ReadonlyMap<ActorId, string>> {
  return (await judgeActors(log, lost, stored)).dependent;
}

/** As {@link dependentActors}, with the actors that do not depend because their shards contain the lost records. */
export async function judgeActors(
  log: Pick<Log, 'read'>,
  { appliedThrough, lost }: LostSoFar,
  stored: StoredActors,
): Promise<JudgedActors> {
  const dependent = new Map<ActorId, string>();
  const past = new Map<ActorId, number>();
  const unlisted = new Map<ActorId, number>();
  if (lost.length === 0) return { dependent, past, unlisted };
  const logged = await actorsOf(log);
  const onDisk = new Set(await stored.all());
  const listed = stored.listed();
  for (const actor of onDisk) {
    const reached = reachedBy(stored, actor);
    const madeAt = Math.max(logged.get(actor)?.madeAt ?? 0, listed.get(actor)?.created ?? 0);
    const why = lostOf(actor, Math.max(reached, madeAt), lost);
    if (why !== undefined) dependent.set(actor, why);
    // An actor created after all lost records has lost nothing.
    else if (lostOf(actor, madeAt, lost) !== undefined) past.set(actor, reached);
  }
  for (const [actor, row] of listed) {
    // The record that created it is still in the log: see below. An earlier one is of another actor of that id.
    if (onDisk.has(actor) || (logged.get(actor)?.madeAt ?? -1) >= row.created) continue;
    const why = lostOf(actor, Math.max(row.created, row.floor), lost);
    if (why !== undefined) dependent.set(actor, why);
  }
  // In log order, so that a source is classified before its forks.
  for (const [actor, { firstAt, madeAt, source }] of logged) {
    if (onDisk.has(actor) || (madeAt ?? 0) < (listed.get(actor)?.created ?? 0)) continue;
    // It was removed: all actors of that part had rows when later records left the log.
    if (listed.size > 0 && !listed.has(actor) && (madeAt ?? firstAt) <= appliedThrough) continue;
    if (madeAt === undefined) {
      if (listed.has(actor)) continue;
      const before = lost.filter(({ first }) => first < firstAt);
      const why = lostOf(actor, 0, before);
      if (why !== undefined) dependent.set(actor, why);
      continue;
    }
    const inherited = source === undefined ? undefined : dependent.get(source);
    const why = inherited ?? lostOf(actor, madeAt, lost);
    if (why !== undefined) dependent.set(actor, why);
  }
  for (const [actor, { madeAt, source }] of logged)
    if (madeAt !== undefined && source === undefined && !listed.has(actor))
      if (dependent.has(actor) || past.has(actor)) unlisted.set(actor, madeAt);
  return { dependent, past, unlisted };
}

/** The error of requests to an actor that depends on lost records. */
export function dependsOnLost(actor: ActorId, why: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${actor} may have lost acknowledged writes, so it is not served: ${why}. Bring back this file from a copy and start ` +
      'again; or restore what it belongs to from a backup; or make a new data directory of all that is whole: npm run salvage -- --help',
  );
}

/** The error of a start when a required actor depends on lost records. */
export function startDependsOnLost(actor: ActorId, why: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${actor} may have lost acknowledged writes, and nothing can be served without it: ${why}. Nothing was changed. Put the ` +
      'named files back from a copy and start again; where the server did not make a file that is named, move it out of the ' +
      'folder; else restore a backup, or make a new data directory of all that is whole: npm run salvage -- --help',
  );
}

/** @returns the reason, for the operator; undefined when it has lost nothing */
function lostOf(actor: ActorId, reached: number, lost: readonly LostRecords[]): string | undefined {
  const found = lost.find(({ actors, last }) => last > reached && mayHold(actors, actor));
  if (found === undefined) return undefined;
  const { first, isAtMost = false, last, what, where } = found;
  const upTo = `up to ${last - first + 1} records from ${first} on`;
  const which = isAtMost ? upTo : first === last ? `record ${first}` : `records ${first} to ${last}`;
  return `the journal has lost ${which} (${where}: ${what})`;
}

/** Whether a lost entry may belong to an actor, or to the removal of its owner. */
function mayHold(actors: ReadonlySet<string> | undefined, actor: ActorId): boolean {
  if (actors === undefined) return true;
  const parts = actor.split('/');
  return parts.some((_, index) => {
    const owner = parts.slice(0, index + 1).join('/');
    return actors.has(actorMark(owner).toString('hex'));
  });
}

/**
 * The position of a shard; 0 when the shard is unreadable.
 *
 * @throws {ServiceError} when the system refuses its file, because a decision would outlast that temporary failure
 */
function reachedBy(stored: StoredActors, actor: ActorId): number {
  try {
    return stored.reached(actor);
  } catch (error) {
    if (isRefusedFile(error)) throw error;
    return 0;
  }
}

/** Every actor in the log that is not removed in it, in order of appearance. */
async function actorsOf(log: Pick<Log, 'read'>): Promise<Map<ActorId, LoggedActor>> {
  const found = new Map<ActorId, LoggedActor>();
  for await (const { entries, sequence } of log.read(0)) {
    for (const entry of entries) {
      const { actor } = entry;
      const lifecycle = lifecycleOf(entry);
      if (lifecycle?.kind === 'destroy') {
        for (const known of [...found.keys()]) if (isUnder(known, actor)) found.delete(known);
        continue;
      }
      const known = found.get(actor) ?? { madeAt: undefined, source: undefined, firstAt: sequence };
      found.set(actor, known);
      if (lifecycle === undefined || known.madeAt !== undefined) continue;
      known.madeAt = sequence;
      known.source = lifecycle.kind === 'fork' ? lifecycle.source : undefined;
    }
  }
  return found;
}
