import type { BranchEntry, TagEntry } from '#actors/repository/messages.ts';
import type { RepositoryEntry, TenantEntry } from '#actors/tenant/messages.ts';
import type { AccessFlags } from '#runtime/access/principal.ts';
import type { ActorId, Delivery } from '#runtime/actor/ports.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { MemberLoad } from '#runtime/directory/ports.ts';
import type { BranchUse, FoundBranch } from './access/found-branch.ts';

/** Values of a new repository; not validated yet. */
export interface NewRepository {
  readonly repositoryId: string;
  readonly description: string | null;
  readonly defaultBranch: string;
  readonly defaultLanguage: string;
  readonly supportedLanguages: readonly string[];
}

/** Values of a new tenant. The password is validated and hashed already; other values are not validated yet. */
export interface NewTenant {
  readonly tenantId: string;
  readonly metadata: JsonObject;
  readonly admin: {
    readonly username: string;
    readonly email: string | null;
    readonly passwordHash: string;
    readonly mustChangePassword: boolean;
    readonly accessFlags?: AccessFlags;
  };
}

/** Creates and removes resources that span several actors. Implemented by the process that owns the actors. */
export interface Provisioning {
  /**
   * Creates a repository with its default branch and all built-ins. The repository becomes visible to others
   * atomically when the promise resolves.
   *
   * @throws {ServiceError} `REPOSITORY_ALREADY_EXISTS`, `VALIDATION_FAILED`, `INVALID_BRANCH_NAME`, `UNAUTHORIZED`,
   *   `FORBIDDEN`
   */
  createRepository(tenant: string, repository: NewRepository, delivery: Delivery): Promise<RepositoryEntry>;
  /**
   * Removes a repository with all its content.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `UNAUTHORIZED`, `FORBIDDEN`
   */
  removeRepository(tenant: string, repositoryId: string, delivery: Delivery): Promise<void>;
  /**
   * Creates a tenant with its first administrator account.
   *
   * @throws {ServiceError} `TENANT_ALREADY_EXISTS`, `VALIDATION_FAILED`, `UNAUTHORIZED`, `FORBIDDEN`
   */
  createTenant(tenant: NewTenant, delivery: Delivery): Promise<TenantEntry>;
}

/** A resolved repository. */
export interface RepositoryAddress {
  readonly tenant: string;
  /** `{name}~{uid}`: the repository's part of actor ids. */
  readonly part: string;
  /** Its `repository` actor. */
  readonly actor: ActorId;
}

/** Values of a new branch; texts are not validated yet. */
export interface NewBranch {
  readonly name: string;
  /** The branch to fork, unless `sourceBranch` is given. */
  readonly upstreamBranch?: string;
  /** The branch to fork where that is another one than the upstream. */
  readonly sourceBranch?: string;
  /** The revision to fork at: of the forked branch, else of the default branch, else of any branch that contains it. */
  readonly fromRevision?: Revision;
  readonly createdBy: string;
  readonly protected: boolean;
  readonly description: string | null;
}

/** Values of a new tag; texts are not validated yet. */
export interface NewTag {
  readonly name: string;
  readonly revision: Revision;
  readonly createdBy: string;
  readonly message: string | null;
  readonly protected: boolean;
}

/** Creates and removes branches and tags. Implemented by the process that owns the actors. */
export interface BranchProvisioning {
  /**
   * Creates a branch: a fork, or an empty one when neither a branch nor a revision is given. The branch becomes
   * visible to others atomically when the promise resolves.
   *
   * @throws {ServiceError} `BRANCH_ALREADY_EXISTS`, `BRANCH_NOT_FOUND` for an unknown upstream, `REVISION_NOT_FOUND`,
   *   `INVALID_BRANCH_NAME`, `VALIDATION_FAILED`, `UNAUTHORIZED`, `FORBIDDEN`
   */
  createBranch(repository: RepositoryAddress, branch: NewBranch, delivery: Delivery): Promise<BranchEntry>;
  /**
   * Removes a branch with all its content. Content that a tag refers to and no other branch has is kept, readable
   * through the tag, until the tag is removed.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND`; `FORBIDDEN`, also for a protected branch and the default branch;
   *   `UNAUTHORIZED`
   */
  removeBranch(repository: RepositoryAddress, name: string, delivery: Delivery): Promise<void>;
  /**
   * Creates a tag for a revision of any branch.
   *
   * @throws {ServiceError} `TAG_ALREADY_EXISTS`, `REVISION_NOT_FOUND`, `INVALID_BRANCH_NAME`, `VALIDATION_FAILED`,
   *   `UNAUTHORIZED`, `FORBIDDEN`
   */
  createTag(repository: RepositoryAddress, tag: NewTag, delivery: Delivery): Promise<TagEntry>;
  /** @throws {ServiceError} `TAG_NOT_FOUND`; `FORBIDDEN`, also for a protected tag; `UNAUTHORIZED` */
  removeTag(repository: RepositoryAddress, name: string, delivery: Delivery): Promise<void>;
}

/** Upgrades repositories and branches to the built-ins of this build when they are first used. */
export interface BuiltInUpgrades {
  /** @returns undefined when no upgrade is pending */
  repository(repository: ActorId): Promise<void> | undefined;
  /**
   * A branch without revisions is upgraded only when it is first written to.
   *
   * @returns undefined when no upgrade is pending
   */
  branch(repository: ActorId, branch: ActorId, use: BranchUse): Promise<void> | undefined;
  /** Whether a branch needs no upgrade; performs no lookup and starts nothing. */
  isCurrent(branch: ActorId): boolean;
}

/** Creates the lock actor of a branch. Implemented by the process that owns the actors. */
export interface LocksProvisioning {
  /** Whether locks and inventory are enabled. */
  readonly isEnabled: boolean;
  /** Aborted with `SHUTTING_DOWN` when the member stops: callers that wait for a lock must wait at another member. */
  readonly stopping: AbortSignal;
  /**
   * Creates the lock actor on first use. Idempotent.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND` when the branch was deleted after it was resolved
   */
  createLocks(branch: FoundBranch): Promise<void>;
}

/** State of a member as another one sees it; `suspect`: nothing has been received from it for a while. */
export type SeenMemberState = 'starting' | 'ready' | 'draining' | 'suspect';

/** A member of the cluster. */
export interface SeenMember {
  readonly id: string;
  /** Base URL for clients, without a trailing slash. */
  readonly url: string;
  /** Version of the product it runs; empty while unknown. */
  readonly version: string;
  readonly state: SeenMemberState;
  /** The member that responds. */
  readonly isSelf: boolean;
  readonly load: MemberLoad;
}

/** A member that follows a partition. */
export interface SeenFollower {
  readonly member: string;
  /** Whether it follows closely enough to take over at once. */
  readonly isWarm: boolean;
  /** Records of the log it has not applied yet; undefined if the responding member cannot know. */
  readonly recordsBehind: number | undefined;
}

/** The commit log of a partition and its newest snapshot. */
export interface SeenLog {
  /** Bytes of its messages on each NATS server. */
  readonly bytes: number;
  /** Size limit of the log. */
  readonly bytesMax: number;
  /** Why a log near its limit cannot be truncated; undefined if it can. */
  readonly kept: string | undefined;
  readonly snapshot:
    | {
        /** The newest record it is certain to contain. */
        readonly sequence: number;
        /** Its age in milliseconds, by the wall clocks of two members. */
        readonly ageMs: number;
        /** Total size of its files. */
        readonly bytes: number;
        /** The member that took it. */
        readonly member: string;
      }
    | undefined;
}

/** A partition: its log, owner and followers. */
export interface SeenPartition {
  /** From 0. */
  readonly partition: number;
  /** Undefined while no owner is known. */
  readonly owner: { readonly member: string; readonly epoch: number } | undefined;
  /** Position of the newest record in its log; undefined if the responding member cannot know. */
  readonly lastSequence: number | undefined;
  /** Best first: the first one is to take over. */
  readonly followers: readonly SeenFollower[];
  /** Why it accepts no writes until an operator decides; undefined if it is healthy. */
  readonly quarantine: string | undefined;
  /** Undefined if there is none, or it cannot be determined in time. */
  readonly log: SeenLog | undefined;
}

/** A NATS server. */
export interface SeenNatsServer {
  readonly name: string;
  /** Empty while unknown. */
  readonly version: string;
  readonly isReachable: boolean;
  /** Whether it flushes before it acknowledges; undefined if its monitoring page is not configured. */
  readonly syncsAlways: boolean | undefined;
}

/** Faults that a member finds in itself and its environment; the codes are a subset of the warning codes. */
export type MemberFindingCode =
  | 'space-low'
  | 'space-exhausted'
  | 'clock-skew'
  | 'revisions-ahead'
  | 'partition-stalled'
  /** This member does nothing more with a partition, because its log or its data cannot be trusted. */
  | 'partition-quarantined'
  /** The member's data of a partition was damaged or lost. */
  | 'shards-rebuilt'
  /** Damaged data cannot be rebuilt at present; only requests for it are refused. */
  | 'damage-contained'
  | 'messages-refused'
  | 'unsigned-accepted'
  | 'too-many-members'
  /** Two processes use the same member name. */
  | 'duplicate-member'
  | 'nats-unauthenticated'
  | 'nats-plaintext'
  | 'actor-stopped'
  /** The journal accepts no writes at present. */
  | 'writes-stopped'
  /** A folder in the data folder is not writable. */
  | 'folder-refused'
  /** A check found stored data that does not verify. */
  | 'stored-damage'
  /** Logins are signed with another key than at the last start. */
  | 'signing-key-changed'
  /** The master key was replaced: whether the previous one is still needed. */
  | 'master-key-rotation';

/** A fault that a member reports about itself. */
export interface MemberFinding {
  readonly code: MemberFindingCode;
  /** For people, with names and numbers. */
  readonly message: string;
}

/** A finding with the member that reports it. */
export interface SeenFinding extends MemberFinding {
  readonly member: string;
}

/** The cluster as one member sees it. It contains facts only; the reader derives the warnings. */
export interface ClusterOverview {
  readonly mode: 'embedded' | 'cluster';
  /** Durability class in force. */
  readonly durability: string;
  /** Why this class is in force, for people. */
  readonly durabilityReason: string;
  /** Desired followers of each partition, limited by the number of members. */
  readonly followersWanted: number;
  /** By name. */
  readonly members: readonly SeenMember[];
  /** By number. */
  readonly partitions: readonly SeenPartition[];
  /** By name; empty in embedded mode. */
  readonly natsServers: readonly SeenNatsServer[];
  /** Remarks on the settings of the NATS servers, one sentence each. */
  readonly natsRemarks: readonly string[];
  /** Findings of the members that responded in time. */
  readonly findings: readonly SeenFinding[];
}

/** The state of the cluster for operators. Implemented by a process that is a member of it. */
export interface ClusterStatus {
  /**
   * The cluster as this member sees it now. A fact that cannot be determined in time is undefined, because this is
   * called during outages.
   *
   * @param signal stops the requests to other members
   */
  read(signal: AbortSignal): Promise<ClusterOverview>;
  /**
   * Requests snapshots. They are taken some time later; {@link ClusterStatus.read} shows them.
   *
   * @param partition undefined: of every partition
   * @throws {ServiceError} `NOT_FOUND` if there are no partitions, `VALIDATION_FAILED` for an unknown partition
   */
  takeSnapshots(partition: number | undefined): void;
}

/** A part that a member lacks, so that another member should serve instead. */
export interface MissingPart {
  /**
   * `nats`: no connection; `owners`: it does not know the owners of partitions yet; `followers`: it has not caught
   * up; `journal`: its journal accepts no writes at present; `folder`: a folder of its data is not writable; `name`:
   * another process runs under its name.
   */
  readonly part: 'nats' | 'owners' | 'followers' | 'journal' | 'folder' | 'name';
  /** For people. */
  readonly message: string;
  /** Affected partitions; empty when all are affected. */
  readonly partitions: readonly number[];
}
