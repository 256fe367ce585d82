import { isRefusedFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { actorMark } from '#runtime/log/actor-mark.ts';
import { isUnder, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { Log, LostRecords } from '#runtime/log/ports.ts';
import type { CatalogueRow } from './actor-catalogue.ts';
import type { ActorId } from './ports.ts';

/** What is known of the actors besides the log. */
export interface StoredActors {
  /** Every actor that has a folder. */
  all(): Promise<readonly ActorId[]>;
  /** Every actor that the catalogue lists; its folder may be lost. Empty where there is no catalogue. */
  listed(): ReadonlyMap<ActorId, CatalogueRow>;
  /** Sequence its shard has reached. @throws when the shard is damaged itself */
  reached(actor: ActorId): number;
}

/** What became of the actors of a log that has lost records. */
export interface JudgedActors {
  /** Those that depend on lost records, with why. */
  readonly dependent: ReadonlyMap<ActorId, string>;
  /**
   * Those whose shards have what was lost, with how far they reach. The log cannot make them again: without their files
   * they have lost it as well.
   */
  readonly past: ReadonlyMap<ActorId, number>;
}

/** An actor that stands in the log. */
interface LoggedActor {
  /** Of the record that made it; undefined where the log does not begin with it. */
  madeAt: number | undefined;
  /** What it was copied from. */
  source: ActorId | undefined;
  /** Of its first entry of effects. */
  firstAt: number;
}

/**
 * The actors that depend on lost records of a log, with why. An actor does, when a lost record lies behind what its
 * shard has, and may have held an entry of it: an effect, or its own removal. Effects behind the lost one must not be
 * applied, for they build on it. A shard that has reached the lost record or a later one has what was in it.
 *
 * Where it is not known whose entries a record had, everybody's may have been there. An actor that was made behind it
 * had none. A copy that is not made yet depends on what its source depends on. An actor that is listed and whose folder
 * is lost has nothing but the log, so it is judged as a shard that ends where the log had to begin with it.
 */
export async function dependentActors(
  log: Pick<Log, 'read'>,
  lost: readonly LostRecords[],
  stored: StoredActors,
): Promise<ReadonlyMap<ActorId, string>> {
  return (await judgeActors(log, lost, stored)).dependent;
}

/** As {@link dependentActors}, with those that do not depend because of what their shards have. */
export async function judgeActors(
  log: Pick<Log, 'read'>,
  lost: readonly LostRecords[],
  stored: StoredActors,
): Promise<JudgedActors> {
  const dependent = new Map<ActorId, string>();
  const past = new Map<ActorId, number>();
  if (lost.length === 0) return { dependent, past };
  const logged = await actorsOf(log);
  const onDisk = new Set(await stored.all());
  for (const actor of onDisk) {
    const reached = reachedBy(stored, actor);
    const madeAt = logged.get(actor)?.madeAt ?? 0;
    const why = lostOf(actor, Math.max(reached, madeAt), lost);
    if (why !== undefined) dependent.set(actor, why);
    // Nothing of one that was made behind all of it was lost.
    else if (lostOf(actor, madeAt, lost) !== undefined) past.set(actor, reached);
  }
  const listed = stored.listed();
  for (const [actor, row] of listed) {
    // The record that made it is in the log still: see below.
    if (onDisk.has(actor) || logged.get(actor)?.madeAt !== undefined) continue;
    const why = lostOf(actor, Math.max(row.created, row.floor), lost);
    if (why !== undefined) dependent.set(actor, why);
  }
  // In the order of the log, so that a source is judged before its copies.
  for (const [actor, { firstAt, madeAt, source }] of logged) {
    if (onDisk.has(actor)) continue;
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
  return { dependent, past };
}

/** What an actor that depends on lost records is answered with. */
export function dependsOnLost(actor: ActorId, why: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${actor} may have lost acknowledged writes, so it is not served: ${why}. Bring back this file from a copy and start ` +
      'again; or restore what it belongs to from a backup; or make a new data directory of all that is whole: npm run salvage -- --help',
  );
}

/** What a start is refused with for an actor it cannot do without. */
export function startDependsOnLost(actor: ActorId, why: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${actor} may have lost acknowledged writes, and nothing can be served without it: ${why}. Nothing was changed. Put the ` +
      'named files back from a copy and start again; where the server did not make a file that is named, move it out of the ' +
      'folder; else restore a backup, or make a new data directory of all that is whole: npm run salvage -- --help',
  );
}

/** @returns why, for people; undefined when it has lost nothing */
function lostOf(actor: ActorId, reached: number, lost: readonly LostRecords[]): string | undefined {
  const found = lost.find(({ actors, last }) => last > reached && mayHold(actors, actor));
  if (found === undefined) return undefined;
  const { first, isAtMost = false, last, what, where } = found;
  const upTo = `up to ${last - first + 1} records from ${first} on`;
  const which = isAtMost ? upTo : first === last ? `record ${first}` : `records ${first} to ${last}`;
  return `the journal has lost ${which} (${where}: ${what})`;
}

/** Whether a lost entry may be of an actor, or of an owner it would have been removed with. */
function mayHold(actors: ReadonlySet<string> | undefined, actor: ActorId): boolean {
  if (actors === undefined) return true;
  const parts = actor.split('/');
  return parts.some((_, index) => {
    const owner = parts.slice(0, index + 1).join('/');
    return actors.has(actorMark(owner).toString('hex'));
  });
}

/**
 * Of a shard that cannot be read nothing is known.
 *
 * @throws {ServiceError} when the system refuses its file: what is decided then would stand when it does so no more
 */
function reachedBy(stored: StoredActors, actor: ActorId): number {
  try {
    return stored.reached(actor);
  } catch (error) {
    if (isRefusedFile(error)) throw error;
    return 0;
  }
}

/** Every actor that stands in the log and was not removed in it, in the order they appear. */
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
