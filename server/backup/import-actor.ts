import type { ImportRows } from '#runtime/actor/copies/import-rows.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { RestoreRow, StoredRow } from '#runtime/actor/copies/restored-row.ts';
import { withoutOutcomes } from '#runtime/actor/copies/restored-row.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { CommonTable, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { encodeEntry, entrySize } from '#runtime/log/entry-codec.ts';
import type { LogEntry, Write } from '#runtime/log/log-entry.ts';
import type { ShardFile } from '#runtime/shard/shard-file.ts';
import { HEAD_KEY } from '#runtime/tree/revision-store.ts';

/** Bytes of rows in one commit: a few milliseconds of the writer, and less than a record of a replicated log. */
const SLICE_BYTES: number = 512 * 1024;

/** Rows in one commit; the indexes of a branch have many small ones. */
const SLICE_ROWS = 4_000;

/** Delays before a refused slice is sent again. Sending one twice is harmless. */
const retry: Backoff = { firstMs: 20, factor: 2, mostMs: 1_000 };

/** Maximum number of retries of a slice: about a minute. */
const RETRIES_MAX = 60;

/** Refusals after which the same slice may be accepted. */
const passing: ReadonlySet<ErrorCode> = new Set([
  'OVERLOADED',
  'NOT_OWNER',
  'LOG_UNAVAILABLE',
  'DEADLINE_EXCEEDED',
]);

/** Dependencies of an import. */
export interface ImportEnvironment {
  readonly router: Router;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the import between two slices. */
  readonly signal: AbortSignal;
}

/** How the rows of a copy become those of an actor. */
export interface ImportPlan {
  readonly target: ActorId;
  readonly shard: ShardFile;
  /** Number of the kind's own tables. */
  readonly tables: number;
  readonly restore: RestoreRow;
  /** Additional rows to store. */
  readonly more?: readonly StoredRow[];
}

/**
 * Stores the rows of a copy in an actor that has just been created, slice by slice, as commits. An actor's own small
 * state comes last, and of it the head of a branch, so that it takes effect when everything else is stored.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`, `REQUEST_CANCELLED`, `STORAGE_FULL` and other refusals of a commit
 */
export async function importActor(environment: ImportEnvironment, plan: ImportPlan): Promise<void> {
  const { more = [], shard, tables, target } = plan;
  const restore = withoutOutcomes(plan.restore);
  let slice: Write[] = [...more];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    await sendRows(environment, target, { actor: target, writes: slice, clock: shard.position.clock });
    crashPoint('mid-restore');
    slice = [];
    bytes = 0;
  };
  for (const { key, table, value } of rowsInOrder(shard, tables)) {
    const restored = restore({ table, key, value });
    if (restored === null) continue;
    slice.push({ table, key, value: restored });
    bytes += key.length + restored.length;
    if (bytes >= SLICE_BYTES || slice.length >= SLICE_ROWS) await flush();
  }
  // Also without rows: it updates the clock.
  await flush();
}

function* rowsInOrder(shard: ShardFile, tables: number): Generator<StoredRow, void> {
  for (let table = FIRST_OWN_TABLE; table < FIRST_OWN_TABLE + tables; table += 1)
    for (const row of shard.rows(table)) yield { ...row, table };
  const table = CommonTable.meta;
  for (const row of shard.rows(table)) if (row.key !== HEAD_KEY) yield { ...row, table };
  const head = shard.get(table, HEAD_KEY);
  if (head !== undefined) yield { table, key: HEAD_KEY, value: head };
}

/**
 * Sends one import, with retries while they may help. @throws {ServiceError} `REQUEST_CANCELLED`, and the last refusal
 */
export async function sendRows(
  { clock, random, router, signal }: ImportEnvironment,
  target: ActorId,
  rows: LogEntry,
  replaces = false,
): Promise<void> {
  const entry = Buffer.allocUnsafe(entrySize(rows));
  encodeEntry(rows, entry, 0);
  const command: ImportRows = { type: 'ImportRows', entry, ...(replaces ? { replaces } : {}) };
  const caller = engineCaller(decodeURIComponent(target.slice(0, target.indexOf('/'))));
  for (let retries = 0; ; retries += 1) {
    if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The restore was given up');
    try {
      await router.command(target, command, { caller });
      return;
    } catch (error) {
      const mayPass = error instanceof ServiceError && passing.has(error.code);
      if (!mayPass || retries >= RETRIES_MAX) throw error;
      await sleep(clock, backoffMs(retry, retries, random));
    }
  }
}
