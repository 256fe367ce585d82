import type { Subscription } from '@nats-io/transport-node';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import { parseStanding, type Standing, type StandingChannel } from './standing.ts';

/** {@link StandingChannel} over core NATS. */
export class NatsStandings implements StandingChannel {
  readonly #sealed: SealedLink;
  readonly #subject: string;
  readonly #clock: Clock;
  #answering: Subscription | undefined;

  constructor(sealed: SealedLink, subject: string, clock: Clock) {
    this.#sealed = sealed;
    this.#subject = subject;
    this.#clock = clock;
  }

  /** Answers the others. @param standing undefined: this member says nothing */
  answer(standing: (partition: number) => Promise<Standing | undefined>): void {
    this.#answering = this.#sealed.subscribe(this.#subject, (message) => {
      const partition = Number(message.string());
      if (!Number.isInteger(partition)) return;
      standing(partition).then(
        (said) => {
          if (said !== undefined) this.#sealed.respond(message, JSON.stringify(said));
        },
        // What it cannot read it does not know: it is as one that is away.
        () => undefined,
      );
    });
  }

  async ask(partition: number, hear: (standing: Standing) => boolean, maxMs: number): Promise<void> {
    const enough = Promise.withResolvers<void>();
    let answers: Subscription | undefined;
    try {
      answers = this.#sealed.ask(this.#subject, String(partition), (message) => {
        const said = parseStanding(message.string());
        if (said !== undefined && hear(said)) enough.resolve();
      });
      await Promise.race([enough.promise, sleep(this.#clock, maxMs)]);
    } catch {
      // Without a connection nobody answers.
      await sleep(this.#clock, maxMs);
    } finally {
      answers?.unsubscribe();
    }
  }

  /** Answers nobody any more. */
  close(): void {
    this.#answering?.unsubscribe();
  }
}
