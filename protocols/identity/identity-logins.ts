import type {
  Credentials,
  FailedLogin,
  IdentitiesCommand,
  IdentitiesQuery,
  Identity,
  LoginProof,
  NewSession,
  OpenedSession,
  ReadConfiguration,
  RefreshOutcome,
  RefreshRefusal,
  Registered,
} from '#actors/identities/messages.ts';
import {
  type AuthConfiguration,
  defaultAuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';
import { parseEmail } from '#runtime/access/identity/email-address.ts';
import type { IdentityTokens, RefreshId, VerifiedAccess } from '#runtime/access/identity/identity-tokens.ts';
import { requirePolicyPassword } from '#runtime/access/identity/password-policy.ts';
import type { LoginThrottle } from '#runtime/access/login-throttle.ts';
import type { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { AbsentTenants } from './absent-tenants.ts';
import { clientPlace } from './client-place.ts';
import type { IdentitiesProvisioning } from './ports.ts';

/** Comparisons of a password that is changed each time, after which a login is refused. */
const COMPARISONS_MAX = 3;

/** Age of a login, in seconds, up to which an account without a password may be given one. */
const RECENT_LOGIN_SECONDS = 600;

/** Longest stored name of a client program, in UTF-16 units. */
const USER_AGENT_CHARACTERS_MAX = 512;

/** Dependencies of logins. */
export interface IdentityLoginsContext {
  readonly router: Router;
  readonly provisioning: IdentitiesProvisioning;
  readonly hasher: PasswordHasher;
  readonly tokens: IdentityTokens;
  /** Bounds what clients of one network do: passwords compared at once, wrong ones, and registrations. */
  readonly throttle: Pick<LoginThrottle, 'guesses' | 'inTurn' | 'registrations'>;
  readonly clock: Clock;
  readonly random: Random;
}

/** The client that a person uses. */
export interface LoginClient {
  /** Its network address. */
  readonly address: string;
  readonly userAgent: string | undefined;
}

/** What a login is for. */
export interface LoginScope {
  readonly tenant: string;
  /** Absent: the login is for the tenant, and its token has no home. */
  readonly repository?: string;
  /** Finds or makes the user node in the repository. Its failure does not fail the login. */
  readonly homeOf?: (identity: Identity) => Promise<string | undefined>;
}

/** A token pair as it is answered. */
export interface TokenPair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: 'Bearer';
  /** Of the access token, Unix timestamp in seconds. */
  readonly expires_at: number;
  readonly identity: JsonObject;
}

/**
 * Logs identities in for every protocol: compares passwords off the event loop, sends what came of it to the identities
 * of the tenant, and issues tokens for the sessions they open.
 *
 * @see docs/decisions/0068-identities.md
 */
export class IdentityLogins {
  readonly #context: IdentityLoginsContext;
  readonly #absent: AbsentTenants;

  constructor(context: IdentityLoginsContext) {
    this.#context = context;
    this.#absent = new AbsentTenants(context);
  }

  /**
   * Registers a person with a password, who is then logged in.
   *
   * @throws {ServiceError} in this order: `INVALID_EMAIL`, `WEAK_PASSWORD`, `EMAIL_EXISTS`; `FORBIDDEN`, also in a tenant
   *   that does not exist; `RATE_LIMITED`, `OVERLOADED`
   */
  async register(
    scope: LoginScope,
    person: { readonly email: string; readonly password: string; readonly displayName: string | undefined },
    client: LoginClient,
  ): Promise<TokenPair> {
    const { hasher, provisioning, throttle } = this.#context;
    const { displayName, email, password } = person;
    const { address } = parseEmail(email);
    const { password_policy: policy } = await this.configuration(scope.tenant);
    requirePolicyPassword(password, policy, 'password');
    const passwordHash = await throttle.inTurn(client.address, () => {
      throttle.registrations.requireOpen(client.address);
      throttle.registrations.count(client.address);
      return hasher.hash(password);
    });
    await provisioning.createIdentities(scope.tenant).catch((error: unknown) => {
      // As a tenant that has switched registration off: nobody can tell which tenants exist.
      if (error instanceof ServiceError && error.code === 'TENANT_NOT_FOUND')
        throw new ServiceError('FORBIDDEN', 'Registration with a password is switched off');
      throw error;
    });
    const { refresh, session } = this.#newSession(scope, client, false);
    const { opened } = await this.#command<Registered>(scope.tenant, {
      type: 'RegisterIdentity',
      email: address,
      passwordHash,
      session,
      ...(displayName === undefined ? {} : { displayName }),
    });
    return await this.#pairOf(scope, opened as OpenedSession, session.family, refresh);
  }

  /**
   * Logs a person in with a password.
   *
   * @throws {ServiceError} `INVALID_CREDENTIALS`, `ACCOUNT_LOCKED`, `ACCOUNT_DISABLED`; `FORBIDDEN`, `RATE_LIMITED`,
   *   `OVERLOADED`, `CONFLICT`
   */
  async logIn(
    scope: LoginScope,
    {
      email,
      password,
      rememberMe,
    }: { readonly email: string; readonly password: string; readonly rememberMe: boolean },
    client: LoginClient,
  ): Promise<TokenPair> {
    // Before anything is compared, so that nobody learns whether the password is right.
    if (!(await this.configuration(scope.tenant)).local_auth.enabled)
      throw new ServiceError('FORBIDDEN', 'Logins with a password are switched off');
    for (let comparison = 1; comparison <= COMPARISONS_MAX; comparison += 1) {
      const judged = await this.#compared(scope.tenant, email, password, client);
      if (judged === undefined) continue;
      const rehashed = await this.#rehashed(judged, password);
      try {
        const proof: LoginProof = { kind: 'password', email, judged, ...rehashed };
        return await this.open(scope, proof, client, rememberMe);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') throw error;
      }
    }
    throw new ServiceError('CONFLICT', 'The password was changed meanwhile');
  }

  /**
   * Opens a session for a person who has shown who they are.
   *
   * @throws {ServiceError} the errors of `OpenSession`; `UNAUTHORIZED` in a tenant without identities
   */
  async open(
    scope: LoginScope,
    proof: LoginProof,
    client: LoginClient,
    rememberMe: boolean,
  ): Promise<TokenPair> {
    const { refresh, session } = this.#newSession(scope, client, rememberMe);
    const opened = await this.#command<OpenedSession>(scope.tenant, {
      type: 'OpenSession',
      proof,
      session,
    }).catch((error: unknown) => {
      // Nobody has registered in the tenant, so nothing that was shown can be of anybody.
      if (isMissing(error)) throw new ServiceError('UNAUTHORIZED');
      throw error;
    });
    return await this.#pairOf(scope, opened, session.family, refresh);
  }

  /**
   * Exchanges a refresh token. The new pair is for the repository of the login, whatever the address of the request.
   *
   * @param tenant of the request; undefined: that of the token
   * @throws {ServiceError} `INVALID_REFRESH_TOKEN`, also for a token of another tenant; the codes of `RefreshRefusal`
   */
  async refresh(token: string, tenant: string | undefined): Promise<TokenPair> {
    const { tokens } = this.#context;
    const { hash, ...grant } = await tokens.verifyRefresh(token);
    if (tenant !== undefined && tenant !== grant.tenant) throw new ServiceError('INVALID_REFRESH_TOKEN');
    const next = tokens.newRefreshId();
    const outcome = await this.#command<RefreshOutcome>(grant.tenant, {
      type: 'RefreshSession',
      identityId: grant.identityId,
      sessionId: grant.sessionId,
      family: grant.family,
      generation: grant.generation,
      tokenHash: hash,
      nextTokenHash: next.hash,
    }).catch((error: unknown) => {
      if (isMissing(error)) throw new ServiceError('SESSION_NOT_FOUND');
      throw error;
    });
    if (!outcome.isRefreshed) throw refusals[outcome.code]();
    const homeOf = grant.home === undefined ? {} : { homeOf: async () => grant.home };
    return await this.#pairOf({ tenant: grant.tenant, ...homeOf }, outcome.opened, grant.family, next);
  }

  /**
   * Changes the password of a person, whose session stays; all others end. An account without a password is given one
   * shortly after a login.
   *
   * @throws {ServiceError} `UNAUTHORIZED` for an account that is not there any more, or a login that is too old for an
   *   account without a password; `INVALID_CREDENTIALS`, `ACCOUNT_LOCKED`, `WEAK_PASSWORD`, `ACCOUNT_DISABLED`
   */
  async changePassword(
    access: VerifiedAccess,
    { newPassword, oldPassword }: { readonly oldPassword: string; readonly newPassword: string },
    client: LoginClient,
  ): Promise<void> {
    const { clock, hasher, throttle } = this.#context;
    const { identityId, sessionId, tenant } = access;
    const identity = await this.activeIdentity(access);
    let judged: string | null = null;
    if (identity.has_password) {
      judged = (await this.#compared(tenant, identity.email, oldPassword, client)) ?? null;
      if (judged === null) throw new ServiceError('CONFLICT', 'The password was changed meanwhile');
    } else if (clock.wallMs() / 1000 - access.authTime > RECENT_LOGIN_SECONDS) {
      throw new ServiceError('UNAUTHORIZED', 'Log in again to set a password');
    }
    const { password_policy: policy } = await this.configuration(tenant);
    requirePolicyPassword(newPassword, policy, 'new_password');
    const passwordHash = await throttle.inTurn(client.address, () => hasher.hash(newPassword));
    await this.#command(tenant, {
      type: 'SetPassword',
      identityId,
      judged,
      passwordHash,
      keptSessionId: sessionId,
      place: clientPlace(tenant, client.address),
    });
  }

  /**
   * The identity of an access token, which is valid until it expires, although the account may have ended.
   *
   * @throws {ServiceError} `UNAUTHORIZED` for an identity that is not there any more; `ACCOUNT_DISABLED`
   */
  async activeIdentity({ identityId, tenant }: VerifiedAccess): Promise<Identity> {
    const identity = await this.#query<Identity>(tenant, { type: 'FindIdentity', identityId });
    if (identity === undefined) throw new ServiceError('UNAUTHORIZED', 'The account is not there any more');
    if (!identity.is_active) throw new ServiceError('ACCOUNT_DISABLED');
    return identity;
  }

  /** How people authenticate in a tenant; the defaults for a tenant that does not exist. */
  async configuration(tenant: string): Promise<AuthConfiguration> {
    const read = await this.#query<ReadConfiguration>(tenant, { type: 'ReadAuthentication' });
    return read?.configuration ?? defaultAuthConfiguration;
  }

  /**
   * Compares a password, and counts a wrong one.
   *
   * @returns the hash that it fits; undefined when the password was changed meanwhile
   * @throws {ServiceError} `INVALID_CREDENTIALS`, `ACCOUNT_LOCKED`, `RATE_LIMITED`
   */
  async #compared(
    tenant: string,
    email: string,
    password: string,
    client: LoginClient,
  ): Promise<string | undefined> {
    const { hasher, throttle } = this.#context;
    const place = clientPlace(tenant, client.address);
    const found = await this.#query<Credentials>(tenant, { type: 'FindCredentials', email, place });
    const attempt = { tenant, email, address: client.address };
    const lockedSeconds = found?.retryAfterSeconds ?? (await this.#absent.lockedSeconds(attempt));
    if (lockedSeconds > 0) throw locked(lockedSeconds);
    const judged = found?.passwordHash ?? null;
    const fits = await throttle.inTurn(client.address, () => {
      // Whoever has logged in from there is not held up by others behind the same address.
      if (found?.isKnownPlace !== true) throttle.guesses.requireOpen(client.address);
      return hasher.verify(judged ?? undefined, password);
    });
    if (fits) return judged ?? undefined;
    throttle.guesses.count(client.address);
    const command = { type: 'CountFailedLogin', email, place, judged } as const;
    const { outcome, retryAfterSeconds } =
      found === undefined
        ? await this.#absent.countLogin(attempt)
        : await this.#command<FailedLogin>(tenant, command);
    if (outcome === 'changed') return undefined;
    throw outcome === 'locked'
      ? locked(retryAfterSeconds)
      : new ServiceError('INVALID_CREDENTIALS', WRONG_LOGIN);
  }

  /** A hash with the present parameters, where the stored one has others. */
  async #rehashed(judged: string, password: string): Promise<{ readonly rehashed?: string }> {
    const { hasher } = this.#context;
    return hasher.isOutdated(judged) ? { rehashed: await hasher.hash(password) } : {};
  }

  #newSession(
    { repository, tenant }: LoginScope,
    { address, userAgent }: LoginClient,
    rememberMe: boolean,
  ): { readonly session: NewSession; readonly refresh: RefreshId } {
    const { clock, random, tokens } = this.#context;
    const refresh = tokens.newRefreshId();
    const nowMs = clock.wallMs();
    const session: NewSession = {
      sessionId: uuidV7(nowMs, random),
      family: uuidV7(nowMs, random),
      tokenHash: refresh.hash,
      rememberMe,
      repository: repository ?? null,
      userAgent: userAgent?.slice(0, USER_AGENT_CHARACTERS_MAX) ?? null,
      ipAddress: address,
      place: clientPlace(tenant, address),
    };
    return { session, refresh };
  }

  async #pairOf(
    { homeOf, tenant }: LoginScope,
    opened: OpenedSession,
    family: string,
    refresh: RefreshId,
  ): Promise<TokenPair> {
    const { tokens } = this.#context;
    const { identity, session } = opened;
    const home = await homeOf?.(identity).catch(() => undefined);
    const inHome = home === undefined ? {} : { home };
    const inRepository = session.repository === null ? {} : { repository: session.repository };
    const subject = { tenant, identityId: identity.identity_id, sessionId: session.session_id, ...inHome };
    const access = await tokens.issueAccess(
      {
        ...subject,
        ...inRepository,
        email: identity.email,
        strategy: session.auth_strategy,
        authTime: Math.floor(session.created_ms / 1000),
        flags: {
          is_tenant_admin: identity.is_tenant_admin,
          email_verified: identity.email_verified,
          must_change_password: opened.mustChangePassword,
        },
      },
      opened.accessTokenHours,
    );
    const generation = session.token_generation;
    const next = await tokens.issueRefresh(
      { ...subject, family, generation },
      refresh,
      opened.refreshTokenDays,
    );
    return {
      access_token: access.token,
      refresh_token: next.token,
      token_type: 'Bearer',
      expires_at: access.expiresAt,
      identity: { ...answeredIdentity(identity), ...inHome },
    };
  }

  async #command<Result>(tenant: string, command: IdentitiesCommand): Promise<Result> {
    const caller = engineCaller(tenant);
    return (await this.#context.router.command(actorId(tenant, 'identities'), command, { caller })) as Result;
  }

  /** @returns undefined for a tenant in which nobody has registered, or that does not exist */
  async #query<Answer>(tenant: string, query: IdentitiesQuery): Promise<Answer | undefined> {
    try {
      const caller = engineCaller(tenant);
      return (await this.#context.router.query(actorId(tenant, 'identities'), query, caller)) as Answer;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}

/**
 * Refuses the access token of a person who has to change the password first, because an administrator wants it or the
 * password is too old. Only changing it, logging out and reading one's own profile need no check. After the change the
 * token has to be refreshed.
 *
 * @throws {ServiceError} `PASSWORD_CHANGE_REQUIRED`
 */
export function requirePresentPassword({ flags }: VerifiedAccess): void {
  if (flags.must_change_password) throw new ServiceError('PASSWORD_CHANGE_REQUIRED');
}

const refusals: Readonly<Record<RefreshRefusal, () => ServiceError>> = {
  SESSION_NOT_FOUND: () => new ServiceError('SESSION_NOT_FOUND'),
  SESSION_REVOKED: () => new ServiceError('SESSION_REVOKED'),
  SESSION_EXPIRED: () => new ServiceError('SESSION_EXPIRED'),
  TOKEN_FAMILY_MISMATCH: () => new ServiceError('TOKEN_FAMILY_MISMATCH'),
  TOKEN_REUSE_DETECTED: () => new ServiceError('TOKEN_REUSE_DETECTED'),
  IDENTITY_NOT_FOUND: () => new ServiceError('IDENTITY_NOT_FOUND'),
  ACCOUNT_DISABLED: () => new ServiceError('ACCOUNT_DISABLED'),
};

const WRONG_LOGIN = 'Invalid email or password';

/** An identity as it is answered to the person. */
export function answeredIdentity(identity: Identity): JsonObject {
  return {
    id: identity.identity_id,
    email: identity.email,
    display_name: identity.display_name,
    avatar_url: identity.avatar_url,
    email_verified: identity.email_verified,
    linked_providers: identity.linked_providers.map(({ strategy_id: strategy }) => strategy),
  };
}

function locked(retryAfterSeconds: number): ServiceError {
  return new ServiceError('ACCOUNT_LOCKED', 'Too many failed logins; wait and try again', {
    details: { retry_after_seconds: retryAfterSeconds },
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'NOT_FOUND';
}
