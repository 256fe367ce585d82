import type {
  HearIdentityNews,
  IdentityNews,
  IdentityNewsChannel,
} from '#runtime/access/identity/identity-news.ts';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';

/**
 * Process id, then a tenant and an identity, or a tenant alone: 16 hex digits, percent-encoded names. Messages about login
 * attempts have no `=` behind the process id.
 */
const messageShape = /^([0-9a-f]{16}) =([\w!'()*.~%-]{1,256})(?: ([\w!'()*.~%-]{1,256}))?$/;

/**
 * Announces changes of identities to all members over core NATS: connected members receive them, and nothing is stored.
 *
 * The subject is that of login attempts. Members of an earlier version ignore these messages there, and NATS users with
 * permissions need no new one.
 */
export class NatsIdentityNews implements IdentityNewsChannel {
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

  tell(news: IdentityNews): void {
    if (!this.#link.isUp) return;
    const names = news.kind === 'identity' ? [news.tenant, news.identityId] : [news.tenant];
    this.#sealed.publish(this.#subject, `${this.#self} =${names.map(encodeURIComponent).join(' ')}`);
  }

  listen(hear: HearIdentityNews): void {
    this.#sealed.subscribe(this.#subject, (message) => {
      const found = messageShape.exec(message.string());
      if (found === null || found[1] === this.#self) return;
      const [tenant, identityId] = found.slice(2).map(decoded);
      if (tenant === undefined) return;
      if (identityId === undefined) hear({ kind: 'configuration', tenant });
      else hear({ kind: 'identity', tenant, identityId });
    });
  }
}

/** @returns undefined for an absent or malformed name */
function decoded(name: string | undefined): string | undefined {
  try {
    return name === undefined ? undefined : decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
