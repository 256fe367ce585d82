import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import { operations } from '#runtime/access/policy.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { StatementCaller } from '#runtime/sql-plan/ports.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { ACCESS_WORKSPACE } from '../access/user-places.ts';
import { NodeAccess } from '../reads/node-access.ts';
import { recordAtOnce } from './record-at-once.ts';
import { ReferenceResolver } from './reference-resolver.ts';
import type { BranchTables } from './branch-tables.ts';

/** What a text has that calls the function for the node of the caller. It may also be part of something else. */
const namesNode = /SVC_CURRENT_USER/i;

/**
 * The caller of statements, for the functions about it.
 *
 * @param sql text of the statements: the node of the caller is read only where it is asked for
 * @returns yields where the work may pause
 * @see docs/interface/sql-access.md#functions
 */
export function* statementCaller(tables: BranchTables, sql: string): Generator<undefined, StatementCaller> {
  let probe: PermissionProbe | undefined;
  let resolver: ReferenceResolver | undefined;
  return {
    id: callerId(tables),
    node: namesNode.test(sql) ? yield* callerNode(tables) : null,
    may: (operation, resource) => {
      // Few statements ask.
      probe ??= new PermissionProbe(tables);
      return probe.may(operation, resource);
    },
    resolve: (value, depth) => {
      resolver ??= new ReferenceResolver(tables);
      return resolver.resolve(value, depth);
    },
  };
}

/** Id of the identity, also of the user as whom an administrator acts, or of the account of an administrator. */
function callerId({ context }: BranchTables): string | null {
  const { policy, principal } = context.caller;
  switch (principal.kind) {
    case 'identity':
      return principal.identityId;
    case 'impersonating':
      return policy.caller?.userId ?? null;
    case 'admin':
      return principal.userId;
    case 'system':
    case 'anonymous':
      return null;
  }
}

/** The user node of the caller, as the caller may see it. */
function* callerNode(tables: BranchTables): Generator<undefined, JsonObject | null> {
  const userId = tables.context.caller.policy.caller?.localUserId ?? null;
  if (userId === null) return null;
  const { context, moment, reader } = yield* tables.other(DECIDING_BRANCH);
  const record = yield* new Moment(reader, moment).tree.byIdInSteps(ACCESS_WORKSPACE, userId);
  const access = new NodeAccess(context, reader);
  if (record === undefined || !access.mayRead(ACCESS_WORKSPACE, record)) return null;
  const { record: shown } = yield* access.shown(ACCESS_WORKSPACE, record);
  const { id, name, nodeType, path } = shown;
  const properties = yield* shown.decode();
  return { id, name, path, node_type: nodeType, workspace: ACCESS_WORKSPACE, properties };
}

/** Asks what the caller may do with a node of the branch. */
class PermissionProbe {
  readonly #tables: BranchTables;
  readonly #access: NodeAccess;
  readonly #moment: Moment;

  constructor(tables: BranchTables) {
    this.#tables = tables;
    this.#access = new NodeAccess(tables.context, tables.reader);
    this.#moment = new Moment(tables.reader, tables.moment);
  }

  /** @see StatementCaller */
  may(given: string, resource: string): boolean {
    const operation = operations.find((each) => each === given.toLowerCase());
    if (operation === undefined)
      throw invalid(`Unknown permission '${given}'; there are ${operations.join(', ')}`);
    const slash = resource.indexOf('/');
    const workspace = (slash < 0 ? resource : resource.slice(0, slash)).replace(/:$/, '');
    if (!isWorkspaceName(workspace) || !this.#tables.state.hasWorkspace(workspace)) return false;
    const path = slash < 0 ? '/' : resource.slice(slash);
    const record = this.#at(workspace, path);
    // Of a node that is not there only its place is known.
    if (record === undefined)
      return operation === 'create' && this.#access.allowsAt(operation, workspace, path, '');
    if (!this.#access.mayRead(workspace, record)) return false;
    return operation === 'read' || this.#access.allows(operation, workspace, record);
  }

  #at(workspace: string, path: string): NodeRecord | undefined {
    const id = path === '/' ? undefined : this.#moment.tree.idAt(workspace, path);
    return id === undefined ? undefined : recordAtOnce(this.#tables, this.#moment, workspace, id);
  }
}
