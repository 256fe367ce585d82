import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import {
  ActorCatalogue,
  type CatalogueChanges,
  type CatalogueRow,
  CatalogueTable,
  catalogueTables,
  FLOOR_NOT_EMPTY,
  keyOfActor,
} from '#runtime/actor/catalogue/actor-catalogue.ts';
import type { RecordMark, Write } from '#runtime/log/log-entry.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import type { LogPosition } from './log-position.ts';

/** Number of stores of the position after which a shard without new records no longer counts as ahead of it. */
const IDLE_STORES = 2;

/** Number of the table with the actors whose shards may be ahead of the stored position. */
const AHEAD = catalogueTables.length;

/** Names of the tables of a partition's catalogue, in the order of their numbers. */
const partitionTables: readonly string[] = [...catalogueTables, 'ahead'];

/** Actors checked in one turn of the event loop. */
const CHECKED_AT_ONCE = 64;

/** Random bytes of the name of a catalogue. */
const NAME_BYTES = 16;

const NAME_KEY = 'name';
const STREAM_KEY = 'stream';
const CHANGE_KEY = 'change';

/** Files of a partition's catalogue and its shards. */
export interface ShardFiles {
  /** Returns whether there is a catalogue. */
  hasCatalogue(): boolean;
  /** Reads all of the catalogue, if there is one, without opening it. @returns its path and the damage */
  damageOfCatalogue?(): Promise<{ readonly path: string; readonly what: string } | undefined>;
  /**
   * Opens the catalogue; creates it if there is none. @param tables names of its tables, in the order of their numbers
   */
  openCatalogue(tables: readonly string[]): Shard;
  /** Returns every actor that has a folder. */
  all(): Promise<readonly string[]>;
  /** The content was replaced: all cached knowledge of it is invalid. */
  replaced?(): void;
  /** Sets the catalogue that lists the expected actors; undefined when they are not used. */
  useCatalogue(catalogue: ActorCatalogue | undefined, isShared: true): void;
  /** @throws {ServiceError} `DATA_CORRUPTED` when the file of an actor that should have content is missing or empty */
  requireFile(actor: string): void;
  /** Reads the header of an actor's shard while it is not open; undefined when it contains no position. */
  headOf(actor: string): Pick<ShardPosition, 'sequence' | 'mark'> | undefined;
}

/** A shard that may be ahead of the stored position. */
interface Ahead {
  /** Newest record it is known to have. */
  sequence: number;
  /** Whether records are being applied to it. */
  isPending: boolean;
  /** Number of stores of the position since its last record. */
  stores: number;
}

/** The newest record that created or removed an actor, as stored. */
interface StoredChange {
  readonly sequence: number;
  readonly epoch: number;
  readonly chain: string;
}

/** Also reports removed actors. */
class PartitionCatalogue extends ActorCatalogue {
  readonly #removed: (actor: ActorId) => void;

  constructor(clock: Clock, openShard: (isAgain: boolean) => Shard, removed: (actor: ActorId) => void) {
    super('', clock, openShard);
    this.#removed = removed;
  }

  override note(changes: CatalogueChanges, sequence: number): Promise<void> {
    for (const [actor, row] of changes.actors ?? []) if (row === null) this.#removed(actor);
    return super.note(changes, sequence);
  }
}

/**
 * Tracks how far the shards of a partition reach, according to the positions in the shards: each stores the sequence,
 * epoch and chain of its newest record. The stored position is the lower bound up to which they have everything, and
 * may be a second old; after a loss of power shards may be ahead of it. If the servers lost those records as well,
 * the shards would skip the records written in their place. So the stream must contain the newest record that any
 * shard stores; otherwise the log lost records.
 *
 * Not every shard is checked for that. The catalogue names those that may be ahead, before records are applied to them;
 * and the newest record that created or removed an actor, which may be in no shard.
 *
 * Invariant: no position is stored that is past a record whose actor has a floor below it. Records before the
 * position are not read again, so a shard that lost such a record would look like one that never had it. So a record
 * raises the floor when it is applied, when it is skipped because the shard has it, and when it is left out; and the
 * floors are on the disk before the position is.
 *
 * Enforcement: {@link ShardPositions.storing}; test/support/floors.ts whenever a process of a simulation begins.
 *
 * @see docs/partition-log.md#shards-follow-the-log
 */
export class ShardPositions {
  readonly #files: ShardFiles;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ahead = new Map<string, Ahead>();
  #catalogue: ActorCatalogue | undefined;
  /** Identity of the stream, as stored in the catalogue. */
  #stream: string | undefined;
  #changed = 0;
  #newest: LogPosition | undefined;
  /** Newest records of shards that are not yet in the rows of the catalogue. */
  readonly #applied = new Map<ActorId, CatalogueRow>();
  #name: string | undefined;
  #isInspected = false;
  /** Pending, or completed without finding damage. */
  #verified: Promise<void> | undefined;
  /** The search for missing files. */
  #search: Promise<unknown> | undefined;
  /** The shards are being replaced. */
  #isSuspended = false;

  constructor(files: ShardFiles, clock: Clock, random: Random) {
    this.#files = files;
    this.#random = random;
    this.#clock = clock;
  }

  /** The newest record of which shards may have effects; undefined when none is known. */
  get newest(): LogPosition | undefined {
    return this.#newest;
  }

  /** Name of the catalogue while it is known to list the actors. */
  get name(): string | undefined {
    return this.#name;
  }

  /**
   * Starts to use the catalogue. The actors of a folder that never had one are listed.
   *
   * @param position as it is stored
   * @param named the catalogue that was stored with it
   * @param least number of actors when the position does not name a catalogue
   * @throws {ServiceError} `DATA_CORRUPTED` when the catalogue is missing, of other files, or older than the position;
   *   `STORAGE_FULL`, `WRITES_STOPPED`
   */
  async open(
    position: Pick<LogPosition, 'sequence'> | undefined,
    named: string | undefined,
    least?: number,
  ): Promise<void> {
    if (this.#name !== undefined) return;
    if (position !== undefined && named === undefined) await this.#requireActors(least);
    if (named !== undefined && !this.#files.hasCatalogue()) throw lostCatalogue('is missing');
    await this.verify();
    this.inspect();
    const catalogue = this.#open();
    const name = catalogue.fact<string>(NAME_KEY);
    if (named !== undefined && named !== name) throw lostCatalogue('is of other files');
    if (named !== undefined && catalogue.sequence < (position?.sequence ?? 0))
      throw lostCatalogue(`ends at log record ${catalogue.sequence}`);
    // A version without catalogues stores a position without a name: actors that it created are not listed.
    const isListed = name !== undefined && (named !== undefined || position === undefined);
    this.#name = isListed ? name : await this.#list(catalogue, position?.sequence ?? 0);
    this.#files.useCatalogue(catalogue, true);
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` when the file of the catalogue disappears while it is used */
  requireCatalogue(): void {
    if (this.#name !== undefined && !this.#files.hasCatalogue())
      throw lostCatalogue('was removed under the running member');
  }

  /** Returns whether there is neither an actor nor a list: then it is unknown whether there should be any. */
  async isBare(): Promise<boolean> {
    return !this.#files.hasCatalogue() && (await this.#files.all()).length === 0;
  }

  /** The shards were replaced. @returns the number of actors */
  async replaced(): Promise<number> {
    this.#files.replaced?.();
    return (await this.#files.all()).length;
  }

  /** Returns every actor that should exist. */
  async actors(): Promise<readonly ActorId[]> {
    if (this.#name === undefined) return this.#files.all();
    return this.#open().under().sort();
  }

  /**
   * To be called when actors may be used; checks once.
   *
   * @param giveUp whether to continue without an actor
   * @returns why an actor that should have content lacks its file; undefined when none does
   */
  lost(giveUp: (actor: ActorId, cause: unknown) => boolean = () => false): Promise<unknown> {
    this.#search ??= this.#findLost(giveUp);
    return this.#search;
  }

  async #findLost(giveUp: (actor: ActorId, cause: unknown) => boolean): Promise<unknown> {
    try {
      let last: ActorId | undefined;
      for (let catalogue = this.#catalogue; catalogue !== undefined; catalogue = this.#catalogue) {
        const page = catalogue.page(last, CHECKED_AT_ONCE);
        if (page.length === 0) return undefined;
        last = page.at(-1);
        for (const actor of page) {
          try {
            if (catalogue.get(actor) !== undefined) this.#files.requireFile(actor);
          } catch (cause) {
            if (!giveUp(actor, cause)) throw cause;
          }
        }
        await new Promise<void>((resolve) => this.#clock.soon(resolve));
      }
    } catch (cause) {
      if (isDamage(cause)) return cause;
      // It was closed meanwhile, or cannot be read at present: code that needs a file gets the error.
    }
    return undefined;
  }

  /**
   * To be called before a position is stored: from then on only the shards have the records before it.
   *
   * @throws {ServiceError} `STORAGE_FULL`, `WRITES_STOPPED`
   */
  async storing({ sequence }: Pick<LogPosition, 'sequence'>): Promise<void> {
    if (this.#name === undefined) return;
    this.requireCatalogue();
    const catalogue = this.#open();
    const actors = new Map([...this.#applied].filter(([actor, row]) => isNews(row, catalogue.get(actor))));
    const isKnown = actors.size === 0 && catalogue.isStored && catalogue.sequence >= sequence;
    const noted = isKnown ? undefined : catalogue.note({ actors }, sequence);
    // The catalogue has them from here on, and retries rows that it cannot store.
    this.#applied.clear();
    await noted;
    this.#requireFloors(catalogue, sequence);
  }

  /**
   * Verifies the catalogue of the previous process, once, because opening a damaged one may end the process. To be
   * called before {@link inspect}. Concurrent callers wait for the same verification: no code has the catalogue open
   * until then.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async verify(): Promise<void> {
    if (this.#isInspected || this.#isSuspended) return;
    this.#verified ??= this.#verify();
    const verified = this.#verified;
    try {
      await verified;
    } catch (cause) {
      // The file may be restored.
      if (this.#verified === verified) this.#verified = undefined;
      throw cause;
    }
  }

  async #verify(): Promise<void> {
    const damage = await this.#files.damageOfCatalogue?.();
    if (damage !== undefined) throw lostCatalogue(`is damaged (${damage.path}: ${damage.what})`);
  }

  /**
   * Inspects what the previous process left, once.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  inspect(): void {
    if (this.#isInspected || this.#isSuspended) return;
    if (this.#files.hasCatalogue()) this.#inspectShards(this.#open());
    this.#isInspected = true;
  }

  /**
   * To be called before any effect of a record is written to the disk.
   *
   * @param sequence of the record
   * @param newest the newest record that the stream is known to have
   * @param actor whose shard gets it; undefined: an actor is created or removed
   * @returns resolves when it is on the disk
   * @throws {ServiceError} `STORAGE_FULL`, `WRITES_STOPPED`
   */
  async cover(sequence: number, newest: LogPosition, actor: string | undefined): Promise<void> {
    assert(newest.sequence >= sequence, `shards get record ${sequence}, the newest is ${newest.sequence}`);
    if (this.#newest?.identity !== newest.identity || this.#newest.sequence < newest.sequence)
      this.#newest = newest;
    const stream = this.#stream === newest.identity ? [] : [fact(STREAM_KEY, newest.identity)];
    if (actor === undefined) await this.#coverChange(sequence, newest, stream);
    else await this.#coverShard(actor, newest, stream);
    this.#stream = newest.identity;
  }

  /** A record of an actor was left out because its shard is damaged: a shard that ends before it is incomplete. */
  skipped(actor: string, sequence: number, mark: RecordMark | undefined): void {
    this.#applied.set(actor, { created: 0, floor: sequence, mark });
  }

  /** The shard of an actor has everything up to a record on the disk. */
  applied(actor: string, sequence: number, mark: RecordMark | undefined): void {
    this.#applied.set(actor, { created: 0, floor: sequence, mark });
    const ahead = this.#ahead.get(actor);
    if (ahead === undefined) return;
    ahead.sequence = Math.max(ahead.sequence, sequence);
    ahead.isPending = false;
  }

  /** The position up to which the shards have everything is on the disk. */
  stored({ sequence }: Pick<LogPosition, 'sequence'>): void {
    const rows: Write[] = [];
    for (const [actor, ahead] of this.#ahead) {
      ahead.stores += 1;
      if (ahead.isPending || ahead.sequence > sequence || ahead.stores <= IDLE_STORES) continue;
      this.#ahead.delete(actor);
      rows.push({ table: AHEAD, key: keyOfActor(actor), value: null });
    }
    // A superfluous check of a shard does no harm, and a failed one is repeated.
    if (rows.length > 0)
      this.#open()
        .note({ rows }, 0)
        .catch(() => undefined);
  }

  /** Closes the catalogue: its folder is about to be replaced or removed. Nothing is checked until {@link resume}. */
  async suspend(): Promise<void> {
    this.#isSuspended = true;
    await this.close();
  }

  /** Starts again with the current files. */
  resume(): void {
    this.#isSuspended = false;
    this.#isInspected = false;
    this.#verified = undefined;
    this.#ahead.clear();
    this.#applied.clear();
    this.#changed = 0;
    this.#stream = undefined;
    this.#newest = undefined;
  }

  /** Closes the catalogue. Its content stays known. */
  async close(): Promise<void> {
    const catalogue = this.#catalogue;
    this.#catalogue = undefined;
    this.#name = undefined;
    this.#search = undefined;
    this.#files.useCatalogue(undefined, true);
    await catalogue?.close();
  }

  /**
   * @throws {ServiceError} `DATA_CORRUPTED` when actors are missing, or when there are none and their number is unknown
   */
  async #requireActors(least: number | undefined): Promise<void> {
    if (least === undefined ? !(await this.isBare()) : (await this.#files.all()).length >= least) return;
    throw new ServiceError(
      'DATA_CORRUPTED',
      least === undefined
        ? 'a partition has a position in its log, but neither actors nor a list of them: it is unknown whether it had any'
        : `a partition had ${least} actors when its position was stored, and has fewer now`,
    );
  }

  /** Lists the existing actors. @returns the name of the catalogue */
  async #list(catalogue: ActorCatalogue, sequence: number): Promise<string> {
    const actors = new Map<ActorId, CatalogueRow | null>(catalogue.under().map((actor) => [actor, null]));
    for (const [index, actor] of (await this.#files.all()).entries()) {
      const head = this.#files.headOf(actor);
      // An actor without a file lost it: actors are created with it.
      actors.set(actor, { created: 0, floor: head?.sequence ?? FLOOR_NOT_EMPTY, mark: head?.mark });
      if (index % CHECKED_AT_ONCE === 0) await new Promise<void>((resolve) => this.#clock.soon(resolve));
    }
    const name = Buffer.from(this.#random.bytes(NAME_BYTES)).toString('hex');
    await catalogue.note({ actors, rows: [fact(NAME_KEY, name)] }, sequence);
    return name;
  }

  #open(): ActorCatalogue {
    this.#catalogue ??= new PartitionCatalogue(
      this.#clock,
      (isAgain) => this.#openFile(isAgain),
      (actor) => this.#removed(actor),
    );
    return this.#catalogue;
  }

  /** A missing catalogue would be created, and would list no actor. */
  #openFile(isAgain: boolean): Shard {
    if (isAgain) this.requireCatalogue();
    const shard = this.#files.openCatalogue(partitionTables);
    const bytes = isAgain && this.#name !== undefined && shard.get(CatalogueTable.facts, NAME_KEY);
    if (bytes === false || (bytes !== undefined && decodeJsonRow(bytes) === this.#name)) return shard;
    void shard.close();
    throw lostCatalogue('was replaced under the running member');
  }

  /** Forgets a removed actor: an actor that is created with its name is another one. */
  #removed(actor: ActorId): void {
    this.#applied.delete(actor);
    const ahead = this.#ahead.get(actor);
    if (ahead === undefined) return;
    ahead.isPending = false;
    ahead.sequence = 0;
  }

  /** Checks that the floors include what is known of the shards that may be ahead of the previous position. */
  #requireFloors(catalogue: ActorCatalogue, position: number): void {
    for (const [actor, { sequence }] of this.#ahead) {
      const row = sequence > position ? undefined : catalogue.get(actor);
      assert(
        row === undefined || row.floor >= sequence,
        `the position is ${position}, ${actor} has record ${sequence} and its floor is ${row?.floor}`,
      );
    }
  }

  #inspectShards(catalogue: ActorCatalogue): void {
    const identity = catalogue.fact<string>(STREAM_KEY);
    if (identity === undefined) return;
    this.#stream = identity;
    const change = catalogue.fact<StoredChange>(CHANGE_KEY);
    if (change !== undefined) {
      const { chain, epoch, sequence } = change;
      this.#changed = sequence;
      this.#newest = { identity, sequence, epoch, chain: Buffer.from(chain, 'hex') };
    }
    for (const actor of catalogue.keysOf(AHEAD)) {
      const { mark, sequence = 0 } = this.#files.headOf(actor) ?? {};
      // The files of a removed actor may still exist. They do not belong to one that is created with its name.
      const isListed = catalogue.get(actor) !== undefined;
      this.#ahead.set(actor, { sequence: isListed ? sequence : 0, isPending: false, stores: 0 });
      // The previous process may have stored a position past records it had not recorded. Only the log confirms a mark.
      if (isListed) this.#applied.set(actor, { created: 0, floor: sequence });
      if (mark === undefined || sequence <= (this.#newest?.sequence ?? 0)) continue;
      this.#newest = { identity, sequence, epoch: mark.epoch, chain: Buffer.from(mark.chain) };
    }
  }

  async #coverShard(actor: string, newest: LogPosition, stream: readonly Write[]): Promise<void> {
    const known = this.#ahead.get(actor);
    if (known === undefined || stream.length > 0) {
      const row = { table: AHEAD, key: keyOfActor(actor), value: Buffer.alloc(0) };
      await this.#open().note({ rows: [...stream, row] }, newest.sequence);
    }
    const sequence = this.#ahead.get(actor)?.sequence ?? 0;
    this.#ahead.set(actor, { sequence, isPending: true, stores: 0 });
  }

  async #coverChange(sequence: number, newest: LogPosition, stream: readonly Write[]): Promise<void> {
    if (this.#changed >= sequence && stream.length === 0) return;
    const change: StoredChange = {
      sequence: newest.sequence,
      epoch: newest.epoch,
      chain: newest.chain.toString('hex'),
    };
    await this.#open().note({ rows: [...stream, fact(CHANGE_KEY, change)] }, newest.sequence);
    this.#changed = Math.max(this.#changed, newest.sequence);
  }
}

function fact(name: string, value: unknown): Write {
  return { table: CatalogueTable.facts, key: name, value: encodeJsonRow(value) };
}

/**
 * Returns whether a row has more than the known one: an earlier copy of a file lowers no floor. A file of a removed
 * actor does not list it.
 */
function isNews({ floor, mark }: CatalogueRow, known: CatalogueRow | undefined): boolean {
  return known !== undefined && (floor > known.floor || (floor === known.floor && mark !== undefined));
}

function lostCatalogue(what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `the catalogue of the actors of a partition ${what}: it is unknown whether all of them exist`,
  );
}
