import { getHeapStatistics } from 'node:v8';
import type { SlowStatementReport } from '#actors/branch/sql/slow-statements.ts';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { identitiesActor } from '#actors/identities/identities-actor.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { locksActor } from '#actors/locks/locks-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { tenantActor } from '#actors/tenant/tenant-actor.ts';
import { heapShare } from '#runtime/base/process/heap-share.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import type { Limits } from '#runtime/config/options.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import { withOutbox } from '#runtime/jobs/outbox.ts';
import { jobsLimits } from './host-limits.ts';

/**
 * Memory used by one node while a commit changes it, in bytes of the heap. Measured with trees of 20,000 nodes: a copy
 * 3.2 KB, a move 3.3 KB, a removal 4.6 KB.
 */
const CHANGED_NODE_BYTES = 5 * 1024;

/** Divisor of the heap's load memory for one commit. */
const COMMIT_SHARE = 3;

/**
 * Returns the maximum number of nodes that one commit may change: the configured one, limited by the memory that the
 * heap has beside everything else. A copy of a larger tree would end the process.
 *
 * @param heapBytes maximum size of the heap
 */
export function commitNodesMax(configured: number, heapBytes: number): number {
  const fitting = Math.floor(heapShare(COMMIT_SHARE, heapBytes) / CHANGED_NODE_BYTES);
  return Math.max(1, Math.min(configured, fitting));
}

/**
 * Every kind of actor of the product.
 *
 * @param consumers of the change feeds of branches
 * @param slowStatements takes the reports of slow statements of SQL; absent: none is reported
 */
export function actorKinds(
  limits: Limits,
  consumers: readonly FeedConsumer[] = [],
  slowStatements?: SlowStatementReport,
): readonly ActorKind[] {
  const heapBytes = getHeapStatistics().heap_size_limit;
  return Object.freeze([
    tenantActor,
    identitiesActor,
    repositoryActor,
    withOutbox(
      branchActor(
        {
          commitNodesMax: commitNodesMax(limits.commitNodesMax, heapBytes),
          pathBytesMax: limits.pathBytesMax,
          jsonValuesMax: limits.jsonValuesMax,
          slowStatements,
        },
        consumers,
      ),
    ),
    locksActor,
    jobsActor(jobsLimits(limits)),
  ]);
}
