import { CommonTable, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import type { ActorBehaviour, Caller, QueryContext, Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeEntry } from '#runtime/log/entry-codec.ts';
import type { ShardCopy } from './copy-shard.ts';
import { type ImportRows, rowsImported } from './import-rows.ts';

/** Bounds of all keys: no key is empty, and none begins with the end byte. */
const wholeTable = { start: '\u0000', end: '\u00ff' } as const;

/** Handles the messages every actor accepts besides its own, so that any actor can be backed up and restored. */
export class BackupBehaviour implements ActorBehaviour {
  readonly #inner: ActorBehaviour;
  readonly #tables: number;
  readonly #copy: () => Promise<ShardCopy>;

  /**
   * @param tables number of the kind's own tables
   * @param copy answers {@link CopyShard}
   */
  constructor(inner: ActorBehaviour, tables: number, copy: () => Promise<ShardCopy>) {
    this.#inner = inner;
    this.#tables = tables;
    this.#copy = copy;
  }

  get mustStayOpen(): boolean {
    return this.#inner.mustStayOpen === true;
  }

  execute(command: { readonly type: string }, turn: Turn): unknown {
    if (command.type !== 'ImportRows') return this.#inner.execute(command as never, turn);
    return this.#import(command as ImportRows, turn);
  }

  query(query: { readonly type: string }, context: QueryContext): unknown {
    if (query.type !== 'CopyShard') return this.#inner.query(query as never, context);
    requireEngine(context.caller);
    return this.#copy();
  }

  shorten(result: unknown, wholeMax: number): unknown {
    return this.#inner.shorten === undefined ? result : this.#inner.shorten(result, wholeMax);
  }

  *recall(kept: unknown, command: { readonly type: string }, turn: Turn): Generator<undefined, unknown> {
    return this.#inner.recall === undefined ? kept : yield* this.#inner.recall(kept, command as never, turn);
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
    requireEngine(turn.caller);
    // A value received from another member is not a Buffer.
    const source = Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength);
    const { writes, clock } = decodeEntry(source, 0).entry;
    if (replaces === true) this.#empty(turn);
    for (const { table, key, value } of writes) if (value !== null) turn.put(table, key, value);
    turn.observe(clock);
    turn.emit(rowsImported);
    // Its cached state is outdated.
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

function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}
