import { compileRule } from '#runtime/access/roles/compile-rule.ts';
import { type Group, type Role, roleOf, userOf } from '#runtime/access/roles/access-nodes.ts';
import { byId, grantsOfUser } from '#runtime/access/roles/grants.ts';
import { RolePolicy } from '#runtime/access/roles/role-policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { adminOf } from './host-fixture.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';

/** Who a caller with a role is. */
export interface RoleCallerSetup {
  /** Id of the identity. Default: `ada`. */
  readonly identity?: string;
  /** Id of the user node. Default: `user-` and the identity. */
  readonly userId?: string;
  /** Default: `acme`. */
  readonly tenant?: string;
}

/**
 * A caller with one role that has some permissions, whose conditions are texts of the condition language. The principal is
 * one whose policy the branch takes as it is given, and the author of its writes is the identity.
 */
export function roleCaller(permissions: JsonValue, setup: RoleCallerSetup = {}): Caller {
  const { identity = 'ada', tenant = 'acme' } = setup;
  const properties = { role_id: 'mine', permissions };
  const role = atOnce(roleOf({ id: 'mine', path: '/roles/mine', properties }, compileRule)) as Role;
  const user = userOf({
    id: setup.userId ?? `user-${identity}`,
    path: `/users/${identity}`,
    properties: { roles: ['mine'] },
  });
  const records = { roles: byId([['mine', role] as const]), groups: new Map<string, Group>(), configs: [] };
  const policy = new RolePolicy(grantsOfUser(identity, user, records), 'main', {
    administers: false,
    locks: false,
  });
  atOnce(policy.prepare());
  return { principal: { ...adminOf(tenant, identity), username: identity }, policy };
}
