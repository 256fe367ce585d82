import type { Msg } from '@nats-io/transport-node';
import type { Clock } from '#runtime/base/clock.ts';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { NewsSender } from '#cluster/seal/member-seal.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from './heartbeat.ts';
import type { HeartbeatChannel } from './member-registry.ts';
import type { Hearing, NamesakeChannel } from './namesake.ts';

/**
 * Heartbeats over core NATS: who is connected hears them, nothing is stored. While there is no connection nothing is
 * sent: a heartbeat that comes minutes late says nothing of now.
 */
export class NatsHeartbeats implements HeartbeatChannel, NamesakeChannel {
  readonly #sealed: SealedLink;
  readonly #link: LinkWatch;
  readonly #subject: string;
  readonly #partitions: number;

  /** @param partitions number of partitions of the cluster; what does not fit it is not heard */
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
      // Of a member is what it says of itself.
      if (heartbeat === undefined || (sender.life !== undefined && sender.name !== heartbeat.member)) return;
      const { seal } = this.#sealed;
      if (sender.life === undefined) seal.forget(heartbeat.member);
      else seal.heard(sender);
      hear(heartbeat);
    };
    const subscription = this.#sealed.subscribe(this.#subject, listen);
    return () => subscription.unsubscribe();
  }

  /** What is asked of the server behind a subscription is answered once the server has that. */
  hearing(clock: Clock): Hearing {
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
        // It was cut off meanwhile: it is asked again when it is back.
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
