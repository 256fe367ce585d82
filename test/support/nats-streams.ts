import { jetstreamManager } from '@nats-io/jetstream';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { systemClock } from '#runtime/base/clock.ts';
import type { NatsCluster, NatsServer } from './nats-cluster.ts';

/** Elections after which a server that did not win any is given up. */
const ELECTIONS_MAX = 40;

/** Between two looks who leads, in milliseconds. */
const POLL_MS = 100;

/** What the servers say of a log's replicas; only what tests look at. */
interface Replicas {
  readonly leader?: string;
  readonly replicas?: readonly {
    readonly name: string;
    readonly current: boolean;
    readonly offline?: boolean;
  }[];
}

/** Has the leader of a partition's log step down until a certain server leads it. @throws {Error} when it never does */
export async function leadLog(nats: NatsCluster, partition: number, server: NatsServer): Promise<void> {
  const connection = await connectToNats({ urls: nats.urls, name: 'test', clock: systemClock });
  const stream = new Subjects().logStream(partition);
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    for (let elections = 0; elections < ELECTIONS_MAX; ) {
      const info = await manager.streams.info(stream).catch(() => undefined);
      const { leader, replicas } = (info?.cluster ?? {}) as Replicas;
      if (leader === server.name) return;
      const isCurrent = replicas?.find(({ name }) => name === server.name)?.current === true;
      if (leader !== undefined && isCurrent) {
        elections += 1;
        await connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, '').catch(() => undefined);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`${server.name} never led ${stream}`);
  } finally {
    await connection.close();
  }
}

/** Time within which new replicas have to be up to date, in milliseconds. */
const CURRENT_MS_MAX = 120_000;

/** Waits until every stream has three replicas that are up to date. @throws {Error} naming those that have not */
export async function allReplicated(nats: NatsCluster): Promise<void> {
  const connection = await connectToNats({ urls: nats.urls, name: 'test', clock: systemClock });
  const untilMs = performance.now() + CURRENT_MS_MAX;
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    for (;;) {
      const found = await manager.streams
        .list()
        .next()
        .catch(() => undefined);
      const lacking = found?.filter(({ cluster }) => {
        const { leader, replicas = [] } = (cluster ?? {}) as Replicas;
        const isCurrent = replicas.every(({ current, offline }) => current && offline !== true);
        return leader === undefined || replicas.length !== 2 || !isCurrent;
      });
      if (lacking?.length === 0) return;
      if (performance.now() > untilMs) {
        const told = lacking?.map(({ cluster, config }) => `${config.name} ${JSON.stringify(cluster)}`);
        throw new Error(`not replicated: ${told?.join('\n') ?? 'no answer'}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    await connection.close();
  }
}
