import { join } from 'node:path';
import { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { OpenRoom } from '#runtime/actor/host/open-room.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { ActorId, ActorLifecycle, LocalReads } from '#runtime/actor/ports.ts';
import type { StoppedActor } from '#runtime/actor/damage/stopped-actors.ts';
import { ReplicaReads } from '#runtime/actor/reads/replica-reads.ts';
import { noOwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import { within } from '#runtime/base/time/within.ts';
import { OptionError } from '#runtime/config/option.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import { ClusterDirectory, placementRules } from '#cluster/directory/cluster-directory.ts';
import { MEMBERS_MAX, MemberRegistry } from '#cluster/directory/member-registry.ts';
import { NatsHeartbeats } from '#cluster/directory/nats-heartbeats.ts';
import { NatsBus } from '#cluster/fanout/nats-bus.ts';
import { type PartitionListeners, PartitionManager } from '#cluster/ownership/partition-manager.ts';
import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import type { NatsConnection } from '#cluster/nats/connection.ts';
import { flushWindow } from '#cluster/replica-durability/flush-journal.ts';
import { NatsFlushChannel } from '#cluster/replica-durability/nats-flush-channel.ts';
import { NatsReplicaStatus } from '#cluster/replica-durability/nats-replica-status.ts';
import type { ReplicasEnvironment } from '#cluster/replica-durability/flushed-replica.ts';
import type { NatsTickets } from '#cluster/jobs/nats-tickets.ts';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import { NotThereYetError } from '#cluster/nats/not-there-yet.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import { AppendChannel } from '#cluster/replication/append-channel.ts';
import { JetStreamLogStream } from '#cluster/replication/jetstream-log-stream.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { wasNeverMade } from '#cluster/replication/never-made.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { RECORD_FORMAT } from '#cluster/replication/record-format.ts';
import type { LogSeal } from '#cluster/seal/log-seal.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import { RotatedLogs } from '#cluster/snapshot/rotated-logs.ts';
import { CALL_VERSION } from '#cluster/router/call-frames.ts';
import { CallServer } from '#cluster/router/call-server.ts';
import { ClusterRouter } from '#cluster/router/cluster-router.ts';
import { RemoteCalls } from '#cluster/router/remote-calls.ts';
import { PartitionShards } from '#server/check/partition-shards.ts';
import type { CheckedServers } from './check-servers.ts';
import type { EngineEnvironment, MemberEngine, SharedRotation } from './engine.ts';
import { hostLimits, requestLimits } from '#server/host/host-limits.ts';
import { memberName } from '#server/host/member-name.ts';
import { LogWatch } from '#server/status/log-watch.ts';
import { busObserver, tellingRemovals } from './member-bus.ts';
import { MemberClusterStatus } from '#server/status/member-cluster-status.ts';
import { memberFindings } from '#server/status/member-findings.ts';
import { linkFindings, logSealOf } from './member-link.ts';
import { NatsIdentityNews } from './nats-identity-news.ts';
import { NatsAccountNews } from './nats-account-news.ts';
import { NatsLogins } from './nats-logins.ts';
import { NatsServersView } from '#server/status/nats-servers-view.ts';
import { partitionReport } from './observers.ts';
import { PartitionMetrics } from '#server/status/partition-metrics.ts';
import type { KnownPartitions, PartitionSnapshots } from './partition-snapshots.ts';
import { PositionExchange } from '#server/status/position-exchange.ts';
import { Readiness } from '#server/status/readiness.ts';
import { ShardFailures } from './shard-failures.ts';
import { RevisionClock } from './revision-clock.ts';
import { spaceFindings } from '#server/status/space-findings.ts';
import { partitionFindings, QUARANTINED, stoppedFindings } from '#server/status/stopped-findings.ts';

/** Interval of the checks whether every partition has an owner, in milliseconds. */
const OWNERS_POLL_MS = 50;

/**
 * Time after which a start continues without owners for all partitions, in milliseconds: the log lists those without.
 */
const OWNERS_MS_MAX = 60_000;

/** Default time for closing everything, in milliseconds. */
const CLOSE_MS_MAX = 20_000;

/** Time for sending the last replies to other members, in milliseconds. */
const ANSWERS_MS_MAX = 2_000;

/** Time before the end of a drain at which callers that still wait for another member get an error, in milliseconds. */
const LAST_ANSWERS_MS = 1_000;

function tooManyMembers(): OptionError {
  return new OptionError([
    `the cluster has ${MEMBERS_MAX} members already, and may not have more: stop one of them before you start this one`,
  ]);
}

/** A member of a cluster: it follows and owns partitions, and sends messages to the owners of the others. */
export class ClusterEngine implements MemberEngine {
  readonly mode = 'cluster';
  readonly durability: string;
  readonly #environment: EngineEnvironment;
  readonly #connection: NatsConnection;
  readonly #sealed: SealedLink;
  readonly #logSeal: LogSeal;
  readonly #subjects: Subjects;
  readonly #servers: CheckedServers;
  readonly #link: LinkWatch;
  readonly #natsServers: NatsServersView;
  readonly #partitionMetrics: PartitionMetrics;
  /** Limit for the open actors of all partitions: files and memory maps are limited per process. */
  readonly #room: OpenRoom;
  readonly #channel: AppendChannel;
  readonly #calls: RemoteCalls;
  readonly #nonce: string;
  readonly #logWatch: LogWatch;
  readonly revisionClock: RevisionClock;
  readonly #snapshots: PartitionSnapshots;
  readonly router: ClusterRouter;
  readonly nearby: LocalReads;
  readonly bus: NatsBus;
  readonly tickets: NatsTickets;
  readonly accountNews: NatsAccountNews;
  readonly logins: NatsLogins;
  readonly identityNews: NatsIdentityNews;
  readonly lifecycle: ActorLifecycle;
  readonly unsettled = noOwnerIntents;
  readonly shards: PartitionShards;
  /** Stores of the partitions that this member has had data of. */
  readonly #stores = new Map<number, ActorStore>();
  /** Undefined when there is no previous master key. */
  readonly #rotatedLogs: RotatedLogs | undefined;
  readonly sharedRotation: SharedRotation;
  #address: () => string = () => '';
  #started: Started | undefined;
  /** Time for {@link close}, in milliseconds. */
  #closeMs = CLOSE_MS_MAX;

  constructor(
    environment: EngineEnvironment,
    sealed: SealedLink,
    subjects: Subjects,
    servers: CheckedServers,
    tickets: NatsTickets,
    snapshots: PartitionSnapshots,
    nonce: Uint8Array,
  ) {
    const { clock, random, options } = environment;
    this.#environment = environment;
    this.#room = new OpenRoom(environment.options.limits.openActorsMax);
    const { connection } = sealed;
    this.#sealed = sealed;
    this.#logSeal = logSealOf(environment);
    this.#connection = connection;
    this.#subjects = subjects;
    this.#servers = servers;
    this.durability = servers.durability;
    this.tickets = tickets;
    this.#snapshots = snapshots;
    this.#nonce = Buffer.from(nonce).toString('hex');
    this.accountNews = new NatsAccountNews(sealed, subjects, this.#nonce);
    this.logins = new NatsLogins(sealed, subjects, this.#nonce);
    this.identityNews = new NatsIdentityNews(sealed, subjects, this.#nonce);
    this.#link = new LinkWatch(connection);
    this.revisionClock = new RevisionClock(clock, environment.log, () => this.#hosts());
    this.#logWatch = new LogWatch({
      connection,
      subjects,
      monitorUrls: options.cluster.natsMonitorUrls,
      gate: environment.space,
      clock,
      log: environment.log,
    });
    environment.metrics.gauge(
      'svc_clock_skew_seconds',
      'How far the wall clock is ahead of those of the NATS servers, as far as that is certain.',
      () => this.#logWatch.skewMs / 1_000,
    );
    this.#natsServers = new NatsServersView(
      connection,
      options.cluster.natsMonitorUrls,
      servers.pages.servers,
    );
    this.#partitionMetrics = new PartitionMetrics(environment.metrics, () => this.#roles());
    this.#channel = new AppendChannel(connection, clock, {
      observe: (outcome, elapsedMs) => this.#partitionMetrics.append(outcome, elapsedMs),
    });
    this.#calls = new RemoteCalls(connection, clock, environment.slices, sealed.seal);
    this.router = this.#newRouter();
    this.nearby = this.router;
    this.bus = new NatsBus({
      sealed,
      subjects,
      partitions: options.cluster.partitions,
      router: this.router,
      clock,
      random,
      observer: busObserver(environment.metrics),
    });
    this.lifecycle = tellingRemovals(this.router, this.bus);
    this.sharedRotation = this.#newSharedRotation();
    const { isAgreed } = this.sharedRotation;
    this.#rotatedLogs = environment.secrets.previousMasterKey && new RotatedLogs(isAgreed);
    this.shards = new PartitionShards({
      partitions: options.cluster.partitions,
      members: () => this.#started?.manager.members ?? new Map(),
      storeOf: (partition) => this.#stores.get(partition),
      damaged: (partition, cause) => this.#started?.manager.metDamage(partition, cause),
      clock,
    });
  }

  #newSharedRotation(): SharedRotation {
    return {
      isAgreed: () => {
        const registry = this.#started?.registry;
        return registry?.isSettled === true && registry.isKeyShared;
      },
      isMine: (actor) => {
        const directory = this.#started?.directory;
        return directory?.ownerOf(directory.partitionOf(actor))?.isSelf === true;
      },
      signedBefore: () => {
        const owned = [...(this.#started?.manager.members ?? [])].filter(
          ([, member]) => member.owned !== undefined,
        );
        return this.#rotatedLogs?.left(owned.map(([partition]) => partition)) ?? [];
      },
    };
  }

  #newRouter(): ClusterRouter {
    const { clock, options, random } = this.#environment;
    return new ClusterRouter({
      partitions: options.cluster.partitions,
      local: (partition) => this.#started?.manager.local(partition),
      replica: (partition) => this.#started?.manager.replica(partition),
      isConnected: () => this.#link.isUp,
      subjectOf: (partition) => {
        const owner = this.#started?.directory.otherOwnerOf(partition);
        return owner === undefined ? undefined : this.#subjects.calls(owner);
      },
      ownerOf: (partition) => this.#started?.directory.ownerOf(partition),
      calls: this.#calls,
      callVersion: () => this.#started?.registry.formats.calls ?? 0,
      clock,
      random,
    });
  }

  missing() {
    return (
      this.#started?.readiness.missing() ?? [
        { part: 'owners' as const, message: 'The member is starting', partitions: [] },
      ]
    );
  }

  get status(): MemberClusterStatus {
    const { state } = this.#environment;
    const started = this.#started;
    if (started === undefined)
      throw new ServiceError('SHUTTING_DOWN', 'The member is starting; try again shortly.');
    const memberOf = (partition: number) => started.manager.members.get(partition);
    return new MemberClusterStatus({
      mode: 'cluster',
      clock: this.#environment.clock,
      directory: started.directory,
      state,
      durability: this.durability,
      durabilityReason: this.#servers.reason,
      followersWanted: placementRules.followers,
      findings: () => this.#findings(),
      takeSnapshots: (partition) => this.#snapshots.request(partition),
      logs: () => this.#snapshots.seen(started.known),
      progress: async () => ({
        ...(await started.exchange.ask(started.directory.members().length)),
        quarantine: (partition) =>
          memberOf(partition)?.role === 'quarantined'
            ? (memberOf(partition)?.trouble ?? QUARANTINED)
            : undefined,
      }),
      nats: () => this.#natsServers.read(),
    });
  }

  async requireNew(actor: ActorId): Promise<void> {
    const { clock } = this.#environment;
    const known = this.#started?.known;
    if (known === undefined) throw new ServiceError('SHUTTING_DOWN');
    const partition = known.directory.partitionOf(actor);
    if (await wasNeverMade(known.streamOf(partition), partition, actor, clock)) return;
    throw new NotThereYetError(
      `${actor} is not served by partition ${partition}, although its log had it or no longer has its beginning. Nothing ` +
        'is made in its place: see the log of the member that owns the partition, and bring its data back or restore a backup',
    );
  }

  #findings(): readonly MemberFinding[] {
    const ofPartitions = [...(this.#started?.manager.members ?? [])].flatMap(([partition, member]) =>
      partitionFindings(partition, member),
    );
    return [
      ...spaceFindings(this.#environment.space),
      ...this.#environment.folders.findings,
      ...this.#environment.checkResults.findings,
      ...this.#environment.keyFindings(),
      ...this.#logWatch.findings,
      ...linkFindings(this.#sealed, this.#environment.options.server.natsUrl),
      ...memberFindings(this.#started?.registry),
      ...stoppedFindings(this.stoppedActors()),
      ...this.revisionClock.findings,
      // Last, because there may be more of them than fit into a message between members.
      ...ofPartitions,
    ];
  }

  stoppedActors(): readonly StoppedActor[] {
    const stopped = new Map<ActorId, StoppedActor>();
    for (const { refused } of this.#stores.values())
      for (const [actor, { message }] of refused) stopped.set(actor, { actor, reason: 'damage', message });
    for (const { stoppedActors } of this.#hosts())
      for (const each of stoppedActors) stopped.set(each.actor, each);
    return [...stopped.values()];
  }

  rebuiltPartitions(): ReadonlyMap<number, string> {
    const found = new Map<number, string>();
    for (const [partition, { damage }] of this.#started?.manager.members ?? [])
      if (damage.rebuilt !== undefined) found.set(partition, damage.rebuilt);
    return found;
  }

  load() {
    let openActors = 0;
    let pendingBytes = 0;
    for (const host of this.#hosts()) {
      openActors += host.openActors;
      pendingBytes += host.pendingBytes;
    }
    return { openActors, pendingBytes };
  }

  async start(address: () => string): Promise<void> {
    this.#address = address;
    const { clock, log, options } = this.#environment;
    this.#started = this.#begin();
    const { directory, registry } = this.#started;
    const untilMs = clock.monotonicMs() + OWNERS_MS_MAX;
    // With many members some may not have been heard yet, and this one may be surplus.
    const mayBeSurplus = (): boolean => directory.members().length > MEMBERS_MAX / 2 && !registry.isSettled;
    const unowned = (): number[] =>
      Array.from({ length: options.cluster.partitions }, (_, partition) => partition).filter(
        (partition) => directory.ownerOf(partition) === undefined,
      );
    const told = new Set<string>();
    while ((unowned().length > 0 || mayBeSurplus()) && clock.monotonicMs() < untilMs) {
      await sleep(clock, OWNERS_POLL_MS);
      if (registry.surplus === directory.self) throw tooManyMembers();
      for (const [partition, { trouble }] of this.#started.manager.members) {
        if (trouble === undefined || told.has(trouble)) continue;
        told.add(trouble);
        log.warn('partition cannot be opened', { partition, trouble });
      }
    }
    if (unowned().length > 0) log.warn('partitions without an owner', { partitions: unowned() });
  }

  endWaits(): void {
    for (const host of this.#hosts()) host.endWaits();
  }

  async drain(graceMs: number, closeMs: number): Promise<void> {
    const { clock } = this.#environment;
    this.#closeMs = closeMs;
    this.router.endAt(clock.monotonicMs() + graceMs - Math.min(LAST_ANSWERS_MS, graceMs / 2));
    await this.#started?.manager.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#logWatch.stop();
    this.revisionClock.stop();
    await this.bus.close();
    this.#started?.exchange.close();
    const { clock } = this.#environment;
    // Each of these may wait for servers that do not answer.
    await within(clock, this.#closeMs / 5, this.#snapshots.close());
    this.#started?.statuses.close();
    await this.#started?.manager.close((this.#closeMs * 2) / 5);
    await this.#started?.server.settled(Math.min(ANSWERS_MS_MAX, this.#closeMs / 5));
    this.#started?.server.close();
    this.#calls.close();
    const drained = this.#connection.drain().catch(() => undefined);
    if (!(await within(clock, this.#closeMs / 5, drained))) await this.#connection.close();
  }

  #roles(): readonly PartitionRole[] {
    return [...(this.#started?.manager.members.values() ?? [])].map(({ role }) => role);
  }

  #hosts(): ActorHost[] {
    const hosts: ActorHost[] = [];
    for (const member of this.#started?.manager.members.values() ?? [])
      if (member.owned !== undefined) hosts.push(member.owned.host);
    return hosts;
  }

  /** Joins the cluster: from here on the other members see this one, and it gets roles in partitions. */
  #begin(): Started {
    const { options } = this.#environment;
    const url = this.#address();
    const id = memberName(options.server.memberId, new URL(url).port);
    this.#sealed.seal.begin(id);
    const registry = this.#newRegistry(id, url);
    const directory = new ClusterDirectory(registry, id, options.cluster.partitions);
    const server = this.#answerCalls(id);
    const streamOf = this.#logStreams();
    const statuses = new NatsReplicaStatus(
      this.#sealed,
      this.#subjects.replicaStatus,
      this.#environment.clock,
    );
    const manager = this.#newManager({ id, registry, directory, streamOf, statuses });
    this.bus.watchOwners(directory);
    statuses.answer((partition) =>
      partition < options.cluster.partitions ? manager.status(partition) : Promise.resolve(undefined),
    );
    registry.start();
    manager.start();
    this.#logWatch.start();
    const known: KnownPartitions = { directory, members: () => manager.members, streamOf };
    this.#snapshots.start(known, (partition) => this.#folderOf(partition), this.#rotatedLogs);
    const readiness = new Readiness({
      directory,
      duplicates: () => registry.duplicates,
      isConnected: () => this.#link.isUp,
      troubleOf: (partition) => manager.members.get(partition)?.trouble,
      isContained: (partition) => manager.members.get(partition)?.damage.contained !== undefined,
    });
    const exchange = this.#exchangePositions(id, manager);
    return { registry, directory, server, manager, readiness, exchange, known, statuses };
  }

  #newRegistry(id: string, url: string): MemberRegistry {
    const { clock, key, log, options, random, registryTimes, version } = this.#environment;
    const { partitions } = options.cluster;
    const registry: MemberRegistry = new MemberRegistry({
      member: { id, url },
      version,
      formats: { records: RECORD_FORMAT, calls: CALL_VERSION },
      key: key.check,
      partitions,
      load: () => ({ requestsInFlight: this.#environment.requestsInFlight(), ...this.load() }),
      channel: new NatsHeartbeats(this.#sealed, this.#subjects, partitions),
      clock,
      random,
      ...(registryTimes === undefined ? {} : { times: registryTimes }),
      observer: {
        joined: (other) => log.info('member joined', { other, common: registry.formats }),
        lost: (member, isLeaving) => {
          log.warn(isLeaving ? 'a member left' : 'a member is silent', { other: member });
          // A leaving member sends its replies first.
          if (!isLeaving) this.#calls.lose(this.#subjects.calls(member));
        },
        duplicate: (other) =>
          log.error('another member has the same name; rename one of them', { id, other }),
        surplus: (member) =>
          log.error(`a cluster has at most ${MEMBERS_MAX} members; stop this one`, { surplus: member }),
      },
    });
    return registry;
  }

  /** Answers the calls of other members from now on. */
  #answerCalls(id: string): CallServer {
    const { clock, log, slices } = this.#environment;
    return new CallServer(
      this.#connection,
      `${this.#subjects.member(id)}.${this.#nonce}`,
      this.#subjects.calls(id),
      clock,
      slices,
      this.#sealed.seal,
      (call, caller) => this.router.handle(call, caller),
      (error) => log.error('call of another member failed', { error }),
    );
  }

  /** Returns a function that returns the stream of a partition, always the same one. */
  #logStreams(): (partition: number) => JetStreamLogStream {
    const streams = new Map<number, JetStreamLogStream>();
    return (partition) => {
      let stream = streams.get(partition);
      if (stream === undefined) {
        stream = new JetStreamLogStream(
          this.#connection,
          this.#channel,
          this.#subjects.logStream(partition),
          this.#subjects.log(partition),
          this.#logSeal,
        );
        streams.set(partition, stream);
      }
      return stream;
    };
  }

  #folderOf(partition: number): string {
    const { dataDir } = this.#environment.options.server;
    return join(dataDir, 'partitions', String(partition).padStart(3, '0'));
  }

  #newManager(joined: Joined): PartitionManager {
    const { clock, log } = this.#environment;
    const { directory, registry, streamOf } = joined;
    const replicasOf = this.#replicas(joined);
    return new PartitionManager({
      directory,
      registry,
      streamOf,
      clock,
      onFailure: (partition, error) =>
        log.error('role of this member in a partition could not be changed', { partition, error }),
      makeMember: (partition, hear) =>
        this.#newPartitionMember(partition, joined, replicasOf(partition), hear),
    });
  }

  /** Returns a function that returns how the followers of a partition take part in its durability. */
  #replicas({ id, directory, statuses }: Joined): (partition: number) => ReplicasEnvironment {
    const { options } = this.#environment;
    const channel = new NatsFlushChannel(this.#sealed, this.#subjects);
    return (partition) => ({
      statuses,
      others: () => directory.members().filter(({ isSelf, isSuspect }) => !isSelf && !isSuspect).length,
      flush:
        this.durability === 'replica-disk'
          ? {
              channel,
              window: { ...flushWindow, keepBytesMax: options.cluster.flushJournalBytesMax },
              votersWanted: () => [
                ...new Set([id, ...directory.followersOf(partition).map((follower) => follower.id)]),
              ],
            }
          : undefined,
    });
  }

  #newPartitionMember(
    partition: number,
    { id, directory, streamOf }: Joined,
    replicas: ReplicasEnvironment,
    { onRole, report }: PartitionListeners,
  ): PartitionMember {
    const { clock, files, kinds, log, options, random, slices } = this.#environment;
    const folder = this.#folderOf(partition);
    const actors = join(folder, 'actors');
    const guard = this.#environment.space.at(partition);
    const store = new ActorStore(actors, kinds, clock, {
      keepMs: options.limits.removedKeepMs,
      isPressed: () => guard.refusal('grows') !== undefined,
    });
    this.#stores.set(partition, store);
    const stream = streamOf(partition);
    return new PartitionMember({
      partition,
      member: id,
      folder,
      store,
      stream,
      coldStart: this.#snapshots.coldStart(partition, folder, store, stream),
      leaseMs: options.cluster.leaseMs,
      files,
      clock,
      random,
      openHost: (commitLog) => this.#openHost(partition, actors, store, commitLog, stream),
      openReads: (replica) =>
        new ReplicaReads({
          replica,
          kindOf: (actor) => store.kindOf(actor),
          clock,
          slices,
          request: requestLimits(options.limits),
          damaged: (cause) => this.#started?.manager.metDamage(partition, cause),
        }),
      replicas,
      report: this.#reporting(partition, report),
      onRole: (role) => {
        onRole(role);
        log.info('role of this member in a partition changed', { partition, role });
        if (role === 'owning')
          this.#environment.onOwned((actor) => directory.partitionOf(actor) === partition);
      },
    });
  }

  /** Tells the other members the positions and findings of this one when they ask. */
  #exchangePositions(id: string, manager: PartitionManager): PositionExchange {
    return new PositionExchange({
      sealed: this.#sealed,
      clock: this.#environment.clock,
      subject: this.#subjects.positions,
      member: id,
      positions: () =>
        new Map(
          [...manager.members].flatMap(([partition, { role, sequence }]) =>
            role === 'idle' ? [] : [[partition, sequence]],
          ),
        ),
      findings: () => this.#findings(),
    });
  }

  #reporting(partition: number, hear: (event: LogEvent) => void): (event: LogEvent) => void {
    const tell = partitionReport(this.#environment.log, partition);
    return (event) => {
      tell(event);
      this.#partitionMetrics.event(event);
      hear(event);
    };
  }

  async #openHost(
    partition: number,
    folder: string,
    store: ActorStore,
    log: PartitionLog,
    stream: JetStreamLogStream,
  ): Promise<ActorHost> {
    const { kinds, observer, options, random, slices, space } = this.#environment;
    const clock = await this.#logWatch.clockOf(partition, log, stream);
    const failures = new ShardFailures(clock);
    const stepDown = (cause: unknown): void => this.#started?.manager.stepDown(partition, cause);
    const host = new ActorHost({
      folder,
      store,
      log,
      clock,
      steps: clock.steps,
      random,
      kinds,
      limits: hostLimits(options.limits),
      observer: {
        ...observer,
        applyFailed(actor, cause) {
          observer.applyFailed(actor, cause);
          // Durable records are in the log: other members have them, and a disk that can be written.
          if (failures.note()) stepDown(cause);
        },
        damaged: (actor, cause) => {
          observer.damaged?.(actor, cause);
          this.#started?.manager.metDamage(partition, cause);
        },
      },
      slices,
      room: this.#room,
      space: space.at(partition),
      removedKeepMs: options.limits.removedKeepMs,
    });
    await host.recover();
    return host;
  }
}

/** What a member needs for its partitions once it has a name. */
interface Joined {
  readonly id: string;
  readonly registry: MemberRegistry;
  readonly directory: ClusterDirectory;
  readonly streamOf: (partition: number) => JetStreamLogStream;
  readonly statuses: NatsReplicaStatus;
}

/** Dependencies of a started member. */
interface Started {
  readonly registry: MemberRegistry;
  readonly directory: ClusterDirectory;
  readonly server: CallServer;
  readonly manager: PartitionManager;
  readonly readiness: Readiness;
  readonly exchange: PositionExchange;
  readonly known: KnownPartitions;
  readonly statuses: NatsReplicaStatus;
}
