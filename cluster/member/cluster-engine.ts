import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { ActorHost } from '#runtime/actor/actor-host.ts';
import type { ActorLifecycle } from '#runtime/actor/ports.ts';
import { sleep } from '#runtime/base/clock.ts';
import { OptionError } from '#runtime/config/option.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log as CommitLog } from '#runtime/log/ports.ts';
import { ClusterDirectory, placementRules } from '#cluster/directory/cluster-directory.ts';
import { MemberRegistry } from '#cluster/directory/member-registry.ts';
import { NatsHeartbeats } from '#cluster/directory/nats-heartbeats.ts';
import { NatsBus } from '#cluster/fanout/nats-bus.ts';
import { PartitionManager } from '#cluster/lease/partition-manager.ts';
import { PartitionMember } from '#cluster/lease/partition-member.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { type ClusterDurability, decideDurability } from '#cluster/nats/durability-class.ts';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import { readServers, requireFitServers, serverWarnings } from '#cluster/nats/server-capabilities.ts';
import { ensureCommitStream } from '#cluster/nats/streams.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { AppendChannel } from '#cluster/replication/append-channel.ts';
import { JetStreamLogStream } from '#cluster/replication/jetstream-log-stream.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { CallServer } from '#cluster/router/call-server.ts';
import { ClusterRouter } from '#cluster/router/cluster-router.ts';
import { RemoteCalls } from '#cluster/router/remote-calls.ts';
import type { EngineEnvironment, MemberEngine } from './engine.ts';
import { hostLimits } from './host-limits.ts';
import { busObserver, tellingRemovals } from './member-bus.ts';
import { MemberClusterStatus } from './member-cluster-status.ts';
import { NatsServersView } from './nats-servers-view.ts';
import { partitionReport } from './observers.ts';
import { PositionExchange } from './position-exchange.ts';
import { Readiness } from './readiness.ts';

/** Streams that are made at the same time at the first start. */
const STREAMS_AT_ONCE = 8;

/** Between two looks whether every partition has an owner, in milliseconds. */
const OWNERS_POLL_MS = 50;

/** Time after which a start goes on without owners for all partitions, in milliseconds: the log says which lack one. */
const OWNERS_MS_MAX = 60_000;

/** Time answers to other members have to be sent when everything is over, in milliseconds. */
const ANSWERS_MS_MAX = 2_000;

/** What the status says of a partition in quarantine. */
const QUARANTINED = 'Its log or its shards cannot be trusted; see the log of this member';

/** What was found out about NATS at the start. */
interface Servers {
  readonly durability: ClusterDurability | 'none';
  readonly reason: string;
}

/**
 * Connects to NATS and makes this process a member of the cluster there: it follows and owns partitions of the
 * commit log, and sends messages to those of the others.
 *
 * @throws {OptionError} when NATS cannot be reached, or its servers cannot give what is configured
 */
export async function openClusterEngine(environment: EngineEnvironment): Promise<MemberEngine> {
  const { clock, log, options, random } = environment;
  const { cluster, server } = options;
  const connection = await connectToNats({
    urls: server.natsUrl,
    name: server.memberId ?? hostname(),
    clock,
    ...(server.natsCreds === undefined ? {} : { credentials: readCredentials(server.natsCreds) }),
  });
  try {
    const servers = await checkServers(connection, environment);
    const subjects = new Subjects(cluster.name);
    const settings = { replicas: cluster.replicas, bytesMax: cluster.logBytesMax };
    for (let first = 0; first < cluster.partitions; first += STREAMS_AT_ONCE) {
      const some = Array.from(
        { length: Math.min(STREAMS_AT_ONCE, cluster.partitions - first) },
        (_, at) => first + at,
      );
      await Promise.all(some.map((each) => ensureCommitStream(connection, subjects, each, settings, clock)));
      log.info('commit logs are there', { upTo: first + some.length, of: cluster.partitions });
    }
    return new ClusterEngine(environment, connection, subjects, servers, random.bytes(8));
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function readCredentials(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new OptionError([
      `SVC_NATS_CREDS names ${file}, which cannot be read: ${(error as Error).message}`,
    ]);
  }
}

async function checkServers(
  connection: NatsConnection,
  { log, options }: EngineEnvironment,
): Promise<Servers> {
  const { cluster } = options;
  const facts = await readServers({ connection, monitorUrls: cluster.natsMonitorUrls });
  requireFitServers(facts, connection.info?.max_payload ?? 0);
  for (const warning of serverWarnings(facts)) log.warn(warning);
  if (cluster.replicas < 3) {
    const reason = `[cluster] replicas is ${cluster.replicas}: the loss of one NATS server loses writes`;
    log.warn(reason);
    return { durability: 'none', reason };
  }
  const wanted =
    cluster.durability === 'quorum' || cluster.durability === 'quorum-disk' ? cluster.durability : undefined;
  const decision = decideDurability(wanted, facts, cluster.replicas);
  if (decision.durability !== 'replica-disk') return decision;
  if (cluster.durability === 'replica-disk') {
    throw new OptionError([
      '[cluster] durability replica-disk is not in this version; choose quorum, or quorum-disk with servers that flush',
    ]);
  }
  const reason = `most NATS servers have an answered write, and may lose it when all lose power at once: ${decision.reason}`;
  log.warn(reason);
  return { durability: 'quorum', reason };
}

class ClusterEngine implements MemberEngine {
  readonly mode = 'cluster';
  readonly durability: string;
  readonly #environment: EngineEnvironment;
  readonly #connection: NatsConnection;
  readonly #subjects: Subjects;
  readonly #servers: Servers;
  readonly #link: LinkWatch;
  readonly #natsServers: NatsServersView;
  readonly #channel: AppendChannel;
  readonly #calls: RemoteCalls;
  readonly #nonce: string;
  readonly router: ClusterRouter;
  readonly bus: NatsBus;
  readonly lifecycle: ActorLifecycle;
  #address: () => string = () => '';
  #started: Started | undefined;

  constructor(
    environment: EngineEnvironment,
    connection: NatsConnection,
    subjects: Subjects,
    servers: Servers,
    nonce: Uint8Array,
  ) {
    const { clock, random, options } = environment;
    this.#environment = environment;
    this.#connection = connection;
    this.#subjects = subjects;
    this.#servers = servers;
    this.durability = servers.durability;
    this.#nonce = Buffer.from(nonce).toString('hex');
    this.#link = new LinkWatch(connection);
    this.#natsServers = new NatsServersView(connection, options.cluster.natsMonitorUrls);
    this.#channel = new AppendChannel(connection, clock);
    this.#calls = new RemoteCalls(connection, clock);
    this.router = new ClusterRouter({
      partitions: options.cluster.partitions,
      local: (partition) => this.#started?.manager.local(partition),
      subjectOf: (partition) => {
        const owner = this.#started?.directory.otherOwnerOf(partition);
        return owner === undefined ? undefined : subjects.calls(owner);
      },
      calls: this.#calls,
      clock,
      random,
    });
    this.bus = new NatsBus({
      connection,
      subjects,
      partitions: options.cluster.partitions,
      router: this.router,
      clock,
      random,
      observer: busObserver(environment.metrics),
    });
    this.lifecycle = tellingRemovals(this.router, this.bus);
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
      directory: started.directory,
      state,
      durability: this.durability,
      durabilityReason: this.#servers.reason,
      followersWanted: placementRules.followers,
      progress: async () => ({
        positions: await started.exchange.ask(started.directory.members().length),
        quarantine: (partition) => (memberOf(partition)?.role === 'quarantined' ? QUARANTINED : undefined),
      }),
      nats: () => this.#natsServers.read(),
    });
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
    const { directory } = this.#started;
    const untilMs = clock.monotonicMs() + OWNERS_MS_MAX;
    const unowned = (): number[] =>
      Array.from({ length: options.cluster.partitions }, (_, partition) => partition).filter(
        (partition) => directory.ownerOf(partition) === undefined,
      );
    while (unowned().length > 0 && clock.monotonicMs() < untilMs) await sleep(clock, OWNERS_POLL_MS);
    if (unowned().length > 0) log.warn('partitions without an owner', { partitions: unowned() });
  }

  endWaits(): void {
    for (const host of this.#hosts()) host.endWaits();
  }

  async drain(graceMs: number): Promise<void> {
    await this.#started?.manager.drain(graceMs);
  }

  async close(): Promise<void> {
    await this.bus.close();
    this.#started?.exchange.close();
    await this.#started?.manager.close();
    await this.#started?.server.settled(ANSWERS_MS_MAX);
    this.#started?.server.close();
    this.#calls.close();
    await this.#connection.drain().catch(() => undefined);
  }

  #hosts(): ActorHost[] {
    const hosts: ActorHost[] = [];
    for (const member of this.#started?.manager.members.values() ?? [])
      if (member.owned !== undefined) hosts.push(member.owned.host);
    return hosts;
  }

  #begin(): Started {
    const { clock, log, options, random, version } = this.#environment;
    const { partitions } = options.cluster;
    const url = this.#address();
    const id = options.server.memberId ?? `${hostname()}:${new URL(url).port}`;
    const registry = new MemberRegistry({
      member: { id, url },
      version,
      partitions,
      load: () => ({ requestsInFlight: this.#environment.requestsInFlight(), ...this.load() }),
      channel: new NatsHeartbeats(this.#connection, this.#subjects, partitions),
      clock,
      random,
      observer: {
        joined: (member) => log.info('a member joined', { member }),
        lost: (member, isLeaving) => {
          log.warn(isLeaving ? 'a member left' : 'a member is silent', { member });
          // One that leaves sends its answers first.
          if (!isLeaving) this.#calls.lose(this.#subjects.calls(member));
        },
        duplicate: (other) => log.error('another member has the name of this one; rename one', { id, other }),
      },
    });
    const directory = new ClusterDirectory(registry, id, partitions);
    const inbox = `${this.#subjects.member(id)}.${this.#nonce}`;
    const server = new CallServer(
      this.#connection,
      inbox,
      this.#subjects.calls(id),
      clock,
      (call, caller) => this.router.handle(call, caller),
      (error) => log.error('a call of another member failed', { error }),
    );
    const streams = new Map<number, JetStreamLogStream>();
    const streamOf = (partition: number): JetStreamLogStream => {
      let stream = streams.get(partition);
      if (stream === undefined) {
        stream = new JetStreamLogStream(
          this.#connection,
          this.#channel,
          this.#subjects.logStream(partition),
          this.#subjects.log(partition),
        );
        streams.set(partition, stream);
      }
      return stream;
    };
    const manager = new PartitionManager({
      directory,
      registry,
      streamOf,
      clock,
      onFailure: (partition, error) =>
        log.error('the role of a partition could not be changed', { partition, error }),
      makeMember: (partition, { onRole, report }) =>
        new PartitionMember({
          partition,
          member: id,
          folder: join(options.server.dataDir, 'partitions', String(partition).padStart(3, '0')),
          stream: streamOf(partition),
          kinds: this.#environment.kinds,
          leaseMs: options.cluster.leaseMs,
          files: this.#environment.files,
          clock,
          random,
          openHost: (folder, commitLog) => this.#openHost(folder, commitLog),
          report: this.#reporting(partition, report),
          onRole: (role) => {
            onRole(role);
            log.info('role of a partition', { partition, role });
            if (role === 'owning')
              this.#environment.onTaken((actor) => directory.partitionOf(actor) === partition);
          },
        }),
    });
    this.bus.watchOwners(directory);
    registry.start();
    manager.start();
    const readiness = new Readiness({ directory, isConnected: () => this.#link.isUp });
    const exchange = new PositionExchange({
      connection: this.#connection,
      subject: this.#subjects.positions,
      member: id,
      positions: () =>
        new Map(
          [...manager.members].flatMap(([partition, { role, sequence }]) =>
            role === 'idle' ? [] : [[partition, sequence]],
          ),
        ),
    });
    return { registry, directory, server, manager, readiness, exchange };
  }

  #reporting(partition: number, hear: (event: LogEvent) => void): (event: LogEvent) => void {
    const tell = partitionReport(this.#environment.log, partition);
    return (event) => {
      tell(event);
      hear(event);
    };
  }

  async #openHost(folder: string, log: CommitLog): Promise<ActorHost> {
    const { clock, kinds, observer, options, random } = this.#environment;
    const host = new ActorHost({
      folder,
      log,
      clock,
      random,
      kinds,
      limits: hostLimits(options.limits),
      observer,
    });
    await host.recover();
    return host;
  }
}

/** What a started member works with. */
interface Started {
  readonly registry: MemberRegistry;
  readonly directory: ClusterDirectory;
  readonly server: CallServer;
  readonly manager: PartitionManager;
  readonly readiness: Readiness;
  readonly exchange: PositionExchange;
}
