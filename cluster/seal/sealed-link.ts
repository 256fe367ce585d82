import { headers, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { newInbox } from '#cluster/nats/connection.ts';
import type { MemberSeal, NewsMessage, NewsSender } from './member-seal.ts';
import { ReplayGuard } from './replay-guard.ts';

/** The header that holds the seal of a message. */
const HEADER = 'Grove-Seal';

/** Status by which a NATS server says that nobody listens. */
const NO_RESPONDERS = 503;

/**
 * What members tell all others over core NATS, and answer to it: sealed on its way out, and heard only when it is of a
 * member. Messages themselves are as they would be without: members of an older version read them.
 */
export class SealedLink {
  readonly connection: NatsConnection;
  readonly seal: MemberSeal;

  constructor(connection: NatsConnection, seal: MemberSeal) {
    this.connection = connection;
    this.seal = seal;
  }

  /** Tells all members that listen on a subject. Without a connection nothing happens. */
  publish(subject: string, data: string | Uint8Array, replyTo = ''): void {
    const bytes = bytesOf(data);
    this.#send(subject, bytes, this.seal.sealNews(subject, replyTo, bytes), replyTo);
  }

  /** Answers a message that was heard. */
  respond({ reply }: Msg, data: string | Uint8Array): void {
    if (reply === undefined || reply === '') return;
    const bytes = bytesOf(data);
    this.#send(reply, bytes, this.seal.sealReply(reply, bytes), '');
  }

  /** Listens to what members tell, this one included. */
  subscribe(subject: string, hear: (message: Msg, sender: NewsSender) => void): Subscription {
    // Of its own: two that listen to one subject both hear each message.
    const guard = new ReplayGuard();
    return this.connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return;
        const sender = this.seal.openNews(sealedMessage(message), guard);
        if (sender !== undefined) hear(message, sender);
      },
    });
  }

  /** Asks all members that listen on a subject. @returns ends it */
  ask(subject: string, data: string | Uint8Array, hear: (message: Msg) => void): Subscription {
    const inbox = newInbox(this.connection);
    const answers = this.connection.subscribe(inbox, {
      callback: (error, message) => {
        // That nobody listens is said by a server.
        if (error !== null || (message.data.length === 0 && message.headers?.code === NO_RESPONDERS)) return;
        if (this.seal.opensReply(sealedMessage(message))) hear(message);
      },
    });
    this.publish(subject, data, inbox);
    return answers;
  }

  #send(subject: string, bytes: Uint8Array, seal: string, replyTo: string): void {
    if (this.connection.isClosed()) return;
    const sealed = headers();
    sealed.set(HEADER, seal);
    this.connection.publish(subject, bytes, {
      headers: sealed,
      ...(replyTo === '' ? {} : { reply: replyTo }),
    });
  }
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

function sealedMessage({ data, headers: found, reply, subject }: Msg): NewsMessage {
  return { subject, replyTo: reply ?? '', data, seal: found?.get(HEADER) };
}
