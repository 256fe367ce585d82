import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { TokenKeys } from '../token-keys.ts';

/** Longest lifetime of an access token, in hours: it stays valid after its session was revoked. */
export const ACCESS_TOKEN_HOURS_MAX = 720;

/** Longest lifetime of a refresh token, in days. */
export const REFRESH_TOKEN_DAYS_MAX = 365;

/** Verified access tokens cached in one generation; two generations are kept. */
const REMEMBERED_MAX = 10_000;

const HOUR_SECONDS = 60 * 60;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** Random bytes of the secret part of a refresh token. */
const REFRESH_ID_BYTES = 32;

/** Facts of an identity that a token carries; roles are not among them. */
export interface GlobalFlags {
  readonly is_tenant_admin: boolean;
  readonly email_verified: boolean;
  readonly must_change_password: boolean;
}

/** What an access token says. */
export interface AccessGrant {
  readonly tenant: string;
  readonly identityId: string;
  readonly email: string;
  readonly sessionId: string;
  /** `local`, `magic_link` or `oidc:{provider}`. */
  readonly strategy: string;
  /** When credentials were last entered, Unix timestamp in seconds. */
  readonly authTime: number;
  readonly flags: GlobalFlags;
  /** Repository of the login; absent for a login without one. */
  readonly repository?: string;
  /** Path of the user node in that repository. */
  readonly home?: string;
}

/** A verified access token. */
export interface VerifiedAccess extends AccessGrant {
  /** Unix timestamp in seconds. */
  readonly expiresAt: number;
}

/** What a refresh token says. */
export interface RefreshGrant {
  readonly tenant: string;
  readonly identityId: string;
  readonly sessionId: string;
  readonly family: string;
  /** 1 for the first token of a session; it rises with each rotation. */
  readonly generation: number;
  readonly home?: string;
}

/** The part of a refresh token that the session stores as a hash only. */
export interface RefreshId {
  /** Claim `jti`. */
  readonly id: string;
  readonly hash: string;
}

/** A verified refresh token. */
export interface VerifiedRefresh extends RefreshGrant {
  /** Hash of its `jti`, as in {@link RefreshId}. */
  readonly hash: string;
}

/** A token with its expiry. */
export interface IssuedIdentityToken {
  readonly token: string;
  /** Unix timestamp in seconds, equal to the claim `exp`. */
  readonly expiresAt: number;
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * Issues and verifies the tokens of identities: JWTs signed with HMAC-SHA-256, with the key of the tokens of
 * administrators. The claim `token_type` tells the three apart, and each verifier accepts its own type only.
 *
 * An access token is verified without stored data. Verified ones are kept in a bounded cache, as in `AdminTokens`; the
 * expiry is compared with the clock at every use. A refresh token is used once, so none is cached.
 *
 * @see docs/decisions/0068-identities.md
 */
export class IdentityTokens {
  readonly #keys: TokenKeys;
  readonly #clock: Clock;
  readonly #random: Random;
  #recent = new Map<string, VerifiedAccess>();
  #older = new Map<string, VerifiedAccess>();

  /**
   * @param secret signing key, `JWT_SECRET`
   * @param previous key whose tokens are still accepted, `JWT_SECRET_PREVIOUS`
   */
  constructor(secret: string, clock: Clock, random: Random, previous?: string) {
    this.#keys = new TokenKeys(secret, previous);
    this.#clock = clock;
    this.#random = random;
  }

  /** The secret part of a new refresh token, to be stored before the token is issued. */
  newRefreshId(): RefreshId {
    const id = Buffer.from(this.#random.bytes(REFRESH_ID_BYTES)).toString('base64url');
    return { id, hash: refreshHash(id) };
  }

  /** Issues an access token. @param hours 1 to {@link ACCESS_TOKEN_HOURS_MAX} */
  async issueAccess(grant: AccessGrant, hours: number): Promise<IssuedIdentityToken> {
    const nowMs = this.#clock.wallMs();
    const claims = {
      email: grant.email,
      tenant_id: grant.tenant,
      ...(grant.repository === undefined ? {} : { repository: grant.repository }),
      ...(grant.home === undefined ? {} : { home: grant.home }),
      sid: grant.sessionId,
      auth_strategy: grant.strategy,
      auth_time: grant.authTime,
      global_flags: { ...grant.flags },
      token_type: { type: 'access' },
    };
    return await this.#sign(claims, grant.identityId, hours * HOUR_SECONDS, uuidV7(nowMs, this.#random));
  }

  /** Issues a refresh token. @param days 1 to {@link REFRESH_TOKEN_DAYS_MAX} */
  async issueRefresh(grant: RefreshGrant, { id }: RefreshId, days: number): Promise<IssuedIdentityToken> {
    const claims = {
      tenant_id: grant.tenant,
      sid: grant.sessionId,
      family: grant.family,
      generation: grant.generation,
      ...(grant.home === undefined ? {} : { home: grant.home }),
      token_type: { type: 'refresh' },
    };
    return await this.#sign(claims, grant.identityId, days * DAY_SECONDS, id);
  }

  /**
   * Verifies an access token. A cached token is answered without a promise.
   *
   * @throws {ServiceError} `UNAUTHORIZED` for anything but a valid, unexpired access token of ours
   */
  verifyAccess(token: string): VerifiedAccess | Promise<VerifiedAccess> {
    const known = this.#recent.get(token) ?? this.#older.get(token);
    if (known === undefined) return this.#verifyAnew(token);
    if (known.expiresAt * 1000 <= this.#clock.wallMs())
      throw new ServiceError('UNAUTHORIZED', 'The token has expired');
    return known;
  }

  /**
   * Verifies a refresh token, without the state of its session.
   *
   * @throws {ServiceError} `INVALID_REFRESH_TOKEN`
   */
  async verifyRefresh(token: string): Promise<VerifiedRefresh> {
    const refused = new ServiceError('INVALID_REFRESH_TOKEN');
    const claims = await this.#claimsOf(token, REFRESH_TOKEN_DAYS_MAX * DAY_SECONDS);
    if (claims === undefined || claims === 'expired' || typeOf(claims) !== 'refresh') throw refused;
    const { sub, jti, tenant_id: tenant, sid, family, generation, home } = claims;
    if (!areTexts(sub, jti, tenant, sid, family) || !isTextOrAbsent(home)) throw refused;
    if (!Number.isSafeInteger(generation) || (generation as number) < 1) throw refused;
    return {
      tenant: tenant as string,
      identityId: sub as string,
      sessionId: sid as string,
      family: family as string,
      generation: generation as number,
      hash: refreshHash(jti as string),
      ...(home === undefined ? {} : { home: home as string }),
    };
  }

  async #sign(
    claims: Record<string, unknown>,
    subject: string,
    seconds: number,
    id: string,
  ): Promise<IssuedIdentityToken> {
    const issuedAt = Math.floor(this.#clock.wallMs() / 1000);
    const expiresAt = issuedAt + seconds;
    const token = new SignJWT(claims)
      .setSubject(subject)
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(expiresAt)
      .setJti(id);
    return { token: await this.#keys.sign(token), expiresAt };
  }

  async #verifyAnew(token: string): Promise<VerifiedAccess> {
    const claims = await this.#claimsOf(token, ACCESS_TOKEN_HOURS_MAX * HOUR_SECONDS);
    if (claims === 'expired') throw new ServiceError('UNAUTHORIZED', 'The token has expired');
    const verified = claims === undefined ? undefined : accessOf(claims);
    if (verified === undefined) throw new ServiceError('UNAUTHORIZED', 'The token is not valid');
    if (this.#recent.size >= REMEMBERED_MAX) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(token, verified);
    return verified;
  }

  /** @returns undefined for a token that is not ours */
  #claimsOf(token: string, secondsMax: number): Promise<Claims | 'expired' | undefined> {
    return this.#keys.claimsOf(token, this.#clock.wallMs(), secondsMax);
  }
}

/** The stored form of the secret part of a refresh token. It has 256 random bits, so a plain hash suffices. */
function refreshHash(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}

function accessOf(claims: Claims): VerifiedAccess | undefined {
  if (typeOf(claims) !== 'access') return undefined;
  const { sub, exp, email, tenant_id: tenant, sid, auth_strategy: strategy, auth_time: authTime } = claims;
  const { repository, home } = claims;
  const flags = claims.global_flags as Partial<GlobalFlags> | undefined;
  if (!areTexts(sub, email, tenant, sid, strategy) || !Number.isSafeInteger(authTime)) return undefined;
  if (!isTextOrAbsent(repository) || !isTextOrAbsent(home)) return undefined;
  return Object.freeze({
    tenant: tenant as string,
    identityId: sub as string,
    email: email as string,
    sessionId: sid as string,
    strategy: strategy as string,
    authTime: authTime as number,
    flags: Object.freeze({
      is_tenant_admin: flags?.is_tenant_admin === true,
      email_verified: flags?.email_verified === true,
      must_change_password: flags?.must_change_password === true,
    }),
    ...(repository === undefined ? {} : { repository: repository as string }),
    ...(home === undefined ? {} : { home: home as string }),
    expiresAt: exp as number,
  });
}

function typeOf({ token_type: type }: Claims): unknown {
  return typeof type === 'object' && type !== null ? (type as { type?: unknown }).type : undefined;
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === 'string' && value.length > 0);
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
