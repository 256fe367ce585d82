import type { Policy } from '#runtime/access/policy.ts';

/** A policy that decides node by node and permits nothing else. */
export function policyThat(allows: Policy['allows']): Policy {
  return {
    unrestricted: false,
    administers: false,
    locks: false,
    allows,
    readScope: (workspace) => ({
      isAll: false,
      isNone: false,
      allows: ({ nodeType, path }) => allows('read', { workspace, path, nodeType }),
    }),
  };
}
