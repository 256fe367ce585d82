import { allFields, noFields } from '#runtime/access/field-filter.ts';
import { noNeeds, type Policy } from '#runtime/access/policy.ts';

/** A policy that decides node by node and permits nothing else. */
export function policyThat(allows: Policy['allows']): Policy {
  return {
    unrestricted: false,
    administers: false,
    locks: false,
    needs: () => noNeeds,
    allows,
    mayAllow: () => true,
    fields: (operation, subject) => (allows(operation, subject) ? allFields : noFields),
    readScope: (workspace) => ({
      isAll: false,
      isNone: false,
      allows: (node) => allows('read', { workspace, path: node.path, nodeType: node.nodeType, node }),
    }),
  };
}
