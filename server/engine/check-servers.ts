import type { NatsConnection } from '#cluster/nats/connection.ts';
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

/** Facts about NATS that were determined at the start. */
export interface CheckedServers {
  readonly durability: ClusterDurability | 'none';
  /** Reason for this class, for operators. */
  readonly reason: string;
  /** Facts from the monitoring pages. */
  readonly pages: KnownPages;
}

/**
 * Reads the facts about the NATS servers and decides the durability class. For a monitoring page that does not
 * answer, the facts of the last start count, because members must be able to start while a server is down.
 *
 * @throws {NotThereYetError} when a page never answered
 * @throws {OptionError} when the servers do not fulfil the requirements, or do not support the configured class
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
    log.warn('NATS monitoring page does not answer; using its settings as of the last start', { url });
  for (const warning of serverWarnings(facts)) log.warn(warning);
  try {
    await known.write(pages);
  } catch (error) {
    // On a full disk a member starts and serves reads.
    log.warn('settings of the NATS servers could not be saved for the next start', { error });
  }
  const wanted = isClusterDurability(cluster.durability) ? cluster.durability : undefined;
  if (cluster.replicas < 3 && wanted === undefined) {
    const reason = `[cluster] replicas is ${cluster.replicas}: the loss of one NATS server loses writes`;
    log.warn(reason);
    return { durability: 'none', reason, pages };
  }
  return { ...decideDurability(wanted, facts, cluster.replicas), pages };
}
