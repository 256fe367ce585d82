import { join } from 'node:path';
import type { RegistryTimes } from '#cluster/directory/member-registry.ts';
import type { ConnectionLimits } from '#protocols/http/connection-gate.ts';
import { requireFreePort } from '#protocols/http/listen-error.ts';
import type { ShareHolder } from '#protocols/http/in-flight-shares.ts';
import { createHttpServer, type HttpServer } from '#protocols/http/uws-server.ts';
import { createAuthenticate } from '#protocols/rest/authenticate.ts';
import { OperatorAccess } from '#protocols/rest/operator-access.ts';
import { RepositoryDirectory } from '#protocols/rest/repository-directory.ts';
import { hashLargeBody } from '#protocols/rest/rest-context.ts';
import type { MemberState, MemberStatus } from '#protocols/rest/system.ts';
import { AdminTokens } from '#runtime/access/admin-tokens.ts';
import { defaultLoginThrottle, LoginThrottle } from '#runtime/access/login-throttle.ts';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { type Principal, principalKey } from '#runtime/access/principal.ts';
import { RoutedCopies } from '#runtime/actor/routed-copies.ts';
import { BackupKey } from '#runtime/backup/backup-key.ts';
import type { Clock } from '#runtime/base/clock.ts';
import { SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { within } from '#runtime/base/within.ts';
import type { Bus } from '#runtime/bus/ports.ts';
import type { Options } from '#runtime/config/options.ts';
import { findSecrets } from '#runtime/config/secrets.ts';
import { claimName } from './claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import type { JobHandler } from '#runtime/jobs/job-handler.ts';
import type { Queue } from '#runtime/jobs/ports.ts';
import type { SpaceGuard } from '#runtime/space/space-gate.ts';
import { EventLoopLag } from '#runtime/telemetry/event-loop-lag.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';
import { actorKinds } from './actor-kinds.ts';
import { MemberBackups } from './backup/member-backups.ts';
import { MemberChecks } from './check/member-checks.ts';
import { requireFinishedRestore } from './backup/restore-marker.ts';
import { MemberLocks } from './branch-locks.ts';
import { MemberBranches } from './branch-provisioning.ts';
import { LazyUpgrades } from './built-in-upgrades.ts';
import { openClusterEngine } from './cluster-engine.ts';
import { directoryKey } from './directory-key.ts';
import { openFilesMax, planDescriptors } from './descriptor-plan.ts';
import { openEmbeddedEngine } from './embedded-engine.ts';
import type { EngineEnvironment, MemberEngine } from './engine.ts';
import { firstAdmin } from './first-admin.ts';
import { tellingEvents, watchBus } from './member-bus.ts';
import { MemberJobs } from './member-jobs.ts';
import { endWhenLost } from './end-when-lost.ts';
import { hostObserver, requestObserver } from './observers.ts';
import { MemberProvisioning } from './provisioning.ts';
import { memberRoutes } from './routes.ts';
import { openSpaceGate, SpaceWatch } from './space-watch.ts';
import { StartWaits } from './start-waits.ts';
import { volatileVolumeWarning } from './volatile-volume.ts';

const MS_PER_MINUTE = 60_000;

/** Everything a member takes from its surroundings. */
export interface MemberEnvironment {
  readonly options: Options;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Version of the product. */
  readonly version: string;
  /** Takes text for the person who starts the process. */
  readonly print: (text: string) => void;
  /** Default: the files of the operating system. */
  readonly files?: FileSystem;
  /** Does background jobs of types that are not the product's own. */
  readonly jobHandlers?: readonly JobHandler[];
  /** Lines of output that were given up because nobody read them. */
  readonly linesDropped?: () => number;
  /** Adds numbers of the process and its memory to the metrics. */
  readonly collectDefaultMetrics?: boolean;
  /** Ends the process at once: the member must not write one byte more. Default: it is told in the log only. */
  readonly end?: (cause: unknown) => void;
  /** How fast members of a cluster notice each other; the same at all. Default: what fits the default read lease. */
  readonly registryTimes?: RegistryTimes;
}

/** A running member. */
export interface Member {
  readonly port: number;
  /** Where it is reached, without a trailing slash. */
  readonly url: string;
  readonly status: MemberStatus;
  /** Takes background jobs. */
  readonly queue: Queue;
  /** Where committed changes are told. */
  readonly bus: Bus;
  /**
   * Stops accepting connections, answers what is under way for up to `graceMs`, then closes everything.
   * Calling it again waits for the first call.
   */
  drain(graceMs: number): Promise<void>;
}

/**
 * Bytes of a request's path besides the path of a node in it: route, names of repository, branch and workspace,
 * revision, property, command, some of them percent-encoded.
 */
const ADDRESS_BYTES = 2_048;

/** Time everything has to be closed at the least, in milliseconds, however short the grace period is. */
const CLOSE_MS_MIN = 5_000;

/** Undoes what was opened, newest first. */
class Closers {
  readonly #closers: (() => Promise<void> | void)[] = [];

  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  async run(): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) await close();
  }
}

/**
 * Opens a data directory and serves it: takes the lock, opens the engine, makes the system tenant at the first
 * start, finishes what was interrupted. Alone it listens last, so that whoever gets an answer gets it from a whole
 * member; in a cluster it listens first, because the others have to know where.
 *
 * @throws {ServiceError} `CONFLICT` when another process has the directory; `DATA_CORRUPTED`, `STORAGE_FULL`
 * @throws {OptionError} when a stored key is damaged
 * @throws {ListenError} when the port is taken; nothing was made or printed then
 */
export async function startMember(environment: MemberEnvironment): Promise<Member> {
  const closers = new Closers();
  try {
    return await openMember(withinDescriptors(environment), closers);
  } catch (error) {
    await closers.run();
    throw error;
  }
}

async function openMember(environment: MemberEnvironment, closers: Closers): Promise<Member> {
  const { options, clock, random, log, print } = environment;
  const { server: serverOptions } = options;
  const lock = await acquireDataDirectory(serverOptions.dataDir, claimName);
  closers.add(() => lock.release());
  requireFinishedRestore(serverOptions.dataDir);
  // Before anything is made or printed that only a running member is of use for.
  if (serverOptions.port !== 0) await requireFreePort(serverOptions.host, serverOptions.port);
  const volatile = volatileVolumeWarning(serverOptions.dataDir);
  if (volatile !== undefined) log.warn(volatile);
  const secrets = findSecrets(serverOptions, random);
  const metrics = new Metrics({ collectDefaults: environment.collectDefaultMetrics === true });
  metrics.gauge(
    'svc_log_lines_dropped',
    'Lines of output given up since the start because nobody read them.',
    environment.linesDropped ?? (() => 0),
  );
  let upgrades: LazyUpgrades | undefined;
  let jobs: MemberJobs | undefined;
  let server: HttpServer | undefined;
  let bus: Bus | undefined;
  let state: MemberState = 'starting';
  const space = openSpaceGate(options, log, metrics);
  const files = environment.files ?? realFileSystem;
  const { dataDir } = serverOptions;
  const backupDir = backupFolder(serverOptions);
  const watchSpace = new SpaceWatch({ gate: space, files, clock, dataDir, backupDir });
  closers.add(() => watchSpace.stop());
  await watchSpace.start();
  const slices = new SliceScheduler(clock, options.limits.replyBytesTotalMax);
  const engine = await openEngine({
    options,
    clock,
    random,
    log,
    metrics,
    version: environment.version,
    files,
    lock,
    slices,
    space,
    key: directoryKey(secrets),
    kinds: actorKinds(options.limits),
    observer: tellingEvents(
      hostObserver(metrics, log, {
        onHeadMoved: (actor) => upgrades?.forget(actor),
        onJobsEnqueued: (actor) => void jobs?.deliver(actor),
        onJobsWaiting: (actor, ids) => jobs?.waiting(actor, ids),
      }),
      () => bus,
    ),
    state: () => state,
    requestsInFlight: () => server?.inFlightCount ?? 0,
    onTaken: (isMine) => jobs?.takeUp(isMine),
    ...(environment.registryTimes === undefined ? {} : { registryTimes: environment.registryTimes }),
  });
  closers.add(() => engine.close());
  if (engine.mode === 'cluster') closers.add(endWhenLost({ clock, end: environment.end, lock, log }));
  secrets.store();
  const { router, lifecycle, unsettled } = engine;
  bus = engine.bus;
  watchBus(metrics, engine.bus);
  upgrades = new LazyUpgrades(router, clock, log);
  const background = openJobs(environment, engine, metrics);
  closers.add(() => background.drain(0));
  jobs = background;
  const backups = openBackups(
    environment,
    engine,
    background.queue,
    new BackupKey(secrets.masterKey.bytes()),
    {
      backups: space.at('backups'),
      member: space.at('member'),
    },
  );
  closers.add(() => backups.close());
  const checks = new MemberChecks({
    dataDir,
    shards: engine.shards,
    slices,
    clock,
    random,
    log,
    space: space.at('member'),
  });
  closers.add(() => checks.close());
  const hasher = new PasswordHasher();
  const provisioning = new MemberProvisioning(
    router,
    lifecycle,
    random,
    unsettled,
    (actor) => engine.requireNew?.(actor) ?? Promise.resolve(),
  );
  const status = (): MemberStatus => ({
    state,
    version: environment.version,
    mode: engine.mode,
    durability: engine.durability,
    missing: engine.missing(),
    stopped_actors: engine.stoppedActors().length,
    rebuilt_partitions: engine.rebuiltPartitions().size,
    revisions_ahead_seconds: engine.revisionClock.aheadSeconds,
    space: space.level,
  });
  const locks = new MemberLocks(router, lifecycle, options.locks.enabled);
  const tokens = new AdminTokens(secrets.jwtSecret.reveal(), clock, random);
  const operators = new OperatorAccess(serverOptions.metricsToken);
  const routes = memberRoutes({
    router,
    directory: new RepositoryDirectory(router, upgrades, engine.nearby),
    clock,
    provisioning,
    branches: new MemberBranches(router, lifecycle, random, background, unsettled),
    jobs: background,
    backups,
    checks,
    locks,
    hasher,
    tokens,
    throttle: new LoginThrottle(clock, defaultLoginThrottle, engine.logins),
    metrics,
    operators,
    status,
    cluster: {
      read: (signal) => engine.status.read(signal),
      takeSnapshots: (partition) => engine.status.takeSnapshots(partition),
    },
    version: environment.version,
  });
  const faults = metrics.counter(
    'svc_connections_failed_total',
    'Connections closed because their request failed where nobody could answer it.',
  );
  const http = createHttpServer<Principal>({
    routes,
    authenticate: createAuthenticate(tokens, operators),
    isAnonymous: (principal) => principal.kind === 'anonymous',
    clock,
    slices,
    prepareLargeBody: hashLargeBody,
    random,
    log: { error: (facts, message) => log.error(message, facts) },
    observe: requestObserver(metrics, log, routes),
    cors: () => serverOptions.corsAllowedOrigins,
    limits: {
      bodyBytesMax: options.limits.bodyBytesMax,
      anonymousBodyBytesMax: options.limits.anonymousBodyBytesMax,
      jsonValuesMax: options.limits.jsonValuesMax,
      replyBytesTotalMax: options.limits.replyBytesTotalMax,
      writeStallMsMax: options.limits.replyStallMs,
      jsonDepthMax: options.limits.jsonDepthMax,
      pathBytesMax: options.limits.pathBytesMax + ADDRESS_BYTES,
      inFlightMax: options.limits.inFlightRequestsMax,
    },
    shareOf: shareHolders(),
    connections: connectionLimits(options),
    onConnectionRefused: refusedConnections(environment, metrics),
    onCallbackFault: () => faults.add(),
    trustForwardedHeaders: serverOptions.trustForwardedHeaders,
    onUntrustedForwarded: (peer) =>
      log.warn(
        'requests carry forwarded headers, which are not believed: behind a proxy all clients count as one address in the limits of logins and connections; set SVC_TRUST_FORWARDED_HEADERS=true if that proxy replaces X-Forwarded-For',
        { peer },
      ),
  });
  server = http;
  closers.add(() => http.close());
  watch(metrics, engine, http, closers);
  const bootstrap = async (): Promise<void> => {
    const firstLines: string[] = [];
    const isNew = await provisioning.bootstrap(() =>
      firstAdmin(serverOptions.adminPassword, hasher, random, (text) => firstLines.push(text)),
    );
    // Only now: of several members that start at once one makes the account, and the passwords of the others are none.
    if (isNew) {
      log.info('first administrator created');
      for (const line of firstLines) print(line);
    } else if (serverOptions.adminPassword !== undefined)
      log.info('SVC_ADMIN_PASSWORD is not used: the account admin exists and keeps its password');
    for (const tenant of await provisioning.finishTenants()) log.warn('tenant creation finished', { tenant });
  };
  if (engine.mode === 'embedded') {
    await bootstrap();
    const onFailure = (owner: string, error: unknown): void =>
      log.error('leftover kept: its registry cannot be asked', { owner, error });
    const onUnread = (path: string, error: unknown): void =>
      log.warn('a note of what is being made or removed cannot be read: move it away', { path, error });
    for (const leftover of await provisioning.sweep(onFailure, onUnread))
      log.warn('leftover removed', { leftover });
  }
  const { port } = await http.listen(serverOptions.host, serverOptions.port);
  lock.announce(localUrl(serverOptions.host, port));
  const url = (): string => serverOptions.baseUrl ?? localUrl(serverOptions.host, port);
  await engine.start(url);
  // In a cluster there is nobody to ask before it has begun; the others see from `/ready` that it has not.
  if (engine.mode === 'cluster') {
    const waits = new StartWaits({ clock, random, log });
    await waits.until('an owner of the accounts', () => provisioning.isBootstrapped());
    await bootstrap();
  }
  background.start(engine.mode === 'embedded');
  state = 'ready';
  let draining: Promise<void> | undefined;
  const drain = async (graceMs: number): Promise<void> => {
    state = 'draining';
    // Else a client that waits for a lock would hold up the others' restart, and be cut off in the end.
    locks.stop();
    engine.endWaits();
    const closeMs = Math.max(CLOSE_MS_MIN, graceMs / 4);
    const requestsMs = (graceMs * 3) / 4;
    const stopped = async (): Promise<void> => {
      // Hand-overs go on while requests are answered: the new owner answers what comes late.
      await Promise.all([
        engine.drain(requestsMs, closeMs),
        http.drain(requestsMs),
        background.drain(requestsMs),
        backups.close(),
      ]);
      await closers.run();
    };
    // Nothing acknowledged depends on the end of a process, so it never waits for what does not answer.
    if (!(await within(clock, requestsMs + closeMs, stopped())))
      log.warn('not everything could be closed in time; nothing acknowledged is lost', { graceMs });
  };
  return {
    port,
    url: url(),
    get status() {
      return status();
    },
    queue: background.queue,
    bus: engine.bus,
    drain(graceMs) {
      draining ??= drain(graceMs);
      return draining;
    },
  };
}

/** The options with no more connections and open actors than the open files the system allows. */
function withinDescriptors(environment: MemberEnvironment): MemberEnvironment {
  const { log, options } = environment;
  const filesMax = openFilesMax();
  const { connectionsMax, openActorsMax } = options.limits;
  const plan = planDescriptors(filesMax, { connectionsMax, openActorsMax });
  if (plan.connectionsMax < connectionsMax || plan.openActorsMax < openActorsMax)
    log.warn(
      'the system allows too few open files (ulimit -n) for what is configured; less of both is used',
      {
        openFilesMax: filesMax,
        ...plan,
      },
    );
  return { ...environment, options: { ...options, limits: { ...options.limits, ...plan } } };
}

/** How many connections clients may have. Behind a proxy all of them have its address, so none of them has a bound. */
function connectionLimits({ limits, server }: Options): ConnectionLimits {
  const { connectionsMax, connectionsPerAddressMax } = limits;
  const perAddressMax = Math.max(1, Math.min(connectionsPerAddressMax, Math.floor(connectionsMax / 2)));
  return server.trustForwardedHeaders ? { connectionsMax } : { connectionsMax, perAddressMax };
}

/** Counts the connections that are refused, and tells of them once a minute. */
function refusedConnections({ clock, log }: MemberEnvironment, metrics: Metrics): () => void {
  const refused = metrics.counter(
    'svc_connections_refused_total',
    'Connections closed because there were too many.',
  );
  let toldMs = Number.NEGATIVE_INFINITY;
  return () => {
    refused.add();
    if (clock.monotonicMs() - toldMs < MS_PER_MINUTE) return;
    toldMs = clock.monotonicMs();
    log.warn('connections are refused: there are too many', { refused: refused.value });
  };
}

function openEngine(environment: EngineEnvironment): Promise<MemberEngine> {
  const isCluster = environment.options.server.natsUrl.length > 0;
  return isCluster ? openClusterEngine(environment) : openEmbeddedEngine(environment);
}

function openJobs(
  { clock, jobHandlers, log, options, random }: MemberEnvironment,
  { lifecycle, router, tickets }: MemberEngine,
  metrics: Metrics,
): MemberJobs {
  return new MemberJobs({
    router,
    lifecycle,
    clock,
    random,
    log,
    metrics,
    workers: options.limits.jobWorkers,
    ...(tickets === undefined ? {} : { tickets }),
    ...(jobHandlers === undefined ? {} : { handlers: jobHandlers }),
  });
}

function openBackups(
  { clock, files = realFileSystem, log, options, random, version }: MemberEnvironment,
  { copies, lifecycle, router, unsettled }: MemberEngine,
  queue: Queue,
  key: BackupKey,
  space: { readonly backups: SpaceGuard; readonly member: SpaceGuard },
): MemberBackups {
  return new MemberBackups({
    router,
    lifecycle,
    unsettled,
    copies: copies ?? new RoutedCopies(router, clock),
    queue,
    kinds: actorKinds(options.limits),
    clock,
    random,
    files,
    log,
    folder: backupFolder(options.server),
    key,
    backupSpace: space.backups,
    space: space.member,
    version,
  });
}

function backupFolder({ backupDir, dataDir }: Options['server']): string {
  return backupDir ?? join(dataDir, 'backups');
}

function watch(metrics: Metrics, engine: MemberEngine, server: HttpServer, closers: Closers): void {
  const lag = new EventLoopLag();
  lag.start();
  closers.add(() => lag.stop());
  metrics.watchEventLoopLag(lag);
  metrics.watchOpenActors(() => engine.load().openActors);
  metrics.watchOverlayBytes(() => engine.load().pendingBytes);
  metrics.watchInFlightRequests(() => server.inFlightCount);
  metrics.gauge('svc_connections', 'Connections of clients that are open.', () => server.connectionCount);
}

/** An address a person on this machine can open. */
function localUrl(host: string, port: number): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** Whom requests count for. Who has logged in is the same object with every request, so the texts are made once. */
function shareHolders(): (principal: Principal) => ShareHolder {
  const known = new WeakMap<Principal, ShareHolder>();
  return (principal) => {
    let holder = known.get(principal);
    if (holder === undefined) {
      const { tenant } = principal;
      holder = { principal: `${tenant}\0${principalKey(principal)}`, tenant };
      known.set(principal, holder);
    }
    return holder;
  };
}
