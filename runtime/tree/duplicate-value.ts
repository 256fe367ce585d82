import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeReader } from './node-reader.ts';
import type { UniqueClash } from './unique-claims.ts';

/** Whether the caller may read a property of a node. */
export type SeesProperty = (workspace: string, id: string, property: string) => boolean;

/**
 * The error for a unique value that two nodes have. It names only nodes of which the caller may read the property: neither
 * the existence of a hidden node nor a hidden value must be disclosed.
 *
 * @param tree contains both nodes
 * @returns `VALIDATION_FAILED`; `details.nodes` has id and path of the nodes it names
 */
export function duplicateValue(
  tree: NodeReader,
  sees: SeesProperty,
  { ids, property, workspace }: Omit<UniqueClash, 'operation'>,
): ServiceError {
  const nodes = ids.flatMap((id) => {
    const path = sees(workspace, id, property) ? tree.byId(workspace, id)?.path : undefined;
    return path === undefined ? [] : [{ id, path }];
  });
  const [one, other] = nodes.map(({ path }) => `'${path}'`);
  let told = 'two nodes have the same value';
  if (other !== undefined) told = `${one} and ${other} have the same value`;
  else if (one !== undefined) told = `${one} has the same value as another node`;
  return invalid(`Property '${property}' must be unique; ${told}`, {
    field: `properties.${property}`,
    ...(nodes.length === 0 ? {} : { details: { nodes } }),
  });
}
