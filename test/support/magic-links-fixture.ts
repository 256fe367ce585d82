import { isLinkWaiting, type WaitingLink } from '#actors/identities/link-messages.ts';
import type { IdentitiesCommand, Identity, RefreshOutcome } from '#actors/identities/messages.ts';
import { mailAllowance, operatorMailAllowance } from '#protocols/egress/allowance.ts';
import { GuardedDialer } from '#protocols/egress/guarded-dial.ts';
import { createHttpServer, type HttpServer } from '#protocols/http/uws-server.ts';
import { EmailSetups } from '#protocols/identity/email-setups.ts';
import { IdentityLogins } from '#protocols/identity/identity-logins.ts';
import { MagicLinks } from '#protocols/identity/magic-links.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import { magicLinkRoutes } from '#protocols/rest/identity/magic-link.ts';
import { TenantPeople } from '#protocols/rest/people/tenant-people.ts';
import type { AuthConfigurationChange } from '#runtime/access/identity/auth-configuration.ts';
import { IdentityTokens, type VerifiedAccess } from '#runtime/access/identity/identity-tokens.ts';
import { defaultLoginThrottle, LoginThrottle } from '#runtime/access/login-throttle.ts';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { SecretBox } from '#runtime/config/secret-box.ts';
import { createLog, silentLog } from '#runtime/telemetry/log-context.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';
import { MemberMail } from '#server/mail/member-mail.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberRepositoryUsers } from '#server/provisioning/repository-users.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { HostFixture } from './host-fixture.ts';
import { HttpClient, type TestRequest, type TestResponse } from './http-client.ts';
import { linkIn, mailAuthority, type ReceivedMail } from './mail-server.ts';
import { TestClock } from './test-clock.ts';
import { until } from './until.ts';

/** Where people land in these tests. */
export const LANDING = 'https://www.example.org/app';

/** Tenants of the tests; each has the repository `blog`. */
export const tenants = ['default', 'acme'] as const;

/** Login links over HTTP, with real actors over a real journal, and a clock that a test moves. */
export class MagicLinksFixture {
  readonly clock: TestClock;
  readonly box = new SecretBox(Buffer.alloc(32, 7));
  readonly logLines: Record<string, unknown>[] = [];
  readonly tokens: IdentityTokens;
  #env: Readonly<Record<string, string>>;
  readonly #config: string;
  readonly #host: HostFixture;
  #mail: MemberMail | undefined;
  #http: HttpServer | undefined;
  #client: HttpClient | undefined;

  private constructor(
    host: HostFixture,
    clock: TestClock,
    env: Readonly<Record<string, string>>,
    config: string,
  ) {
    this.#config = config;
    this.#host = host;
    this.clock = clock;
    this.tokens = new IdentityTokens('a secret of the tests, long enough', clock, systemRandom);
    this.#env = env;
  }

  /**
   * @param env variables of the member; a port is that of the operator's mail server on this machine
   * @param config text of the file that `SVC_CONFIG` names
   */
  static async open(env: Readonly<Record<string, string>> | number, config = ''): Promise<MagicLinksFixture> {
    const clock = new TestClock();
    const host = await HostFixture.open(undefined, undefined, clock);
    const given = typeof env === 'number' ? operatorsServer(env) : env;
    const fixture = new MagicLinksFixture(host, clock, given, config);
    const provisioning = new MemberProvisioning(host.host, host.host, systemRandom);
    const admin = { username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false };
    await provisioning.bootstrap(() => Promise.resolve(admin));
    const delivery = { caller: engineCaller('default') };
    await provisioning.createTenant({ tenantId: 'acme', metadata: {}, admin }, delivery);
    for (const tenant of tenants)
      await provisioning.createRepository(
        tenant,
        {
          repositoryId: 'blog',
          description: null,
          defaultBranch: 'main',
          defaultLanguage: 'en',
          supportedLanguages: ['en'],
        },
        { caller: engineCaller(tenant) },
      );
    host.onEvents = (actor, events) => {
      const ids = events.filter(isLinkWaiting).map(({ id }) => id);
      if (ids.length > 0) fixture.#mail?.waiting(actor, ids);
    };
    await fixture.#start();
    return fixture;
  }

  /** Ends the process and starts another one over the same data. */
  async restart(): Promise<void> {
    await this.#stop();
    await this.#host.reopen();
    await this.#start();
    this.#mail?.takeUp(() => true);
  }

  /** As {@link restart}, with another mail server of the operator. */
  async configureOperator(port: number): Promise<void> {
    this.#env = operatorsServer(port);
    await this.restart();
  }

  /** Ends the mail alone, as the first step of the end of a process. */
  async endMail(): Promise<void> {
    await this.#mail?.close();
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.#host.close();
  }

  request(method: string, path: string, options: TestRequest = {}): Promise<TestResponse> {
    if (this.#client === undefined) throw new Error('there is no server');
    return this.#client.request(method, path, options);
  }

  /** Asks for a link. */
  ask(
    email: string,
    more: object = {},
    path = '/auth/blog/magic-link',
    tenant = 'default',
  ): Promise<TestResponse> {
    const headers = { 'x-tenant-id': tenant };
    return this.request('POST', path, { body: { email, ...more }, headers });
  }

  /** As {@link ask}, from one of several clients. */
  askFrom(client: number, email: string, tenant = 'default'): Promise<TestResponse> {
    const headers = { 'x-tenant-id': tenant, 'x-forwarded-for': `192.0.2.${client}` };
    return this.request('POST', '/auth/magic-link', { body: { email }, headers });
  }

  /** Opens the link of a mail. */
  follow(
    mail: Pick<ReceivedMail, 'raw'>,
    method = 'GET',
    headers: TestRequest['headers'] = {},
  ): Promise<TestResponse> {
    const { pathname, search } = linkIn(mail);
    return this.request(method, pathname + search, { headers });
  }

  /** Makes an account. */
  async register(email: string, tenant = 'default', emailVerified = false): Promise<Identity> {
    const { host } = this.#host;
    await new MemberIdentities(host, host).createIdentities(tenant);
    const made = await this.send<{ identity: Identity }>(tenant, {
      type: 'RegisterIdentity',
      email,
      passwordHash: 'hash',
      emailVerified,
    });
    return made.identity;
  }

  /** Somebody registers with an address of somebody else. @returns exchanges the refresh token of the session */
  async logInStranger(email: string): Promise<{ refresh(): Promise<RefreshOutcome> }> {
    const { host } = this.#host;
    await new MemberIdentities(host, host).createIdentities('default');
    const { identity } = await this.send<{ identity: Identity }>('default', {
      type: 'RegisterIdentity',
      email,
      passwordHash: 'hash',
      session: {
        sessionId: 'session-of-a-stranger',
        family: 'family',
        tokenHash: 'token 1',
        rememberMe: false,
        repository: null,
        userAgent: null,
        ipAddress: null,
        place: 'a-place-of-a-stranger',
      },
    });
    let generation = 0;
    return {
      refresh: () => {
        generation += 1;
        return this.send('default', {
          type: 'RefreshSession',
          identityId: identity.identity_id,
          sessionId: 'session-of-a-stranger',
          family: 'family',
          generation,
          tokenHash: `token ${generation}`,
          nextTokenHash: `token ${generation + 1}`,
        });
      },
    };
  }

  async configure(change: AuthConfigurationChange, tenant = 'default'): Promise<void> {
    const { host } = this.#host;
    await new MemberIdentities(host, host).createIdentities(tenant);
    await this.send(tenant, { type: 'ConfigureAuthentication', change });
  }

  send<Result>(tenant: string, command: IdentitiesCommand): Promise<Result> {
    return this.#host.command(`${tenant}/identities`, command, engineCaller(tenant));
  }

  /** Links of a tenant that wait to be sent. */
  waiting(tenant = 'default'): readonly WaitingLink[] {
    return this.#host.query(`${tenant}/identities`, { type: 'ListWaitingLinks' }, engineCaller(tenant));
  }

  /** Waits until no link of a tenant is to be sent any more. */
  async allSent(tenant = 'default'): Promise<void> {
    await until(() => this.waiting(tenant).length === 0, 'no link waits any more');
  }

  /** What the access token of an answer to an opened link says. */
  async accessOf({ headers: { location = '' } }: TestResponse): Promise<VerifiedAccess> {
    const [, fragment = ''] = location.split('#');
    return await this.tokens.verifyAccess(new URLSearchParams(fragment).get('access_token') ?? '');
  }

  /** A password as it is stored. */
  sealed(tenant: string, purpose: string, password: string): string {
    return this.box.seal(`mail password\n${tenant}\n${purpose}`, password);
  }

  async #start(): Promise<void> {
    const options = loadOptions(this.#env, () => (this.#config === '' ? undefined : this.#config));
    const { clock } = this;
    const { host } = this.#host;
    const setups = new EmailSetups(options, this.box);
    const sink = {
      write: (line: string) => void this.logLines.push(JSON.parse(line) as Record<string, unknown>),
    };
    this.#mail = new MemberMail({
      router: host,
      lifecycle: host,
      setups,
      dialer: new GuardedDialer(mailAllowance(options.email), { clock: systemClock }),
      operatorDialer: new GuardedDialer(operatorMailAllowance(), { clock: systemClock }),
      authorities: [mailAuthority],
      clock,
      random: systemRandom,
      log: createLog({ level: 'debug', clock, sink }),
      metrics: new Metrics(),
    });
    const provisioning = new MemberIdentities(host, host);
    const logins = new IdentityLogins({
      router: host,
      provisioning,
      hasher: new PasswordHasher(),
      tokens: this.tokens,
      throttle: new LoginThrottle(clock, defaultLoginThrottle),
      clock,
      random: systemRandom,
    });
    const directory = new RepositoryDirectory(host, new LazyUpgrades(host, clock, silentLog));
    this.#http = createHttpServer<Principal>({
      routes: magicLinkRoutes({
        magicLinks: new MagicLinks({ router: host, provisioning, logins, setups }),
        users: new MemberRepositoryUsers(host, directory, new TenantPeople(host)),
        onUserFailure: (_facts, error) => {
          throw error;
        },
      }),
      authenticate: () => ({ kind: 'anonymous', tenant: 'default' }),
      clock: systemClock,
      random: systemRandom,
      log: { error: (facts, message) => void this.logLines.push({ ...facts, message }) },
      trustForwardedHeaders: true,
    });
    const { port } = await this.#http.listen('127.0.0.1', 0, true);
    this.#client = new HttpClient(port);
  }

  async #stop(): Promise<void> {
    this.#client?.close();
    this.#http?.close();
    await this.#mail?.close();
    this.#mail = undefined;
  }
}

function operatorsServer(port: number): Readonly<Record<string, string>> {
  return {
    SVC_SMTP_URL: `smtp://127.0.0.1:${port}?security=none`,
    SVC_EMAIL_FROM: 'Example <login@example.org>',
    SVC_EMAIL_BASE_URL: LANDING,
  };
}
