import { headers, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { newInbox } from '#cluster/nats/connection.ts';
import type { MemberSeal, NewsMessage, NewsSender } from './member-seal.ts';
import { ReplayGuard } from './replay-guard.ts';

/** Header that contains the seal of a message. */
const HEADER = 'Grove-Seal';

/** Status with which a NATS server reports that a message has no responders. */
const NO_RESPONDERS = 503;

/**
 * Broadcasts of members over core NATS and the replies to them. Outgoing messages are sealed; incoming ones are
 * delivered only if they are from a member. The messages themselves are unchanged, so that members of an older
 * version read them.
 */
export class SealedLink {
  readonly connection: NatsConnection;
  readonly seal: MemberSeal;

  constructor(connection: NatsConnection, seal: MemberSeal) {
    this.connection = connection;
    this.seal = seal;
  }

  /** Sends a message to all members that subscribe to a subject. Without a connection nothing is sent. */
  publish(subject: string, data: string | Uint8Array, replyTo = ''): void {
    const bytes = bytesOf(data);
    this.#send(subject, bytes, this.seal.sealNews(subject, replyTo, bytes), replyTo);
  }

  /** Replies to a received message. */
  respond({ reply }: Msg, data: string | Uint8Array): void {
    if (reply === undefined || reply === '') return;
    const bytes = bytesOf(data);
    this.#send(reply, bytes, this.seal.sealReply(reply, bytes), '');
  }

  /** Receives the broadcasts of members, including this one. */
  subscribe(subject: string, hear: (message: Msg, sender: NewsSender) => void): Subscription {
    // One guard per subscription: two subscriptions to one subject both receive each message.
    const guard = new ReplayGuard();
    return this.connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return;
        const sender = this.seal.openNews(sealedMessage(message), guard);
        if (sender !== undefined) hear(message, sender);
      },
    });
  }

  /** Sends a request to all members that subscribe to a subject. @returns a subscription that ends it */
  ask(subject: string, data: string | Uint8Array, hear: (message: Msg) => void): Subscription {
    const inbox = newInbox(this.connection);
    const answers = this.connection.subscribe(inbox, {
      callback: (error, message) => {
        // A server reports that there are no responders.
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
