import { verifyBuiltInsRow } from '#actors/branch/schema/built-ins.ts';
import { checkIdentities } from '#actors/identities/check-identities.ts';
import { checkTenant } from '#actors/tenant/check-tenant.ts';
import { checkJobs } from '#actors/jobs/check-jobs.ts';
import { actorKindOf } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { checkBranch } from '#runtime/check/check-branch.ts';
import {
  checkJsonRows,
  checkMeta,
  checkOutcomes,
  type OnDamage,
  ownTables,
} from '#runtime/check/check-rows.ts';
import type { TableReader } from '#runtime/shard/shard.ts';

/**
 * Verifies all stored data of an actor.
 *
 * @param tableNames of its kind, in the order of their numbers
 * @returns pauses often enough to be run in slices
 */
export function* checkActor(
  actor: ActorId,
  reader: TableReader,
  tableNames: readonly string[],
  tell: OnDamage,
): Generator<undefined, void> {
  const kind = actorKindOf(actor);
  yield* checkMeta(reader, tell, kind === 'branch' ? verifyBuiltInsRow : undefined);
  yield* checkOutcomes(reader, tell);
  switch (kind) {
    case 'branch':
      return yield* checkBranch(reader, tableNames, tell);
    case 'jobs':
      return yield* checkJobs(reader, tell);
    case 'identities':
      return yield* checkIdentities(reader, tell);
    case 'tenant':
      return yield* checkTenant(reader, tell);
    default:
      return yield* checkJsonRows(reader, tableNames, ownTables(tableNames), tell);
  }
}
