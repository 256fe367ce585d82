import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { storedBranches } from '#actors/repository/restored-rows.ts';
import { storedRepositories, storedTenants } from '#actors/tenant/restored-rows.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import { dependentActors } from '#runtime/actor/damaged-log.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/clock.ts';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { claimName } from '../claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { type JournalSurvey, surveyJournal } from '#runtime/embedded/journal-survey.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { actorKinds } from '../actor-kinds.ts';
import { partOf } from '../part-names.ts';
import { type CheckedShard, checkShard, type ExpectedRows } from './check-shard.ts';
import type { CheckReport, DamageFound } from './check-report.ts';
import { type ReadCatalogue, readCatalogue } from './read-catalogue.ts';

/** What a check works with. */
export interface CheckEnvironment {
  readonly dataDir: string;
  readonly clock: Clock;
  /** Gives it up. */
  readonly signal: AbortSignal;
  /** Told how far it is: bytes of shards read, of all, and what is read now. */
  readonly onProgress: (bytes: number, total: number, current: string) => void;
}

/** Name of the file of a shard. */
const DATA_FILE = 'data.mdb';

/** A directory that is looked at: its actors, and what its journal says of them. */
export interface DirectorySurvey {
  readonly store: ActorStore;
  readonly actors: readonly ActorId[];
  readonly journal: JournalSurvey;
  /** Actors that have lost acknowledged writes with the journal, with why. */
  readonly dependent: ReadonlyMap<ActorId, string>;
  /** Actors that the journal makes, and how: it has everything of them, so an opening makes their files. */
  readonly made: ReadonlyMap<ActorId, 'create' | 'fork'>;
}

/**
 * Looks at a data directory of a single member that no process has open. Nothing is changed.
 *
 * @throws {ServiceError} `CONFLICT` for a directory of another kind; `DATA_CORRUPTED`
 */
export async function surveyDirectory({ clock, dataDir }: CheckEnvironment): Promise<DirectorySurvey> {
  if (!existsSync(join(dataDir, 'actors'))) {
    const isMember = existsSync(join(dataDir, 'partitions'));
    throw new ServiceError(
      'CONFLICT',
      isMember
        ? `${dataDir} belongs to a member of a cluster: it builds damaged shards anew from the log by itself`
        : `${dataDir} is not a data directory: it has no folder actors`,
    );
  }
  const store = new ActorStore(join(dataDir, 'actors'), actorKinds(defaultLimits), clock);
  const journal = await surveyJournal(realFileSystem, join(dataDir, 'journal'));
  const actors = await store.all();
  const stored = {
    all: () => Promise.resolve(actors),
    // What is wrong with the catalogue is told where that is checked.
    listed: () => readCatalogue(join(dataDir, 'actors'), false).actors,
    reached: (actor: ActorId) => reachedBy(store, actor),
  };
  const dependent = new Map([...journal.refused, ...(await dependentActors(journal, journal.lost, stored))]);
  return { store, actors, journal, dependent, made: await madeIn(journal) };
}

async function madeIn(journal: JournalSurvey): Promise<DirectorySurvey['made']> {
  const made = new Map<ActorId, 'create' | 'fork'>();
  for await (const { entries } of journal.read()) {
    for (const entry of entries) {
      const kind = lifecycleOf(entry)?.kind;
      if (kind === 'create' || kind === 'fork') made.set(entry.actor, kind);
    }
  }
  return made;
}

/** Path of the file of an actor. */
export function shardPathOf(store: ActorStore, actor: ActorId): string {
  return join(store.folders.of(actor), DATA_FILE);
}

function reachedBy(store: ActorStore, actor: ActorId): number {
  const path = shardPathOf(store, actor);
  if (!existsSync(path)) return 0;
  const file = new PageFile(path, store.tablesOf(actor), () => {});
  try {
    return file.position.sequence;
  } finally {
    file.close();
  }
}

/**
 * Verifies a data directory that no process has open: the journal, every shard, and the two against each other.
 *
 * @throws {ServiceError} `CONFLICT` when a process has it, or it is none; `REQUEST_CANCELLED`
 */
export async function checkDirectory(environment: CheckEnvironment): Promise<CheckReport> {
  const { clock, dataDir, onProgress, signal } = environment;
  const started = new Date(clock.wallMs()).toISOString();
  if (!existsSync(dataDir)) throw new ServiceError('CONFLICT', `There is no directory ${dataDir}`);
  const lock = await acquireDataDirectory(dataDir, claimName);
  try {
    const survey = await surveyDirectory(environment);
    const { actors, dependent, journal, made, store } = survey;
    const damage: DamageFound[] = journal.findings.map(({ file, what }) => ({ file, what }));
    for (const [actor, why] of dependent)
      damage.push({
        file: join(dataDir, 'journal'),
        actor,
        what: `it may have lost acknowledged writes: ${why}`,
      });
    const folder = join(dataDir, 'actors');
    const isExpected = actors.some((actor) => saysWhose(store, actor));
    const catalogue = readCatalogue(folder, isExpected);
    damage.push(...catalogue.damage);
    const expected = await expectedRows(journal);
    const total = actors.reduce((sum, actor) => sum + sizeOf(shardPathOf(store, actor)), 0);
    let bytes = 0;
    for (const actor of actors) {
      const path = shardPathOf(store, actor);
      onProgress(bytes, total, actor);
      // The journal makes its file, unless it is known to have had one.
      const isNew = sizeOf(path) === 0 && made.has(actor) && (catalogue.actors.get(actor)?.floor ?? 0) === 0;
      if (!isNew) {
        const rows = expected.get(actor);
        const shard = {
          actor,
          path,
          tableNames: store.tablesOf(actor),
          expected: (position: number) => rows?.(position),
          lastSequence: journal.lastSequence,
          ...listedIn(catalogue, actor),
        };
        const work = checkShard(shard);
        for (;;) {
          const step = work.next();
          if (step.done === true) {
            damage.push(...step.value);
            break;
          }
          if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The check was given up');
        }
      }
      bytes += sizeOf(path);
    }
    damage.push(...missingActors(survey, catalogue));
    onProgress(total, total, '');
    return {
      data_dir: dataDir,
      started_at: started,
      finished_at: new Date(clock.wallMs()).toISOString(),
      actors: actors.length,
      bytes,
      journal: { segments: journal.segments, records: journal.records },
      damage,
    };
  } finally {
    lock.release();
  }
}

function listedIn({ actors, directory }: ReadCatalogue, actor: ActorId): Pick<CheckedShard, 'listed'> {
  const row = actors.get(actor);
  return directory === undefined || row === undefined ? {} : { listed: { directory, ...row } };
}

/** Whether the file of an actor has an identity, as those of a directory with a catalogue have. */
function saysWhose(store: ActorStore, actor: ActorId): boolean {
  const path = shardPathOf(store, actor);
  if (sizeOf(path) === 0) return false;
  try {
    const file = new PageFile(path, store.tablesOf(actor), () => {});
    try {
      return file.identity !== undefined;
    } finally {
      file.close();
    }
  } catch {
    return false;
  }
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

/** What the journal says of the keys of an actor up to a position of its shard. */
async function expectedRows(
  journal: JournalSurvey,
): Promise<ReadonlyMap<ActorId, (position: number) => ExpectedRows>> {
  const entries = new Map<
    ActorId,
    { sequence: number; writes: readonly { table: number; key: string; value: Uint8Array | null }[] }[]
  >();
  for await (const record of journal.read()) {
    for (const entry of record.entries) {
      if (lifecycleOf(entry) !== undefined) continue;
      const known = entries.get(entry.actor) ?? [];
      known.push({ sequence: record.sequence, writes: entry.writes });
      entries.set(entry.actor, known);
    }
  }
  return new Map(
    [...entries].map(([actor, known]) => [
      actor,
      (position) => {
        const rows = new Map<number, Map<string, Uint8Array | null>>();
        for (const { sequence, writes } of known) {
          if (sequence > position) break;
          for (const { key, table, value } of writes) {
            const keys = rows.get(table) ?? new Map<string, Uint8Array | null>();
            rows.set(table, keys.set(key, value));
          }
        }
        return rows;
      },
    ]),
  );
}

/** Actors that the registries name and that are not there. */
function missingActors({ actors, made, store }: DirectorySurvey, catalogue: ReadCatalogue): DamageFound[] {
  const found: DamageFound[] = [];
  const known = new Set(actors);
  const need = (actor: ActorId, by: string): boolean => {
    if (known.has(actor)) return true;
    const file = store.folders.of(actor);
    known.add(actor);
    if (!made.has(actor)) found.push({ file, actor, what: `it is missing, and ${by} names it` });
    return false;
  };
  for (const [actor, { floor }] of catalogue.actors) if (floor > 0) need(actor, 'the catalogue');
  const system = actorId(SYSTEM_TENANT, 'tenant');
  if (!need(system, 'every data directory has it')) return found;
  const tenants = readShard(store, system, storedTenants) ?? [];
  for (const tenant of new Set([SYSTEM_TENANT, ...tenants])) {
    const registry = actorId(tenant, 'tenant');
    if (!need(registry, system)) continue;
    for (const { repositoryId, uid } of readShard(store, registry, storedRepositories) ?? []) {
      const owner = actorId(tenant, partOf(repositoryId, uid));
      if (!need(`${owner}/repository`, registry)) continue;
      for (const branch of readShard(store, `${owner}/repository`, storedBranches) ?? [])
        need(`${owner}/${encodeURIComponent(partOf(branch.name, branch.uid))}/branch`, `${owner}/repository`);
    }
  }
  return found;
}

/** @returns undefined where it cannot be read, which is told elsewhere */
function readShard<T>(store: ActorStore, actor: ActorId, read: (reader: TableReader) => T): T | undefined {
  let file: PageFile | undefined;
  try {
    file = new PageFile(shardPathOf(store, actor), store.tablesOf(actor), () => {});
    return read(file);
  } catch {
    return undefined;
  } finally {
    file?.close();
  }
}
