import { tenantOf } from '#runtime/actor/actor-id.ts';
import type { HttpServer } from '#protocols/http/uws-server.ts';
import type { MemberState, MemberStatus } from '#protocols/rest/management/system.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { within } from '#runtime/base/time/within.ts';
import type { Bus } from '#runtime/bus/ports.ts';
import { openClusterEngine } from '#server/engine/open-cluster-engine.ts';
import { openEmbeddedEngine } from '#server/engine/embedded-engine.ts';
import type { EngineEnvironment, MemberEngine } from '#server/engine/engine.ts';
import { tellingEvents, watchBus } from '#server/engine/member-bus.ts';
import { hostObserver, slowStatementReport } from '#server/engine/observers.ts';
import { propertyIndexJob } from '#server/jobs/property-index-build.ts';
import { memberConsumers } from '#server/feed/own-consumers.ts';
import { StartWaits } from '#server/engine/start-waits.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { backupFolder } from '#server/host/backup-folder.ts';
import { openFilesMax, planDescriptors } from '#server/host/descriptor-plan.ts';
import { endWhenLost } from '#server/host/end-when-lost.ts';
import { bootstrap, removeInterrupted } from './first-start.ts';
import { Closers, type Member, type MemberEnvironment } from './member.ts';
import { openHttp } from './open-http.ts';
import { type MemberResources, openResources } from './open-resources.ts';
import { type MemberServices, openServices } from './open-services.ts';
import { watchMember } from './watch-member.ts';

/** Minimum time for closing everything, in milliseconds, however short the grace period is. */
const CLOSE_MS_MIN = 5_000;

/**
 * Parts above the engine that it notifies and queries. They are absent while the member starts.
 */
interface PartsAbove {
  state: MemberState;
  services: MemberServices | undefined;
  http: HttpServer | undefined;
  bus: Bus | undefined;
}

/**
 * Opens a data directory and serves it: takes the lock, opens the engine, binds the address, creates the system
 * tenant at the first start, completes interrupted work. A single member accepts no connection before all of that is
 * done, so that clients always reach a complete member; in a cluster it serves first, because the others need its
 * address.
 *
 * @throws {ServiceError} `CONFLICT` when another process has the directory; `DATA_CORRUPTED`, `STORAGE_FULL`
 * @throws {OptionError} when a stored key is damaged
 * @throws {ListenError} when the port is taken; nothing was created or printed then
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
  const { clock, log } = environment;
  const parts: PartsAbove = { state: 'starting', services: undefined, http: undefined, bus: undefined };
  const resources = await openResources(environment, closers);
  const { folders, lock, metrics, secrets, signingKey, space } = resources;
  const engine = await openEngine(engineEnvironment(environment, resources, parts));
  closers.add(() => engine.close());
  // The first start has made them by now.
  await folders.check();
  if (engine.mode === 'cluster') closers.add(endWhenLost({ clock, end: environment.end, lock, log }));
  secrets.store();
  signingKey.store(log);
  parts.bus = engine.bus;
  watchBus(metrics, engine.bus);
  const services = openServices(environment, resources, engine, closers);
  parts.services = services;
  const status = (): MemberStatus => ({
    state: parts.state,
    version: environment.version,
    mode: engine.mode,
    durability: engine.durability,
    missing: [...engine.missing(), ...folders.missing],
    stopped_actors: engine.stoppedActors().length,
    rebuilt_partitions: engine.rebuiltPartitions().size,
    revisions_ahead_seconds: engine.revisionClock.aheadSeconds,
    space: space.level,
  });
  const http = openHttp(environment, resources, engine, services, status);
  parts.http = http;
  closers.add(() => http.close());
  closers.add(
    watchMember(metrics, {
      clock,
      version: environment.version,
      engine,
      http,
      backups: services.backups,
      backupFolder: backupFolder(environment.options.server),
    }),
  );
  // Makes the parser of SQL, which takes some hundred milliseconds at once: nobody waits for an answer yet.
  parseStatement('SELECT 1');
  const { port, url } = await start(environment, resources, engine, services, http);
  parts.state = 'ready';
  let draining: Promise<void> | undefined;
  return {
    port,
    url,
    get status() {
      return status();
    },
    queue: services.jobs.queue,
    feeds: services.feeds,
    bus: engine.bus,
    drain(graceMs) {
      parts.state = 'draining';
      draining ??= drain(environment, engine, services, http, closers, graceMs);
      return draining;
    },
  };
}

/** Returns the options with connections and open actors limited by the open files that the system allows. */
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

function engineEnvironment(
  environment: MemberEnvironment,
  resources: MemberResources,
  parts: PartsAbove,
): EngineEnvironment {
  const { clock, log, options, random, registryTimes, version } = environment;
  const { checkResults, files, folders, key, lock, metrics, secrets, signingKey, slices, space } = resources;
  const observer = hostObserver(metrics, log, {
    onAccountChanged: (actor, userId) => parts.services?.admins.changed(tenantOf(actor), userId),
    onBranchesEnding: (branches) => parts.services?.feeds.ending(branches),
    onFeedWritten: (branch) => parts.services?.feeds.notice(branch),
    onHeadMoved: (actor) => parts.services?.upgrades.forget(actor),
    onIdentityNews: (news) => parts.services?.identityNews.tell(news),
    onIndexesPending: (actor, since) => parts.services?.jobs.announced(actor, propertyIndexJob(actor, since)),
    onJobsEnqueued: (actor) => void parts.services?.jobs.deliver(actor),
    onJobsWaiting: (actor, ids) => parts.services?.jobs.waiting(actor, ids),
    onLinksWaiting: (actor, ids) => parts.services?.mail.waiting(actor, ids),
    onOpened: (actor) => parts.services?.feeds.opened(actor),
    onUserStatusChanging: (identities) => parts.services?.statusChanges.notice(identities),
  });
  return {
    options,
    clock,
    random,
    log,
    metrics,
    version,
    files,
    lock,
    slices,
    space,
    folders,
    checkResults,
    key,
    secrets,
    keyFindings: () => [...signingKey.findings, ...(parts.services?.keyRotation.findings ?? [])],
    kinds: actorKinds(
      options.limits,
      memberConsumers(environment.feedConsumers),
      slowStatementReport(log, options.server.slowStatementMs),
    ),
    observer: tellingEvents(observer, () => parts.bus),
    state: () => parts.state,
    requestsInFlight: () => parts.http?.inFlightCount ?? 0,
    onOwned: (isMine) => {
      parts.services?.jobs.takeUp(isMine);
      parts.services?.feeds.takeUp(isMine);
      void parts.services?.statusChanges.takeUp(isMine);
      parts.services?.keyRotation.takeUp(isMine);
      parts.services?.mail.takeUp(isMine);
    },
    ...(registryTimes === undefined ? {} : { registryTimes }),
  };
}

function openEngine(environment: EngineEnvironment): Promise<MemberEngine> {
  const isCluster = environment.options.server.natsUrl.length > 0;
  return isCluster ? openClusterEngine(environment) : openEmbeddedEngine(environment);
}

/** Starts to serve. @returns its address */
async function start(
  environment: MemberEnvironment,
  { localAccess, lock }: MemberResources,
  engine: MemberEngine,
  services: MemberServices,
  http: HttpServer,
): Promise<{ readonly port: number; readonly url: string }> {
  const { clock, log, options, random } = environment;
  const { baseUrl, host } = options.server;
  // Before the first account exists: a printed password must belong to a member that has its address.
  const { port } = await http.listen(host, options.server.port, engine.mode === 'cluster');
  if (engine.mode === 'embedded') {
    await bootstrap(environment, services);
    await removeInterrupted(environment, services);
  }
  lock.announce(localUrl(host, port));
  try {
    localAccess.store();
  } catch (error) {
    log.warn('npm run reset-password cannot work: its key cannot be written to the data directory', {
      error,
    });
  }
  const url = baseUrl ?? localUrl(host, port);
  await engine.start(() => url);
  // In a cluster no request can be answered before it has started; `/ready` shows this to the others.
  if (engine.mode === 'cluster') {
    const waits = new StartWaits({ clock, random, log });
    await waits.until('an owner of the accounts', () => services.provisioning.isBootstrapped());
    await bootstrap(environment, services);
  }
  services.jobs.start(engine.mode === 'embedded');
  if (engine.mode === 'embedded') services.feeds.takeUp(() => true);
  if (engine.mode === 'embedded') void services.statusChanges.takeUp(() => true);
  if (engine.mode === 'embedded') services.mail.takeUp(() => true);
  if (engine.mode === 'embedded') services.keyRotation.takeUp(() => true);
  http.open();
  return { port, url };
}

async function drain(
  { clock, log }: MemberEnvironment,
  engine: MemberEngine,
  { backups, feeds, jobs, keyRotation, locks, mail, statusChanges }: MemberServices,
  http: HttpServer,
  closers: Closers,
  graceMs: number,
): Promise<void> {
  // Otherwise a client that waits for a lock would delay the restart of the others, and be cut off in the end.
  locks.stop();
  statusChanges.close();
  keyRotation.close();
  engine.endWaits();
  const closeMs = Math.max(CLOSE_MS_MIN, graceMs / 4);
  const requestsMs = (graceMs * 3) / 4;
  const stopped = async (): Promise<void> => {
    // Hand-overs run while requests are answered: the new owner answers late ones.
    await Promise.all([
      engine.drain(requestsMs, closeMs),
      http.drain(requestsMs),
      jobs.drain(requestsMs),
      feeds.close(),
      mail.close(),
      backups.close(),
    ]);
    await closers.run();
  };
  // No acknowledged write depends on a clean end, so the process never waits for services that do not answer.
  if (!(await within(clock, requestsMs + closeMs, stopped())))
    log.warn('shutdown took too long; no acknowledged write is lost', { graceMs });
}

/** Returns an address that a user on this machine can open. */
function localUrl(host: string, port: number): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
