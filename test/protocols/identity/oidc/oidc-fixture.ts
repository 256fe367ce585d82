import type { Identity } from '#actors/identities/messages.ts';
import { oidcAllowance } from '#protocols/egress/allowance.ts';
import { EgressGuard } from '#protocols/egress/egress-guard.ts';
import { createHttpServer, type HttpServer } from '#protocols/http/uws-server.ts';
import { IdentityLogins } from '#protocols/identity/identity-logins.ts';
import { sealClientSecret } from '#protocols/identity/oidc/client-secret.ts';
import { OidcLogins } from '#protocols/identity/oidc/oidc-logins.ts';
import { readAuthConfigurationChange } from '#protocols/rest/identity/auth-configuration-body.ts';
import { oidcLoginRoutes } from '#protocols/rest/identity/oidc-login.ts';
import { refusingParameters } from '#protocols/rest/reads/refused-parameters.ts';
import {
  type AuthConfigurationChange,
  withSealedSecrets,
} from '#runtime/access/identity/auth-configuration.ts';
import { IdentityTokens } from '#runtime/access/identity/identity-tokens.ts';
import { defaultLoginThrottle, LoginThrottle } from '#runtime/access/login-throttle.ts';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { SecretBox } from '#runtime/config/secret-box.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { HttpClient, type TestResponse } from '#test/support/http-client.ts';

/** The clock of the system, which a test may set forward. */
export class ForwardClock implements Clock {
  aheadMs = 0;

  wallMs(): number {
    return systemClock.wallMs() + this.aheadMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.aheadMs;
  }

  after: Clock['after'] = (delayMs, callback) => systemClock.after(delayMs, callback);

  soon: Clock['soon'] = (callback) => systemClock.soon(callback);
}

/** What a test gives a provider; the rest has defaults. */
export type GivenProvider = Readonly<Record<string, unknown>>;

/** A member as far as logins at providers need one: identities over a real journal, and an HTTP server. */
export class OidcFixture {
  readonly clock = new ForwardClock();
  readonly box = new SecretBox(systemRandom.bytes(32));
  /** Repositories in which people get a node, with the path of each. */
  readonly homes = new Map<string, string>();
  readonly tokens: IdentityTokens;
  readonly logins: IdentityLogins;
  readonly #host: HostFixture;
  readonly #egress: EgressGuard;
  #server: HttpServer | undefined;
  #client: HttpClient | undefined;
  #port = 0;

  private constructor(host: HostFixture, allowPrivate: boolean) {
    this.#host = host;
    this.tokens = new IdentityTokens('a secret of the tests, long enough', this.clock, systemRandom);
    this.logins = new IdentityLogins({
      router: host.host,
      provisioning: new MemberIdentities(host.host, host.host),
      hasher: new PasswordHasher(),
      tokens: this.tokens,
      throttle: new LoginThrottle(systemClock, defaultLoginThrottle),
      clock: this.clock,
      random: systemRandom,
    });
    const allowance = oidcAllowance({ oidcAllowPrivate: allowPrivate });
    this.#egress = new EgressGuard(allowance, { clock: systemClock, log: silentLog });
  }

  /** @param allowPrivate whether providers may be on this machine, where those of tests are */
  static async open(allowPrivate = true): Promise<OidcFixture> {
    const host = await HostFixture.open();
    const fixture = new OidcFixture(host, allowPrivate);
    const provisioning = new MemberProvisioning(host.host, host.host, systemRandom);
    const admin = { username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false };
    await provisioning.bootstrap(() => Promise.resolve(admin));
    await fixture.serve(undefined);
    return fixture;
  }

  /** Serves anew, as after a restart. @param baseUrl `SVC_BASE_URL` */
  async serve(baseUrl: string | undefined, serverOrigins: readonly string[] = []): Promise<void> {
    await this.#stop();
    const oidc = new OidcLogins({
      logins: this.logins,
      egress: this.#egress,
      box: this.box,
      clock: this.clock,
      random: systemRandom,
      baseUrl,
      serverOrigins,
      scopeOf: (tenant, repository) => ({
        tenant,
        repository,
        homeOf: () => Promise.resolve(this.homes.get(`${tenant}/${repository}`)),
      }),
    });
    this.#server = createHttpServer<Principal>({
      routes: refusingParameters(oidcLoginRoutes({ oidc })),
      authenticate: () => ({ kind: 'anonymous', tenant: 'default' }),
      clock: systemClock,
      random: systemRandom,
      log: { error: () => undefined },
      observe: () => undefined,
      limits: { bodyBytesMax: 1_000, jsonDepthMax: 8, pathBytesMax: 1_000, inFlightMax: 100 },
    });
    const { port } = await this.#server.listen('127.0.0.1', this.#port);
    this.#port = port;
    this.#client = new HttpClient(port);
  }

  /** Origin of the server. */
  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Stores providers, and what else is given, as the route for administrators does. */
  async configure(
    providers: readonly GivenProvider[],
    more: Readonly<Record<string, unknown>> = {},
    tenant = 'default',
  ): Promise<void> {
    const withCallback = providers.map((provider) => ({
      client_id: 'grove',
      redirect_uri: `${this.origin}/auth/oidc/${String(provider.provider_id)}/callback`,
      ...provider,
    }));
    const body = { oidc_providers: withCallback, ...more };
    const change = withSealedSecrets(readAuthConfigurationChange(body, tenant), (secret, id) =>
      sealClientSecret(this.box, tenant, id, secret),
    );
    await this.store(change, tenant);
  }

  /** Stores a change of the configuration as it is, with secrets that are sealed. */
  async store(change: AuthConfigurationChange, tenant = 'default'): Promise<void> {
    const actor = await new MemberIdentities(this.#host.host, this.#host.host).createIdentities(tenant);
    await this.#host.command(actor, { type: 'ConfigureAuthentication', change } as never);
  }

  /** Starts again without identities. */
  async forget(): Promise<void> {
    await this.#host.host.destroyUnder('default/identities');
  }

  /** The identity of an address. */
  identity(email: string): Identity | undefined {
    return this.#host.query('default/identities', { type: 'FindIdentity', email } as never);
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<TestResponse> {
    return this.#send('GET', path, headers);
  }

  head(path: string): Promise<TestResponse> {
    return this.#send('HEAD', path, {});
  }

  /** Starts a login. @returns where the browser is sent */
  async start(providerId: string, query = ''): Promise<URL> {
    const { headers, status, text } = await this.get(`/auth/oidc/${providerId}${query}`);
    if (status !== 302) throw new Error(`the login was not started: ${status} ${text}`);
    return new URL(headers.location as string);
  }

  /** Brings the browser back from the provider. */
  finish(providerId: string, parameters: Readonly<Record<string, string>>): Promise<TestResponse> {
    return this.get(`/auth/oidc/${providerId}/callback?${new URLSearchParams(parameters)}`);
  }

  async close(): Promise<void> {
    await this.#stop();
    this.#egress.close();
    await this.#host.close();
  }

  #send(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<TestResponse> {
    if (this.#client === undefined) throw new Error('the server is closed');
    return this.#client.request(method, path, { headers: { 'user-agent': 'browser', ...headers } });
  }

  async #stop(): Promise<void> {
    this.#client?.close();
    await this.#server?.close();
  }
}
