import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { HeadNodeReader, type NodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';

/** The workspace with users, roles, groups and settings. */
export const ACCESS_WORKSPACE = 'svc:access_control';

/** The type of users. */
export const USER_TYPE = 'svc:User';

/** Users elsewhere have no permissions. */
const USERS = '/users/';

/**
 * Whether a user node is where those who administer users have put it: below `/users`, and not in the home of a user, who
 * may create nodes there. Elsewhere it counts for nobody, and makes no other node ambiguous.
 */
export function isAmongUsers(reader: TableReader, record: NodeRecord): boolean {
  return isAmongUsersOf(new HeadNodeReader(reader), record);
}

/** As {@link isAmongUsers}, of a tree at some revision. */
export function isAmongUsersOf(
  tree: Pick<NodeReader, 'quickById'>,
  { parentId, path }: Pick<NodeRecord, 'parentId' | 'path'>,
): boolean {
  if (!path.startsWith(USERS)) return false;
  for (let id = parentId; id !== ROOT_ID; ) {
    const above = tree.quickById(ACCESS_WORKSPACE, id);
    // A folder has no content of that length.
    if (above === undefined || above instanceof LargeValue || above.nodeType === USER_TYPE) return false;
    id = above.parentId;
  }
  return true;
}
