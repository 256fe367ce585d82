/** Properties that reads derive from the type of a node; never stored. @see docs/interface/nodes.md#the-node-object */
export const derivedNames: readonly string[] = Object.freeze(['$supertypes', '$mixins']);

/** Whether a property is derived from the type of a node. */
export function isDerivedName(name: string): boolean {
  return derivedNames.includes(name);
}
