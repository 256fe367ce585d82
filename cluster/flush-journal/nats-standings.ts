import { createInbox, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import { parseStanding, type Standing, type StandingChannel } from './standing.ts';

/** {@link StandingChannel} over core NATS. */
export class NatsStandings implements StandingChannel {
  readonly #connection: NatsConnection;
  readonly #subject: string;
  readonly #clock: Clock;
  #answering: Subscription | undefined;

  constructor(connection: NatsConnection, subject: string, clock: Clock) {
    this.#connection = connection;
    this.#subject = subject;
    this.#clock = clock;
  }

  /** Answers the others. @param standing undefined: this member says nothing */
  answer(standing: (partition: number) => Promise<Standing | undefined>): void {
    this.#answering = this.#connection.subscribe(this.#subject, {
      callback: (error, message) => {
        const partition = Number(message.string());
        if (error !== null || !Number.isInteger(partition)) return;
        standing(partition).then(
          (said) => {
            if (said !== undefined && !this.#connection.isClosed()) message.respond(JSON.stringify(said));
          },
          // What it cannot read it does not know: it is as one that is away.
          () => undefined,
        );
      },
    });
  }

  async ask(partition: number, hear: (standing: Standing) => boolean, maxMs: number): Promise<void> {
    const inbox = createInbox();
    const enough = Promise.withResolvers<void>();
    let answers: Subscription | undefined;
    try {
      answers = this.#connection.subscribe(inbox, {
        callback: (error, message) => {
          const said = error === null ? parseStanding(message.string()) : undefined;
          if (said !== undefined && hear(said)) enough.resolve();
        },
      });
      this.#connection.publish(this.#subject, String(partition), { reply: inbox });
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
