import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeReader } from './node-reader.ts';
import type { UniqueClash } from './unique-claims.ts';

/**
 * The error for a unique value that two nodes have. It names only nodes the caller may read: the existence of a hidden
 * node must not be disclosed.
 *
 * @param tree contains both nodes
 * @param sees whether the caller may read a node
 * @returns `VALIDATION_FAILED`; `details.nodes` has id and path of the nodes it names
 */
export function duplicateValue(
  tree: NodeReader,
  sees: (workspace: string, id: string) => boolean,
  { ids, property, workspace }: Omit<UniqueClash, 'operation'>,
): ServiceError {
  const nodes = ids.flatMap((id) => {
    const path = sees(workspace, id) ? tree.byId(workspace, id)?.path : undefined;
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
