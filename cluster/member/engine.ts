import type { ClusterStatus, MissingPart } from '#protocols/rest/ports.ts';
import type { MemberState } from '#protocols/rest/system.ts';
import type { LoginNews } from '#runtime/access/login-throttle.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import type { HostObserver } from '#runtime/actor/actor-host.ts';
import type { ActorCopies } from '#runtime/actor/actor-copies.ts';
import type { DirectoryKey } from '#runtime/actor/host-storage.ts';
import type { StoppedActor } from '#runtime/actor/stopped-actors.ts';
import type { ActorId, ActorLifecycle, NearbyReads, Router } from '#runtime/actor/ports.ts';
import type { UnsettledOwners } from '#runtime/actor/unsettled-owners.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import type { Options } from '#runtime/config/options.ts';
import type { MemberLoad } from '#runtime/directory/ports.ts';
import type { DataDirectoryLock } from '#runtime/embedded/data-directory-lock.ts';
import type { JobTickets } from '#runtime/jobs/tickets.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { SpaceGate } from '#runtime/space/space-gate.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import type { RegistryTimes } from '#cluster/directory/member-registry.ts';
import type { OwnShards } from './check/own-shards.ts';
import type { CountedBus } from './member-bus.ts';

/** What an engine is opened with. */
export interface EngineEnvironment {
  readonly options: Options;
  readonly kinds: readonly ActorKind[];
  readonly observer: HostObserver;
  readonly clock: Clock;
  readonly random: Random;
  /** Divides the event loop of the process between everything that may be long. */
  readonly slices: SliceScheduler;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly files: FileSystem;
  /** The data directory, which this process has for itself. */
  readonly lock: DataDirectoryLock;
  /** Decides whether there is room for what is written. */
  readonly space: SpaceGate;
  /** The key the data directory is used with. */
  readonly key: DirectoryKey;
  readonly version: string;
  /** How far the member is. */
  readonly state: () => MemberState;
  /** Requests whose answer is not over. */
  readonly requestsInFlight: () => number;
  /** Told when this member has come to own more actors: what they left to be done is its own now. */
  readonly onTaken: (isMine: (actor: ActorId) => boolean) => void;
  /** How fast members of a cluster notice each other. */
  readonly registryTimes?: RegistryTimes;
}

/** What keeps the actors of a member: a journal and a host when it is alone, NATS and many hosts in a cluster. */
export interface MemberEngine {
  readonly mode: 'embedded' | 'cluster';
  /** What an answered write has survived. */
  readonly durability: string;
  readonly router: Router;
  readonly lifecycle: ActorLifecycle;
  /**
   * Rejects unless it is certain that an actor that is not there never was; left out where the start compares what should
   * be there with what is.
   */
  requireNew?(actor: ActorId): Promise<void>;
  /** Notes of what is being made and removed; a member that does not have all actors keeps none. */
  readonly unsettled: UnsettledOwners;
  /** What this member has of actors of others; undefined where there are no others. */
  readonly nearby?: NearbyReads;
  /** Copies actors for backups; undefined where they live on several members, whose owners are asked then. */
  readonly copies?: ActorCopies;
  /** The shards on this member's disk, for checks. */
  readonly shards: OwnShards;
  /** Tells what is committed. Removing actors through {@link MemberEngine.lifecycle} ends what is told of them. */
  readonly bus: CountedBus;
  /** What tells the members of a cluster of jobs; undefined where there is one process only. */
  readonly tickets?: JobTickets;
  /** Tells the other members of attempts to log in; undefined where there are none. */
  readonly logins?: LoginNews;
  /** What this member lacks to serve as well as the others. */
  missing(): readonly MissingPart[];
  /** Actors of this member that take no commands any more. */
  stoppedActors(): readonly StoppedActor[];
  /** Partitions whose data it found damaged or gone in the last hour and makes anew, with what it found of each. */
  rebuiltPartitions(): ReadonlyMap<number, string>;
  /** How far revisions are ahead of the wall clock. */
  readonly revisionClock: { readonly aheadSeconds: number };
  readonly status: ClusterStatus;
  load(): Omit<MemberLoad, 'requestsInFlight'>;
  /**
   * Begins to serve; resolves when messages to actors find their way.
   *
   * @param address where clients reach this member, without a trailing slash; asked when that is known
   */
  start(address: () => string): Promise<void>;
  /** Refuses commands that wait for something, so that nobody's patience holds up the end. */
  endWaits(): void;
  /**
   * Gives what it has to others, as long as there are some.
   *
   * @param graceMs time for that, in milliseconds
   * @param closeMs time {@link close} has after that, in milliseconds: what cannot be finished by then is left
   */
  drain(graceMs: number, closeMs: number): Promise<void>;
  /** Applies everything and lets go of it all. */
  close(): Promise<void>;
}
