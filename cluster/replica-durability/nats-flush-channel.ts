import type { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import type { FlushChannel, FlushConfirmation } from './flush-channel.ts';

/** {@link FlushChannel} over core NATS. */
export class NatsFlushChannel implements FlushChannel {
  readonly #sealed: SealedLink;
  readonly #subjects: Subjects;

  constructor(sealed: SealedLink, subjects: Subjects) {
    this.#sealed = sealed;
    this.#subjects = subjects;
  }

  tell(partition: number, { chain, epoch, member, sequence }: FlushConfirmation): void {
    const text = JSON.stringify({ member, epoch, sequence, chain: chain.toString('hex') });
    // Without a connection it is lost; the owner asks again.
    this.#sealed.publish(this.#subjects.flushes(partition), text);
  }

  ask(partition: number): void {
    this.#sealed.publish(this.#subjects.flushQuestions(partition), '');
  }

  onConfirmation(partition: number, listener: (confirmation: FlushConfirmation) => void): () => void {
    return this.#listen(this.#subjects.flushes(partition), (text) => {
      const confirmation = parse(text);
      if (confirmation !== undefined) listener(confirmation);
    });
  }

  onRequest(partition: number, listener: () => void): () => void {
    return this.#listen(this.#subjects.flushQuestions(partition), listener);
  }

  #listen(subject: string, listener: (text: string) => void): () => void {
    const subscription = this.#sealed.subscribe(subject, (message) => listener(message.string()));
    return () => subscription.unsubscribe();
  }
}

/** Messages from the network may be of another version. */
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
