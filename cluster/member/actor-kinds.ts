import { branchActor } from '#actors/branch/branch-actor.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { locksActor } from '#actors/locks/locks-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { tenantActor } from '#actors/tenant/tenant-actor.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import type { Limits } from '#runtime/config/options.ts';
import { jobsLimits } from './host-limits.ts';

/** Every kind of actor of the product. */
export function actorKinds(limits: Limits): readonly ActorKind[] {
  return Object.freeze([
    tenantActor,
    repositoryActor,
    branchActor({ commitNodesMax: limits.commitNodesMax, pathBytesMax: limits.pathBytesMax }),
    locksActor,
    jobsActor(jobsLimits(limits)),
  ]);
}
