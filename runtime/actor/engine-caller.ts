import { policyFor } from '#runtime/access/policy.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';

/** The engine itself as a caller, for work nobody in particular asked for. @param tenant whose actors are meant */
export function engineCaller(tenant: string): Caller {
  const principal = Object.freeze({ kind: 'system', tenant } as const);
  return Object.freeze({ principal, policy: policyFor(principal, tenant) });
}
