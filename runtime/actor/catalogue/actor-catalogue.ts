import { join } from 'node:path';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { sizeOfFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RecordMark, Write } from '#runtime/log/log-entry.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { Shard } from '#runtime/shard/shard.ts';
import type { ActorId } from '../ports.ts';

/** Folder of the catalogue beside the actor folders; no actor id begins like this. */
export const CATALOGUE = '.catalogue';

/** Names of its tables, in the order of their numbers. */
export const catalogueTables: readonly string[] = Object.freeze(['actors', 'facts']);

/** Numbers of its tables. */
export const CatalogueTable: { readonly actors: 0; readonly facts: 1 } = Object.freeze({
  actors: 0,
  facts: 1,
});

const { actors: ACTORS, facts: FACTS } = CatalogueTable;

/** Initial delay before a failed write is retried, in milliseconds; doubled after each failure. */
const RETRY_MS_MIN = 500;

/** Maximum delay between two retries, in milliseconds. */
const RETRY_MS_MAX = 8_000;

/** Key of the fact {@link CatalogueFacts.directory}. */
export const DIRECTORY_KEY = 'directory';

/** Key of the fact {@link CatalogueFacts.journal}. */
export const JOURNAL_KEY = 'journal';

/** Key of the fact {@link CatalogueFacts.keyCheck}. */
export const KEY_CHECK_KEY = 'key';

/** Key of the fact {@link CatalogueFacts.previousKeyCheck}. */
export const PREVIOUS_KEY_CHECK_KEY = 'key-previous';

/**
 * Floor of an adopted actor whose shard may have been filled by an older version: the shard must not be missing or
 * empty.
 */
export const FLOOR_NOT_EMPTY = 1;

/** The recorded state of an actor that a data directory should contain. */
export interface CatalogueRow {
  /** Sequence of the log record that created it; 0 for an actor older than the catalogue. */
  readonly created: number;
  /**
   * The shard has everything up to this record, because the log may no longer have it. A shard that ends before it has
   * lost data. 0: the log has all of the actor's records, so that a missing shard is rebuilt from them.
   */
  readonly floor: number;
  /** Mark of the record at the floor, if the log has marks. */
  readonly mark?: RecordMark | undefined;
}

/** A position in the journal that distinguishes one journal from another. */
export interface JournalMark {
  /** First sequence of its oldest segment. */
  readonly firstSequence: number;
  /** Chain at the start of that segment, in hexadecimal. */
  readonly chain: string;
}

/** Facts about the data directory. */
export interface CatalogueFacts {
  /** Random id of the data directory; undefined while the catalogue is being created. */
  readonly directory: string | undefined;
  /** Beginning of the journal after the last removal of a segment; undefined before the first. */
  readonly journal: JournalMark | undefined;
  /** Check value of the encryption key; undefined while the directory has never been used with one. */
  readonly keyCheck: string | undefined;
  /**
   * Check value of the encryption key before it, with which something may still be encrypted; undefined when nothing is.
   */
  readonly previousKeyCheck: string | undefined;
  /** Newest record known to be on disk in the log at the last change of the catalogue. */
  readonly sequence: number;
}

/** Changes of the catalogue that become durable atomically. */
export interface CatalogueChanges {
  /** null: the actor was removed. */
  readonly actors?: ReadonlyMap<ActorId, CatalogueRow | null>;
  readonly journal?: JournalMark;
  readonly keyCheck?: string;
  /** null: nothing is encrypted with it any more. */
  readonly previousKeyCheck?: string | null;
  /** Rows of further tables and facts of the caller. Visible once they are on disk. */
  readonly rows?: readonly Write[];
}

/**
 * The actors that a data directory should contain, stored apart from their files. It distinguishes a shard that is
 * missing, empty, from another directory or outdated from one that never had content.
 *
 * A view of the log, like a shard: a row is written after the record that created its actor, and the record stays in
 * the log until the row is on disk. Before records are removed from the log, the floors of their actors are raised. So
 * an actor with neither a row nor a record never existed, or was removed.
 *
 * Reads show changes at once; {@link note} resolves when they are on disk. Failed writes are retried until they
 * succeed, see {@link stored}. While the file cannot be opened, reads fail with the reason.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export class ActorCatalogue implements CatalogueFacts {
  readonly #openShard: (isAgain: boolean) => Shard;
  readonly #clock: Clock;
  /** Undefined: it failed and could not be reopened. */
  #shard: Shard | undefined;
  /** Why there is no shard. */
  #failure: unknown;
  #lastSequence: number;
  /** Changes that are not in the shard yet. */
  readonly #noted = new Map<ActorId, CatalogueRow | null>();
  #waiting: Write[] = [];
  #waitingSequence = 0;
  /** The next write, which starts when the running one is on disk. */
  #next: Promise<void> | undefined;
  /** The running write; it never rejects. */
  #storing: Promise<void> = Promise.resolve();
  /** Number of changes so far. */
  #notes = 0;
  /** Callers that wait until this number of changes is on disk. */
  #waiters: { readonly notes: number; readonly resolve: () => void }[] = [];
  #retryMs = RETRY_MS_MIN;
  #retry: Timer | undefined;
  #isClosing = false;

  /**
   * @param folder folder of the actors; see {@link ActorCatalogue.isIn}
   * @param clock schedules retries
   * @param openShard opens the file; `isAgain` after a failure, when it must be the same file
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  constructor(
    folder: string,
    clock: Clock,
    openShard: (isAgain: boolean) => Shard = (isAgain) => openFile(folder, isAgain),
  ) {
    this.#openShard = openShard;
    this.#clock = clock;
    this.#shard = openShard(false);
    this.#lastSequence = this.#shard.position.sequence;
  }

  /** Path of its file. */
  static pathIn(folder: string): string {
    return join(folder, CATALOGUE, 'data.mdb');
  }

  /** Whether a folder of actors has a catalogue. */
  static isIn(folder: string): boolean {
    return sizeOfFile(ActorCatalogue.pathIn(folder)) > 0;
  }

  get directory(): string | undefined {
    return this.fact<string>(DIRECTORY_KEY);
  }

  get journal(): JournalMark | undefined {
    return this.fact<JournalMark>(JOURNAL_KEY);
  }

  get keyCheck(): string | undefined {
    return this.fact<string>(KEY_CHECK_KEY);
  }

  get previousKeyCheck(): string | undefined {
    return this.fact<string>(PREVIOUS_KEY_CHECK_KEY);
  }

  get sequence(): number {
    return this.#lastSequence;
  }

  /** Whether every visible row is on disk. */
  get isStored(): boolean {
    return this.#noted.size === 0;
  }

  /** The row of an actor; undefined when it does not exist. */
  get(actor: ActorId): CatalogueRow | undefined {
    const noted = this.#noted.get(actor);
    if (noted !== undefined) return noted ?? undefined;
    const bytes = this.#open.get(ACTORS, keyOfActor(actor));
    return bytes === undefined ? undefined : rowOf(bytes);
  }

  /** Every actor under an owner, including an actor of that exact id, unordered; without an owner, all actors. */
  under(owner?: string): ActorId[] {
    const isMeant = (actor: ActorId): boolean =>
      owner === undefined || actor === owner || actor.startsWith(`${owner}/`);
    const range =
      owner === undefined
        ? { start: '', end: '\u00ff' }
        : { start: keyOfActor(owner), end: `${keyOfActor(`${owner}/`)}\u00ff` };
    const found = new Set<ActorId>();
    for (const { key } of this.#open.range(ACTORS, range)) {
      const actor = Buffer.from(key, 'latin1').toString('utf8');
      if (isMeant(actor)) found.add(actor);
    }
    for (const [actor, row] of this.#noted) {
      if (!isMeant(actor)) continue;
      if (row === null) found.delete(actor);
      else found.add(actor);
    }
    return [...found];
  }

  /** A fact as stored on disk. */
  fact<T>(name: string): T | undefined {
    const bytes = this.#open.get(FACTS, name);
    return bytes === undefined ? undefined : (decodeJsonRow(bytes) as T);
  }

  /** The keys of a table on disk, as text. */
  keysOf(table: number): string[] {
    const rows = this.#open.range(table, { start: '', end: '\u00ff' });
    return Array.from(rows, ({ key }) => Buffer.from(key, 'latin1').toString('utf8'));
  }

  /** Every actor with its row; reads the whole catalogue. */
  rows(): ReadonlyMap<ActorId, CatalogueRow> {
    return new Map(this.under().map((actor) => [actor, this.get(actor) as CatalogueRow]));
  }

  /** Up to `limit` actors on disk that follow an actor. @param actor undefined: starts with the first one */
  page(actor: ActorId | undefined, limit: number): ActorId[] {
    const start = actor === undefined ? '' : `${keyOfActor(actor)}\0`;
    const found: ActorId[] = [];
    for (const { key } of this.#open.range(ACTORS, { start, end: '\u00ff' })) {
      found.push(Buffer.from(key, 'latin1').toString('utf8'));
      if (found.length === limit) break;
    }
    return found;
  }

  /** Sets the permanent id of the directory and its existing actors. Must be called once, before any other change. */
  begin(directory: string, changes: CatalogueChanges, sequence: number): Promise<void> {
    this.#waiting.push({ table: FACTS, key: DIRECTORY_KEY, value: encodeJsonRow(directory) });
    return this.note(changes, sequence);
  }

  /**
   * Makes changes visible and writes them.
   *
   * @param sequence newest record that the log has on disk
   * @returns resolves when the changes are on disk
   * @throws {ServiceError} as a promise: `STORAGE_FULL`, `WRITES_STOPPED`; they stay visible, and the write is retried
   */
  note(
    { actors = new Map(), journal, keyCheck, previousKeyCheck, rows = [] }: CatalogueChanges,
    sequence: number,
  ): Promise<void> {
    this.#waiting.push(...rows);
    for (const [actor, row] of actors) {
      this.#noted.set(actor, row);
      const value = row === null ? null : encodeRow(row);
      this.#waiting.push({ table: ACTORS, key: keyOfActor(actor), value });
    }
    if (journal !== undefined)
      this.#waiting.push({ table: FACTS, key: JOURNAL_KEY, value: encodeJsonRow(journal) });
    if (keyCheck !== undefined)
      this.#waiting.push({ table: FACTS, key: KEY_CHECK_KEY, value: encodeJsonRow(keyCheck) });
    if (previousKeyCheck !== undefined) {
      const value = previousKeyCheck === null ? null : encodeJsonRow(previousKeyCheck);
      this.#waiting.push({ table: FACTS, key: PREVIOUS_KEY_CHECK_KEY, value });
    }
    this.#waitingSequence = Math.max(this.#waitingSequence, sequence);
    this.#notes += 1;
    return this.#storeNext();
  }

  /** Resolves when all changes so far are on disk, after any number of retries. Never resolves once closed. */
  stored(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ notes: this.#notes, resolve });
      // Start a write now, in case there are no changes and none would start by itself.
      this.#storeNext().catch(() => undefined);
    });
  }

  /** Waits for pending writes, then closes the file. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#retry?.cancel();
    await this.#next?.catch(() => undefined);
    await this.#storing;
    await this.#shard?.close();
  }

  #storeNext(): Promise<void> {
    this.#next ??= this.#storing.then(() => this.#store());
    return this.#next;
  }

  async #store(): Promise<void> {
    this.#next = undefined;
    const writes = this.#waiting;
    this.#waiting = [];
    const shown = new Map(this.#noted);
    const notes = this.#notes;
    const sequence = Math.max(this.#waitingSequence, this.#lastSequence);
    const stored = this.#apply(writes, sequence);
    this.#storing = stored.catch(() => this.#recover(writes));
    await stored;
    this.#lastSequence = sequence;
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#retryMs = RETRY_MS_MIN;
    for (const [actor, row] of shown) if (this.#noted.get(actor) === row) this.#noted.delete(actor);
    for (const waiter of this.#waiters) if (waiter.notes <= notes) waiter.resolve();
    this.#waiters = this.#waiters.filter((waiter) => waiter.notes > notes);
  }

  async #apply(writes: readonly Write[], sequence: number): Promise<void> {
    if (this.#shard === undefined && !this.#isClosing) this.#reopen();
    await this.#open.apply(writes, { sequence, clock: revisionZero }).flushed;
  }

  get #open(): Shard {
    if (this.#shard === undefined) throw this.#failure;
    return this.#shard;
  }

  /** Keeps failed changes for the next write, or for a retry after a delay. The failed shard is replaced. */
  #recover(writes: readonly Write[]): void {
    this.#waiting = [...writes, ...this.#waiting];
    if (this.#isClosing) return;
    void this.#shard?.close();
    this.#shard = undefined;
    this.#reopen();
    this.#retry?.cancel();
    this.#retry = this.#clock.after(this.#retryMs, () => void this.#storeNext().catch(() => undefined));
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
  }

  /** Reopens the shard. On failure the reason is kept, and later calls fail with it. */
  #reopen(): void {
    try {
      this.#shard = this.#openShard(true);
    } catch (error) {
      this.#failure = error;
    }
  }
}

/** LMDB would create a missing file, and it would list no actors. */
function openFile(folder: string, isAgain: boolean): Shard {
  if (isAgain && !ActorCatalogue.isIn(folder))
    throw catalogueDamaged(folder, 'was removed under the running server');
  return new LmdbShard(join(folder, CATALOGUE), catalogueTables);
}

/** The error for a damaged or wrong catalogue. */
export function catalogueDamaged(folder: string, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${ActorCatalogue.pathIn(folder)} ${what}; nothing was changed; bring the file back as it was beside the other files; ` +
      'if there is no copy of it, create a new one (npm run rebuild-catalogue -- --help), or restore a backup',
  );
}

/** Key of an actor in the actors table. */
export function keyOfActor(actor: ActorId): string {
  return Buffer.from(actor, 'utf8').toString('latin1');
}

/** Decodes the row of an actor. */
export function rowOf(bytes: Uint8Array): CatalogueRow {
  const [created, floor, epoch, chain] = decodeJsonRow(bytes) as [number, number, number?, string?];
  if (epoch === undefined || chain === undefined) return { created, floor };
  return { created, floor, mark: { epoch, chain: Buffer.from(chain, 'hex') } };
}

function encodeRow({ created, floor, mark }: CatalogueRow): Uint8Array {
  if (mark === undefined) return encodeJsonRow([created, floor]);
  return encodeJsonRow([created, floor, mark.epoch, Buffer.from(mark.chain).toString('hex')]);
}
