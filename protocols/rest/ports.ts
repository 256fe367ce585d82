import type { BranchEntry, TagEntry } from '#actors/repository/messages.ts';
import type { RepositoryEntry, TenantEntry } from '#actors/tenant/messages.ts';
import type { AccessFlags } from '#runtime/access/principal.ts';
import type { ActorId, Delivery } from '#runtime/actor/ports.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { MemberLoad } from '#runtime/directory/ports.ts';
import type { BranchUse, FoundBranch } from './access/found-branch.ts';

/** What a repository is made from. Values are unchecked. */
export interface NewRepository {
  readonly repositoryId: string;
  readonly description: string | null;
  readonly defaultBranch: string;
  readonly defaultLanguage: string;
  readonly supportedLanguages: readonly string[];
}

/** What a tenant is made from. The password is checked and hashed already; other values are unchecked. */
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

/** Makes and removes what takes more than one actor. Implemented by the process that owns the actors. */
export interface Provisioning {
  /**
   * Makes a repository with its default branch and everything built in; it is there for others when the
   * promise resolves, whole, or not at all.
   *
   * @throws {ServiceError} `REPOSITORY_ALREADY_EXISTS`, `VALIDATION_FAILED`, `INVALID_BRANCH_NAME`,
   *   `UNAUTHORIZED`, `FORBIDDEN`
   */
  createRepository(tenant: string, repository: NewRepository, delivery: Delivery): Promise<RepositoryEntry>;
  /**
   * Removes a repository with everything in it.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `UNAUTHORIZED`, `FORBIDDEN`
   */
  removeRepository(tenant: string, repositoryId: string, delivery: Delivery): Promise<void>;
  /**
   * Makes a tenant with its first admin account.
   *
   * @throws {ServiceError} `TENANT_ALREADY_EXISTS`, `VALIDATION_FAILED`, `UNAUTHORIZED`, `FORBIDDEN`
   */
  createTenant(tenant: NewTenant, delivery: Delivery): Promise<TenantEntry>;
}

/** A repository that was looked up. */
export interface RepositoryAddress {
  readonly tenant: string;
  /** `{name}~{uid}`: the part of actor ids. */
  readonly part: string;
  /** Its `repository` actor. */
  readonly actor: ActorId;
}

/** What a branch is made from. Texts are unchecked. */
export interface NewBranch {
  readonly name: string;
  /** The branch to fork. */
  readonly upstreamBranch?: string;
  /** The revision to fork at: of `upstreamBranch`, else of the default branch, else of whichever branch has it. */
  readonly fromRevision?: Revision;
  readonly createdBy: string;
  readonly protected: boolean;
  readonly description: string | null;
}

/** What a tag is made from. Texts are unchecked. */
export interface NewTag {
  readonly name: string;
  readonly revision: Revision;
  readonly createdBy: string;
  readonly message: string | null;
  readonly protected: boolean;
}

/** Makes and removes branches and tags. Implemented by the process that owns the actors. */
export interface BranchProvisioning {
  /**
   * Makes a branch: a fork, or an empty one when neither a branch nor a revision is named. It is there for others
   * when the promise resolves, whole, or not at all.
   *
   * @throws {ServiceError} `BRANCH_ALREADY_EXISTS`, `BRANCH_NOT_FOUND` for an unknown upstream,
   *   `REVISION_NOT_FOUND`, `INVALID_BRANCH_NAME`, `VALIDATION_FAILED`, `UNAUTHORIZED`, `FORBIDDEN`
   */
  createBranch(repository: RepositoryAddress, branch: NewBranch, delivery: Delivery): Promise<BranchEntry>;
  /**
   * Removes a branch with everything in it, except what a tag names and no other branch has: that stays, readable
   * through the tag, until the tag is removed.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND`; `FORBIDDEN`, also for a protected branch and the default branch;
   *   `UNAUTHORIZED`
   */
  removeBranch(repository: RepositoryAddress, name: string, delivery: Delivery): Promise<void>;
  /**
   * Gives a revision of any branch a name.
   *
   * @throws {ServiceError} `TAG_ALREADY_EXISTS`, `REVISION_NOT_FOUND`, `INVALID_BRANCH_NAME`, `VALIDATION_FAILED`,
   *   `UNAUTHORIZED`, `FORBIDDEN`
   */
  createTag(repository: RepositoryAddress, tag: NewTag, delivery: Delivery): Promise<TagEntry>;
  /** @throws {ServiceError} `TAG_NOT_FOUND`; `FORBIDDEN`, also for a protected tag; `UNAUTHORIZED` */
  removeTag(repository: RepositoryAddress, name: string, delivery: Delivery): Promise<void>;
}

/** Brings repositories and branches up to the built-ins this build ships, when they are first used. */
export interface BuiltInUpgrades {
  /** @returns undefined when there is nothing to wait for */
  repository(repository: ActorId): Promise<void> | undefined;
  /**
   * A branch that has no revision at all stays so until somebody writes to it.
   *
   * @returns undefined when there is nothing to wait for
   */
  branch(repository: ActorId, branch: ActorId, use: BranchUse): Promise<void> | undefined;
  /** Whether a branch needs nothing more; nothing is looked up and nothing is begun. */
  isCurrent(branch: ActorId): boolean;
}

/** Makes the locks of a branch. Implemented by the process that owns the actors. */
export interface LocksProvisioning {
  /** Whether locks and inventory are served at all. */
  readonly isEnabled: boolean;
  /** Aborted with `SHUTTING_DOWN` when the member stops: whoever waits for a lock has to wait elsewhere. */
  readonly stopping: AbortSignal;
  /**
   * Makes them when somebody first needs them. Making those that exist changes nothing.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND` when the branch was deleted since it was found
   */
  createLocks(branch: FoundBranch): Promise<void>;
}

/** How far a member is, as another one sees it: `suspect` is one that has not been heard of for a while. */
export type SeenMemberState = 'starting' | 'ready' | 'draining' | 'suspect';

/** A member of the cluster. */
export interface SeenMember {
  readonly id: string;
  /** Where clients reach it, without a trailing slash. */
  readonly url: string;
  /** Version of the product it runs; empty while it is not known. */
  readonly version: string;
  readonly state: SeenMemberState;
  /** The one that answers. */
  readonly isSelf: boolean;
  readonly load: MemberLoad;
}

/** A member that follows a partition. */
export interface SeenFollower {
  readonly member: string;
  /** Whether it follows closely enough to take over at once. */
  readonly isWarm: boolean;
  /** Records of the log it has not applied yet; undefined where the member that answers cannot know. */
  readonly recordsBehind: number | undefined;
}

/** The commit log of a partition and its newest snapshot. */
export interface SeenLog {
  /** What its messages take on each NATS server. */
  readonly bytes: number;
  /** Where it is full. */
  readonly bytesMax: number;
  /** What keeps a log that comes near its limit from being cut; undefined where nothing does. */
  readonly kept: string | undefined;
  readonly snapshot:
    | {
        /** Newest record it is sure to have. */
        readonly sequence: number;
        /** Time since it was taken, in milliseconds, by the wall clocks of two members. */
        readonly ageMs: number;
        /** Of all its files. */
        readonly bytes: number;
        /** Who took it. */
        readonly member: string;
      }
    | undefined;
}

/** A partition: its log, and who has it. */
export interface SeenPartition {
  /** From 0. */
  readonly partition: number;
  /** Undefined while nobody is known to own it. */
  readonly owner: { readonly member: string; readonly epoch: number } | undefined;
  /** Position of the newest record in its log; undefined where the member that answers cannot know. */
  readonly lastSequence: number | undefined;
  /** Best first: the first one is to take over. */
  readonly followers: readonly SeenFollower[];
  /** Why nothing is written to it until an operator decides; undefined where nothing is wrong. */
  readonly quarantine: string | undefined;
  /** Undefined where there is none, or it cannot be found out in time. */
  readonly log: SeenLog | undefined;
}

/** A NATS server. */
export interface SeenNatsServer {
  readonly name: string;
  /** Empty while it is not known. */
  readonly version: string;
  readonly isReachable: boolean;
  /** Whether it flushes before it acknowledges; undefined where its monitoring page is not configured. */
  readonly syncsAlways: boolean | undefined;
}

/** What a member finds wrong with itself and its surroundings; the codes are among those of the warnings. */
export type MemberFindingCode =
  | 'space-low'
  | 'space-exhausted'
  | 'clock-skew'
  | 'revisions-ahead'
  | 'partition-stalled'
  /** What a member had of a partition was damaged or lost. */
  | 'shards-rebuilt'
  /** What is damaged of it cannot be made anew at present, and is refused alone. */
  | 'damage-contained'
  | 'messages-refused'
  | 'unsigned-accepted'
  | 'too-many-members'
  /** Two processes have the name of one member. */
  | 'duplicate-member'
  | 'nats-unauthenticated'
  | 'nats-plaintext'
  | 'actor-stopped'
  /** The journal takes no writes at present. */
  | 'writes-stopped'
  /** A folder of the data folder cannot be written to. */
  | 'folder-refused';

/** Something a member tells of itself. */
export interface MemberFinding {
  readonly code: MemberFindingCode;
  /** For people, with names and numbers. */
  readonly message: string;
}

/** A finding and who tells it. */
export interface SeenFinding extends MemberFinding {
  readonly member: string;
}

/** The cluster as one member sees it; facts only, what is wrong with them is concluded by the reader. */
export interface ClusterOverview {
  readonly mode: 'embedded' | 'cluster';
  /** Durability class in force. */
  readonly durability: string;
  /** Why this one, for people. */
  readonly durabilityReason: string;
  /** Followers each partition ought to have, as far as there are members. */
  readonly followersWanted: number;
  /** By name. */
  readonly members: readonly SeenMember[];
  /** By number. */
  readonly partitions: readonly SeenPartition[];
  /** By name; empty in embedded mode. */
  readonly natsServers: readonly SeenNatsServer[];
  /** What is to be said of the settings of the NATS servers, a sentence each. */
  readonly natsRemarks: readonly string[];
  /** What the members that answered in time find wrong with themselves. */
  readonly findings: readonly SeenFinding[];
}

/** What an operator wants to know of the cluster. Implemented by the process that is a member of it. */
export interface ClusterStatus {
  /**
   * The cluster as this member sees it now. Whatever cannot be found out in time is left undefined: this is asked
   * for when things are broken.
   *
   * @param signal ends asking others
   */
  read(signal: AbortSignal): Promise<ClusterOverview>;
  /**
   * Asks for snapshots. They are taken some time later, as {@link ClusterStatus.read} tells.
   *
   * @param partition undefined: of every partition
   * @throws {ServiceError} `NOT_FOUND` where there are none, `VALIDATION_FAILED` for no such partition
   */
  takeSnapshots(partition: number | undefined): void;
}

/** Something a member lacks, so that another one serves better. */
export interface MissingPart {
  /**
   * `nats`: no connection; `owners`: it has not heard who owns what; `followers`: it has not caught up; `journal`: its
   * journal takes no writes at present; `folder`: a folder of its data cannot be written to; `name`: another process runs
   * under its name.
   */
  readonly part: 'nats' | 'owners' | 'followers' | 'journal' | 'folder' | 'name';
  /** For people. */
  readonly message: string;
  /** Partitions it is about; empty where it is about all. */
  readonly partitions: readonly number[];
}
