import { join } from 'node:path';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { sizeOfFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RecordMark, Write } from '#runtime/log/log-entry.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { Shard } from '#runtime/shard/shard.ts';
import type { ActorId } from './ports.ts';

/** Folder of the catalogue beside those of the actors; no actor id begins like this. */
export const CATALOGUE = '.catalogue';

/** Names of its tables, in the order of their numbers. */
export const catalogueTables: readonly string[] = Object.freeze(['actors', 'facts']);

/** Numbers of its tables. */
export const CatalogueTable: { readonly actors: 0; readonly facts: 1 } = Object.freeze({
  actors: 0,
  facts: 1,
});

const { actors: ACTORS, facts: FACTS } = CatalogueTable;

/** Pause before what could not be stored is stored again, in milliseconds; doubled after each try that failed. */
const RETRY_MS_MIN = 500;

/** Longest pause between two tries, in milliseconds. */
const RETRY_MS_MAX = 8_000;

/** Key of the fact {@link CatalogueFacts.directory}. */
export const DIRECTORY_KEY = 'directory';

/** Key of the fact {@link CatalogueFacts.journal}. */
export const JOURNAL_KEY = 'journal';

/** Key of the fact {@link CatalogueFacts.keyCheck}. */
export const KEY_CHECK_KEY = 'key';

/**
 * Floor of an adopted actor of whose shard nothing is known but that older versions may have filled it: it must not be
 * missing or empty.
 */
export const FLOOR_NOT_EMPTY = 1;

/** What a data directory knows of an actor that it should have. */
export interface CatalogueRow {
  /** Sequence of the log record that made it; 0 for one that was there before there was a catalogue. */
  readonly created: number;
  /**
   * The shard has everything up to this record, because the log need not have it any more. A shard that reaches less
   * far lost something. 0: the log has everything there ever was, so that a missing shard is made of it.
   */
  readonly floor: number;
  /** Of the record at the floor, where the log has marks. */
  readonly mark?: RecordMark | undefined;
}

/** A place in the journal that tells one journal from another. */
export interface JournalMark {
  /** First sequence of its oldest segment. */
  readonly firstSequence: number;
  /** Chain that segment begins with, in hexadecimal digits. */
  readonly chain: string;
}

/** What a catalogue says of its data directory. */
export interface CatalogueFacts {
  /** Random name of the data directory; undefined in a catalogue that is being made. */
  readonly directory: string | undefined;
  /** Where the journal began when something of it was removed last; undefined before that. */
  readonly journal: JournalMark | undefined;
  /** Check value of the key the directory is used with; undefined before it was used with one. */
  readonly keyCheck: string | undefined;
  /** Newest record the log was known to have on its disk when something was noted last. */
  readonly sequence: number;
}

/** Changes of the catalogue that become durable together. */
export interface CatalogueChanges {
  /** null: the actor is gone. */
  readonly actors?: ReadonlyMap<ActorId, CatalogueRow | null>;
  readonly journal?: JournalMark;
  readonly keyCheck?: string;
  /** Of tables that whoever opened the file has besides, and facts of its own. Shown when they are on the disk. */
  readonly rows?: readonly Write[];
}

/**
 * The actors a data directory should have, apart from their files: with it a shard that is missing, empty, of another
 * directory or older than it was is told from one that never had anything.
 *
 * A view of the log, like a shard: a row follows the record that made its actor, and that record stays in the log until
 * the row is on the disk. Whoever lets the log forget records first raises the floors of the actors in them. So an actor
 * that has neither a row nor a record never was, or was removed.
 *
 * Reads show noted changes at once; {@link note} resolves when they are on the disk. What could not be stored is tried
 * again until it is, see {@link stored}. While the file cannot be opened, what is asked of it is refused with the reason.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export class ActorCatalogue implements CatalogueFacts {
  readonly #openShard: (isAgain: boolean) => Shard;
  readonly #clock: Clock;
  /** Undefined: it failed and could not be opened again. */
  #shard: Shard | undefined;
  /** Why there is no shard. */
  #failure: unknown;
  #lastSequence: number;
  /** Noted and not in the shard yet. */
  readonly #noted = new Map<ActorId, CatalogueRow | null>();
  #waiting: Write[] = [];
  #waitingSequence = 0;
  /** Stores what waits, when what is being stored is on the disk. */
  #next: Promise<void> | undefined;
  /** Never rejects. */
  #storing: Promise<void> = Promise.resolve();
  /** How often something was noted. */
  #notes = 0;
  /** Those who wait until as many notes are on the disk. */
  #waiters: { readonly notes: number; readonly resolve: () => void }[] = [];
  #retryMs = RETRY_MS_MIN;
  #retry: Timer | undefined;
  #isClosing = false;

  /**
   * @param folder of the actors; see {@link ActorCatalogue.isIn}
   * @param clock says when to try again what failed
   * @param openShard opens its file; `isAgain` after a failure, when it has to be the one it was
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

  get sequence(): number {
    return this.#lastSequence;
  }

  /** Whether every row that is shown is on the disk. */
  get isStored(): boolean {
    return this.#noted.size === 0;
  }

  /** What is known of an actor; undefined for one that is not there. */
  get(actor: ActorId): CatalogueRow | undefined {
    const noted = this.#noted.get(actor);
    if (noted !== undefined) return noted ?? undefined;
    const bytes = this.#open.get(ACTORS, keyOfActor(actor));
    return bytes === undefined ? undefined : rowOf(bytes);
  }

  /** Every actor under an owner, the one of that very name included, in no particular order; all without an owner. */
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

  /** A fact that is on the disk. */
  fact<T>(name: string): T | undefined {
    const bytes = this.#open.get(FACTS, name);
    return bytes === undefined ? undefined : (decodeJsonRow(bytes) as T);
  }

  /** The keys of a table that are on the disk, as text. */
  keysOf(table: number): string[] {
    const rows = this.#open.range(table, { start: '', end: '\u00ff' });
    return Array.from(rows, ({ key }) => Buffer.from(key, 'latin1').toString('utf8'));
  }

  /** Every actor with its row: all of the catalogue is read. */
  rows(): ReadonlyMap<ActorId, CatalogueRow> {
    return new Map(this.under().map((actor) => [actor, this.get(actor) as CatalogueRow]));
  }

  /** The next actors behind one that are on the disk, at most `limit`. @param actor undefined: from the first one on */
  page(actor: ActorId | undefined, limit: number): ActorId[] {
    const start = actor === undefined ? '' : `${keyOfActor(actor)}\0`;
    const found: ActorId[] = [];
    for (const { key } of this.#open.range(ACTORS, { start, end: '\u00ff' })) {
      found.push(Buffer.from(key, 'latin1').toString('utf8'));
      if (found.length === limit) break;
    }
    return found;
  }

  /** Names the directory, for good, with what is there. To be called once, before anything else is noted. */
  begin(directory: string, changes: CatalogueChanges, sequence: number): Promise<void> {
    this.#waiting.push({ table: FACTS, key: DIRECTORY_KEY, value: encodeJsonRow(directory) });
    return this.note(changes, sequence);
  }

  /**
   * Shows changes from now on.
   *
   * @param sequence newest record that the log has on its disk
   * @returns resolves when they are on the disk as well
   * @throws {ServiceError} as a promise: `STORAGE_FULL`, `WRITES_STOPPED`; they go on being shown, and are tried again
   */
  note(
    { actors = new Map(), journal, keyCheck, rows = [] }: CatalogueChanges,
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
    this.#waitingSequence = Math.max(this.#waitingSequence, sequence);
    this.#notes += 1;
    return this.#storeNext();
  }

  /** Resolves when everything noted by now is on the disk, however often that has to be tried; not once it is closed. */
  stored(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ notes: this.#notes, resolve });
      // Tried now, in case there is nothing to store and nobody would.
      this.#storeNext().catch(() => undefined);
    });
  }

  /** Waits for what was noted, then lets go of the file. */
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

  /** What could not be stored is stored with what is noted next, or after a pause. A shard that failed takes nothing more. */
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

  /** Without success the reason is remembered; whoever is refused meets it. */
  #reopen(): void {
    try {
      this.#shard = this.#openShard(true);
    } catch (error) {
      this.#failure = error;
    }
  }
}

/** LMDB would make a file that is gone, and nothing would be listed in it. */
function openFile(folder: string, isAgain: boolean): Shard {
  if (isAgain && !ActorCatalogue.isIn(folder))
    throw catalogueDamaged(folder, 'was removed under the running server');
  return new LmdbShard(join(folder, CATALOGUE), catalogueTables);
}

/** What is thrown of a catalogue that is not what it should be. */
export function catalogueDamaged(folder: string, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${ActorCatalogue.pathIn(folder)} ${what}; nothing was changed; bring the file back as it was beside the other files, ` +
      'where there is no copy of it make it anew (npm run rebuild-catalogue -- --help), or restore a backup',
  );
}

/** Key of an actor in the table of actors. */
export function keyOfActor(actor: ActorId): string {
  return Buffer.from(actor, 'utf8').toString('latin1');
}

/** The row of an actor, decoded. */
export function rowOf(bytes: Uint8Array): CatalogueRow {
  const [created, floor, epoch, chain] = decodeJsonRow(bytes) as [number, number, number?, string?];
  if (epoch === undefined || chain === undefined) return { created, floor };
  return { created, floor, mark: { epoch, chain: Buffer.from(chain, 'hex') } };
}

function encodeRow({ created, floor, mark }: CatalogueRow): Uint8Array {
  if (mark === undefined) return encodeJsonRow([created, floor]);
  return encodeJsonRow([created, floor, mark.epoch, Buffer.from(mark.chain).toString('hex')]);
}
