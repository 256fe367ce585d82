import { getHeapStatistics } from 'node:v8';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { locksActor } from '#actors/locks/locks-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { tenantActor } from '#actors/tenant/tenant-actor.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import type { Limits } from '#runtime/config/options.ts';
import { jobsLimits } from './host-limits.ts';

/**
 * Memory one node takes while a commit changes it, in bytes of the heap. Measured with trees of 20,000 nodes: a copy
 * 3.2 KB, a move 3.3 KB, a removal 4.6 KB.
 */
const CHANGED_NODE_BYTES = 5 * 1024;

/** Part of the heap that one commit may take. */
const COMMIT_SHARE = 3;

/**
 * Most nodes one commit may change: what is configured, and no more than what the heap has room for beside everything
 * else. A copy of a larger tree would end the process.
 *
 * @param heapBytes what the heap may grow to
 */
export function commitNodesMax(configured: number, heapBytes: number): number {
  const fitting = Math.floor(heapBytes / COMMIT_SHARE / CHANGED_NODE_BYTES);
  return Math.max(1, Math.min(configured, fitting));
}

/** Every kind of actor of the product. */
export function actorKinds(limits: Limits): readonly ActorKind[] {
  const heapBytes = getHeapStatistics().heap_size_limit;
  return Object.freeze([
    tenantActor,
    repositoryActor,
    branchActor({
      commitNodesMax: commitNodesMax(limits.commitNodesMax, heapBytes),
      pathBytesMax: limits.pathBytesMax,
    }),
    locksActor,
    jobsActor(jobsLimits(limits)),
  ]);
}
