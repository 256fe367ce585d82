import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { storedBranches } from '#actors/repository/restored-rows.ts';
import { storedRepositories, storedTenants } from '#actors/tenant/restored-rows.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { canBeMade } from '#runtime/actor/catalogue/made-actors.ts';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { storedKeys } from '#runtime/config/secrets.ts';
import { FileBlobs } from '#runtime/embedded/file-blobs.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { isBeingRestored, RESTORE_MARKER } from '#server/backup/restore-marker.ts';
import { partOf } from '#server/registry/part-names.ts';
import { checkBlobs } from './check-blobs.ts';
import { checkAgainstJournal } from './check-journal.ts';
import { type CheckedShard, checkShard } from './check-shard.ts';
import type { CheckReport, DamageFound } from './check-report.ts';
import { catalogueAgainstJournal, type ReadCatalogue, readCatalogue } from './read-catalogue.ts';
import { readShard } from './read-shard.ts';
import { shardPathOf } from './shard-path.ts';
import {
  type CheckEnvironment,
  type DirectorySurvey,
  holdDirectory,
  surveyDirectory,
} from './survey-directory.ts';

/** Time for which a shard is read without a pause, in milliseconds. */
const SLICE_MS = 8;

/**
 * Verifies a data directory that no process has open: the journal, every shard, and the two against each other.
 *
 * @throws {ServiceError} `CONFLICT` when a process has it, or it is not a data directory; `REQUEST_CANCELLED`
 */
export async function checkDirectory(environment: CheckEnvironment): Promise<CheckReport> {
  const { clock, dataDir, onProgress, signal } = environment;
  const started = new Date(clock.wallMs()).toISOString();
  const release = await holdDirectory(environment);
  try {
    const survey = await surveyDirectory(environment);
    const { actors, journal, store } = survey;
    const damage = surveyDamage(dataDir, survey);
    const isExpected = actors.some((actor) => saysWhose(store, actor));
    const catalogue = readCatalogue(join(dataDir, 'actors'), isExpected);
    damage.push(...catalogue.damage);
    damage.push(...catalogueAgainstJournal(join(dataDir, 'actors'), catalogue, journal));
    const shards = await checkShards(environment, survey, catalogue);
    damage.push(...shards.damage);
    const { bytes, positions, total } = shards;
    damage.push(...(await checkAgainstJournal({ ...survey, positions, signal })));
    damage.push(...missingActors(survey, catalogue.actors));
    for (const { name, path, problem } of storedKeys(dataDir, catalogue))
      if (problem !== undefined && (existsSync(path) || environment.givenKeys?.has(name) !== true))
        damage.push({ file: path, what: problem });
    const blobs = await checkFiles(dataDir, environment, damage);
    onProgress(total, total, '');
    return {
      data_dir: dataDir,
      started_at: started,
      finished_at: new Date(clock.wallMs()).toISOString(),
      actors: actors.length,
      bytes,
      blobs,
      journal: { segments: journal.segments, records: journal.records },
      damage,
    };
  } finally {
    release();
  }
}

/** Returns what the survey of a directory found: damage of the journal, and a restore that did not finish. */
function surveyDamage(dataDir: string, { dependent, journal }: DirectorySurvey): DamageFound[] {
  const damage: DamageFound[] = journal.findings.map(({ file, what }) => ({ file, what }));
  for (const [actor, why] of dependent)
    damage.push({
      file: join(dataDir, 'journal'),
      actor,
      what: `it may have lost acknowledged writes: ${why}`,
    });
  if (isBeingRestored(dataDir))
    damage.push({
      file: join(dataDir, RESTORE_MARKER),
      what: 'a restore into the directory did not finish: it has a part of the backup only',
    });
  return damage;
}

/** The result of {@link checkShards}. */
interface CheckedShards {
  readonly damage: readonly DamageFound[];
  /** Position of each shard that has been read. */
  readonly positions: ReadonlyMap<ActorId, number>;
  /** Size of the shards that were read. */
  readonly bytes: number;
  /** Size of the shards before the check. */
  readonly total: number;
}

/** Verifies one shard after the other. @throws {ServiceError} `REQUEST_CANCELLED` */
async function checkShards(
  environment: CheckEnvironment,
  { actors, journal, made, store }: DirectorySurvey,
  catalogue: ReadCatalogue,
): Promise<CheckedShards> {
  const { clock, onProgress } = environment;
  const damage: DamageFound[] = [];
  const positions = new Map<ActorId, number>();
  const total = actors.reduce((sum, actor) => sum + sizeOf(shardPathOf(store, actor)), 0);
  let bytes = 0;
  let restedAtMs = Number.NEGATIVE_INFINITY;
  for (const actor of actors) {
    const path = shardPathOf(store, actor);
    onProgress(bytes, total, actor);
    await rest(environment);
    // The journal creates its file, unless it is known to have had one.
    const row = catalogue.actors.get(actor);
    const isNew = sizeOf(path) === 0 && canBeMade(made.get(actor), row) && (row?.floor ?? 0) === 0;
    if (!isNew) {
      const work = checkShard({
        actor,
        path,
        tableNames: store.tablesOf(actor),
        onPosition: (sequence: number) => positions.set(actor, sequence),
        lastSequence: journal.lastSequence,
        ...listedIn(catalogue, actor),
      });
      for (;;) {
        const step = work.next();
        if (step.done === true) {
          damage.push(...step.value);
          break;
        }
        if (clock.monotonicMs() - restedAtMs < SLICE_MS) continue;
        await rest(environment);
        restedAtMs = clock.monotonicMs();
      }
    }
    bytes += sizeOf(path);
  }
  return { damage, positions, bytes, total };
}

/** Yields to the event loop, so that an interruption takes effect. @throws {ServiceError} `REQUEST_CANCELLED` */
async function rest({ clock, signal }: CheckEnvironment): Promise<void> {
  await new Promise<void>((resolve) => clock.soon(resolve));
  requireWanted(signal);
}

function requireWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The check was given up');
}

/** Compares the blobs of a directory with their hashes. @returns the number of blobs */
async function checkFiles(
  dataDir: string,
  { clock, signal }: CheckEnvironment,
  damage: DamageFound[],
): Promise<number> {
  const folder = join(dataDir, 'blobs');
  const blobs = FileBlobs.reading({ folder, files: realFileSystem, clock, random: systemRandom });
  return await checkBlobs(blobs, {
    onDamage: (hash, what) => void damage.push({ file: blobs.pathOf(hash), what }),
    rest: () => requireWanted(signal),
  });
}

function listedIn({ actors, directory }: ReadCatalogue, actor: ActorId): Pick<CheckedShard, 'listed'> {
  const row = actors.get(actor);
  return directory === undefined || row === undefined ? {} : { listed: { directory, ...row } };
}

/** Returns whether the file of an actor has an identity, as in a directory with a catalogue. */
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

/** Returns actors that the registries name and that do not exist. */
export function missingActors(
  { actors, made, store }: DirectorySurvey,
  catalogue: ReadCatalogue['actors'],
): DamageFound[] {
  const found: DamageFound[] = [];
  const known = new Set(actors);
  const need = (actor: ActorId, why: string): boolean => {
    if (known.has(actor)) return true;
    const file = store.folders.of(actor);
    known.add(actor);
    if (!canBeMade(made.get(actor), catalogue.get(actor)))
      found.push({ file, actor, what: `it is missing, and ${why}` });
    return false;
  };
  for (const [actor, { floor }] of catalogue) if (floor > 0) need(actor, 'the catalogue names it');
  const system = actorId(SYSTEM_TENANT, 'tenant');
  if (!need(system, 'every data directory has it')) return found;
  const tenants = readShard(store, system, storedTenants) ?? [];
  for (const tenant of new Set([SYSTEM_TENANT, ...tenants])) {
    const registry = actorId(tenant, 'tenant');
    if (!need(registry, `${system} names it`)) continue;
    for (const { repositoryId, uid } of readShard(store, registry, storedRepositories) ?? []) {
      const owner = actorId(tenant, partOf(repositoryId, uid));
      if (!need(`${owner}/repository`, `${registry} names it`)) continue;
      for (const branch of readShard(store, `${owner}/repository`, storedBranches) ?? [])
        need(
          `${owner}/${encodeURIComponent(partOf(branch.name, branch.uid))}/branch`,
          `${owner}/repository names it`,
        );
    }
  }
  return found;
}
