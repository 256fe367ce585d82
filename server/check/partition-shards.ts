import { rm } from 'node:fs/promises';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { PartitionMember } from '#cluster/ownership/partition-member.ts';
import type { FoundShards, OwnShard, OwnShards } from './own-shards.ts';
import { shardPathOf } from './shard-path.ts';

/** Time before a shard is copied again whose partition changed its role meanwhile, in milliseconds. */
const RETRY_MS = 250;

/** Maximum number of such retries; then other members have the partition. */
const RETRIES_MAX = 20;

/** Errors that mean that a partition is needed for something else, not that a check was cancelled. */
const movedCodes: ReadonlySet<string> = new Set(['SHUTTING_DOWN', 'REQUEST_CANCELLED', 'NOT_OWNER']);

/** Dependencies of {@link PartitionShards}. */
export interface PartitionShardsEnvironment {
  /** Number of partitions of the cluster. */
  readonly partitions: number;
  /** Returns this member's side of each partition. */
  readonly members: () => ReadonlyMap<number, PartitionMember>;
  /** Returns the store of a partition's shards. */
  readonly storeOf: (partition: number) => ActorStore | undefined;
  /** Discards this member's shards of a partition and rebuilds them from the log. */
  readonly damaged: (partition: number, cause: ServiceError) => void;
  readonly clock: Clock;
}

/** The shards of the partitions that a member of a cluster owns or follows. Damaged ones are rebuilt from the log. */
export class PartitionShards implements OwnShards {
  readonly #environment: PartitionShardsEnvironment;

  constructor(environment: PartitionShardsEnvironment) {
    this.#environment = environment;
  }

  async all(): Promise<FoundShards> {
    const { members, partitions, storeOf } = this.#environment;
    const shards: OwnShard[] = [];
    const partitionsSkipped: number[] = [];
    for (let partition = 0; partition < partitions; partition += 1) {
      const role = members().get(partition)?.role;
      const store = storeOf(partition);
      if (store === undefined || (role !== 'owning' && role !== 'following')) {
        partitionsSkipped.push(partition);
        continue;
      }
      const side = new PartitionSide(partition, this.#environment);
      for (const actor of await store.listed())
        shards.push({
          actor,
          partition,
          file: shardPathOf(store, actor),
          tableNames: store.tablesOf(actor),
          copy: async (folder, signal) => {
            // An open shard is complete without its file, until it is closed.
            if (store.exists(actor)) store.requireFile(actor);
            return side.copy(actor, folder, signal);
          },
          damaged: () => side.damaged(actor),
        });
    }
    return { shards, partitionsSkipped };
  }
}

/** One partition during one check. */
class PartitionSide {
  readonly #partition: number;
  readonly #environment: PartitionShardsEnvironment;
  /** Whether its shards are being discarded. */
  #isRebuilt = false;

  constructor(partition: number, environment: PartitionShardsEnvironment) {
    this.#partition = partition;
    this.#environment = environment;
  }

  damaged(actor: ActorId): void {
    const { damaged, members } = this.#environment;
    const met = members().get(this.#partition)?.damage;
    // Damage that returns so soon is in the log: discarding the shards again would not help.
    if (this.#isRebuilt || met?.wasRebuilt === true || met?.contained !== undefined) return;
    this.#isRebuilt = true;
    damaged(this.#partition, new ServiceError('DATA_CORRUPTED', `A check found that ${actor} is damaged`));
  }

  async copy(actor: ActorId, folder: string, signal: AbortSignal): Promise<void> {
    for (let retries = 0; retries <= RETRIES_MAX && !this.#isRebuilt; retries += 1) {
      if (await this.#attempt(actor, folder, signal)) return;
      await rm(folder, { recursive: true, force: true });
      await sleep(this.#environment.clock, RETRY_MS);
    }
    throw new ServiceError('NOT_OWNER', `${actor} is not this member's any more`);
  }

  /** @returns false when the partition changes its role */
  async #attempt(actor: ActorId, folder: string, signal: AbortSignal): Promise<boolean> {
    const member = this.#environment.members().get(this.#partition);
    try {
      if (member?.owned !== undefined) {
        await member.owned.host.copy(actor, folder);
        return true;
      }
      const isCopied = await member?.still(async (shards, _, unwanted) => {
        if (shards.sequenceOf(actor) === undefined) throw new ServiceError('NOT_FOUND');
        await shards.copy(actor, folder, AbortSignal.any([signal, unwanted]));
        return true;
      });
      return isCopied === true;
    } catch (error) {
      const isMoving = error instanceof ServiceError && movedCodes.has(error.code) && !signal.aborted;
      if (isMoving) return false;
      throw error;
    }
  }
}
