import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import {
  ActorCatalogue,
  CatalogueTable,
  catalogueTables,
  keyOfActor,
} from '#runtime/actor/actor-catalogue.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';

/** Times the position is stored before a shard that got nothing meanwhile does not count as ahead of it any more. */
const IDLE_STORES = 2;

/** Number of the table with the actors whose shards may be ahead of the stored position. */
const AHEAD = catalogueTables.length;

/** Names of the tables of the catalogue of a partition, in the order of their numbers. */
const partitionTables: readonly string[] = [...catalogueTables, 'ahead'];

const STREAM_KEY = 'stream';
const CHANGE_KEY = 'change';

/** What a catalogue of a partition is kept in, and the shards it tells of. */
export interface ShardFiles {
  /** Whether there is a catalogue. */
  hasCatalogue(): boolean;
  /** Opens the catalogue; makes it where there is none. @param tables names of its tables, in the order of their numbers */
  openCatalogue(tables: readonly string[]): Shard;
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
 * @see Reliability: R2, R9
 */
export class ShardPositions {
  readonly #files: ShardFiles;
  readonly #clock: Clock;
  readonly #ahead = new Map<string, Ahead>();
  #catalogue: ActorCatalogue | undefined;
  /** Of the stream, as the catalogue has it. */
  #stream: string | undefined;
  #changed = 0;
  #newest: LogPosition | undefined;
  #isLooked = false;
  /** The shards are being replaced. */
  #isSuspended = false;

  constructor(files: ShardFiles, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
  }

  /** The newest record shards may have something of; undefined: nothing says so. */
  get newest(): LogPosition | undefined {
    return this.#newest;
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

  /** The shard of an actor has flushed everything up to and including a sequence. */
  reached(actor: string, sequence: number): void {
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
    this.#ahead.clear();
    this.#changed = 0;
    this.#stream = undefined;
    this.#newest = undefined;
  }

  /** Lets go of the catalogue. What it said is known. */
  async close(): Promise<void> {
    const catalogue = this.#catalogue;
    this.#catalogue = undefined;
    await catalogue?.close();
  }

  #open(): ActorCatalogue {
    this.#catalogue ??= new ActorCatalogue('', this.#clock, () => this.#files.openCatalogue(partitionTables));
    return this.#catalogue;
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
