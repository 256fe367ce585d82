import type { ReadNameFloor } from '#actors/tenant/messages.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';

/**
 * Returns the lower bound for the fence tokens of a new repository.
 *
 * @param repositoryId its name; default: the highest floor of all names of the tenant
 * @throws {ServiceError} `NOT_FOUND` for an unknown tenant
 */
export async function readNameFloor(router: Router, tenant: string, repositoryId?: string): Promise<number> {
  const query: ReadNameFloor = {
    type: 'ReadNameFloor',
    ...(repositoryId === undefined ? {} : { repositoryId }),
  };
  return (await router.query(actorId(tenant, 'tenant'), query, engineCaller(tenant))) as number;
}
