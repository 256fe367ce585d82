import { policyFor } from '#runtime/access/policy.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';

/** The engine itself as the caller, for work that no client requested. @param tenant tenant of the actors */
export function engineCaller(tenant: string): Caller {
  const principal = Object.freeze({ kind: 'system', tenant } as const);
  return Object.freeze({ principal, policy: policyFor(principal, tenant) });
}
