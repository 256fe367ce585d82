import type { EditScope } from './edit-scope.ts';

/**
 * Whether a type says no to something. A flag that neither the type nor an ancestor sets says nothing, and then
 * people decide; so does a type that was deleted.
 *
 * @see Content, Query, Functions and Versioning Interface: NodeType (the flags are true, false or null)
 */
export function isDeclined(
  edit: EditScope,
  workspace: string,
  nodeType: string,
  flag: 'publishable' | 'versionable',
): boolean {
  const schema = edit.schema(workspace);
  const type = schema.nodeType(nodeType);
  if (type === undefined || type[flag]) return false;
  for (const name of type.inheritanceChain) {
    const own = schema.nodeType(name)?.nodeType[flag] ?? null;
    if (own !== null) return !own;
  }
  return false;
}
