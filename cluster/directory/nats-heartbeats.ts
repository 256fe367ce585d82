import type { Msg } from '@nats-io/transport-node';
import type { Clock } from '#runtime/base/time/clock.ts';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { NewsSender } from '#cluster/seal/member-seal.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from './heartbeat.ts';
import type { HeartbeatChannel } from './member-registry.ts';
import type { Reception, NameChannel } from './running-duplicate.ts';

/**
 * Heartbeats over core NATS: connected members receive them, and nothing is stored. Nothing is sent while there is no
 * connection, because a heartbeat that arrives minutes late is wrong.
 */
export class NatsHeartbeats implements HeartbeatChannel, NameChannel {
  readonly #sealed: SealedLink;
  readonly #link: LinkWatch;
  readonly #subject: string;
  readonly #partitions: number;

  /** @param partitions number of partitions of the cluster; heartbeats that do not match it are ignored */
  constructor(sealed: SealedLink, subjects: Subjects, partitions: number) {
    this.#sealed = sealed;
    this.#link = new LinkWatch(sealed.connection);
    this.#subject = subjects.heartbeats;
    this.#partitions = partitions;
  }

  send(heartbeat: Heartbeat): void {
    if (!this.#link.isUp) return;
    this.#sealed.publish(this.#subject, encodeHeartbeat(heartbeat));
  }

  listen(hear: (heartbeat: Heartbeat) => void): () => void {
    const listen = (message: Msg, sender: NewsSender): void => {
      const heartbeat = decodeHeartbeat(message.data, this.#partitions);
      // A member may only describe itself.
      if (heartbeat === undefined || (sender.life !== undefined && sender.name !== heartbeat.member)) return;
      const { seal } = this.#sealed;
      if (sender.life === undefined) seal.forget(heartbeat.member);
      else seal.heard(sender);
      hear(heartbeat);
    };
    const subscription = this.#sealed.subscribe(this.#subject, listen);
    return () => subscription.unsubscribe();
  }

  /** Uses that the server answers a request sent after a subscription only once it has the subscription. */
  reception(clock: Clock): Reception {
    const link = this.#link;
    let sinceMs: number | undefined;
    let asked = 0;
    const ask = (): void => {
      asked += 1;
      const asking = asked;
      sinceMs = undefined;
      this.#sealed.connection.flush().then(
        () => {
          if (asking === asked) sinceMs = clock.monotonicMs();
        },
        // The connection was lost meanwhile: the request is repeated when it is back.
        () => undefined,
      );
    };
    const stop = link.onReturn(ask);
    ask();
    return {
      get sinceMs() {
        return link.isUp ? sinceMs : undefined;
      },
      stop,
    };
  }
}
