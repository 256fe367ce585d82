import { join } from 'node:path';
import { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { OwnerIntentFiles } from '#runtime/actor/store/owner-intents.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import { LocalBus } from '#runtime/embedded/local-bus.ts';
import { loneShards } from '#server/check/own-shards.ts';
import { embeddedDurability } from './embedded-durability.ts';
import type { EngineEnvironment, MemberEngine } from './engine.ts';
import { explainedStart } from '#server/host/full-volume.ts';
import { hostLimits } from '#server/host/host-limits.ts';
import { journalFindings, journalMissing } from './journal-trouble.ts';
import { busObserver, tellingRemovals } from './member-bus.ts';
import { loneClusterStatus } from '#server/status/member-cluster-status.ts';
import { journalReport, timedFiles } from './observers.ts';
import { REGISTRY, requireRegistry } from './registry-file.ts';
import { checkRepeatedly } from '#server/host/repeated-check.ts';
import { RevisionClock } from './revision-clock.ts';
import { spaceFindings } from '#server/status/space-findings.ts';
import { stoppedFindings } from '#server/status/stopped-findings.ts';

/**
 * Opens the journal and the actors of a data directory, and applies the journal to them.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`, `STORAGE_FULL`
 */
export async function openEmbeddedEngine(environment: EngineEnvironment): Promise<MemberEngine> {
  const { clock, kinds, log, metrics, options, random } = environment;
  const { dataDir } = options.server;
  // Everything is compared before anything is changed: see ActorHost.recover.
  const journal = await lookAtJournal(environment);
  metrics.gauge('svc_writes_stopped', '1 while the journal takes nothing, else 0.', () =>
    journal.trouble === undefined ? 0 : 1,
  );
  const host = hostOf(environment, journal);
  const bus = new LocalBus({ router: host, clock, random, observer: busObserver(metrics) });
  const stopChecks = checkRepeatedly(clock, () => journal.inspect());
  const revisionClock = new RevisionClock(clock, log, () => [host]);
  const close = async (): Promise<void> => {
    stopChecks();
    revisionClock.stop();
    await bus.close();
    await host.close();
    await journal.close();
  };
  try {
    requireRegistry(dataDir, journal, kinds);
    await host.recover();
    await journal.claimFormat();
    for (const { actor, message } of host.stoppedActors) log.error('actor is not served', { actor, message });
  } catch (error) {
    await close();
    throw explainedStart(dataDir, error);
  }
  return engineOf(environment, { journal, host, bus, revisionClock, close });
}

/** The parts of an engine that has started. */
interface EngineParts {
  readonly journal: Journal;
  readonly host: ActorHost;
  readonly bus: LocalBus;
  readonly revisionClock: RevisionClock;
  readonly close: () => Promise<void>;
}

function actorsFolder({ options }: EngineEnvironment): string {
  return join(options.server.dataDir, 'actors');
}

/** Opens the journal without changing it. */
function lookAtJournal({
  clock,
  files,
  lock,
  log,
  metrics,
  options,
  random,
}: EngineEnvironment): Promise<Journal> {
  return Journal.look({
    folder: join(options.server.dataDir, 'journal'),
    durability: embeddedDurability(options),
    files: timedFiles(files, clock, (seconds) => metrics.journalFsyncSeconds.observe(seconds)),
    clock,
    random,
    report: journalReport(log),
    containsDamage: true,
    requireHeld: () => lock.requireHeld(),
    segmentBytes: options.limits.journalSegmentBytes,
  });
}

function hostOf(environment: EngineEnvironment, journal: Journal): ActorHost {
  const { clock, kinds, observer, options, random, slices, space } = environment;
  return new ActorHost({
    folder: actorsFolder(environment),
    log: journal,
    clock,
    random,
    kinds,
    limits: hostLimits(options.limits),
    observer,
    slices,
    space: space.at('member'),
    removedKeepMs: options.limits.removedKeepMs,
    required: [REGISTRY],
    key: environment.key,
  });
}

function engineOf(
  environment: EngineEnvironment,
  { journal, host, bus, revisionClock, close }: EngineParts,
): MemberEngine {
  const { clock, kinds, options, space } = environment;
  const { dataDir, memberId } = options.server;
  const durability = embeddedDurability(options);
  let address = (): string => 'http://127.0.0.1';
  const load = () => ({ openActors: host.openActors, pendingBytes: host.pendingBytes });
  return {
    mode: 'embedded',
    durability,
    router: host,
    copies: host,
    shards: loneShards(new ActorStore(actorsFolder(environment), kinds, clock), host),
    lifecycle: tellingRemovals(host, bus),
    unsettled: new OwnerIntentFiles(join(dataDir, 'unsettled')),
    bus,
    missing: () => journalMissing(journal),
    stoppedActors: () => host.stoppedActors,
    // A single member has no source to rebuild them from.
    rebuiltPartitions: () => new Map(),
    revisionClock,
    status: loneClusterStatus({
      clock,
      name: memberId,
      url: () => address(),
      version: environment.version,
      state: environment.state,
      durability,
      findings: () => [
        ...spaceFindings(space),
        ...environment.folders.findings,
        ...environment.checkResults.findings,
        ...environment.keyFindings(),
        ...journalFindings(journal),
        ...stoppedFindings(host.stoppedActors),
        ...revisionClock.findings,
      ],
      load: () => ({ requestsInFlight: environment.requestsInFlight(), ...load() }),
    }),
    load,
    start(known) {
      address = known;
      return Promise.resolve();
    },
    endWaits: () => host.endWaits(),
    drain: () => Promise.resolve(),
    close,
  };
}
