import { errors, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { AccessFlags, AdminPrincipal } from './principal.ts';

/** Lifetime of an admin token, in seconds. There is no refresh: a person logs in once a day. */
export const ADMIN_TOKEN_SECONDS = 24 * 60 * 60;

/** Longest accepted token, in characters; ours have about 500. */
const TOKEN_CHARACTERS_MAX = 8_192;

/** Verified tokens cached in one generation; two generations are kept. */
const REMEMBERED_MAX = 10_000;

/** Tolerance for the clock of the issuing member, in seconds. It does not extend the lifetime of a token. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** The only accepted algorithm: a token must not choose its own. */
const algorithm = 'HS256';

const issuer = 'svc';

/** Distinguishes an admin token from other tokens signed with the same key. */
const tokenType = 'admin';

/** The account a token was issued to. */
export interface TokenSubject {
  readonly tenant: string;
  readonly userId: string;
  readonly username: string;
  readonly accessFlags: AccessFlags;
  readonly mustChangePassword: boolean;
  /** When the password of the account was set, milliseconds since the Unix epoch. */
  readonly passwordChangedMs: number;
}

/** A token with its expiry. */
export interface IssuedToken {
  readonly token: string;
  /** Unix timestamp in seconds, equal to the claim `exp`. */
  readonly expiresAt: number;
}

/** A verified token. */
export interface VerifiedToken {
  readonly principal: AdminPrincipal;
  readonly passwordChangedMs: number;
  /** Unix timestamp in seconds. */
  readonly expiresAt: number;
}

/**
 * Issues and verifies the tokens of admin accounts: JWTs signed with HMAC-SHA-256. Verification needs no stored data,
 * so any member with the key can do it.
 *
 * Verified tokens are kept in a bounded cache, because checking a signature takes 50 µs and a cache hit well under one.
 * The expiry is compared with the clock at every use.
 *
 * @see docs/interface/accounts.md#access-tokens
 */
export class AdminTokens {
  readonly #key: Uint8Array;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Two generations instead of an LRU list: eviction is one assignment, a hit is one look-up. */
  #recent = new Map<string, VerifiedToken>();
  #older = new Map<string, VerifiedToken>();

  /** @param secret signing key, `JWT_SECRET` */
  constructor(secret: string, clock: Clock, random: Random) {
    this.#key = new TextEncoder().encode(secret);
    this.#clock = clock;
    this.#random = random;
  }

  /** Issues a token for an account whose password was just verified. */
  async issue(subject: TokenSubject): Promise<IssuedToken> {
    const nowMs = this.#clock.wallMs();
    const issuedAt = Math.floor(nowMs / 1000);
    const expiresAt = issuedAt + ADMIN_TOKEN_SECONDS;
    const token = await new SignJWT({
      username: subject.username,
      tenant_id: subject.tenant,
      access_flags: { ...subject.accessFlags },
      must_change_password: subject.mustChangePassword,
      password_changed_ms: subject.passwordChangedMs,
      token_type: { type: tokenType },
    })
      .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
      .setSubject(subject.userId)
      .setIssuer(issuer)
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(expiresAt)
      .setJti(uuidV7(nowMs, this.#random))
      .sign(this.#key);
    return { token, expiresAt };
  }

  /**
   * Verifies a token. A cached token is answered without a promise.
   *
   * @throws {ServiceError} `UNAUTHORIZED` for anything but a valid, unexpired admin token of ours
   */
  verify(token: string): VerifiedToken | Promise<VerifiedToken> {
    const known = this.#recent.get(token) ?? this.#older.get(token);
    if (known === undefined) return this.#verifyAnew(token);
    if (known.expiresAt * 1000 <= this.#clock.wallMs()) throw refused('The token has expired');
    return known;
  }

  async #verifyAnew(token: string): Promise<VerifiedToken> {
    if (token.length > TOKEN_CHARACTERS_MAX) throw refused('The token is not valid');
    const claims = await this.#claimsOf(token);
    // jose applies its tolerance to the expiry too. Then the token would be accepted once and refused afterwards.
    if (Number(claims.exp) * 1000 <= this.#clock.wallMs()) throw refused('The token has expired');
    if (!isPlausible(claims, this.#clock.wallMs())) throw refused('The token is not valid');
    const flags = claims.access_flags as Partial<AccessFlags> | undefined;
    const type = claims.token_type as { type?: unknown } | undefined;
    const { sub, exp, username, tenant_id: tenant, password_changed_ms: passwordChangedMs } = claims;
    if (
      type?.type !== tokenType ||
      typeof sub !== 'string' ||
      typeof exp !== 'number' ||
      typeof username !== 'string' ||
      typeof tenant !== 'string' ||
      typeof passwordChangedMs !== 'number'
    ) {
      throw refused('The token is not an admin token');
    }
    const accessFlags = Object.freeze({
      console_login: flags?.console_login === true,
      cli_access: flags?.cli_access === true,
      api_access: flags?.api_access === true,
      pgwire_access: flags?.pgwire_access === true,
      can_impersonate: flags?.can_impersonate === true,
    });
    const principal = Object.freeze({ kind: 'admin', tenant, userId: sub, username, accessFlags } as const);
    const verified = Object.freeze({ principal, passwordChangedMs, expiresAt: exp });
    this.#remember(token, verified);
    return verified;
  }

  async #claimsOf(token: string): Promise<Readonly<Record<string, unknown>>> {
    try {
      const { payload } = await jwtVerify(token, this.#key, {
        algorithms: [algorithm],
        issuer,
        requiredClaims: ['sub', 'exp', 'iat', 'nbf', 'jti'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(this.#clock.wallMs()),
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw refused('The token has expired');
      if (error instanceof errors.JOSEError) throw refused('The token is not valid');
      throw error;
    }
  }

  #remember(token: string, verified: VerifiedToken): void {
    if (this.#recent.size >= REMEMBERED_MAX) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(token, verified);
  }
}

/** Whether the times of a token are plausible: issued in the past, with a lifetime of at most a day. */
function isPlausible({ exp, iat, nbf }: Readonly<Record<string, unknown>>, nowMs: number): boolean {
  const [end, issued, start] = [Number(exp), Number(iat), Number(nbf)];
  if (![end, issued, start].every((seconds) => Number.isSafeInteger(seconds) && seconds >= 0)) return false;
  if (issued > nowMs / 1000 + CLOCK_TOLERANCE_SECONDS) return false;
  return end > issued && end - issued <= ADMIN_TOKEN_SECONDS;
}

function refused(message: string): ServiceError {
  return new ServiceError('UNAUTHORIZED', message);
}
