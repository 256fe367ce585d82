import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId, actorKindOf } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { realFileSystem } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { shownKey } from '#runtime/check/check-rows.ts';
import { removeUnconfirmed, repairBranch } from '#runtime/check/repair-branch.ts';
import { isIdempotencyRow } from '#runtime/commit/idempotency.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { claimName } from '../claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { Journal } from '#runtime/embedded/journal.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { lifecycleEntry, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { actorKinds } from '../actor-kinds.ts';
import {
  type CheckEnvironment,
  type DirectorySurvey,
  shardPathOf,
  surveyDirectory,
} from './check-directory.ts';
import { repairJobs } from '#actors/jobs/check-jobs.ts';
import { verifyRow } from './verify-row.ts';

/** What is salvaged, and where to. */
export interface SalvageEnvironment extends CheckEnvironment {
  /** The new data directory; it must not be there, or be empty but for `secrets`. */
  readonly into: string;
  readonly random: Random;
}

/** Something that could not be brought out. */
export interface Missing {
  readonly actor: string;
  readonly table?: string;
  /** Of a node. */
  readonly path?: string;
  readonly what: string;
}

/** What came out of a damaged directory. */
export interface SalvageReport {
  readonly from: string;
  readonly into: string;
  readonly at: string;
  /** Actors in the new directory. */
  readonly actors: number;
  readonly rows: number;
  /** None when everything came out. */
  readonly missing: readonly Missing[];
}

/** Name of the report in the new directory. */
export const REPORT_FILE = 'salvage-report.json';

/** Writes of one transaction. */
const BATCH_WRITES = 4_000;

/** What is missing of one table above which only the number is told. */
const MISSING_PER_TABLE_MAX = 1_000;

/** The one record of the journal the new directory begins with. */
const FIRST_SEQUENCE = 1;

/**
 * Takes everything that verifies out of a damaged data directory into a new one: rows of shards, page by page, and what
 * the journal has besides, up to the first record that is lost for an actor. What follows from the nodes of a branch is
 * made anew. Nothing that does not verify comes over, and the old directory is not changed.
 *
 * @throws {ServiceError} `CONFLICT` when a process has the directory or the new one is not empty; `DATA_CORRUPTED` when
 *   the registry of tenants cannot be read at all; `REQUEST_CANCELLED`, `STORAGE_FULL`
 */
export async function salvageDirectory(environment: SalvageEnvironment): Promise<SalvageReport> {
  const { clock, dataDir, into } = environment;
  if (!existsSync(dataDir)) throw new ServiceError('CONFLICT', `There is no directory ${dataDir}`);
  requireNew(into);
  const lock = await acquireDataDirectory(dataDir, claimName);
  try {
    const survey = await surveyDirectory(environment);
    const salvage = new Salvage(environment, survey);
    await salvage.run();
    const report: SalvageReport = {
      from: dataDir,
      into,
      at: new Date(clock.wallMs()).toISOString(),
      actors: salvage.actors,
      rows: salvage.rows,
      missing: salvage.missing,
    };
    writeFileSync(join(into, REPORT_FILE), `${JSON.stringify(report, null, 2)}\n`, {
      mode: 0o600,
      flush: true,
    });
    return report;
  } finally {
    lock.release();
  }
}

/** @throws {ServiceError} `CONFLICT` */
function requireNew(into: string): void {
  const found = existsSync(into) ? readdirSync(into).filter((name) => name !== 'secrets') : [];
  if (found.length === 0) return;
  throw new ServiceError(
    'CONFLICT',
    `${into} is not empty (it has ${found.slice(0, 3).join(', ')}); name a new directory`,
  );
}

class Salvage {
  actors = 0;
  rows = 0;
  readonly missing: Missing[] = [];
  readonly #environment: SalvageEnvironment;
  readonly #survey: DirectorySurvey;
  readonly #target: ActorStore;
  readonly #counts = new Map<string, number>();

  constructor(environment: SalvageEnvironment, survey: DirectorySurvey) {
    this.#environment = environment;
    this.#survey = survey;
    this.#target = new ActorStore(
      join(environment.into, 'actors'),
      actorKinds(defaultLimits),
      environment.clock,
    );
  }

  async run(): Promise<void> {
    const { dataDir, into, onProgress, signal } = this.#environment;
    mkdirSync(into, { recursive: true, mode: 0o700 });
    for (const name of ['secrets', 'blobs', 'unsettled'])
      if (existsSync(join(dataDir, name)) && !existsSync(join(into, name)))
        cpSync(join(dataDir, name), join(into, name), { recursive: true });
    await this.#beginJournal();
    const actors = await this.#existing();
    for (const [index, actor] of actors.entries()) {
      if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The salvage was given up');
      onProgress(index, actors.length, actor);
      await this.#actor(actor);
    }
    if (!existsSync(join(this.#target.folders.of(actorId(SYSTEM_TENANT, 'tenant')), 'data.mdb'))) {
      throw new ServiceError(
        'DATA_CORRUPTED',
        'Nothing of the registry of tenants and repositories (default/tenant) can be read, so no server could find what is in the others; restore a backup',
      );
    }
  }

  /** Those that were there at the end of the journal, by their files and by the journal. */
  async #existing(): Promise<readonly ActorId[]> {
    const actors = new Set(this.#survey.actors);
    for await (const { entries } of this.#survey.journal.read()) {
      for (const entry of entries) {
        const lifecycle = lifecycleOf(entry);
        if (lifecycle === undefined) continue;
        if (lifecycle.kind !== 'destroy') actors.add(entry.actor);
        else
          for (const actor of [...actors])
            if (actor === entry.actor || actor.startsWith(`${entry.actor}/`)) actors.delete(actor);
      }
    }
    return [...actors].sort();
  }

  /** Shards say how far they reach, and a directory whose journal is behind them is refused. */
  async #beginJournal(): Promise<void> {
    const { clock, into, random } = this.#environment;
    const folder = join(into, 'journal');
    const journal = await Journal.open({
      folder,
      durability: 'local',
      files: realFileSystem,
      clock,
      random,
      report: () => {},
    });
    await journal.append(lifecycleEntry(actorId(SYSTEM_TENANT, 'tenant'), { kind: 'create' }, revisionZero));
    await journal.close();
  }

  async #actor(actor: ActorId): Promise<void> {
    const { dependent, store } = this.#survey;
    const tableNames = store.tablesOf(actor);
    const why = dependent.get(actor);
    if (why !== undefined) this.#miss({ actor, what: `acknowledged writes may be lost: ${why}` });
    const source = this.#open(actor, tableNames);
    // Without its file an actor would be one that has nothing; unless the journal has everything of it.
    if (source === undefined && this.#survey.made.get(actor) !== 'create') return;
    const folder = this.#target.folders.of(actor);
    const shard = new LmdbShard(folder, tableNames);
    const clock = source?.position.clock ?? revisionZero;
    const position = { sequence: FIRST_SEQUENCE, clock };
    let batch: Write[] = [];
    const flush = async (): Promise<void> => {
      this.rows += batch.length;
      await shard.apply(batch, position).flushed;
      batch = [];
    };
    const put = async (write: Write): Promise<void> => {
      batch.push(write);
      if (batch.length >= BATCH_WRITES) await flush();
    };
    try {
      if (source !== undefined)
        for (const write of this.#verified(actor, source, tableNames)) await put(write);
      await flush();
      for (const write of await this.#logged(actor, source?.position.sequence ?? 0)) await put(write);
      await flush();
      await this.#repair(actor, shard, put, flush);
      this.actors += 1;
    } finally {
      source?.close();
      await shard.close();
    }
  }

  /** @returns undefined where there is nothing to be read */
  #open(actor: ActorId, tableNames: readonly string[]): PageFile | undefined {
    const path = shardPathOf(this.#survey.store, actor);
    const isMade = this.#survey.made.get(actor) === 'create';
    try {
      if (!existsSync(path) && isMade) return undefined;
      return new PageFile(path, tableNames, (table, what) => this.#miss({ actor, table, what }));
    } catch (error) {
      // The journal has everything of an actor it makes.
      if (!isMade)
        this.#miss({ actor, what: `nothing of its file can be read: ${(error as Error).message}` });
      return undefined;
    }
  }

  *#verified(actor: ActorId, source: PageFile, tableNames: readonly string[]): Generator<Write, void> {
    for (const [table, name] of tableNames.entries()) {
      let read = 0;
      for (const row of source.rows(table)) {
        read += 1;
        if (isIdempotencyRow(table, row.key)) continue;
        try {
          verifyRow(actor, table, row);
        } catch (error) {
          this.#miss({ actor, table: name, what: `${shownKey(row.key)}: ${(error as Error).message}` });
          continue;
        }
        yield { table, key: row.key, value: Buffer.from(row.value) };
      }
      const lost = source.entriesOf(table) - read;
      if (lost > 0) this.#miss({ actor, table: name, what: `${lost} rows cannot be read` });
    }
  }

  /** What the journal has of an actor besides its file, up to the first record that is lost for it. */
  async #logged(actor: ActorId, reached: number): Promise<readonly Write[]> {
    const { dependent, journal } = this.#survey;
    const stop = dependent.has(actor) ? firstLostAfter(journal.lost, reached) : Number.POSITIVE_INFINITY;
    const writes: Write[] = [];
    let left = 0;
    for await (const { entries, sequence } of journal.read()) {
      if (sequence <= reached) continue;
      for (const entry of entries) {
        if (entry.actor !== actor || lifecycleOf(entry) !== undefined) continue;
        if (sequence >= stop) left += 1;
        else writes.push(...entry.writes.filter(({ key, table }) => !isIdempotencyRow(table, key)));
      }
    }
    if (left > 0) this.#miss({ actor, what: `${left} later writes in the journal build on what is lost` });
    return writes;
  }

  async #repair(
    actor: ActorId,
    shard: LmdbShard,
    put: (write: Write) => Promise<void>,
    flush: () => Promise<void>,
  ): Promise<void> {
    const kind = actorKindOf(actor);
    const writes: Write[] = [];
    if (kind === 'branch') {
      const unconfirmed = removeUnconfirmed(shard, (table, key) =>
        this.#miss({
          actor,
          table,
          what: `${shownKey(key)}: nothing else says that it is in this workspace`,
        }),
      );
      for (const write of [...unconfirmed]) await put(write);
      await flush();
      const onLost = ({ id, path, workspace }: { id: string; path: string; workspace: string }): void =>
        this.#miss({ actor, table: 'nodes', path: `${workspace}:${path}`, what: `the node ${id} is lost` });
      writes.push(...repairBranch(shard, onLost));
    }
    if (kind === 'jobs') writes.push(...repairJobs(shard));
    for (const write of writes) await put(write);
    await flush();
  }

  #miss(missing: Missing): void {
    const name = `${missing.actor} ${missing.table ?? ''}`;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    if (count <= MISSING_PER_TABLE_MAX) this.missing.push(missing);
    else if (count === MISSING_PER_TABLE_MAX + 1) this.missing.push({ ...missing, what: 'and more' });
  }
}

function firstLostAfter(lost: DirectorySurvey['journal']['lost'], reached: number): number {
  const later = lost.filter(({ last }) => last > reached).map(({ first }) => first);
  // Lost at an earlier opening, and the segment is gone: nothing behind it can be trusted.
  return later.length === 0 ? reached + 1 : Math.min(...later);
}
