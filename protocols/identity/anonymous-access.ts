import type { ReadConfiguration } from '#actors/identities/messages.ts';
import type { IdentityNews } from '#runtime/access/identity/identity-news.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { BoundedEntries } from '#runtime/base/queues/bounded-entries.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { STATE_MS } from './identity-callers.ts';

/** Tenants whose setting is kept. Anybody may ask about names that no tenant has. */
const TENANTS_MAX = 10_000;

/** Dependencies of {@link AnonymousAccess}. */
export interface AnonymousAccessContext {
  readonly router: Pick<Router, 'query'>;
  /** Tells what has changed, on this member and on others. */
  readonly news: { listen(hear: (news: IdentityNews) => void): void };
  readonly clock: Clock;
  /** Counts where the tenant says nothing. */
  readonly byDefault: boolean;
}

/**
 * Whether tenants permit anonymous access. It is read from the configuration of the tenant, and kept for seconds; a change
 * drops it at once. A repository may say otherwise, which its branch knows.
 *
 * @see docs/interface/permissions.md#anonymous-callers
 */
export class AnonymousAccess {
  readonly #context: AnonymousAccessContext;
  readonly #kept = new BoundedEntries<boolean>(TENANTS_MAX);
  /** Settings that are being read. News removes them, so that they are not kept. */
  readonly #reading = new Map<string, Promise<boolean>>();

  constructor(context: AnonymousAccessContext) {
    this.#context = context;
    context.news.listen(({ kind, tenant }) => {
      if (kind !== 'configuration') return;
      this.#kept.delete(tenant);
      this.#reading.delete(tenant);
    });
  }

  /** @returns at once where it is known @throws {ServiceError} the errors of reading the configuration */
  isEnabled(tenant: string): boolean | Promise<boolean> {
    const kept = this.#kept.get(tenant, this.#context.clock.monotonicMs());
    if (kept !== undefined) return kept;
    return this.#reading.get(tenant) ?? this.#read(tenant);
  }

  #read(tenant: string): Promise<boolean> {
    // From before the question: the answer may be as old.
    const untilMs = this.#context.clock.monotonicMs() + STATE_MS;
    const reading: Promise<boolean> = this.#ask(tenant)
      .then((isEnabled) => {
        if (this.#reading.get(tenant) === reading) this.#kept.set(tenant, isEnabled, untilMs);
        return isEnabled;
      })
      .finally(() => {
        if (this.#reading.get(tenant) === reading) this.#reading.delete(tenant);
      });
    this.#reading.set(tenant, reading);
    return reading;
  }

  async #ask(tenant: string): Promise<boolean> {
    const { byDefault, router } = this.#context;
    try {
      const query = { type: 'ReadAuthentication' };
      const answer = await router.query(actorId(tenant, 'identities'), query, engineCaller(tenant));
      return (answer as ReadConfiguration).configuration.anonymous_enabled ?? byDefault;
    } catch (error) {
      // A tenant that was never configured, or does not exist.
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return byDefault;
      throw error;
    }
  }
}
