import type { Revision } from '#runtime/content/revision.ts';
import type { MovingReader } from '#runtime/scan/moment.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readerOver } from '#runtime/shard/reader-over.ts';

/** A reader that goes over to what is there now. */
export class LeavingReader implements MovingReader {
  begunAt: Revision | undefined;
  moves = 0;
  #over: Required<Omit<TableReader, 'peek' | 'generation'>>;

  constructor(reader: TableReader) {
    this.#over = readerOver(reader);
  }

  /** @param head of what it has shown so far */
  leave(reader: TableReader, head: Revision): void {
    this.#over = readerOver(reader);
    this.begunAt ??= head;
    this.moves += 1;
  }

  rest(): void {}

  get: TableReader['get'] = (table, key) => this.#over.get(table, key);
  stored: NonNullable<TableReader['stored']> = (table, key) => this.#over.stored(table, key);
  has: NonNullable<TableReader['has']> = (table, key) => this.#over.has(table, key);
  range: TableReader['range'] = (table, range) => this.#over.range(table, range);
  storedRange: NonNullable<TableReader['storedRange']> = (table, range) =>
    this.#over.storedRange(table, range);
  visit: NonNullable<TableReader['visit']> = (table, range, visitor) =>
    this.#over.visit(table, range, visitor);
}
