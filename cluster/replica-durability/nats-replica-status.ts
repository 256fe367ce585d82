import type { Subscription } from '@nats-io/transport-node';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import {
  encodeReplicaStatus,
  parseReplicaStatus,
  type ReplicaStatus,
  type ReplicaStatusChannel,
} from './replica-status.ts';

/** {@link ReplicaStatusChannel} over core NATS. */
export class NatsReplicaStatus implements ReplicaStatusChannel {
  readonly #sealed: SealedLink;
  readonly #subject: string;
  readonly #clock: Clock;
  #answering: Subscription | undefined;

  constructor(sealed: SealedLink, subject: string, clock: Clock) {
    this.#sealed = sealed;
    this.#subject = subject;
    this.#clock = clock;
  }

  /** Answers requests of other members. @param status undefined: this member does not answer */
  answer(status: (partition: number) => Promise<ReplicaStatus | undefined>): void {
    this.#answering = this.#sealed.subscribe(this.#subject, (message) => {
      const partition = Number(message.string());
      if (!Number.isInteger(partition)) return;
      status(partition).then(
        (said) => {
          if (said !== undefined) this.#sealed.respond(message, encodeReplicaStatus(said));
        },
        // An unreadable state is unknown: this member then counts as absent.
        () => undefined,
      );
    });
  }

  async ask(partition: number, hear: (status: ReplicaStatus) => boolean, maxMs: number): Promise<void> {
    const enough = Promise.withResolvers<void>();
    let answers: Subscription | undefined;
    try {
      answers = this.#sealed.ask(this.#subject, String(partition), (message) => {
        const said = parseReplicaStatus(message.string());
        if (said !== undefined && hear(said)) enough.resolve();
      });
      await Promise.race([enough.promise, sleep(this.#clock, maxMs)]);
    } catch {
      // Without a connection there are no answers.
      await sleep(this.#clock, maxMs);
    } finally {
      answers?.unsubscribe();
    }
  }

  /** Stops answering. */
  close(): void {
    this.#answering?.unsubscribe();
  }
}
