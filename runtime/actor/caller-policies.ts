import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import type { Policy } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import {
  type Granted,
  type GrantedPrincipal,
  isGrantedByContent,
  type ReadGrants,
} from '#runtime/access/roles/granted.ts';
import type { Grants } from '#runtime/access/roles/grants.ts';
import { type Capabilities, RolePolicy } from '#runtime/access/roles/role-policy.ts';
import type { ActorContext } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { actorId } from './actor-id.ts';

/** Workspaces of the product; all others are content. */
const SYSTEM_WORKSPACES = 'svc:';

/** Operations that change content. Who has none of them takes no locks either. */
const writing = ['create', 'update', 'delete'] as const;

/** As `ReadGrants` answers, from the durable state of a branch. */
type ReadsGranted = (
  view: TableReader,
  principal: GrantedPrincipal,
) => Granted | Generator<undefined, Granted>;

/**
 * Finds the policies of callers for an actor of a branch. Permissions of identities, of users whom administrators act as
 * and of anonymous callers are in the content of branch `main`. All branches of a repository are stored together, so every
 * member that answers for a branch has them at hand, and no call between members is needed.
 *
 * @see docs/decisions/0075-permissions-at-the-owner.md
 */
export class CallerPolicies {
  readonly #context: ActorContext;
  readonly #tenant: string;
  /** `{name}~{uid}` of the repository, as in ids of actors. */
  readonly #repository: string;
  /** Name of the branch. */
  readonly #branch: string;
  /** The deciding branch, where it is this one. */
  readonly #own: string | undefined;
  /** Reads what callers of the deciding branch may do, where this is that branch and has it at hand. */
  readonly #granted: ReadsGranted | undefined;
  readonly #policies = new WeakMap<Grants, Policy>();

  /** @param granted of the branch itself, which saves it a question to itself; used if it is the deciding one */
  constructor(context: ActorContext, granted?: ReadsGranted) {
    const [tenant, repository, branch] = context.id.split('/').map(decodeURIComponent) as [
      string,
      string,
      string,
    ];
    this.#context = context;
    this.#tenant = tenant;
    this.#repository = repository;
    this.#branch = branch.slice(0, branch.lastIndexOf('~'));
    const isOwn = this.#branch === DECIDING_BRANCH;
    this.#own = isOwn ? actorId(tenant, repository, branch, 'branch') : undefined;
    this.#granted = isOwn ? granted : undefined;
  }

  /**
   * The policy of a caller.
   *
   * @param view the durable state of the actor, where a query has it at hand
   * @returns undefined where the principal alone decides, see `policyFor`; a generator, which yields where the work may
   *   pause, where something has to be read first
   * @throws {ServiceError} `BRANCH_NOT_FOUND` for an anonymous caller without access; `USER_NODE_NOT_FOUND`
   */
  find(principal: Principal, view?: TableReader): Policy | Generator<undefined, Policy> | undefined {
    if (!isGrantedByContent(principal) || principal.tenant !== this.#tenant) return undefined;
    const granted =
      view === undefined || this.#granted === undefined
        ? this.#ask(principal)
        : this.#granted(view, principal);
    if (granted === undefined) return undefined;
    return 'next' in granted ? this.#later(granted) : this.#policyOf(granted);
  }

  *#later(granting: Generator<undefined, Granted>): Generator<undefined, Policy> {
    const policy = this.#policyOf(yield* granting);
    return 'next' in policy ? yield* policy : policy;
  }

  /** @returns a generator where conditions have to be bound that take longer than a step may */
  #policyOf({ grants }: Granted): Policy | Generator<undefined, Policy> {
    // The same as for a repository that does not exist, so that its name cannot be probed.
    if (grants === undefined)
      throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${this.#branch}' not found`);
    const known = this.#policies.get(grants);
    if (known !== undefined) return known;
    const policy = new RolePolicy(grants, this.#branch, capabilitiesOf(grants, this.#branch));
    if (policy.isLarge) return this.#prepared(grants, policy);
    this.#policies.set(grants, policy);
    return policy;
  }

  *#prepared(grants: Grants, policy: RolePolicy): Generator<undefined, Policy> {
    yield* policy.prepare();
    this.#policies.set(grants, policy);
    return policy;
  }

  /** @returns undefined where the repository has no deciding branch: nobody is granted anything then */
  #ask(principal: GrantedPrincipal): Granted | Generator<undefined, Granted> | undefined {
    const deciding = this.#own ?? this.#findDeciding();
    if (deciding === undefined) return undefined;
    const query: ReadGrants = { type: 'ReadGrants', principal };
    return this.#context.ask(deciding, query) as Granted | Generator<undefined, Granted>;
  }

  #findDeciding(): string | undefined {
    const repository = actorId(this.#tenant, this.#repository, 'repository');
    const found = this.#context.ask(repository, { type: 'FindBranch', name: DECIDING_BRANCH });
    if (found === undefined) return undefined;
    const { uid } = found as { readonly uid: string };
    return actorId(this.#tenant, this.#repository, `${DECIDING_BRANCH}~${uid}`, 'branch');
  }
}

/**
 * What callers with roles may do besides operations on content. Only administrators of the tenant administer. Locks are for
 * those who may write content of the branch: everybody may write into the own home.
 */
function capabilitiesOf({ caller, isBypass, permissions }: Grants, branch: string): Capabilities {
  const mayWrite = permissions.some(
    ({ branches, operations, workspace }) =>
      writing.some((each) => operations.has(each)) &&
      !workspace.isWithin(SYSTEM_WORKSPACES) &&
      branches.every((glob) => glob.matches(branch)),
  );
  return { administers: false, locks: !caller.isAnonymous && (isBypass || mayWrite) };
}
