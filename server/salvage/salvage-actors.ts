import { existsSync } from 'node:fs';
import { repairIdentities } from '#actors/identities/check-identities.ts';
import { repairJobs } from '#actors/jobs/check-jobs.ts';
import { actorKindOf } from '#runtime/actor/actor-id.ts';
import { canBeMade } from '#runtime/actor/catalogue/made-actors.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { everyKey, shownKey } from '#runtime/check/check-rows.ts';
import { removeUnconfirmed, repairBranch } from '#runtime/check/repair-branch.ts';
import { isIdempotencyRow } from '#runtime/commit/idempotency.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isUnder, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import type { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { NewShards } from './new-shards.ts';
import type { MissingList } from './salvage-report.ts';
import { shardPathOf } from '#server/check/shard-path.ts';
import type { CheckEnvironment, DirectorySurvey } from '#server/check/survey-directory.ts';
import { verifyRow } from '#server/check/verify-row.ts';

/** Description of a fork without a file. */
const LOST_FORK =
  'its file is missing. It is a fork, and its source has changed since or is damaged: bring the file back, restore the ' +
  'repository from a backup under another name, or create the branch again';

/** Description of another actor without a file. */
const LOST_FILE =
  'its file is missing, and some of its records were removed from the journal: bring the file back';

/** What the journal has of an actor. */
interface FromJournal {
  /** Position of its file: earlier records of the journal are in it. */
  readonly reached: number;
  /** Its first lost record: later ones build on it. */
  readonly stop: number;
  /** Number of entries after that. */
  left: number;
}

/**
 * Copies the verified data of actors into new shards: the rows of their files, then later records of the journal, up to
 * the first lost record of an actor, then derived rows. The journal is read once, as a stream.
 */
export class SalvagedActors {
  readonly #environment: CheckEnvironment;
  readonly #survey: DirectorySurvey;
  readonly #shards: NewShards;
  readonly #missing: MissingList;
  readonly #fromJournal = new Map<ActorId, FromJournal>();

  constructor(
    environment: CheckEnvironment,
    survey: DirectorySurvey,
    shards: NewShards,
    missing: MissingList,
  ) {
    this.#environment = environment;
    this.#survey = survey;
    this.#shards = shards;
    this.#missing = missing;
  }

  /** @throws {ServiceError} `REQUEST_CANCELLED`, `STORAGE_FULL` */
  async run(): Promise<void> {
    const { onProgress } = this.#environment;
    const actors = await this.#existing();
    for (const [index, actor] of actors.entries()) {
      onProgress(index, actors.length, actor);
      await this.#yieldToLoop();
      await this.#copy(actor);
    }
    await this.#shards.flush();
    onProgress(actors.length, actors.length, 'the journal');
    await this.#applyJournal();
    for (const actor of this.#shards.actors) {
      onProgress(actors.length, actors.length, `tables of ${actor}`);
      await this.#yieldToLoop();
      await this.#repair(actor);
    }
  }

  /** Yields to the event loop, so that an interruption takes effect. */
  async #yieldToLoop(): Promise<void> {
    await new Promise<void>((resolve) => this.#environment.clock.soon(resolve));
    this.#requireWanted();
  }

  #requireWanted(): void {
    if (this.#environment.signal.aborted)
      throw new ServiceError('REQUEST_CANCELLED', 'The salvage was given up');
  }

  /** Returns the actors that existed at the end of the journal, according to their files and the journal. */
  async #existing(): Promise<readonly ActorId[]> {
    const { listed, made } = this.#survey;
    const actors = new Set(this.#survey.actors);
    const gone = new Set([...listed.keys()].filter((actor) => !actors.has(actor)));
    for await (const { entries, sequence } of this.#survey.journal.read()) {
      for (const entry of entries) {
        const lifecycle = lifecycleOf(entry);
        if (lifecycle === undefined) continue;
        if (lifecycle.kind !== 'destroy') {
          if (!this.#isRemovedSince(entry.actor)) actors.add(entry.actor);
          continue;
        }
        for (const known of [actors, gone])
          for (const actor of known)
            if (isUnder(actor, entry.actor) && !this.#isLater(actor, sequence)) known.delete(actor);
      }
    }
    for (const actor of gone)
      if (!made.has(actor))
        this.#missing.add({ actor, what: 'its folder is missing, and the catalogue names it' });
    return [...actors].sort();
  }

  /** Whether an actor is later than a record: the removal in that record was of an earlier actor of the same id. */
  #isLater(actor: ActorId, sequence: number): boolean {
    const { listed, store } = this.#survey;
    const created = listed.get(actor)?.created ?? 0;
    // The file may be of another actor of the same id, where the catalogue could not be written.
    return created > 0 ? created > sequence : (store.headOf(actor)?.sequence ?? 0) > sequence;
  }

  /** Whether an actor that the journal creates was removed by a record that has left the journal. */
  #isRemovedSince(actor: ActorId): boolean {
    const { actors, listed, made } = this.#survey;
    const how = made.get(actor);
    // A lost fork may also be one whose source has advanced. An unreadable catalogue says nothing.
    if (how?.kind !== 'create' || !how.isLost || listed.size === 0) return false;
    return !listed.has(actor) && !actors.includes(actor);
  }

  /** Whether the journal makes an actor, not an earlier one of its id, and has all of its records. */
  #isMadeWhole(actor: ActorId): boolean {
    const { listed, made } = this.#survey;
    const how = made.get(actor);
    const row = listed.get(actor);
    return how !== undefined && canBeMade(how, row) && how.sequence >= (row?.created ?? 0);
  }

  async #copy(actor: ActorId): Promise<void> {
    const { dependent, journal, made, store } = this.#survey;
    const tableNames = store.tablesOf(actor);
    const why = dependent.get(actor);
    if (why !== undefined) this.#missing.add({ actor, what: `acknowledged writes may be lost: ${why}` });
    const source = this.#open(actor, tableNames);
    // Without its file an actor would lack something unless the journal has all its records, or it is a registry,
    // whose rows are independent. A fork is made from its source, at its place in the journal.
    const isCreated = this.#isMadeWhole(actor) && made.get(actor)?.kind === 'create';
    if (source === undefined && !isCreated && actorKindOf(actor) !== 'tenant') return;
    try {
      const reached = source?.position.sequence ?? 0;
      const stop = why === undefined ? Number.POSITIVE_INFINITY : firstLostAfter(journal.lost, reached);
      this.#fromJournal.set(actor, { reached, stop, left: 0 });
      await this.#shards.make(actor, source?.position.clock ?? revisionZero);
      if (source !== undefined)
        for (const write of this.#verified(actor, source, tableNames)) await this.#shards.put(actor, write);
    } finally {
      source?.close();
    }
  }

  /** @returns undefined when nothing can be read */
  #open(actor: ActorId, tableNames: readonly string[]): PageFile | undefined {
    const path = shardPathOf(this.#survey.store, actor);
    const made = this.#survey.made.get(actor);
    const isMade = this.#isMadeWhole(actor);
    try {
      if (!existsSync(path) && isMade) return undefined;
      if (!existsSync(path) && made !== undefined) {
        this.#missing.add({ actor, what: made.kind === 'fork' ? LOST_FORK : LOST_FILE });
        return undefined;
      }
      return new PageFile(path, tableNames, (table, what) => this.#missing.add({ actor, table, what }));
    } catch (error) {
      // The journal has all records of an actor that it creates.
      if (!isMade)
        this.#missing.add({ actor, what: `nothing of its file can be read: ${(error as Error).message}` });
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
          this.#missing.add({
            actor,
            table: name,
            what: `${shownKey(row.key)}: ${(error as Error).message}`,
          });
          continue;
        }
        yield { table, key: row.key, value: Buffer.from(row.value) };
      }
      const lost = source.entriesOf(table) - read;
      if (lost > 0) this.#missing.add({ actor, table: name, what: `${lost} rows cannot be read` });
    }
  }

  /** Stores the journal's records of each actor that are later than its file, up to its first lost record. */
  async #applyJournal(): Promise<void> {
    const { journal, listed, made } = this.#survey;
    for await (const { entries, sequence } of journal.read()) {
      this.#requireWanted();
      for (const entry of entries) {
        const { actor } = entry;
        const lifecycle = lifecycleOf(entry);
        if (lifecycle?.kind === 'fork') await this.#fork(actor, lifecycle.source, sequence);
        const known = this.#fromJournal.get(actor);
        if (known === undefined || sequence <= known.reached || lifecycle !== undefined) continue;
        // It is of an earlier actor of the same id.
        if (sequence < Math.max(made.get(actor)?.sequence ?? 0, listed.get(actor)?.created ?? 0)) continue;
        if (sequence >= known.stop) {
          known.left += 1;
          continue;
        }
        this.#shards.reach(actor, entry.clock);
        for (const write of entry.writes)
          if (!isIdempotencyRow(write.table, write.key)) await this.#shards.put(actor, write);
      }
    }
    await this.#shards.flush();
    for (const [actor, { left }] of this.#fromJournal)
      if (left > 0)
        this.#missing.add({
          actor,
          what: `${left} later writes in the journal depend on lost ones and were left out`,
        });
  }

  /** Makes a fork without a file from its source at this place of the journal: the result is identical. */
  async #fork(actor: ActorId, source: ActorId, sequence: number): Promise<void> {
    const { dependent, journal, made } = this.#survey;
    if (this.#shards.has(actor) || made.get(actor)?.sequence !== sequence || !this.#isMadeWhole(actor))
      return;
    const known = this.#fromJournal.get(source);
    if (known === undefined || !this.#shards.has(source) || known.stop <= sequence) {
      this.#missing.add({ actor, what: LOST_FORK });
      return;
    }
    if (this.#missing.has(source))
      this.#missing.add({ actor, what: `it was created again from ${source}, and lacks the same data` });
    const stop = dependent.has(actor) ? firstLostAfter(journal.lost, sequence) : Number.POSITIVE_INFINITY;
    this.#fromJournal.set(actor, { reached: sequence, stop, left: 0 });
    const shard = await this.#shards.reading(source);
    await this.#shards.make(actor, shard.position.clock);
    for (const table of this.#survey.store.tablesOf(actor).keys())
      for (const { key, value } of rowsInBatches(shard, table, everyKey))
        await this.#shards.put(actor, { table, key, value: Buffer.from(value) });
  }

  async #repair(actor: ActorId): Promise<void> {
    const kind = actorKindOf(actor);
    if (kind === 'jobs') await this.#apply(actor, repairJobs);
    if (kind === 'identities') await this.#apply(actor, repairIdentities);
    if (kind !== 'branch') return;
    await this.#apply(actor, (shard) =>
      removeUnconfirmed(shard, (table, key) =>
        this.#missing.add({
          actor,
          table,
          what: `${shownKey(key)}: nothing else says that it is in this workspace`,
        }),
      ),
    );
    await this.#apply(actor, (shard) =>
      repairBranch(shard, ({ id, path, workspace }) =>
        this.#missing.add({
          actor,
          table: 'nodes',
          path: `${workspace}:${path}`,
          what: `the node ${id} is lost`,
        }),
      ),
    );
  }

  /** Stores the rows derived from an actor's rows; all are computed before any is stored. */
  async #apply(actor: ActorId, writesOf: (shard: LmdbShard) => Iterable<Write>): Promise<void> {
    const writes = [...writesOf(await this.#shards.reading(actor))];
    for (const write of writes) await this.#shards.put(actor, write);
    await this.#shards.flush();
  }
}

function firstLostAfter(lost: DirectorySurvey['journal']['lost'], reached: number): number {
  const later = lost.filter(({ last }) => last > reached).map(({ first }) => first);
  // Lost at an earlier opening, and the segment is gone: later records cannot be trusted.
  return later.length === 0 ? reached + 1 : Math.min(...later);
}
