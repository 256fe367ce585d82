import { createHash } from 'node:crypto';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  fetchUserInfo,
  None,
} from 'openid-client';
import type { AuthConfiguration, OidcProvider } from '#runtime/access/identity/auth-configuration.ts';
import { verifiedIdToken } from '#runtime/access/identity/id-token.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { SecretBox } from '#runtime/config/secret-box.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { IdentityLogins, LoginClient, LoginScope, TokenPair } from '../identity-logins.ts';
import { openClientSecret } from './client-secret.ts';
import { type KnownProvider, KnownProviders, settingsOf } from './known-providers.ts';
import { type AllowedLandings, landingUrl } from './landing-url.ts';
import { type LoginState, LoginStates } from './login-state.ts';
import { lacksClaims, proofOf } from './provider-claims.ts';
import { notAccepted, notUnderWay, providerFailure } from './provider-errors.ts';
import { type ProviderEgress, providerFetch } from './provider-fetch.ts';
import type { ProviderMetadata } from './provider-metadata.ts';

/** Random bytes of a nonce and of a PKCE verifier (RFC 7636, section 7.1). */
const SECRET_BYTES = 32;

/** Dependencies of logins at providers. */
export interface OidcLoginsContext {
  readonly logins: Pick<IdentityLogins, 'configuration' | 'open'>;
  readonly egress: ProviderEgress;
  /** Seals states, and opens client secrets. */
  readonly box: SecretBox;
  readonly clock: Clock;
  readonly random: Random;
  /** The origin of this server, `SVC_BASE_URL`, if it is set. */
  readonly baseUrl: string | undefined;
  /** Origins of the server, for tenants that have no origins of their own. */
  readonly serverOrigins: readonly string[];
  /** A login in a repository, which may not exist. */
  readonly scopeOf: (tenant: string, repository: string) => LoginScope;
}

/** What a login is started with. */
export interface LoginStart {
  readonly tenant: string;
  readonly providerId: string;
  /** undefined: the login is for the tenant. */
  readonly repository: string | undefined;
  /** Where the person goes with the tokens, as it was asked for; undefined: they are answered as JSON. */
  readonly landing: string | undefined;
}

/** What the browser brings back from the provider. */
export interface ProviderAnswer {
  readonly providerId: string;
  readonly state: string;
  /** `code`, `error` and `iss`, where they were sent. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A login that is complete. */
export interface FinishedLogin {
  readonly pair: TokenPair;
  /** Where the person goes with the tokens; null: they are answered. */
  readonly landing: string | null;
}

/**
 * Logs people in at OpenID providers, with the authorization code flow and PKCE.
 *
 *     start   -> sealed state, nonce, PKCE challenge -> provider, in the browser
 *     finish  <- code, state <- provider
 *             open the state -> redeem the code -> verify the ID token -> ask userinfo for what it lacks -> open a session
 *
 * Invariants:
 *
 * 1. A session is opened only for a token that the provider of the state signed, for this client, for this state.
 * 2. What goes to a provider is its own: the secret, verifier and code of one provider never reach another one.
 * 3. Nothing is stored before a session is opened.
 *
 * @see docs/decisions/0072-logins-at-openid-providers.md
 */
export class OidcLogins {
  readonly #context: OidcLoginsContext;
  readonly #states: LoginStates;
  readonly #providers: KnownProviders;

  constructor(context: OidcLoginsContext) {
    this.#context = context;
    this.#states = new LoginStates(context.box, context.clock);
    this.#providers = new KnownProviders(context.egress, context.clock);
  }

  /**
   * Starts a login.
   *
   * @returns where the browser has to go: the authorization endpoint of the provider
   * @throws {ServiceError} `PROVIDER_NOT_FOUND` for an unknown provider, `FORBIDDEN` for a disabled one, `VALIDATION_FAILED` for a
   *   landing URL that is not allowed, `OIDC_NOT_CONFIGURED`; the errors of discovery
   */
  async start({ landing, providerId, repository, tenant }: LoginStart): Promise<string> {
    const { logins } = this.#context;
    const configuration = await logins.configuration(tenant);
    const provider = enabledProvider(configuration, providerId);
    const checked = landing === undefined ? null : landingUrl(landing, this.#landingsOf(configuration));
    const redirectUri = this.#redirectUri(provider);
    const { metadata } = await this.#providers.of(tenant, provider);
    const [verifier, nonce] = [this.#secret(), this.#secret()];
    const state = this.#states.seal({
      tenant,
      providerId,
      settings: settingsOf(provider),
      repository: repository ?? null,
      landing: checked,
      verifier,
      nonce,
    });
    const configured = this.#clientOf(tenant, provider, metadata, undefined);
    const url = buildAuthorizationUrl(configured, {
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: provider.scopes.join(' '),
      state,
      nonce,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return url.href;
  }

  /**
   * Finishes a login.
   *
   * @param signal ends requests to the provider when the browser has gone
   * @throws {ServiceError} `VALIDATION_FAILED` for a state that is not under way; `UNAUTHORIZED` for a code that does not
   *   belong to it; `FORBIDDEN` for a person who may not log in; `ACCOUNT_DISABLED`; `PROVIDER_NOT_FOUND`; `OIDC_NOT_CONFIGURED`;
   *   `UPSTREAM_INVALID`, `UPSTREAM_UNREACHABLE`, `UPSTREAM_TIMEOUT` and the other errors of outgoing requests
   */
  async finish(answer: ProviderAnswer, client: LoginClient, signal: AbortSignal): Promise<FinishedLogin> {
    const { logins, scopeOf } = this.#context;
    const state = this.#states.open(answer.state);
    if (state === undefined || state.providerId !== answer.providerId) throw notUnderWay();
    const { repository, tenant } = state;
    const configuration = await logins.configuration(tenant);
    const provider = enabledProvider(configuration, state.providerId);
    // The code would go to a server that did not issue it.
    if (settingsOf(provider) !== state.settings) throw notUnderWay();
    const landing =
      state.landing === null ? null : landingUrl(state.landing, this.#landingsOf(configuration));
    if (!this.#states.use(state)) throw notUnderWay();
    const proof = proofOf(await this.#claimsOf(answer, state, provider, signal), provider);
    const scope = repository === null ? { tenant } : scopeOf(tenant, repository);
    const pair = await logins.open(scope, proof, client, false);
    return { pair, landing };
  }

  /** What the provider says of the person who has the code. */
  async #claimsOf(
    { parameters, state: sealed }: ProviderAnswer,
    { nonce, tenant, verifier }: LoginState,
    provider: OidcProvider,
    signal: AbortSignal,
  ): Promise<{ readonly signed: JsonObject; readonly userinfo: JsonObject | undefined }> {
    const { client_id: clientId, provider_id: providerId } = provider;
    const { keys, metadata }: KnownProvider = await this.#providers.of(tenant, provider);
    const configured = this.#clientOf(tenant, provider, metadata, signal);
    const callback = new URL(this.#redirectUri(provider));
    callback.search = new URLSearchParams({ ...parameters, state: sealed }).toString();
    try {
      const tokens = await authorizationCodeGrant(configured, callback, {
        expectedState: sealed,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      if (tokens.id_token === undefined) throw notAccepted(providerId, 'it has no ID token');
      const { clock } = this.#context;
      const expected = { issuer: metadata.issuer, clientId, keys, nowMs: clock.wallMs() };
      const signed = await verifiedIdToken(tokens.id_token, expected);
      const isAsked = metadata.userinfo_endpoint !== undefined && lacksClaims(signed, provider);
      if (!isAsked) return { signed, userinfo: undefined };
      const userinfo = await fetchUserInfo(configured, tokens.access_token, signed.sub as string);
      return { signed, userinfo: userinfo as unknown as JsonObject };
    } catch (error) {
      throw providerFailure(providerId, error);
    }
  }

  /** This server as a client of a provider. */
  #clientOf(
    tenant: string,
    provider: OidcProvider,
    metadata: ProviderMetadata,
    signal: AbortSignal | undefined,
  ): Configuration {
    const authentication = this.#authentication(tenant, provider, metadata);
    const settings = { id_token_signed_response_alg: 'RS256' };
    const configured = new Configuration(metadata, provider.client_id, settings, authentication);
    configured[customFetch] = providerFetch(this.#context.egress, tenant, signal);
    // The guard of outgoing requests decides about plain HTTP.
    allowInsecureRequests(configured);
    return configured;
  }

  #authentication(tenant: string, provider: OidcProvider, metadata: ProviderMetadata): ClientAuth {
    const { client_secret: sealed, provider_id: providerId } = provider;
    if (sealed === null) return None();
    const secret = openClientSecret(this.#context.box, tenant, providerId, sealed);
    if (secret === undefined)
      throw new ServiceError(
        'OIDC_NOT_CONFIGURED',
        `The client secret of provider '${providerId}' was stored under another master key; an administrator of the tenant has to set it again`,
      );
    const methods = metadata.token_endpoint_auth_methods_supported;
    const isPosted = methods?.includes('client_secret_basic') === false && methods.length > 0;
    return isPosted ? ClientSecretPost(secret) : ClientSecretBasic(secret);
  }

  #redirectUri({ provider_id: providerId, redirect_uri: configured }: OidcProvider): string {
    const { baseUrl } = this.#context;
    if (configured !== null) return configured;
    if (baseUrl !== undefined) return `${baseUrl}/auth/oidc/${providerId}/callback`;
    // Not the host of the request: anybody can choose that.
    throw new ServiceError(
      'OIDC_NOT_CONFIGURED',
      `Provider '${providerId}' has no redirect_uri; an administrator of the tenant has to set it, or the operator SVC_BASE_URL`,
    );
  }

  #landingsOf({ cors_allowed_origins: own }: AuthConfiguration): AllowedLandings {
    const { baseUrl, serverOrigins } = this.#context;
    return { origins: own.length > 0 ? own : serverOrigins, ownOrigin: baseUrl };
  }

  #secret(): string {
    return Buffer.from(this.#context.random.bytes(SECRET_BYTES)).toString('base64url');
  }
}

/** @throws {ServiceError} `PROVIDER_NOT_FOUND`, `FORBIDDEN` */
function enabledProvider({ oidc_providers: providers }: AuthConfiguration, providerId: string): OidcProvider {
  const provider = providers.find(({ provider_id: id }) => id === providerId);
  if (provider === undefined) throw new ServiceError('PROVIDER_NOT_FOUND');
  if (!provider.enabled) throw new ServiceError('FORBIDDEN', 'The provider is switched off');
  return provider;
}
