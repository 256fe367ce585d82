import type { NatsConnection } from '@nats-io/transport-node';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { FlushChannel, FlushConfirmation } from './flush-channel.ts';

/** {@link FlushChannel} over core NATS. */
export class NatsFlushChannel implements FlushChannel {
  readonly #connection: NatsConnection;
  readonly #subjects: Subjects;

  constructor(connection: NatsConnection, subjects: Subjects) {
    this.#connection = connection;
    this.#subjects = subjects;
  }

  tell(partition: number, { chain, epoch, member, sequence }: FlushConfirmation): void {
    const text = JSON.stringify({ member, epoch, sequence, chain: chain.toString('hex') });
    this.#publish(this.#subjects.flushes(partition), text);
  }

  ask(partition: number): void {
    this.#publish(this.#subjects.flushQuestions(partition), '');
  }

  onTold(partition: number, listener: (confirmation: FlushConfirmation) => void): () => void {
    return this.#listen(this.#subjects.flushes(partition), (text) => {
      const confirmation = parse(text);
      if (confirmation !== undefined) listener(confirmation);
    });
  }

  onAsked(partition: number, listener: () => void): () => void {
    return this.#listen(this.#subjects.flushQuestions(partition), listener);
  }

  #listen(subject: string, listener: (text: string) => void): () => void {
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) listener(message.string());
      },
    });
    return () => subscription.unsubscribe();
  }

  #publish(subject: string, text: string): void {
    // Without a connection nobody hears it; the owner asks again.
    if (!this.#connection.isClosed()) this.#connection.publish(subject, text);
  }
}

/** What comes over the network may be of another version. */
function parse(text: string): FlushConfirmation | undefined {
  try {
    const { chain, epoch, member, sequence } = JSON.parse(text) as Record<string, unknown>;
    if (typeof member !== 'string' || typeof chain !== 'string') return undefined;
    if (!Number.isSafeInteger(epoch) || !Number.isSafeInteger(sequence)) return undefined;
    return {
      member,
      epoch: epoch as number,
      sequence: sequence as number,
      chain: Buffer.from(chain, 'hex'),
    };
  } catch {
    return undefined;
  }
}
