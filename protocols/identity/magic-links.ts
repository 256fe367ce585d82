import type { LinkRequested, RequestLink, SentLink } from '#actors/identities/link-messages.ts';
import type { IdentitiesCommand, IdentitiesQuery } from '#actors/identities/messages.ts';
import { localPartOf, parseEmail } from '#runtime/access/identity/email-address.ts';
import { allowedLanding } from '#runtime/access/identity/landing-address.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { AbsentTenants } from './absent-tenants.ts';
import { clientPlace } from './client-place.ts';
import type { EmailSetups } from './email-setups.ts';
import type { IdentityLogins, LoginClient, LoginScope, TokenPair } from './identity-logins.ts';
import { readLinkToken } from './link-token.ts';
import type { IdentitiesProvisioning } from './ports.ts';

/** Dependencies of login links. */
export interface MagicLinksContext {
  readonly router: Router;
  readonly provisioning: IdentitiesProvisioning;
  readonly logins: Pick<IdentityLogins, 'configuration' | 'open'>;
  readonly setups: EmailSetups;
}

/** What the answer to a request says; the same whether or not the address has an account. */
export interface AskedLink {
  readonly maskedEmail: string;
  readonly minutes: number;
}

/** A person who has opened a link. */
export interface OpenedLink {
  /** Where the person goes. */
  readonly landing: string;
  readonly pair: TokenPair;
}

/** Characters of an address before the at-sign that are shown, and from what length on. */
const SHOWN_CHARACTERS = 2;

/**
 * Login links, for every protocol. A request only stores what is to be sent; whether there is an account is looked up by
 * the member that sends it. So a request takes the same steps for every address, and waits for no mail server.
 *
 * @see docs/decisions/0073-magic-links.md
 */
export class MagicLinks {
  readonly #context: MagicLinksContext;
  readonly #absent: AbsentTenants;

  constructor(context: MagicLinksContext) {
    this.#context = context;
    this.#absent = new AbsentTenants(context);
  }

  /**
   * Asks for a link that is sent to an address.
   *
   * @param scope without a repository: the login is for the tenant
   * @param redirectUrl where the person wants to land; undefined: where the configuration says
   * @param address of the client
   * @throws {ServiceError} in this order: `INVALID_EMAIL`; `EMAIL_NOT_CONFIGURED`; `FORBIDDEN` while links are switched
   *   off; `VALIDATION_FAILED` for a place where nobody may land; `RATE_LIMITED`, `OVERLOADED`
   */
  async request(
    { repository, tenant }: Pick<LoginScope, 'repository' | 'tenant'>,
    { email, redirectUrl }: { readonly email: string; readonly redirectUrl: string | undefined },
    address: string,
  ): Promise<AskedLink> {
    const { logins, setups } = this.#context;
    const { address: mailed } = parseEmail(email);
    const configuration = await logins.configuration(tenant);
    const setup = setups.of(tenant, configuration);
    if (setup === undefined) throw new ServiceError('EMAIL_NOT_CONFIGURED');
    if (!configuration.magic_link.enabled)
      throw new ServiceError('FORBIDDEN', 'Logins with a link are switched off');
    const landing = allowedLanding(redirectUrl ?? new URL(setup.baseUrl).href, setup.landings);
    if (landing === undefined)
      throw invalid('`redirect_url` must lie under the configured `base_url` or an entry of the allowlist', {
        field: 'redirect_url',
      });
    const command: RequestLink = {
      type: 'RequestLink',
      email: mailed,
      repository: repository ?? null,
      landing,
      place: clientPlace(tenant, address),
    };
    const { minutes } = await this.#command<LinkRequested>(tenant, command).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
      return this.#absent.countLink({ tenant, email: mailed, address });
    });
    return { maskedEmail: maskedEmail(mailed), minutes };
  }

  /**
   * Logs in a person who has opened a link, which cannot be used again.
   *
   * @param repository of the address that was opened; undefined: that of the tenant
   * @param scopeOf what the login is for, in the tenant of the link; without a repository when there is none
   * @throws {ServiceError} `UNAUTHORIZED` for a link that is unknown, used, expired or of another repository;
   *   `ACCOUNT_DISABLED`; `FORBIDDEN` while links are switched off
   */
  async open(
    text: string,
    repository: string | undefined,
    client: LoginClient,
    scopeOf: (tenant: string) => LoginScope,
  ): Promise<OpenedLink> {
    const token = readLinkToken(text);
    if (token === undefined) throw useless();
    const { hash, tenant } = token;
    const sent = await this.#find(tenant, hash);
    if (sent === undefined || sent.repository !== (repository ?? null)) throw useless();
    const proof = { kind: 'magic_link', tokenHash: hash } as const;
    const pair = await this.#context.logins.open(scopeOf(tenant), proof, client, false);
    return { landing: sent.landing, pair };
  }

  /** @returns undefined also for a tenant without identities, or that does not exist */
  async #find(tenant: string, tokenHash: string): Promise<SentLink | undefined> {
    const query: IdentitiesQuery = { type: 'FindSentLink', tokenHash };
    try {
      const found = await this.#context.router.query(
        actorId(tenant, 'identities'),
        query,
        engineCaller(tenant),
      );
      return found as SentLink | undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #command<Result>(tenant: string, command: IdentitiesCommand): Promise<Result> {
    const caller = engineCaller(tenant);
    return (await this.#context.router.command(actorId(tenant, 'identities'), command, { caller })) as Result;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'NOT_FOUND';
}

function useless(): ServiceError {
  return new ServiceError('UNAUTHORIZED', 'The link is not valid; it may have been used, or have expired');
}

/** An address with what identifies the person left out: `an***@example.org`, `a***@example.org` for a short one. */
export function maskedEmail(address: string): string {
  const local = [...localPartOf(address)];
  const shown = local.length > SHOWN_CHARACTERS ? SHOWN_CHARACTERS : 1;
  return `${local.slice(0, shown).join('')}***${address.slice(address.lastIndexOf('@'))}`;
}
