import { OptionError } from '#runtime/config/option.ts';
import { longIntervalOf, type ServersFacts, versionsOf } from './server-capabilities.ts';
import { haveFeature, serverMatrix } from './server-matrix.ts';

/**
 * The failures that an acknowledged write survives. `quorum`: the death of any processes and the loss of one disk;
 * `quorum-disk` and `replica-disk`: the loss of power everywhere.
 *
 * @see docs/interface/guarantees.md#durability-classes
 */
export type ClusterDurability = 'quorum' | 'quorum-disk' | 'replica-disk';

/** Returns whether a configured class is a class of clusters; `automatic` is not. */
export function isClusterDurability(text: string): text is ClusterDurability {
  return text === 'quorum' || text === 'quorum-disk' || text === 'replica-disk';
}

/** The class in force and the reason for it. */
export interface DurabilityDecision {
  readonly durability: ClusterDurability;
  /** Explanation for operators. */
  readonly reason: string;
}

/** Number of replicas of a log below which the loss of one server loses writes. */
const REPLICAS_MIN = 3;

/**
 * Decides the durability class of a cluster.
 *
 * @param configured `[cluster] durability`; undefined selects the strongest class that the servers prove to support
 * @param replicas of each log stream
 * @throws {OptionError} when the servers do not support the configured class, with every reason and its remedy
 */
export function decideDurability(
  configured: ClusterDurability | undefined,
  facts: ServersFacts,
  replicas: number,
): DurabilityDecision {
  if (replicas < REPLICAS_MIN) {
    const wanted = configured === undefined ? '' : `[cluster] durability is ${configured}, but `;
    throw new OptionError([
      `${wanted}[cluster] replicas is ${replicas}: no durability class holds with fewer than ${REPLICAS_MIN}; set it ` +
        `to ${REPLICAS_MIN}, or leave durability out for a trial without a guarantee`,
    ]);
  }
  if (configured === 'quorum') return { durability: 'quorum', reason: 'configured' };
  if (configured === 'replica-disk') {
    requireShortIntervals(facts);
    return { durability: 'replica-disk', reason: 'configured' };
  }
  const missing = missingForQuorumDisk(facts);
  if (missing.length === 0)
    return { durability: 'quorum-disk', reason: 'every NATS server flushes before it answers' };
  if (configured === 'quorum-disk') {
    throw new OptionError(missing.map((problem) => `[cluster] durability is quorum-disk, but ${problem}`));
  }
  requireShortIntervals(facts);
  return { durability: 'replica-disk', reason: missing.join('; ') };
}

/** @throws {OptionError} naming each server whose flush interval is too long for class `replica-disk` */
function requireShortIntervals({ servers }: ServersFacts): void {
  const problems = servers.flatMap((server) => longIntervalOf(server) ?? []);
  if (problems.length > 0) throw new OptionError(problems);
}

/** @returns the reasons against class `quorum-disk`, one sentence each */
function missingForQuorumDisk({ servers, jetStreamServers }: ServersFacts): string[] {
  if (jetStreamServers === undefined)
    return [
      'nothing proves that the NATS servers flush: name their monitoring pages in [cluster] nats_monitor_urls',
    ];
  const missing: string[] = [];
  if (servers.length < jetStreamServers) {
    missing.push(
      `of ${jetStreamServers} NATS servers only ${servers.length} are known: name the monitoring page of each in ` +
        '[cluster] nats_monitor_urls',
    );
  }
  const floors = serverMatrix.powerSafeSync.since.join(' or ');
  for (const server of servers) {
    if (!haveFeature(versionsOf([server]), 'powerSafeSync'))
      missing.push(
        `nats-server ${server.name} ${server.version} can lose writes with its power: install ${floors}`,
      );
    if (server.syncsAlways !== true)
      missing.push(
        `nats-server ${server.name} does not flush before it answers: set 'sync_interval: always' in its jetstream block`,
      );
  }
  return missing;
}
