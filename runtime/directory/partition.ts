import type { ActorId } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import { stableHash } from '#runtime/base/stable-hash.ts';

/** Most partitions of a cluster: each has a log of its own, and the servers carry a bounded number of them. */
export const PARTITIONS_MAX = 256;

/**
 * The partition of an actor. Everything of a repository is in one, so that forks and merges stay in one log; what
 * belongs to a tenant itself is in another. Stored data rests on it: it never changes.
 *
 * @param partitions number of partitions, 1 to {@link PARTITIONS_MAX}
 */
export function partitionOf(actor: ActorId, partitions: number): number {
  assert(partitions >= 1 && partitions <= PARTITIONS_MAX, 'a cluster has 1 to 256 partitions');
  const tenantEnd = actor.indexOf('/');
  assert(tenantEnd > 0, 'an actor id has an owner and a kind');
  const repositoryEnd = actor.indexOf('/', tenantEnd + 1);
  // `{tenant}/{kind}` is the tenant's own; no repository is named `tenant:…`, for a colon is encoded in an id.
  const owner = repositoryEnd < 0 ? `tenant:${actor.slice(0, tenantEnd)}` : actor.slice(0, repositoryEnd);
  return stableHash(owner) % partitions;
}
