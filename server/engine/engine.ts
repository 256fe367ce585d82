import type { ClusterStatus, MemberFinding, MissingPart } from '#protocols/rest/ports.ts';
import type { MemberState } from '#protocols/rest/management/system.ts';
import type { IdentityNewsChannel } from '#runtime/access/identity/identity-news.ts';
import type { AccountNews } from '#runtime/access/account-news.ts';
import type { LoginNews } from '#runtime/access/login-throttle.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import type { HostObserver } from '#runtime/actor/host/actor-host.ts';
import type { ActorCopies } from '#runtime/actor/copies/actor-copies.ts';
import type { CheckResults } from '#server/check/check-results.ts';
import type { FolderWatch } from '#server/host/folder-watch.ts';
import type { DirectoryKey } from '#runtime/actor/host/host-storage.ts';
import type { StoppedActor } from '#runtime/actor/damage/stopped-actors.ts';
import type { ActorId, ActorLifecycle, LocalReads, Router } from '#runtime/actor/ports.ts';
import type { OwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { Options } from '#runtime/config/options.ts';
import type { Secrets } from '#runtime/config/secrets.ts';
import type { MemberLoad } from '#runtime/directory/ports.ts';
import type { DataDirectoryLock } from '#runtime/embedded/data-directory-lock.ts';
import type { JobTickets } from '#runtime/jobs/tickets.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { SpaceGate } from '#runtime/space/space-gate.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import type { RegistryTimes } from '#cluster/directory/member-registry.ts';
import type { OwnShards } from '#server/check/own-shards.ts';
import type { CountedBus } from './member-bus.ts';

/** Dependencies of an engine. */
export interface EngineEnvironment {
  readonly options: Options;
  readonly kinds: readonly ActorKind[];
  readonly observer: HostObserver;
  readonly clock: Clock;
  readonly random: Random;
  /** Divides the event loop of the process between all long work. */
  readonly slices: SliceScheduler;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly files: FileSystem;
  /** The lock on the data directory. */
  readonly lock: DataDirectoryLock;
  /** Decides whether there is space for a write. */
  readonly space: SpaceGate;
  /** Reports folders of the data directory that cannot be written to. */
  readonly folders: Pick<FolderWatch, 'findings'>;
  /** Reports damage that a check of the stored data found. */
  readonly checkResults: Pick<CheckResults, 'findings'>;
  /** The key of the data directory. */
  readonly key: DirectoryKey;
  /** The master key, and the one before it. */
  readonly secrets: Pick<Secrets, 'masterKey' | 'previousMasterKey'>;
  /** Reports a changed signing key, and how far the rotation of the master key has come. */
  readonly keyFindings: () => readonly MemberFinding[];
  readonly version: string;
  /** Returns the state of the member's life cycle. */
  readonly state: () => MemberState;
  /** Returns the number of requests without a complete answer. */
  readonly requestsInFlight: () => number;
  /** Called when this member has become the owner of more actors: it must resume their pending work. */
  readonly onOwned: (isMine: (actor: ActorId) => boolean) => void;
  /** Times within which members of a cluster detect changes of each other. */
  readonly registryTimes?: RegistryTimes;
}

/** What a member of a cluster knows of a rotation of the master key that all members share. */
export interface SharedRotation {
  /** Whether every known member encrypts and signs with the present key of this one. */
  isAgreed(): boolean;
  /** Whether this member owns an actor. */
  isMine(actor: ActorId): boolean;
  /** Owned partitions whose logs may still have records that are signed with the previous key. */
  signedBefore(): readonly number[];
}

/** Hosts the actors of a member: a journal and a host when it is alone, NATS and many hosts in a cluster. */
export interface MemberEngine {
  readonly mode: 'embedded' | 'cluster';
  /** The durability class in force. */
  readonly durability: string;
  readonly router: Router;
  readonly lifecycle: ActorLifecycle;
  /**
   * Rejects unless it is certain that a missing actor never existed; absent where the start compares the expected
   * actors with the existing ones.
   */
  requireNew?(actor: ActorId): Promise<void>;
  /** Notes of unfinished creations and removals; a member that does not have all actors keeps none. */
  readonly unsettled: OwnerIntents;
  /** Reads of other members' actors from local data; undefined without other members. */
  readonly nearby?: LocalReads;
  /** Copies actors for backups; undefined when they are on several members, whose owners are then asked. */
  readonly copies?: ActorCopies;
  /** The shards on this member's disk, for checks. */
  readonly shards: OwnShards;
  /** Publishes committed changes. Removing actors through {@link MemberEngine.lifecycle} ends their subscriptions. */
  readonly bus: CountedBus;
  /** Announces jobs to the members of a cluster; undefined with one process. */
  readonly tickets?: JobTickets;
  /** Announces changes of accounts to the other members; undefined without any. */
  readonly accountNews?: AccountNews;
  /** Announces login attempts to the other members; undefined without any. */
  readonly logins?: LoginNews;
  /** Announces changes of identities to the other members; undefined without any. */
  readonly identityNews?: IdentityNewsChannel;
  /** The rotation of the master key among the members; undefined without other members. */
  readonly sharedRotation?: SharedRotation;
  /** Reasons why this member cannot serve as well as the others. */
  missing(): readonly MissingPart[];
  /** Actors of this member that accept no commands any more. */
  stoppedActors(): readonly StoppedActor[];
  /** Partitions whose data it found damaged or missing in the last hour and rebuilds, with the damage of each. */
  rebuiltPartitions(): ReadonlyMap<number, string>;
  /** How far revisions are ahead of the wall clock. */
  readonly revisionClock: { readonly aheadSeconds: number };
  readonly status: ClusterStatus;
  load(): Omit<MemberLoad, 'requestsInFlight'>;
  /**
   * Starts to serve; resolves when messages to actors can be delivered.
   *
   * @param address returns the address of this member for clients, without a trailing slash; called when it is known
   */
  start(address: () => string): Promise<void>;
  /** Refuses commands that wait for something, so that they do not delay the end. */
  endWaits(): void;
  /**
   * Hands everything over to other members, if there are any.
   *
   * @param graceMs time for that, in milliseconds
   * @param closeMs time for {@link close} after that, in milliseconds: unfinished work is then given up
   */
  drain(graceMs: number, closeMs: number): Promise<void>;
  /** Applies all pending changes and closes everything. */
  close(): Promise<void>;
}
