import type { ShardFiles } from '#cluster/replication/shard-positions.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { ActorCatalogue } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import type { ShardPosition } from '#runtime/shard/shard.ts';

/** The shards of a partition in memory: what positions are looked for in. */
export class MemoryShardFiles implements ShardFiles {
  /** What stored heads say, by actor. */
  readonly heads: Map<string, Pick<ShardPosition, 'sequence' | 'mark'>>;
  /** How the next step of the catalogue fails. */
  failure: ServiceError | undefined;
  /** That is used. */
  catalogue: ActorCatalogue | undefined;
  /** How often a head was looked at. */
  looks = 0;
  readonly #disk: MemoryDisk;

  constructor(disk: MemoryDisk = new MemoryDisk(), heads: MemoryShardFiles['heads'] = new Map()) {
    this.#disk = disk;
    this.heads = heads;
  }

  /** What a power cut leaves at this moment. */
  crash(): MemoryShardFiles {
    return new MemoryShardFiles(this.#disk.crash(), new Map(this.heads));
  }

  hasCatalogue(): boolean {
    return this.#disk.flushed.tables.size > 0;
  }

  openCatalogue(tables: readonly string[]): MemoryShard {
    return new MemoryShard(this.#disk, tables.length, systemClock, () => this.failure);
  }

  all(): Promise<readonly string[]> {
    return Promise.resolve([...this.heads.keys()]);
  }

  useCatalogue(catalogue: ActorCatalogue | undefined): void {
    this.catalogue = catalogue;
  }

  requireFile(actor: string): void {
    if ((this.heads.get(actor)?.sequence ?? 0) < (this.catalogue?.get(actor)?.floor ?? 0))
      throw new ServiceError('DATA_CORRUPTED', actor);
  }

  headOf(actor: string): Pick<ShardPosition, 'sequence' | 'mark'> | undefined {
    this.looks += 1;
    return this.heads.get(actor);
  }
}
