import type { AccountNews } from '#runtime/access/account-news.ts';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';

/** Process id, a sign that no login attempt has, tenant in base64url, id of the account. */
const messageShape = /^([0-9a-f]{16}) !([\w-]{1,256})\.([0-9a-f-]{36})$/;

/**
 * Announces changes of accounts to all members over core NATS: connected members receive them at once, and nothing is
 * stored. A member that was not connected doubts what it knows when it is again; one that misses a message otherwise
 * relies on an account for a few seconds more.
 *
 * The subject is that of login attempts: members of an older version ignore a message of another shape, and NATS users
 * need no further permission.
 */
export class NatsAccountNews implements AccountNews {
  readonly #sealed: SealedLink;
  readonly #link: LinkWatch;
  readonly #subject: string;
  readonly #self: string;

  /** @param self id of this process, 16 hex digits: its own messages come back to it */
  constructor(sealed: SealedLink, subjects: Subjects, self: string) {
    this.#sealed = sealed;
    this.#link = new LinkWatch(sealed.connection);
    this.#subject = subjects.logins;
    this.#self = self;
  }

  tell(tenant: string, userId: string): void {
    // A client keeps messages while it is not connected and sends them later, which is early enough here.
    this.#sealed.publish(
      this.#subject,
      `${this.#self} !${Buffer.from(tenant).toString('base64url')}.${userId}`,
    );
  }

  listen(hear: (tenant: string, userId: string) => void, doubt: () => void): void {
    this.#sealed.subscribe(this.#subject, (message) => {
      const found = messageShape.exec(message.string());
      if (found === null || found[1] === this.#self) return;
      hear(Buffer.from(found[2] as string, 'base64url').toString(), found[3] as string);
    });
    this.#link.onReturn(doubt);
  }
}
