import type { NatsConnection } from '@nats-io/transport-node';
import {
  type ClusterDurability,
  decideDurability,
  isClusterDurability,
} from '#cluster/nats/durability-class.ts';
import { KnownServers } from '#cluster/nats/known-servers.ts';
import {
  type KnownPages,
  readServers,
  requireFitServers,
  serverWarnings,
} from '#cluster/nats/server-capabilities.ts';
import type { EngineEnvironment } from './engine.ts';

/** What was found out about NATS at the start. */
export interface CheckedServers {
  readonly durability: ClusterDurability | 'none';
  /** For people: why this class. */
  readonly reason: string;
  /** What the monitoring pages say. */
  readonly pages: KnownPages;
}

/**
 * Looks at the servers of NATS and decides what this member may promise. A monitoring page that does not answer counts
 * with what it said at the last start, because members have to start while a server is down.
 *
 * @throws {NotThereYetError} when a page never answered
 * @throws {OptionError} when the servers are not fit, or cannot give what is configured
 */
export async function checkServers(
  connection: NatsConnection,
  { files, log, options }: Pick<EngineEnvironment, 'files' | 'log' | 'options'>,
): Promise<CheckedServers> {
  const { cluster, server } = options;
  const known = new KnownServers(files, server.dataDir);
  const earlier = await known.read();
  const facts = await readServers({ connection, earlier, monitorUrls: cluster.natsMonitorUrls });
  const { pages } = facts;
  requireFitServers(facts, connection.info?.max_payload ?? 0);
  for (const url of facts.silent)
    log.warn('a monitoring page of NATS does not answer; what it said at the last start counts', { url });
  for (const warning of serverWarnings(facts)) log.warn(warning);
  try {
    await known.write(pages);
  } catch (error) {
    // On a full disk a member starts and serves reads.
    log.warn('what the NATS servers are could not be noted for the next start', { error });
  }
  const wanted = isClusterDurability(cluster.durability) ? cluster.durability : undefined;
  if (cluster.replicas < 3 && wanted === undefined) {
    const reason = `[cluster] replicas is ${cluster.replicas}: the loss of one NATS server loses writes`;
    log.warn(reason);
    return { durability: 'none', reason, pages };
  }
  return { ...decideDurability(wanted, facts, cluster.replicas), pages };
}
