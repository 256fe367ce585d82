/** What has changed in the identities of a tenant, for those who keep copies of them. */
export type IdentityNews =
  /** The identity was changed or removed. */
  | { readonly kind: 'identity'; readonly tenant: string; readonly identityId: string }
  /** How people authenticate was changed. */
  | { readonly kind: 'configuration'; readonly tenant: string };

/** Hears of every {@link IdentityNews} on this member. It must not throw. */
export type HearIdentityNews = (news: IdentityNews) => void;

/** Carries news to the other members of a cluster, and theirs to this one. */
export interface IdentityNewsChannel {
  /** What cannot be sent now is lost: receivers keep their copies for some seconds only. */
  tell(news: IdentityNews): void;
  /** @param hear called for news of other members, for the lifetime of the process */
  listen(hear: HearIdentityNews): void;
}

/**
 * Tells everybody on this member, and through the channel everybody on the others, what has changed in the identities of
 * a tenant. News comes from the member that owns the identities, once the change is durable.
 *
 * @see docs/decisions/0070-callers-with-an-identity.md
 */
export class IdentityNewsroom {
  readonly #channel: IdentityNewsChannel | undefined;
  readonly #listeners: HearIdentityNews[] = [];

  /** @param channel undefined without other members */
  constructor(channel?: IdentityNewsChannel) {
    this.#channel = channel;
    channel?.listen((news) => this.#deliver(news));
  }

  /** @param hear called for the lifetime of the process */
  listen(hear: HearIdentityNews): void {
    this.#listeners.push(hear);
  }

  /** Tells what has changed here. */
  tell(news: IdentityNews): void {
    this.#deliver(news);
    this.#channel?.tell(news);
  }

  #deliver(news: IdentityNews): void {
    for (const hear of this.#listeners) hear(news);
  }
}
