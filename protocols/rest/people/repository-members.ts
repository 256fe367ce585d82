import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import type { JsonAnswer, RunQuery } from '#actors/branch/messages.ts';
import type { ReadNode } from '#actors/branch/read-messages.ts';
import type { FindUsers, UserNode } from '#actors/branch/user-messages.ts';
import type { Identity } from '#actors/identities/messages.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { isJsonArray, type JsonObject, ownValue } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { FoundBranch } from '../access/found-branch.ts';
import type { RepositoryDirectory } from '../access/repository-directory.ts';
import {
  addressOfRemoved,
  isOvertaken,
  isRemoved,
  patchUserNode,
  patchUserNodes,
  userNodesOf,
} from './user-nodes.ts';

const WORKSPACE = 'svc:access_control';
const USER_TYPE = 'svc:User';
/** Workspace and type of the settings of a repository. */
const SETTINGS_WORKSPACE = 'svc:system';
const SETTINGS_TYPE = 'svc:RepoAuthConfig';

const ROLE_TYPE = 'svc:Role';

/** Below it users keep what is theirs; roles there have no effect. */
const USERS = '/users/';

/** The node that stands for callers without a login, who are no members. */
const ANONYMOUS = '/users/system/anonymous';

/** Status of a member whose access was revoked, whatever the node says. */
const REVOKED = 'revoked';

/** Attempts at a node that others change at the same time. */
const ATTEMPTS_MAX = 5;

/** A user node, as the list of members shows it. */
export interface Member {
  readonly identityId: string | null;
  readonly email: string | null;
  readonly displayName: string | null;
  readonly roles: readonly string[];
  readonly status: string;
  /** Since when there is the node, and who made it. */
  readonly createdAt: string;
  readonly createdBy: string;
}

/** Gives people nodes in repositories. Implemented by the process that owns the actors. */
export interface Admitting {
  /**
   * Gives an identity a node with roles. A node that is there gets the roles in addition, and is active again.
   *
   * @param roles undefined: the default roles, for a node that has to be made
   * @param by the actor of the revision
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`; `CONFLICT` when the address is that of another person's node
   */
  admit(
    tenant: string,
    repository: string,
    identity: Identity,
    roles: readonly string[] | undefined,
    by: string,
  ): Promise<void>;
  /**
   * Lets a person in without a decision: with the default roles, unless somebody has ended what the person may do there. A
   * revocation at the same time wins.
   *
   * @returns whether the person is in
   * @throws {ServiceError} as {@link admit}
   */
  admitOpenly(tenant: string, repository: string, identity: Identity, by: string): Promise<boolean>;
  /** Throws where {@link admit} would refuse a person who has no account yet. @throws {ServiceError} as {@link admit} */
  requireAdmissible(
    tenant: string,
    repository: string,
    person: Pick<Identity, 'email' | 'email_verified'>,
  ): Promise<void>;
}

/**
 * What people are in repositories, read and written for the routes of administrators. Everything is done as the engine: the
 * routes decide who may.
 */
export class RepositoryMembers {
  readonly #router: Pick<Router, 'query' | 'command'>;
  readonly #directory: Pick<RepositoryDirectory, 'branch'>;
  readonly #admitting: Admitting;

  constructor(
    router: Pick<Router, 'query' | 'command'>,
    directory: Pick<RepositoryDirectory, 'branch'>,
    admitting: Admitting,
  ) {
    this.#router = router;
    this.#directory = directory;
    this.#admitting = admitting;
  }

  /** The part of a repository in actor ids. @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND` */
  async partOf(tenant: string, repository: string): Promise<string> {
    return (await this.#branchOf(tenant, repository)).repository.part;
  }

  /** @see Admitting.admit */
  admit(
    tenant: string,
    repository: string,
    identity: Identity,
    roles: readonly string[] | undefined,
    by: string,
  ): Promise<void> {
    return this.#admitting.admit(tenant, repository, identity, roles, by);
  }

  /** @see Admitting.admitOpenly */
  admitOpenly(tenant: string, repository: string, identity: Identity, by: string): Promise<boolean> {
    return this.#admitting.admitOpenly(tenant, repository, identity, by);
  }

  /** @see Admitting.requireAdmissible */
  requireAdmissible(
    tenant: string,
    repository: string,
    person: Pick<Identity, 'email' | 'email_verified'>,
  ): Promise<void> {
    return this.#admitting.requireAdmissible(tenant, repository, person);
  }

  /**
   * Requires that whoever proves an address can get a user node. An invitation would give nothing while the node of a removed
   * account has the address.
   *
   * @throws {ServiceError} `CONFLICT`, `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`
   */
  async requireInvitable(tenant: string, repository: string, email: string): Promise<void> {
    const { actor } = await this.#branchOf(tenant, repository);
    const query: FindUsers = { type: 'FindUsers', by: { email } };
    const nodes = (await this.#router.query(actor, query, engineCaller(tenant))) as readonly UserNode[];
    const removed = nodes.find(isRemoved);
    if (removed !== undefined) throw addressOfRemoved(removed);
  }

  /**
   * Whether a repository lets people in without a decision, as far as it says something about it.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`
   */
  async isOpen(tenant: string, repository: string): Promise<boolean> {
    const branch = await this.#branchOf(tenant, repository);
    const query: ReadNode = {
      type: 'ReadNode',
      workspace: SETTINGS_WORKSPACE,
      place: { path: `/config/repos/${branch.repository.name}` },
    };
    try {
      const node = await this.#read(branch, query);
      if (ownValue(node, 'node_type') !== SETTINGS_TYPE) return true;
      const settings = ownValue(node, 'properties') as JsonObject;
      return (ownValue(settings, 'auto_approve_access') ?? true) === true;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NODE_NOT_FOUND') return true;
      throw error;
    }
  }

  /**
   * Requires that roles exist in a repository: a name that is given by mistake could be made a role later.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`, `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`
   */
  async requireRoles(tenant: string, repository: string, roles: readonly string[]): Promise<void> {
    const branch = await this.#branchOf(tenant, repository);
    if (roles.length === 0) return;
    const query: RunQuery = {
      type: 'RunQuery',
      workspace: WORKSPACE,
      selector: { nodeType: ROLE_TYPE },
      fields: ['role_id'],
    };
    const known = new Set<unknown>();
    for (const { path, properties } of itemsOf(await this.#read(branch, query)))
      if (typeof path === 'string' && !path.startsWith(USERS)) known.add(ownValue(properties, 'role_id'));
    const unknown = roles.filter((role) => !known.has(role));
    if (unknown.length > 0)
      throw invalid(`Repository '${repository}' has no role '${unknown[0] as string}'`, { field: 'roles' });
  }

  /**
   * Ends what a person may do in a repository. The node stays, and activating the account does not bring it back. Nor does
   * an invitation: whoever is using it finds the node changed, and that there is none any more.
   *
   * @param endInvitation withdraws what the person is invited to. It is called before the node is changed, with the
   *   repository's part of actor ids
   * @throws {ServiceError} `USER_NODE_NOT_FOUND`, `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`
   */
  async suspend(
    tenant: string,
    name: string,
    identityId: string,
    commit: CommitInfo,
    endInvitation: (part: string) => Promise<void>,
  ): Promise<void> {
    const { actor, repository } = await this.#branchOf(tenant, name);
    const nodes = await userNodesOf(this.#router, actor, tenant, identityId);
    if (nodes.length === 0)
      throw new ServiceError('USER_NODE_NOT_FOUND', `The person has no access to '${name}'`);
    await endInvitation(repository.part);
    const off = { status: 'inactive', can_login: false };
    await patchUserNodes(
      this.#router,
      { actor, tenant },
      identityId,
      ({ status }) => (status === 'deleted' ? { can_login: false } : off),
      commit,
    );
  }

  /**
   * Gives a node to an identity. Repeating it changes nothing.
   *
   * @throws {ServiceError} `USER_NODE_NOT_FOUND`, `NOT_A_USER_NODE`, `IDENTITY_ALREADY_LINKED`, `REPOSITORY_NOT_FOUND`,
   *   `BRANCH_NOT_FOUND`
   */
  async link(
    tenant: string,
    repository: string,
    path: string,
    identityId: string,
    by: string,
  ): Promise<void> {
    const branch = await this.#branchOf(tenant, repository);
    // Nodes elsewhere count for nobody.
    if (!path.startsWith(USERS)) throw noUserAt(path);
    for (let attempt = 1; ; attempt += 1) {
      const node = await this.#userAt(branch, path);
      const owner = ownValue(node.properties, 'user_id');
      if (owner === identityId) return;
      const others = await userNodesOf(this.#router, branch.actor, tenant, identityId);
      if ((owner !== undefined && owner !== null && owner !== '') || others.length > 0)
        throw new ServiceError(
          'IDENTITY_ALREADY_LINKED',
          others.length > 0 ? 'The person has another node' : 'The node is that of another person',
        );
      try {
        const place = { actor: branch.actor, tenant };
        const commit = { message: 'Person linked', actor: by };
        await patchUserNode(this.#router, place, node, { user_id: identityId }, commit);
        await this.#requireOnly(place, path, identityId, by);
        return;
      } catch (error) {
        if (!isOvertaken(error) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  /**
   * Takes a link back unless the node is the only one of the person. Of two links at once each may see the other: then neither
   * stays, because of two nodes none would count.
   *
   * @throws {ServiceError} `IDENTITY_ALREADY_LINKED`; `USER_NODE_NOT_FOUND` for a node in the home of a user, which counts for nobody
   */
  async #requireOnly(
    place: { readonly actor: string; readonly tenant: string },
    path: string,
    identityId: string,
    by: string,
  ): Promise<void> {
    const nodes = await userNodesOf(this.#router, place.actor, place.tenant, identityId);
    const counts = nodes.some((node) => node.path === path);
    if (counts && nodes.length === 1) return;
    const branch = { actor: place.actor, repository: { tenant: place.tenant } } as const;
    const { properties, ...node } = await this.#userAt(branch, path);
    if (ownValue(properties, 'user_id') === identityId)
      await patchUserNode(
        this.#router,
        place,
        node,
        { user_id: null },
        { message: 'Link taken back', actor: by },
      );
    if (!counts) throw noUserAt(path);
    throw new ServiceError('IDENTITY_ALREADY_LINKED', 'The person has another node');
  }

  /**
   * The user nodes of a repository, sorted by path.
   *
   * @returns those of the page, and how many there are
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `BRANCH_NOT_FOUND`
   */
  async list(
    tenant: string,
    repository: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<{ readonly members: readonly Member[]; readonly total: number }> {
    const branch = await this.#branchOf(tenant, repository);
    const query: RunQuery = {
      type: 'RunQuery',
      workspace: WORKSPACE,
      selector: { nodeType: USER_TYPE },
      fields: ['user_id', 'email', 'display_name', 'roles', 'status', 'can_login'],
      // One more, because one of them may be the node of nobody.
      limit: limit + 1,
      offset,
    };
    const read = await this.#read(branch, query);
    const found = itemsOf(read);
    const hasAnonymous = await this.#isUser(branch, ANONYMOUS);
    const isBefore = hasAnonymous && ((found[0]?.path as string | undefined) ?? '') > ANONYMOUS;
    const members = (isBefore ? found.slice(1) : found).filter(({ path }) => path !== ANONYMOUS);
    const { total } = read.page as { readonly total: number };
    return { members: members.slice(0, limit).map(memberOf), total: hasAnonymous ? total - 1 : total };
  }

  async #branchOf(tenant: string, repository: string): Promise<FoundBranch> {
    return await this.#directory.branch(tenant, repository, DECIDING_BRANCH, 'write');
  }

  async #isUser(branch: FoundBranch, path: string): Promise<boolean> {
    try {
      await this.#userAt(branch, path);
      return true;
    } catch (error) {
      if (error instanceof ServiceError && userFaults.has(error.code)) return false;
      throw error;
    }
  }

  /** @throws {ServiceError} `USER_NODE_NOT_FOUND`, `NOT_A_USER_NODE` */
  async #userAt(branch: UsersBranch, path: string): Promise<UserAt> {
    const query: ReadNode = { type: 'ReadNode', workspace: WORKSPACE, place: { path } };
    let node: JsonObject;
    try {
      node = await this.#read(branch, query);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'NODE_NOT_FOUND') throw error;
      throw noUserAt(path);
    }
    if (ownValue(node, 'node_type') !== USER_TYPE)
      throw new ServiceError('NOT_A_USER_NODE', `The node at '${path}' is no \`${USER_TYPE}\``);
    return {
      id: ownValue(node, 'id') as string,
      version: Number(ownValue(node, 'version')),
      properties: ownValue(node, 'properties') as JsonObject,
    };
  }

  async #read({ actor, repository }: UsersBranch, query: ReadNode | RunQuery): Promise<JsonObject> {
    const answer = await this.#router.query(actor, query, engineCaller(repository.tenant));
    return (await parsed(answer as JsonAnswer)) as JsonObject;
  }
}

/** Errors that say that a node is no user. */
const userFaults: ReadonlySet<string> = new Set(['USER_NODE_NOT_FOUND', 'NOT_A_USER_NODE']);

/** What is needed of a branch to read it. */
interface UsersBranch extends Pick<FoundBranch, 'actor'> {
  readonly repository: Pick<FoundBranch['repository'], 'tenant'>;
}

/** A user node, as it was read. */
interface UserAt {
  readonly id: string;
  readonly version: number;
  readonly properties: JsonObject;
}

/** A node in the answer to a query. */
interface QueriedNode {
  readonly path: unknown;
  readonly properties: JsonObject;
  readonly created_at: unknown;
  readonly created_by: unknown;
}

function itemsOf(answer: JsonObject): readonly QueriedNode[] {
  return answer.items as unknown as readonly QueriedNode[];
}

function memberOf({ created_at: at, created_by: by, properties }: QueriedNode): Member {
  const roles = ownValue(properties, 'roles');
  return {
    identityId: textIn(properties, 'user_id'),
    email: textIn(properties, 'email'),
    displayName: textIn(properties, 'display_name'),
    roles: roles !== undefined && isJsonArray(roles) ? roles.filter((role) => typeof role === 'string') : [],
    // Activating the account sets the status of a node whose access was revoked as well.
    status:
      (ownValue(properties, 'can_login') ?? true) ? (textIn(properties, 'status') ?? 'active') : REVOKED,
    createdAt: String(at),
    createdBy: String(by),
  };
}

function noUserAt(path: string): ServiceError {
  return new ServiceError('USER_NODE_NOT_FOUND', `There is no user node at '${path}'`);
}

function textIn(properties: JsonObject, name: string): string | null {
  const value = ownValue(properties, name);
  return typeof value === 'string' ? value : null;
}

async function parsed(answer: JsonAnswer): Promise<unknown> {
  if (answer instanceof JsonText) return answer.parse();
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.chunks)
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  return parseExactJson(text);
}
