import type { NatsConnection } from '@nats-io/transport-node';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { ensureCommitStream } from '#cluster/nats/streams.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { AppendChannel } from '#cluster/replication/append-channel.ts';
import { JetStreamLogStream } from '#cluster/replication/jetstream-log-stream.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import type { LogSeal } from '#cluster/seal/log-seal.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import type { OpeningOptions } from '#cluster/replication/partition-opening.ts';
import type { NatsCluster } from './nats-cluster.ts';

/** Short, so that tests need not wait long for a member that died. */
export const TEST_LEASE_MS = 400;

const subjects = new Subjects('test');
let newest = -1;

/** One process's connection to the test servers, with what the replicated log needs of it. */
export class LogClient {
  readonly connection: NatsConnection;
  readonly #channel: AppendChannel;
  /** What the logs opened through it told. */
  readonly events: LogEvent[] = [];

  constructor(connection: NatsConnection) {
    this.connection = connection;
    this.#channel = new AppendChannel(connection, systemClock);
  }

  /** The stream of a partition. @param seal of members; default: none, as tools have it */
  stream(partition: number, seal?: LogSeal): JetStreamLogStream {
    const { connection } = this;
    return new JetStreamLogStream(
      connection,
      this.#channel,
      subjects.logStream(partition),
      subjects.log(partition),
      seal,
    );
  }

  /** Opens a partition. */
  open(partition: number, member: string, options: Partial<OpeningOptions> = {}): Promise<PartitionLog> {
    return openPartition({
      stream: this.stream(partition),
      partition,
      member,
      position: undefined,
      leaseMs: TEST_LEASE_MS,
      clock: systemClock,
      random: systemRandom,
      report: (event) => this.events.push(event),
      ...options,
    });
  }

  async close(): Promise<void> {
    this.#channel.close();
    await this.connection.close();
  }
}

/** Connects to the servers of a test. @param urls default: all of the cluster */
export async function logClient(
  cluster: NatsCluster,
  urls: readonly string[] = cluster.urls,
): Promise<LogClient> {
  return new LogClient(await connectToNats({ urls, name: 'test' }));
}

/** Makes the stream of a partition no test has used. @returns the partition */
export async function newPartition(
  client: LogClient,
  replicas: 1 | 3,
  bytesMax = 256 * 1024 * 1024,
): Promise<number> {
  newest += 1;
  const settings = { replicas, bytesMax };
  await ensureCommitStream(client.connection, subjects, newest, settings, systemClock);
  return newest;
}

/** Subject of the stream of a partition. */
export function subjectOf(partition: number): string {
  return subjects.log(partition);
}

/** Time that passes several times as fast, for what takes seconds by design. */
export function hurriedClock(factor: number): Clock {
  return {
    wallMs: () => systemClock.wallMs(),
    monotonicMs: () => systemClock.monotonicMs() * factor,
    after: (delayMs, callback) => systemClock.after(delayMs / factor, callback),
    soon: (callback) => systemClock.soon(callback),
  };
}

/** Name of the stream of a partition. */
export function streamOf(partition: number): string {
  return subjects.logStream(partition);
}
