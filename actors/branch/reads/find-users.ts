import { spellingsOf } from '#runtime/access/identity/email-address.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import {
  isJsonArray,
  type JsonObject,
  type JsonValue,
  ownValue,
} from '#runtime/content/values/json-value.ts';
import type { ScanSource } from '#runtime/scan/scan.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { BranchState } from '../branch-state.ts';
import { ACCESS_WORKSPACE, isAmongUsers, USER_TYPE } from '../access/user-places.ts';
import { settle } from '../long-answer.ts';
import { requireEngine } from '../pair/pair-queries.ts';
import { type FindUsers, type UserNode, USERS_FOUND_MAX } from '../user-messages.ts';
import { VisibleNodes } from './visible-nodes.ts';

const amongUsers = Object.freeze({ workspace: ACCESS_WORKSPACE, nodeType: USER_TYPE });

/** @see user-messages.ts, FindUsers */
export function findUsers(
  state: BranchState,
  context: QueryContext,
  { by }: FindUsers,
): readonly UserNode[] | Promise<readonly UserNode[]> {
  requireEngine(context);
  return settle(context, (reader) => usersOf(state, context, reader, by));
}

/** Where to look; what is found in one place ends the search. */
function sourcesOf(by: FindUsers['by']): readonly ScanSource[] {
  if ('email' in by)
    return [...spellingsOf(by.email)].map((value) => ({
      kind: 'unique',
      ...amongUsers,
      property: 'email',
      value,
    }));
  return [
    {
      kind: 'index',
      ...amongUsers,
      index: 'user_id',
      where: [{ operator: 'eq', value: by.userId }],
    },
  ];
}

function* usersOf(
  state: BranchState,
  context: QueryContext,
  reader: TableReader,
  by: FindUsers['by'],
): Generator<undefined, readonly UserNode[]> {
  const { workspace } = amongUsers;
  // Without the workspace there is nobody.
  if (!state.hasWorkspace(workspace)) return [];
  const nodes = new VisibleNodes(state, context, reader, { workspace });
  const found: UserNode[] = [];
  for (const source of sourcesOf(by)) {
    for (const row of nodes.rows(source, { limit: USERS_FOUND_MAX })) {
      if (row === undefined) yield undefined;
      else if (isAmongUsers(reader, row.record)) found.push(yield* userNode(row.record));
    }
    if (found.length > 0) break;
  }
  return found;
}

function* userNode(record: NodeRecord): Generator<undefined, UserNode> {
  const { id, path, version } = record;
  const properties = yield* record.decode();
  return {
    id,
    path,
    version,
    userId: textIn(properties, 'user_id'),
    email: textIn(properties, 'email'),
    displayName: textIn(properties, 'display_name'),
    status: textIn(properties, 'status'),
    canLogin: ownValue(properties, 'can_login') !== false,
    roles: textsIn(properties, 'roles'),
    groups: textsIn(properties, 'groups'),
  };
}

function textIn(properties: JsonObject, name: string): string | null {
  const value = ownValue(properties, name);
  return typeof value === 'string' ? value : null;
}

function textsIn(properties: JsonObject, name: string): readonly string[] {
  const value: JsonValue | undefined = ownValue(properties, name);
  if (value === undefined || !isJsonArray(value)) return [];
  return value.filter((each) => typeof each === 'string');
}
