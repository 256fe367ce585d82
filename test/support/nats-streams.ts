import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connectToNats } from '#cluster/nats/connection.ts';
import type { NatsCluster } from './nats-cluster.ts';
import { until } from './until.ts';

/** Time within which new replicas have to be up to date, in milliseconds. */
const CURRENT_MS_MAX = 60_000;

/** Which servers have a stream; only what tests look at. */
interface Placement {
  readonly leader?: string;
  readonly replicas?: readonly {
    readonly name: string;
    readonly current: boolean;
    readonly offline?: boolean;
  }[];
}

/**
 * Waits until every stream has as many replicas as it was made with, all of them up to date and on servers that belong
 * to the cluster, and its durable consumers as many. Each stream is looked at until that was so once: under load a
 * replica is a record behind at nearly every moment.
 *
 * @returns how many streams each server has, by its name
 * @throws {Error} naming the streams that have not
 */
export async function allReplicated(nats: NatsCluster): Promise<ReadonlyMap<string, number>> {
  const urls = nats.servers.filter(({ isRunning }) => isRunning).map(({ url }) => url);
  const connection = await connectToNats({ urls, name: 'test' });
  const counts = new Map<string, number>();
  /** What was seen last of each stream that is not yet as it has to be. */
  let lacking: readonly string[] = [];
  let waiting: readonly string[] | undefined;
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const isSo = async (): Promise<boolean> => {
      // Names are known to whoever leads; a list leaves out the streams whose leader does not answer.
      waiting ??= await namesOf(manager).catch(() => undefined);
      const rest = new Map<string, string>();
      for (const name of waiting ?? []) {
        const seen = await look(manager, name, nats).catch(String);
        if (typeof seen === 'string') rest.set(name, `${name}: ${seen}`);
        else for (const server of seen) counts.set(server, (counts.get(server) ?? 0) + 1);
      }
      lacking = [...rest.values()];
      waiting &&= [...rest.keys()];
      return waiting?.length === 0;
    };
    await until(isSo, 'every stream has its replicas', CURRENT_MS_MAX);
    return counts;
  } catch (error) {
    throw new Error([String(error), ...lacking].join('\n'), { cause: error });
  } finally {
    await connection.close();
  }
}

async function namesOf(manager: JetStreamManager): Promise<string[]> {
  const names: string[] = [];
  for await (const name of manager.streams.names()) names.push(name);
  return names;
}

/** @returns the servers a stream is on; a sentence about it, or a consumer of it, when that is not as it has to be */
async function look(
  manager: JetStreamManager,
  stream: string,
  nats: NatsCluster,
): Promise<string | readonly string[]> {
  const { cluster, config } = await manager.streams.info(stream);
  const names = serversOf(cluster as Placement, nats);
  const isCurrent = (cluster as Placement).replicas?.every(
    ({ current, offline }) => current && offline !== true,
  );
  if (names.length !== config.num_replicas || isCurrent === false) return JSON.stringify(cluster);
  for await (const consumer of manager.consumers.list(stream)) {
    const { durable_name: name, num_replicas: own } = consumer.config;
    const placement = (consumer.cluster ?? {}) as Placement;
    // A replica of one is not told to be up to date until something happens to it.
    if (name !== undefined && serversOf(placement, nats).length !== (own || config.num_replicas))
      return `${name} ${JSON.stringify(placement)}`;
  }
  return names;
}

/** @returns those that have something, none where nobody leads it or some do not belong to the cluster */
function serversOf({ leader, replicas = [] }: Placement, { servers }: NatsCluster): string[] {
  if (leader === undefined) return [];
  const names = [leader, ...replicas.map(({ name }) => name)];
  return names.every((name) => servers.some((server) => server.name === name)) ? names : [];
}
