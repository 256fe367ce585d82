import { ServiceError } from '#runtime/errors/service-error.ts';
import { refusedFile } from '#runtime/errors/refused-file.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { inspectHead, trustedRoot } from '#runtime/shard/lmdb-head.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import {
  ActorCatalogue,
  catalogueDamaged,
  type CatalogueFacts,
  CatalogueTable,
  catalogueTables,
  DIRECTORY_KEY,
  JOURNAL_KEY,
  type JournalMark,
  KEY_CHECK_KEY,
  PREVIOUS_KEY_CHECK_KEY,
  type CatalogueRow,
  keyOfActor,
  rowOf,
} from './actor-catalogue.ts';
import type { ActorId } from '../ports.ts';

/**
 * Reads the file of a catalogue that is not open, page by page. The file is never changed, so that a caller that
 * refuses it leaves the directory unchanged.
 */
export class CatalogueFile implements CatalogueFacts {
  readonly directory: string | undefined;
  readonly journal: JournalMark | undefined;
  readonly keyCheck: string | undefined;
  readonly previousKeyCheck: string | undefined;
  readonly sequence: number;
  readonly #pages: PageFile;
  readonly #damage: string[];
  readonly #folder: string;

  private constructor(folder: string, pages: PageFile, damage: string[]) {
    this.#folder = folder;
    this.#pages = pages;
    this.#damage = damage;
    this.directory = this.#fact<string>(DIRECTORY_KEY);
    this.journal = this.#fact<JournalMark>(JOURNAL_KEY);
    this.keyCheck = this.#fact<string>(KEY_CHECK_KEY);
    this.previousKeyCheck = this.#fact<string>(PREVIOUS_KEY_CHECK_KEY);
    this.sequence = pages.position.sequence;
  }

  /**
   * @param folder of the actors
   * @returns undefined when there is none, or one that was being created when its process died
   * @throws {ServiceError} `DATA_CORRUPTED` when it cannot be read
   */
  static in(folder: string): CatalogueFile | undefined {
    if (!ActorCatalogue.isIn(folder)) return undefined;
    const path = ActorCatalogue.pathIn(folder);
    const damage: string[] = [];
    let pages: PageFile | undefined;
    let file: CatalogueFile;
    try {
      const head = inspectHead(path);
      if (head.isSound && trustedRoot(path) === undefined) return undefined;
      pages = new PageFile(path, catalogueTables, (table, what) => {
        // Pages missing at the end may be free; a missing page in use is reported when it is read.
        if (table !== '' || !what.startsWith('the file lacks')) damage.push(what);
      });
      file = new CatalogueFile(folder, pages, damage);
    } catch (cause) {
      pages?.close();
      if (cause instanceof ServiceError) throw catalogueDamaged(folder, `cannot be read (${cause.message})`);
      throw refusedFile(path, cause) ?? cause;
    }
    try {
      file.#requireWhole();
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` when the pages for this key are damaged */
  get(actor: ActorId): CatalogueRow | undefined {
    const bytes = this.#pages.get(CatalogueTable.actors, keyOfActor(actor));
    this.#requireWhole();
    return bytes === undefined ? undefined : rowOf(bytes);
  }

  /** Every actor with its row. @throws {ServiceError} `DATA_CORRUPTED` when pages are damaged */
  rows(): ReadonlyMap<ActorId, CatalogueRow> {
    const rows = new Map<ActorId, CatalogueRow>();
    for (const { key, value } of this.#pages.rows(CatalogueTable.actors))
      rows.set(Buffer.from(key, 'latin1').toString('utf8'), rowOf(value));
    this.#requireWhole();
    return rows;
  }

  close(): void {
    this.#pages.close();
  }

  #fact<T>(key: string): T | undefined {
    const bytes = this.#pages.get(CatalogueTable.facts, key);
    return bytes === undefined ? undefined : (decodeJsonRow(bytes) as T);
  }

  #requireWhole(): void {
    const [what] = this.#damage;
    if (what !== undefined) throw catalogueDamaged(this.#folder, `is damaged (${what})`);
  }
}
