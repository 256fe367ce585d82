import { join } from 'node:path';
import { ActorHost } from '#runtime/actor/actor-host.ts';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import { OwnerIntentFiles } from '#runtime/actor/owner-intents.ts';
import { Journal } from '#runtime/embedded/journal.ts';
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
  const { clock, files, kinds, lock, log, metrics, observer, options, random, slices, space } = environment;
  const durability = embeddedDurability(options);
  const { dataDir } = options.server;
  // Everything is compared before anything is changed: see ActorHost.recover.
  const journal = await Journal.look({
    folder: join(dataDir, 'journal'),
    durability,
    files: timedFiles(files, clock, (seconds) => metrics.journalFsyncSeconds.observe(seconds)),
    clock,
    random,
    report: journalReport(log),
    containsDamage: true,
    requireHeld: () => lock.requireHeld(),
    segmentBytes: options.limits.journalSegmentBytes,
  });
  metrics.gauge('svc_writes_stopped', '1 while the journal takes nothing, else 0.', () =>
    journal.trouble === undefined ? 0 : 1,
  );
  const folder = join(dataDir, 'actors');
  const limits = hostLimits(options.limits);
  const host = new ActorHost({
    folder,
    log: journal,
    clock,
    random,
    kinds,
    limits,
    observer,
    slices,
    space: space.at('member'),
    removedKeepMs: options.limits.removedKeepMs,
    required: [REGISTRY],
    key: environment.key,
  });
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
  let address = (): string => 'http://127.0.0.1';
  const load = () => ({ openActors: host.openActors, pendingBytes: host.pendingBytes });
  return {
    mode: 'embedded',
    durability,
    router: host,
    copies: host,
    shards: loneShards(new ActorStore(folder, kinds, clock), host),
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
      name: options.server.memberId,
      url: () => address(),
      version: environment.version,
      state: environment.state,
      durability,
      findings: () => [
        ...spaceFindings(space),
        ...environment.folders.findings,
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
