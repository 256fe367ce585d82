import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import type { OwnAccess, ReadOwnAccess } from '#actors/branch/access-messages.ts';
import type { CreateNode, PatchNode } from '#actors/branch/messages.ts';
import type { ReadNode } from '#actors/branch/read-messages.ts';
import type { FindUsers, UserNode } from '#actors/branch/user-messages.ts';
import type { Identity } from '#actors/identities/messages.ts';
import {
  type RepositoryUser,
  type RepositoryUsers,
  USER_TYPE,
  USERS_WORKSPACE,
} from '#protocols/identity/ports.ts';
import type { FoundBranch } from '#protocols/rest/access/found-branch.ts';
import type { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import type { Admitting } from '#protocols/rest/people/repository-members.ts';
import type { TenantPeople } from '#protocols/rest/people/tenant-people.ts';
import {
  addressOfRemoved,
  isOvertaken,
  isRemoved,
  isSuspended,
  patchUserNode,
} from '#protocols/rest/people/user-nodes.ts';
import { localPartOf } from '#runtime/access/identity/email-address.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { IdentityPrincipal } from '#runtime/access/principal.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { isJsonArray, type JsonObject, ownValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { userSlug, userSlugs } from './user-slug.ts';

/** Parent of the nodes that are made. */
const INTERNAL = '/users/internal';

/** Role of everybody with a node, besides the default roles. */
const EVERYBODY = 'authenticated_user';

/** Message of the revisions that give access. */
const GRANTED = 'Access granted';

/** Attempts at a node that others change at the same time. */
const ATTEMPTS_MAX = 5;

/** Type and workspace of the settings of a repository. */
const SETTINGS_TYPE = 'svc:RepoAuthConfig';
const SETTINGS_WORKSPACE = 'svc:system';

/** How people get into a repository. @see docs/interface/identities.md#who-gets-in */
interface Admission {
  readonly mayRegister: boolean;
  /** Whether whoever logs in gets a node. */
  readonly joinsByLogin: boolean;
  readonly needsVerifiedEmail: boolean;
  /** undefined: those of the tenant. */
  readonly defaultRoles: readonly string[] | undefined;
}

/** Why somebody is admitted. */
interface Grounds {
  /** undefined: the default roles, for a node that has to be made. */
  readonly roles: readonly string[] | undefined;
  /** The actor of the revision. */
  readonly by: string;
  /** False: a person whose access was ended stays out. */
  readonly endsSuspension?: false;
}

type UsedPeople = Pick<TenantPeople, 'configuration' | 'endUse' | 'invitationFor' | 'takeInvitation'>;

/** A person with an address, who may have no account yet. */
type AddressOwner = Pick<Identity, 'email' | 'email_verified'> & Partial<Pick<Identity, 'identity_id'>>;

const open: Admission = Object.freeze({
  mayRegister: true,
  joinsByLogin: true,
  needsVerifiedEmail: false,
  defaultRoles: undefined,
});

/**
 * Finds and makes the nodes of people in repositories.
 *
 * - A node belongs to the identity that its `user_id` names, wherever it is.
 * - A node with the address of the person and without an identity is given to a person who has proven the address: anybody
 *   can register an address, and the node may have roles.
 * - A node of another identity is never given away.
 * - Of two logins at once one makes the node, and the other finds it: the path and the address are unique in the branch.
 */
export class MemberRepositoryUsers implements RepositoryUsers, Admitting {
  readonly #router: Router;
  readonly #directory: Pick<RepositoryDirectory, 'branch'>;
  readonly #people: UsedPeople;

  /** @param people how people authenticate in tenants, and who is invited */
  constructor(router: Router, directory: Pick<RepositoryDirectory, 'branch'>, people: UsedPeople) {
    this.#router = router;
    this.#directory = directory;
    this.#people = people;
  }

  async find(tenant: string, repository: string, identityId: string): Promise<RepositoryUser | undefined> {
    const branch = await this.#branchOf(tenant, repository);
    return branch === undefined ? undefined : alone(await this.#ofIdentity(branch, identityId));
  }

  async rolesOf(principal: IdentityPrincipal, repository: string): Promise<readonly string[]> {
    const { tenant } = principal;
    const branch = await this.#branchOf(tenant, repository);
    if (branch === undefined) return [];
    const query: ReadOwnAccess = { type: 'ReadOwnAccess' };
    const caller = { principal, policy: policyFor(principal, tenant) };
    const own = (await this.#router.query(branch.actor, query, caller)) as OwnAccess | null;
    return own?.roles ?? [];
  }

  async mayRegister(tenant: string, repository: string): Promise<boolean> {
    const branch = await this.#branchOf(tenant, repository);
    return branch !== undefined && (await this.#admissionTo(branch)).mayRegister;
  }

  async findOrMake(
    tenant: string,
    repository: string,
    identity: Identity,
  ): Promise<RepositoryUser | undefined> {
    const branch = await this.#branchOf(tenant, repository);
    if (branch === undefined) return undefined;
    await this.#acceptInvitation(branch, identity);
    const known = await this.#ofIdentity(branch, identity.identity_id);
    if (known.length > 0) return alone(known);
    const admission = await this.#admissionTo(branch);
    if (!admission.mayRegister || !admission.joinsByLogin) return undefined;
    if (admission.needsVerifiedEmail && !identity.email_verified) return undefined;
    const [withAddress] = await this.#find(branch, { email: identity.email });
    // Another login of the person has made it since the first look.
    if (withAddress?.userId === identity.identity_id) return withAddress;
    if (withAddress !== undefined) return await this.#claim(branch, withAddress, identity);
    return await this.#make(branch, identity, await this.#defaultRoles(tenant, admission));
  }

  async admit(
    tenant: string,
    repository: string,
    identity: Identity,
    roles: readonly string[] | undefined,
    by: string,
  ): Promise<void> {
    const branch = await this.#directory.branch(tenant, repository, DECIDING_BRANCH, 'write');
    const grounds: Grounds = { roles, by };
    await this.#admitOn(branch, identity, () => Promise.resolve(grounds));
  }

  async admitOpenly(tenant: string, repository: string, identity: Identity, by: string): Promise<boolean> {
    const branch = await this.#directory.branch(tenant, repository, DECIDING_BRANCH, 'write');
    const grounds: Grounds = { roles: undefined, by, endsSuspension: false };
    return (await this.#admitOn(branch, identity, () => Promise.resolve(grounds))) !== undefined;
  }

  async requireAdmissible(tenant: string, repository: string, person: AddressOwner): Promise<void> {
    await this.#free(await this.#directory.branch(tenant, repository, DECIDING_BRANCH, 'write'), person);
  }

  /**
   * Admits a person for a reason that may end meanwhile. The reason is looked for after the node was read, and whoever ends
   * it changes the node afterwards: then the node is not written, and the reason is looked for again.
   *
   * @param groundsOf undefined: there is no reason any more
   * @returns why the person was admitted; undefined: nothing was done
   */
  async #admitOn<Found extends Grounds>(
    branch: FoundBranch,
    identity: Identity,
    groundsOf: () => Promise<Found | undefined>,
  ): Promise<Found | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const known = await this.#ofIdentity(branch, identity.identity_id);
        const grounds = await groundsOf();
        if (grounds === undefined) return undefined;
        if (known.length > 1) throw new ServiceError('CONFLICT', 'Several user nodes name the person');
        const { by, roles } = grounds;
        const node = known[0] ?? (await this.#free(branch, identity));
        if (node !== undefined && grounds.endsSuspension === false && isSuspended(node)) return undefined;
        if (node !== undefined) await this.#readmit(branch, node, identity, roles ?? [], by);
        else {
          const { tenant } = branch.repository;
          const given = roles ?? (await this.#defaultRoles(tenant, await this.#admissionTo(branch)));
          await this.#make(branch, identity, given, by);
        }
        return grounds;
      } catch (error) {
        if (!isOvertaken(error) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  async #defaultRoles(tenant: string, { defaultRoles }: Admission): Promise<readonly string[]> {
    return defaultRoles ?? (await this.#people.configuration(tenant)).access_settings.default_roles;
  }

  /** Whoever is invited gets in, also where people do not get in by themselves. */
  async #acceptInvitation(branch: FoundBranch, identity: Identity): Promise<void> {
    const { part, tenant } = branch.repository;
    // Most logins read no node for it.
    const found = await this.#people.invitationFor(tenant, part, identity);
    if (found === undefined) return;
    const used = await this.#admitOn(branch, identity, async () => {
      const invitation = await this.#people.takeInvitation(tenant, part, identity);
      if (invitation === undefined) return undefined;
      const { decided_by: by, id, requested_roles: roles } = invitation;
      return { id, roles, by: by ?? 'system' };
    });
    if (used !== undefined) await this.#people.endUse(tenant, part, used.id);
  }

  /**
   * A node with the address of a person that may be given to the person.
   *
   * @throws {ServiceError} `CONFLICT`; `PRECONDITION_FAILED` when the person has got it since
   */
  async #free(
    branch: FoundBranch,
    { email, email_verified: isVerified, identity_id: identityId }: AddressOwner,
  ): Promise<UserNode | undefined> {
    const [found] = await this.#find(branch, { email });
    if (found !== undefined && found.userId === identityId) throw overtaken();
    // It may have roles that were meant for the owner of the address.
    if (found !== undefined && isRemoved(found)) throw addressOfRemoved(found);
    if (found !== undefined && (found.userId !== null || !isVerified))
      throw new ServiceError('CONFLICT', `The user node '${found.path}' has the address of the person`);
    return found;
  }

  async #readmit(
    branch: FoundBranch,
    node: UserNode,
    identity: Identity,
    roles: readonly string[],
    by: string,
  ): Promise<void> {
    const properties = {
      user_id: identity.identity_id,
      status: 'active',
      can_login: true,
      roles: [...new Set([...node.roles, ...roles])],
    };
    const place = { actor: branch.actor, tenant: branch.repository.tenant };
    await patchUserNode(this.#router, place, node, properties, { message: GRANTED, actor: by });
  }

  /** Gives a node without an identity to the person whose address it has. */
  async #claim(branch: FoundBranch, node: UserNode, identity: Identity): Promise<RepositoryUser | undefined> {
    if (node.userId !== null || !identity.email_verified) return undefined;
    const command: PatchNode = {
      type: 'PatchNode',
      workspace: USERS_WORKSPACE,
      place: { id: node.id },
      properties: { user_id: identity.identity_id },
      expected: { version: node.version },
    };
    await this.#command(branch, command);
    return node;
  }

  async #make(
    branch: FoundBranch,
    identity: Identity,
    roles: readonly string[],
    by?: string,
  ): Promise<RepositoryUser | undefined> {
    const { email, identity_id: identityId } = identity;
    const properties: JsonObject = {
      user_id: identityId,
      email,
      display_name: identity.display_name || localPartOf(email),
      roles: [...new Set([...roles, EVERYBODY])],
    };
    for (const name of userSlugs(userSlug(email), identityId)) {
      const command: CreateNode = {
        type: 'CreateNode',
        workspace: USERS_WORKSPACE,
        parentPath: INTERNAL,
        deep: true,
        node: { name, nodeType: USER_TYPE, properties },
        ...(by === undefined ? {} : { commit: { message: GRANTED, actor: by } }),
      };
      try {
        await this.#command(branch, command);
      } catch (error) {
        // Another login of the person may have made it in between, here or at another path.
        const made = await this.#ofIdentity(branch, identityId);
        if (made.length > 0 && by !== undefined) throw overtaken();
        if (made.length > 0) return alone(made);
        if (error instanceof ServiceError && error.code === 'NODE_ALREADY_EXISTS') continue;
        throw error;
      }
      return alone(await this.#ofIdentity(branch, identityId));
    }
    return undefined;
  }

  #ofIdentity(branch: FoundBranch, identityId: string): Promise<readonly UserNode[]> {
    return this.#find(branch, { userId: identityId });
  }

  async #find({ actor, repository }: FoundBranch, by: FindUsers['by']): Promise<readonly UserNode[]> {
    const query: FindUsers = { type: 'FindUsers', by };
    return (await this.#router.query(actor, query, engineCaller(repository.tenant))) as readonly UserNode[];
  }

  async #admissionTo({ actor, repository }: FoundBranch): Promise<Admission> {
    const query: ReadNode = {
      type: 'ReadNode',
      workspace: SETTINGS_WORKSPACE,
      place: { path: `/config/repos/${repository.name}` },
    };
    try {
      const read = await this.#router.query(actor, query, engineCaller(repository.tenant));
      assert(read instanceof JsonText, 'a node that is read without a condition is a text');
      return admissionOf(read.parse() as JsonObject);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NODE_NOT_FOUND') return open;
      throw error;
    }
  }

  /** @returns undefined for a repository that does not exist, or has no such branch */
  async #branchOf(tenant: string, repository: string): Promise<FoundBranch | undefined> {
    try {
      return await this.#directory.branch(tenant, repository, DECIDING_BRANCH, 'write');
    } catch (error) {
      if (error instanceof ServiceError && isMissing.has(error.code)) return undefined;
      throw error;
    }
  }

  async #command({ actor, repository }: FoundBranch, command: CreateNode | PatchNode): Promise<void> {
    await this.#router.command(actor, command, { caller: engineCaller(repository.tenant) });
  }
}

/** The person has got a node since it was looked for: it has to be looked at, and may lack roles. */
function overtaken(): ServiceError {
  return new ServiceError('PRECONDITION_FAILED', 'The person has got a user node meanwhile');
}

/** The only node of an identity. Several are none: nobody knows which of them says what the person may do. */
function alone(nodes: readonly UserNode[]): UserNode | undefined {
  return nodes.length === 1 ? nodes[0] : undefined;
}

/** A setting that is set to anything but its default counts: what is closed by mistake is noticed. */
function admissionOf(node: JsonObject): Admission {
  if (ownValue(node, 'node_type') !== SETTINGS_TYPE) return open;
  const settings = ownValue(node, 'properties') as JsonObject;
  const roles = ownValue(settings, 'default_roles');
  return {
    mayRegister: (ownValue(settings, 'allow_registration') ?? true) === true,
    joinsByLogin: (ownValue(settings, 'auto_approve_access') ?? true) === true,
    needsVerifiedEmail: (ownValue(settings, 'require_email_verification') ?? false) !== false,
    defaultRoles:
      roles !== undefined && isJsonArray(roles)
        ? roles.filter((role) => typeof role === 'string')
        : undefined,
  };
}

/** Errors that say there is no branch {@link DECIDING_BRANCH}. */
const isMissing: ReadonlySet<string> = new Set([
  'REPOSITORY_NOT_FOUND',
  'BRANCH_NOT_FOUND',
  'READ_ONLY_REVISION',
]);
