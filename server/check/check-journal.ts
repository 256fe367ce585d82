import type { MadeActor } from '#runtime/actor/catalogue/made-actors.ts';
import type { CatalogueRow } from '#runtime/actor/catalogue/actor-catalogue.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { shownKey } from '#runtime/check/check-rows.ts';
import type { JournalSurvey } from '#runtime/embedded/recovery/journal-survey.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import type { DamageFound } from './check-report.ts';
import { Findings } from './findings.ts';
import { actorNumber, LastWrites } from './last-writes.ts';
import { shardPathOf } from './shard-path.ts';

/** Maximum number of open files. */
const OPEN_FILES_MAX = 32;

/** Inputs of the comparison with a journal. */
export interface JournalCheck {
  readonly store: ActorStore;
  readonly journal: JournalSurvey;
  /** Number of writes in the journal. */
  readonly writes: number;
  /** Actors that the journal creates: earlier entries of the name belong to other actors. */
  readonly made: ReadonlyMap<ActorId, MadeActor>;
  /** Readable rows of the catalogue: the record that created an actor may have left the journal before earlier ones. */
  readonly listed: ReadonlyMap<ActorId, CatalogueRow>;
  /** Position of each readable shard. */
  readonly positions: ReadonlyMap<ActorId, number>;
  /** Cancels it. */
  readonly signal: AbortSignal;
}

/**
 * Compares shards with the journal: each key must have its last value in the journal, up to the position of its
 * shard. The journal is read as a stream, twice or more often, and neither its entries nor its keys are kept.
 *
 * @throws {ServiceError} `REQUEST_CANCELLED`
 */
export async function checkAgainstJournal(check: JournalCheck): Promise<readonly DamageFound[]> {
  const { store, writes } = check;
  const last = new LastWrites(writes);
  const files = new OpenFiles(store);
  const findings = new Map<ActorId, Findings>();
  try {
    for (let pass = 0; pass < last.passes; pass += 1) {
      last.begin(pass);
      for await (const write of reachedWrites(check))
        last.note(write.number, write.table, write.key, write.ordinal);
      for await (const { actor, key, number, ordinal, table, value } of reachedWrites(check)) {
        if (!last.isLast(number, table, key, ordinal)) continue;
        if (isStored(files.of(actor), { table, key, value })) continue;
        const found = findings.get(actor) ?? new Findings(shardPathOf(store, actor), actor);
        findings.set(actor, found);
        found.add(store.tablesOf(actor)[table] ?? '', `${shownKey(key)} is not what the journal says`);
      }
    }
  } finally {
    files.close();
  }
  return [...findings.values()].flatMap((found) => found.all());
}

/** A write and its place in the journal. */
interface PlacedWrite extends Write {
  readonly actor: ActorId;
  /** Number of the actor, see {@link actorNumber}. */
  readonly number: number;
  /** From 1. */
  readonly ordinal: number;
}

/** Yields the writes that shards must have, in the order of the journal. */
async function* reachedWrites({
  journal,
  listed,
  made,
  positions,
  signal,
}: JournalCheck): AsyncGenerator<PlacedWrite, void> {
  let ordinal = 0;
  for await (const { entries, sequence } of journal.read()) {
    if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The check was given up');
    for (const entry of entries) {
      const { actor } = entry;
      const createdAt = Math.max(made.get(actor)?.sequence ?? 0, listed.get(actor)?.created ?? 0);
      const position = positions.get(actor) ?? 0;
      if (sequence > position || sequence < createdAt) continue;
      // A record of a hole that the shard has may have changed the key.
      if (journal.holes.some(({ first }) => sequence < first && first <= position)) continue;
      if (lifecycleOf(entry) !== undefined) continue;
      const number = actorNumber(actor);
      for (const write of entry.writes) {
        ordinal += 1;
        yield { ...write, actor, number, ordinal };
      }
    }
  }
}

function isStored(file: PageFile, { key, table, value }: Write): boolean {
  const found = file.get(table, key);
  return value === null ? found === undefined : found !== undefined && Buffer.compare(found, value) === 0;
}

/** Files of shards; a bounded number of them is open. */
class OpenFiles {
  readonly #store: ActorStore;
  readonly #open = new Map<ActorId, PageFile>();

  constructor(store: ActorStore) {
    this.#store = store;
  }

  of(actor: ActorId): PageFile {
    let file = this.#open.get(actor);
    if (file === undefined) {
      if (this.#open.size >= OPEN_FILES_MAX) this.#closeOldest();
      // Its damage was reported when it was checked by itself.
      file = new PageFile(shardPathOf(this.#store, actor), this.#store.tablesOf(actor), () => {});
    } else this.#open.delete(actor);
    this.#open.set(actor, file);
    return file;
  }

  close(): void {
    while (this.#open.size > 0) this.#closeOldest();
  }

  #closeOldest(): void {
    const [actor, file] = this.#open.entries().next().value as [ActorId, PageFile];
    this.#open.delete(actor);
    file.close();
  }
}
