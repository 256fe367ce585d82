import type { ActorEvent, Caller, Turn } from './behaviour.ts';
import { InvariantError } from '#runtime/base/assert.ts';
import { RequestBudget, type RequestLimits } from '#runtime/budget/request-budget.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { ENTRY_BYTES_MAX } from '#runtime/log/log-entry.ts';
import { KEY_BYTES_MAX } from '#runtime/shard/binary-key.ts';
import type { Range, Row, TableReader } from '#runtime/shard/shard.ts';
import type { HybridClock } from './hybrid-clock.ts';
import type { Change, Layer } from './layer.ts';

/**
 * Bytes of changes after which a command is refused. A batch takes no command any more long before, so the one
 * that gets there is the large one; what is left to {@link ENTRY_BYTES_MAX} is room for its last change.
 */
export const COMMIT_BYTES_MAX: number = ENTRY_BYTES_MAX / 2;

function tooLarge(): ServiceError {
  const mebibytes = COMMIT_BYTES_MAX / 1024 / 1024;
  return new ServiceError('COMMIT_TOO_LARGE', `One commit may hold ${mebibytes} MiB of changes; split it`);
}

/** Changes taken back between two rests. */
const UNDO_PER_STEP = 128;

interface Undo {
  readonly table: number;
  readonly key: string;
  readonly before: Change | undefined;
}

/** A reader that is told what is written to the layers beneath it. */
export interface WrittenReader extends TableReader {
  /** A key may have a value from now on. */
  written?(table: number, key: string): void;
}

/** One command's part of a batch: its writes go to the batch's layer and can be taken back as one. */
export class TurnScope implements Turn {
  readonly caller: Caller;
  readonly wallMs: number;
  readonly events: ActorEvent[] = [];
  readonly #reader: WrittenReader;
  readonly #layer: Layer;
  readonly #clock: HybridClock;
  readonly #random: Random;
  readonly #undo: Undo[] = [];
  readonly #limits: RequestLimits | undefined;
  #revision: Revision | undefined;
  #budget: RequestBudget | undefined;

  /** @param limits what the request may use; absent: the default */
  constructor(
    caller: Caller,
    wallMs: number,
    reader: WrittenReader,
    layer: Layer,
    clock: HybridClock,
    random: Random,
    limits?: RequestLimits,
  ) {
    this.#limits = limits;
    this.caller = caller;
    this.wallMs = wallMs;
    this.#reader = reader;
    this.#layer = layer;
    this.#clock = clock;
    this.#random = random;
  }

  get budget(): RequestBudget {
    this.#budget ??= new RequestBudget(this.#limits);
    return this.#budget;
  }

  get revision(): Revision {
    this.#revision ??= this.#clock.next();
    return this.#revision;
  }

  /** Whether it has written anything so far. */
  get hasChanges(): boolean {
    return this.#undo.length > 0;
  }

  get(table: number, key: string): Uint8Array | undefined {
    return this.#reader.get(table, key);
  }

  peek(table: number, key: string): Uint8Array | undefined {
    return this.#reader.peek === undefined ? this.#reader.get(table, key) : this.#reader.peek(table, key);
  }

  range(table: number, range: Range): Iterable<Row> {
    return this.#reader.range(table, range);
  }

  put(table: number, key: string, value: Uint8Array): void {
    this.#check(table, key);
    this.#undo.push({ table, key, before: this.#layer.set(table, key, value) });
    this.#reader.written?.(table, key);
  }

  insert(table: number, key: string, value: Uint8Array): void {
    this.#check(table, key);
    this.#undo.push({ table, key, before: this.#layer.insert(table, key, value) });
    this.#reader.written?.(table, key);
  }

  remove(table: number, key: string): void {
    this.#check(table, key);
    this.#undo.push({ table, key, before: this.#layer.set(table, key, null) });
  }

  newId(): string {
    return uuidV7(this.wallMs, this.#random);
  }

  ageMs(atMs: number): number {
    return this.#clock.steps.ageMs(atMs, this.wallMs);
  }

  observe(revision: Revision): void {
    this.#clock.observe(revision);
  }

  emit(event: ActorEvent): void {
    this.events.push(event);
  }

  undo(): void {
    for (const _rest of this.undoInSteps());
  }

  *undoInSteps(): Generator<undefined, void> {
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) {
      const { table, key, before } = undo;
      this.#layer.restore(table, key, before);
      this.#reader.written?.(table, key);
      if (this.#undo.length % UNDO_PER_STEP === 0) yield;
    }
    this.events.length = 0;
  }

  #check(table: number, key: string): void {
    // Found out later, by the shard, such a key would keep it from ever applying the log again.
    if (key === '' || key.length > KEY_BYTES_MAX) {
      throw new InvariantError(`a key of ${key.length} bytes in table ${table}`);
    }
    if (this.#layer.bytes > COMMIT_BYTES_MAX) throw tooLarge();
  }
}
