import { CommonTable, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import type { ActorBehaviour, QueryContext, Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeEntry } from '#runtime/log/entry-codec.ts';

/**
 * Stores rows that another actor of the kind had, as they are: how an actor is made of a backup. Sent by the engine,
 * to an actor nobody knows of yet. It is a commit like any other, so whoever follows the log has the same rows.
 * Sending it again changes nothing. Result: undefined.
 *
 * @see docs/decisions: backups are copies of shards, restores are commits
 */
export interface ImportRows {
  readonly type: 'ImportRows';
  /**
   * A log entry, encoded: its writes are the rows. Revisions that are made from now on are above its clock, also in
   * an entry without rows.
   */
  readonly entry: Uint8Array;
  /** Whether every row that was there is removed first. Only for kinds with few rows. */
  readonly replaces?: boolean;
}

/** Before every key and behind every key: none is empty, and none begins with this byte. */
const wholeTable = { start: '\u0000', end: '\u00ff' } as const;

/**
 * An actor that takes {@link ImportRows} besides its own commands.
 *
 * @param tables how many tables the kind has of its own
 */
export function withImport(inner: ActorBehaviour, tables: number): ActorBehaviour {
  return new ImportingBehaviour(inner, tables);
}

class ImportingBehaviour implements ActorBehaviour {
  readonly #inner: ActorBehaviour;
  readonly #tables: number;

  constructor(inner: ActorBehaviour, tables: number) {
    this.#inner = inner;
    this.#tables = tables;
  }

  get mustStayOpen(): boolean {
    return this.#inner.mustStayOpen === true;
  }

  execute(command: { readonly type: string }, turn: Turn): unknown {
    if (command.type !== 'ImportRows') return this.#inner.execute(command as never, turn);
    return this.#import(command as ImportRows, turn);
  }

  query(query: never, context: QueryContext): unknown {
    return this.#inner.query(query, context);
  }

  forget(): void {
    this.#inner.forget?.();
  }

  batchEnded(): void {
    this.#inner.batchEnded?.();
  }

  endWaits(reason: ServiceError): void {
    this.#inner.endWaits?.(reason);
  }

  close(): void {
    this.#inner.close?.();
  }

  #import({ entry, replaces }: ImportRows, turn: Turn): void {
    if (turn.caller.principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
    // It may have travelled, and then it is no Buffer any more.
    const source = Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength);
    const { writes, clock } = decodeEntry(source, 0).entry;
    if (replaces === true) this.#empty(turn);
    for (const { table, key, value } of writes) if (value !== null) turn.put(table, key, value);
    turn.observe(clock);
    // What it remembers it has read before.
    this.#inner.forget?.();
  }

  #empty(turn: Turn): void {
    for (let table: number = CommonTable.meta; table < FIRST_OWN_TABLE + this.#tables; table += 1) {
      if (table === CommonTable.idempotency || table === CommonTable.idempotencyExpiry) continue;
      const keys = [...turn.range(table, wholeTable)].map(({ key }) => key);
      for (const key of keys) turn.remove(table, key);
    }
  }
}
