import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
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
} from '#runtime/actor/actor-catalogue.ts';
import type { RecordMark, Write } from '#runtime/log/log-entry.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';

/** Times the position is stored before a shard that got nothing meanwhile does not count as ahead of it any more. */
const IDLE_STORES = 2;

/** Number of the table with the actors whose shards may be ahead of the stored position. */
const AHEAD = catalogueTables.length;

/** Names of the tables of the catalogue of a partition, in the order of their numbers. */
const partitionTables: readonly string[] = [...catalogueTables, 'ahead'];

/** Actors looked at in one turn of the event loop. */
const LOOKED_AT_ONCE = 64;

/** Random bytes of the name of a catalogue. */
const NAME_BYTES = 16;

const NAME_KEY = 'name';
const STREAM_KEY = 'stream';
const CHANGE_KEY = 'change';

/** What a catalogue of a partition is kept in, and the shards it tells of. */
export interface ShardFiles {
  /** Whether there is a catalogue. */
  hasCatalogue(): boolean;
  /** Reads all of the catalogue without opening it. @returns its path and what is damaged */
  damageOfCatalogue?(): Promise<{ readonly path: string; readonly what: string } | undefined>;
  /** Opens the catalogue; makes it where there is none. @param tables names of its tables, in the order of their numbers */
  openCatalogue(tables: readonly string[]): Shard;
  /** Every actor that has a folder. */
  all(): Promise<readonly string[]>;
  /** What is there was replaced by something else: nothing that was known of it holds any more. */
  replaced?(): void;
  /** Knows from now on which actors there should be; undefined: nobody uses them. */
  useCatalogue(catalogue: ActorCatalogue | undefined, isShared: true): void;
  /** @throws {ServiceError} `DATA_CORRUPTED` when the file of an actor that should have content is missing or empty */
  requireFile(actor: string): void;
  /** What the file of an actor's shard says of itself, while nobody has it open; undefined where it says nothing. */
  headOf(actor: string): Pick<ShardPosition, 'sequence' | 'mark'> | undefined;
}

/** A shard that may be ahead of the stored position. */
interface Ahead {
  /** Newest record it is known to have. */
  sequence: number;
  /** Whether it is being given something. */
  isPending: boolean;
  /** Times the position was stored since it was given something. */
  stores: number;
}

/** The newest record that made or removed an actor, as it is stored. */
interface StoredChange {
  readonly sequence: number;
  readonly epoch: number;
  readonly chain: string;
}

/** Tells besides which actors are removed. */
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
 * How far the shards of a partition reach, by what they say themselves: each carries the sequence, the epoch and the chain
 * of the newest record it has. The stored position is the bound from below up to which they have everything, and some of
 * a second old; a machine that lost its power may have shards that are ahead of it. When the servers lost those records
 * as well, whatever is written in their place would be taken for what the shards have already. So the stream has to hold
 * the newest record that any shard tells of, or the log went back.
 *
 * Not every shard is looked at for that. The catalogue names those that may be ahead, before they are given anything;
 * and the newest record that made or removed an actor, of which no shard may tell.
 *
 * Invariant: no position is stored that is past a record whose actor has a floor below it. What is before the position is
 * not read again, so a shard that lost such a record would be taken for one that never had it. So a record raises the
 * floor when it is applied, when it is skipped because the shard has it, and when it is left out; and the floors are on the
 * disk before the position is.
 *
 * Enforcement: {@link ShardPositions.storing}; test/support/floors.ts whenever a process of a simulation begins.
 *
 * @see Reliability: R2, R9
 */
export class ShardPositions {
  readonly #files: ShardFiles;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ahead = new Map<string, Ahead>();
  #catalogue: ActorCatalogue | undefined;
  /** Of the stream, as the catalogue has it. */
  #stream: string | undefined;
  #changed = 0;
  #newest: LogPosition | undefined;
  /** What shards have that the rows of the catalogue do not say yet. */
  readonly #applied = new Map<ActorId, CatalogueRow>();
  #name: string | undefined;
  #isLooked = false;
  /** Under way, or found nothing. */
  #verified: Promise<void> | undefined;
  /** The look for files that are gone. */
  #search: Promise<unknown> | undefined;
  /** The shards are being replaced. */
  #isSuspended = false;

  constructor(files: ShardFiles, clock: Clock, random: Random) {
    this.#files = files;
    this.#random = random;
    this.#clock = clock;
  }

  /** The newest record shards may have something of; undefined: nothing says so. */
  get newest(): LogPosition | undefined {
    return this.#newest;
  }

  /** Name of the catalogue while the actors are known to be listed in it. */
  get name(): string | undefined {
    return this.#name;
  }

  /**
   * Begins to use the catalogue. A folder that never had one is listed as it is.
   *
   * @param position as it is stored
   * @param named the catalogue that was stored with it
   * @param least how many actors there were where the position does not name one
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
    this.look();
    const catalogue = this.#open();
    const name = catalogue.fact<string>(NAME_KEY);
    if (named !== undefined && named !== name) throw lostCatalogue('is of other files');
    if (named !== undefined && catalogue.sequence < (position?.sequence ?? 0))
      throw lostCatalogue(`ends at log record ${catalogue.sequence}`);
    // A version that knows nothing of catalogues stores a position without a name: what it made is not listed.
    const isListed = name !== undefined && (named !== undefined || position === undefined);
    this.#name = isListed ? name : await this.#list(catalogue, position?.sequence ?? 0);
    this.#files.useCatalogue(catalogue, true);
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` when the file of the catalogue is gone while it is used */
  requireCatalogue(): void {
    if (this.#name !== undefined && !this.#files.hasCatalogue())
      throw lostCatalogue('was removed under the running member');
  }

  /** Whether there is no actor, and no list that says so: it is not known that there should be none. */
  async isBare(): Promise<boolean> {
    return !this.#files.hasCatalogue() && (await this.#files.all()).length === 0;
  }

  /** Something else was put in the place of the shards. @returns how many there are */
  async replaced(): Promise<number> {
    this.#files.replaced?.();
    return (await this.#files.all()).length;
  }

  /** Every actor there should be. */
  async actors(): Promise<readonly ActorId[]> {
    if (this.#name === undefined) return this.#files.all();
    return this.#open().under().sort();
  }

  /**
   * To be called when actors may be used; looks once.
   *
   * @param giveUp whether to go on without an actor
   * @returns why an actor that should have content lacks its file; undefined when none does
   */
  lost(giveUp: (actor: ActorId, cause: unknown) => boolean = () => false): Promise<unknown> {
    this.#search ??= this.#lookForLost(giveUp);
    return this.#search;
  }

  async #lookForLost(giveUp: (actor: ActorId, cause: unknown) => boolean): Promise<unknown> {
    try {
      let last: ActorId | undefined;
      for (let catalogue = this.#catalogue; catalogue !== undefined; catalogue = this.#catalogue) {
        const page = catalogue.page(last, LOOKED_AT_ONCE);
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
      // It was closed meanwhile, or cannot be read at present: whoever needs a file is told.
    }
    return undefined;
  }

  /**
   * To be called before a position is stored: what shards have of the records before it is nowhere else then.
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
    // The catalogue has them from here on, and tries again what it cannot store.
    this.#applied.clear();
    await noted;
    this.#requireFloors(catalogue, sequence);
  }

  /**
   * Verifies the catalogue the process before this one left, once: opening a damaged one may end the process. To be called
   * before {@link look}. Whoever calls it meanwhile waits for the same: nobody has it open until it is over.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async verify(): Promise<void> {
    if (this.#isLooked || this.#isSuspended) return;
    this.#verified ??= this.#verify();
    const verified = this.#verified;
    try {
      await verified;
    } catch (cause) {
      // The file may be brought back.
      if (this.#verified === verified) this.#verified = undefined;
      throw cause;
    }
  }

  async #verify(): Promise<void> {
    if (!this.#files.hasCatalogue()) return;
    const damage = await this.#files.damageOfCatalogue?.();
    if (damage !== undefined) throw lostCatalogue(`is damaged (${damage.path}: ${damage.what})`);
  }

  /**
   * Looks at what the process before this one left, once.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  look(): void {
    if (this.#isLooked || this.#isSuspended) return;
    if (this.#files.hasCatalogue()) this.#lookAtShards(this.#open());
    this.#isLooked = true;
  }

  /**
   * To be called before something of a record is brought to the disk.
   *
   * @param sequence of the record
   * @param newest the newest record the stream is known to hold
   * @param actor whose shard gets it; undefined: an actor is made or removed
   * @returns resolves when the disk says so
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

  /** A record of an actor was left out, because its shard is damaged: one that ends before it lacks something. */
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
    // A shard that is looked at in vain does no harm, and what fails is tried again.
    if (rows.length > 0)
      this.#open()
        .note({ rows }, 0)
        .catch(() => undefined);
  }

  /** Lets go of the catalogue: its folder is going to be replaced or removed. Until {@link resume} nothing is looked at. */
  async suspend(): Promise<void> {
    this.#isSuspended = true;
    await this.close();
  }

  /** Begins anew with what is there now. */
  resume(): void {
    this.#isSuspended = false;
    this.#isLooked = false;
    this.#verified = undefined;
    this.#ahead.clear();
    this.#applied.clear();
    this.#changed = 0;
    this.#stream = undefined;
    this.#newest = undefined;
  }

  /** Lets go of the catalogue. What it said is known. */
  async close(): Promise<void> {
    const catalogue = this.#catalogue;
    this.#catalogue = undefined;
    this.#name = undefined;
    this.#search = undefined;
    this.#files.useCatalogue(undefined, true);
    await catalogue?.close();
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` when there are fewer actors than there were, or none where nothing says how many */
  async #requireActors(least: number | undefined): Promise<void> {
    if (least === undefined ? !(await this.isBare()) : (await this.#files.all()).length >= least) return;
    throw new ServiceError(
      'DATA_CORRUPTED',
      least === undefined
        ? 'a partition has a position in its log, and no actors and no list of them: nobody can say whether it had any'
        : `a partition had ${least} actors when its position was stored, and has fewer`,
    );
  }

  /** Lists what there is. @returns the name of the catalogue */
  async #list(catalogue: ActorCatalogue, sequence: number): Promise<string> {
    const actors = new Map<ActorId, CatalogueRow | null>(catalogue.under().map((actor) => [actor, null]));
    for (const [index, actor] of (await this.#files.all()).entries()) {
      const head = this.#files.headOf(actor);
      // One without a file lost it: actors are made with it.
      actors.set(actor, { created: 0, floor: head?.sequence ?? FLOOR_NOT_EMPTY, mark: head?.mark });
      if (index % LOOKED_AT_ONCE === 0) await new Promise<void>((resolve) => this.#clock.soon(resolve));
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

  /** One that is gone would be made, and no actor would be listed in it. */
  #openFile(isAgain: boolean): Shard {
    if (isAgain) this.requireCatalogue();
    const shard = this.#files.openCatalogue(partitionTables);
    const bytes = isAgain && this.#name !== undefined && shard.get(CatalogueTable.facts, NAME_KEY);
    if (bytes === false || (bytes !== undefined && decodeJsonRow(bytes) === this.#name)) return shard;
    void shard.close();
    throw lostCatalogue('was replaced under the running member');
  }

  /** What is known of it says nothing of one that is made under its name. */
  #removed(actor: ActorId): void {
    this.#applied.delete(actor);
    const ahead = this.#ahead.get(actor);
    if (ahead === undefined) return;
    ahead.isPending = false;
    ahead.sequence = 0;
  }

  /** What is known of the shards that may be ahead of the position before this one is in their floors. */
  #requireFloors(catalogue: ActorCatalogue, position: number): void {
    for (const [actor, { sequence }] of this.#ahead) {
      const row = sequence > position ? undefined : catalogue.get(actor);
      assert(
        row === undefined || row.floor >= sequence,
        `the position is ${position}, ${actor} has record ${sequence} and its floor is ${row?.floor}`,
      );
    }
  }

  #lookAtShards(catalogue: ActorCatalogue): void {
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
      this.#ahead.set(actor, { sequence, isPending: false, stores: 0 });
      // The process before may have stored a position behind what nobody had told it of. Only the log confirms a mark.
      this.#applied.set(actor, { created: 0, floor: sequence });
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
 * Whether a row tells more than the one that is known: an earlier copy of a file lowers no floor. What is there of an actor
 * that is removed does not list it.
 */
function isNews({ floor, mark }: CatalogueRow, known: CatalogueRow | undefined): boolean {
  return known !== undefined && (floor > known.floor || (floor === known.floor && mark !== undefined));
}

function lostCatalogue(what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `the catalogue of the actors of a partition ${what}: nobody can say whether all of them are there`,
  );
}
