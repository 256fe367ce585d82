import type { NatsConnection } from '@nats-io/transport-node';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from './heartbeat.ts';
import type { HeartbeatChannel } from './member-registry.ts';

/**
 * Heartbeats over core NATS: who is connected hears them, nothing is stored. While there is no connection nothing is
 * sent: a heartbeat that comes minutes late says nothing of now.
 */
export class NatsHeartbeats implements HeartbeatChannel {
  readonly #connection: NatsConnection;
  readonly #link: LinkWatch;
  readonly #subject: string;
  readonly #partitions: number;

  /** @param partitions number of partitions of the cluster; what does not fit it is not heard */
  constructor(connection: NatsConnection, subjects: Subjects, partitions: number) {
    this.#connection = connection;
    this.#link = new LinkWatch(connection);
    this.#subject = subjects.heartbeats;
    this.#partitions = partitions;
  }

  send(heartbeat: Heartbeat): void {
    if (!this.#link.isUp) return;
    this.#connection.publish(this.#subject, encodeHeartbeat(heartbeat));
  }

  listen(hear: (heartbeat: Heartbeat) => void): () => void {
    const subscription = this.#connection.subscribe(this.#subject, {
      callback: (error, message) => {
        const heartbeat = error === null ? decodeHeartbeat(message.data, this.#partitions) : undefined;
        if (heartbeat !== undefined) hear(heartbeat);
      },
    });
    return () => subscription.unsubscribe();
  }
}
