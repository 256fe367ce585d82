import type { ActorId } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import { stableHash } from '#runtime/base/stable-hash.ts';

/** Upper limit of partitions in a cluster: each has its own log, and the servers carry a bounded number of them. */
export const PARTITIONS_MAX = 256;

/**
 * The partition of an actor. All actors of a repository share one, so that forks and merges stay in one log. The actors
 * of a tenant itself are in another. Stored data depends on this function: it must never change.
 *
 * @param partitions number of partitions, 1 to {@link PARTITIONS_MAX}
 */
export function partitionOf(actor: ActorId, partitions: number): number {
  assert(partitions >= 1 && partitions <= PARTITIONS_MAX, 'a cluster has 1 to 256 partitions');
  const tenantEnd = actor.indexOf('/');
  assert(tenantEnd > 0, 'an actor id has an owner and a kind');
  const repositoryEnd = actor.indexOf('/', tenantEnd + 1);
  // `{tenant}/{kind}` belongs to the tenant. No repository is named `tenant:…`, because ids encode the colon.
  const owner = repositoryEnd < 0 ? `tenant:${actor.slice(0, tenantEnd)}` : actor.slice(0, repositoryEnd);
  return stableHash(owner) % partitions;
}
