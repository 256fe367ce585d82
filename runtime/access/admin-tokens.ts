import { SignJWT } from 'jose';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { AccessFlags, AdminPrincipal } from './principal.ts';
import { TokenKeys } from './token-keys.ts';

/** Lifetime of an admin token, in seconds. There is no refresh: a person logs in once a day. */
export const ADMIN_TOKEN_SECONDS = 24 * 60 * 60;

/** Verified tokens cached in one generation; two generations are kept. */
const REMEMBERED_MAX = 10_000;

/** Distinguishes an admin token from other tokens signed with the same key. */
const tokenType = 'admin';

/** Interfaces over which an administrator logs in, each with the flag that an account needs for it. */
export const interfaceFlags = {
  console: 'console_login',
  cli: 'cli_access',
  api: 'api_access',
} as const satisfies Readonly<Record<string, keyof AccessFlags>>;

/** An interface over which an administrator logs in. */
export type AdminInterface = keyof typeof interfaceFlags;

/** The account a token was issued to. */
export interface TokenSubject {
  readonly tenant: string;
  readonly userId: string;
  readonly username: string;
  readonly accessFlags: AccessFlags;
  readonly mustChangePassword: boolean;
  /** When the password of the account was set, milliseconds since the Unix epoch. */
  readonly passwordChangedMs: number;
  /** Over which the account has logged in. */
  readonly via: AdminInterface;
}

/** A token with its expiry. */
export interface IssuedToken {
  readonly token: string;
  /** Unix timestamp in seconds, equal to the claim `exp`. */
  readonly expiresAt: number;
}

/** A verified token. */
export interface VerifiedToken {
  /** As the account was at the login. */
  readonly principal: AdminPrincipal;
  readonly via: AdminInterface;
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
  readonly #keys: TokenKeys;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Two generations instead of an LRU list: eviction is one assignment, a hit is one look-up. */
  #recent = new Map<string, VerifiedToken>();
  #older = new Map<string, VerifiedToken>();

  /**
   * @param secret signing key, `JWT_SECRET`
   * @param previous key whose tokens are still accepted, `JWT_SECRET_PREVIOUS`
   */
  constructor(secret: string, clock: Clock, random: Random, previous?: string) {
    this.#keys = new TokenKeys(secret, previous);
    this.#clock = clock;
    this.#random = random;
  }

  /** Issues a token for an account whose password was just verified. */
  async issue(subject: TokenSubject): Promise<IssuedToken> {
    const nowMs = this.#clock.wallMs();
    const issuedAt = Math.floor(nowMs / 1000);
    const expiresAt = issuedAt + ADMIN_TOKEN_SECONDS;
    const token = new SignJWT({
      username: subject.username,
      tenant_id: subject.tenant,
      access_flags: { ...subject.accessFlags },
      must_change_password: subject.mustChangePassword,
      password_changed_ms: subject.passwordChangedMs,
      interface: subject.via,
      token_type: { type: tokenType },
    })
      .setSubject(subject.userId)
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(expiresAt)
      .setJti(uuidV7(nowMs, this.#random));
    return { token: await this.#keys.sign(token), expiresAt };
  }

  /**
   * Verifies a token. A cached token is answered without a promise.
   *
   * @throws {ServiceError} `UNAUTHORIZED` for anything but a valid, unexpired admin token of ours
   */
  verify(token: string): VerifiedToken | Promise<VerifiedToken> {
    const known = this.#recent.get(token) ?? this.#older.get(token);
    if (known === undefined) return this.#verifyAnew(token);
    const leftMs = known.expiresAt * 1000 - this.#clock.wallMs();
    if (leftMs <= 0) throw refused('The token has expired');
    // More is left than a token has: the clock was set back, and the token is from the future now.
    return leftMs > ADMIN_TOKEN_SECONDS * 1000 ? this.#verifyAnew(token) : known;
  }

  async #verifyAnew(token: string): Promise<VerifiedToken> {
    const claims = await this.#keys.claimsOf(token, this.#clock.wallMs(), ADMIN_TOKEN_SECONDS);
    if (claims === 'expired') throw refused('The token has expired');
    if (claims === undefined) throw refused('The token is not valid');
    const flags = claims.access_flags as Partial<AccessFlags> | undefined;
    const type = claims.token_type as { type?: unknown } | undefined;
    const { sub, exp, username, tenant_id: tenant, password_changed_ms: passwordChangedMs } = claims;
    // A token of an earlier version does not say it.
    const { interface: via = 'console' } = claims;
    if (
      type?.type !== tokenType ||
      typeof sub !== 'string' ||
      typeof exp !== 'number' ||
      typeof username !== 'string' ||
      typeof tenant !== 'string' ||
      typeof passwordChangedMs !== 'number' ||
      !isInterface(via)
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
    const verified = Object.freeze({ principal, via, passwordChangedMs, expiresAt: exp });
    this.#remember(token, verified);
    return verified;
  }

  #remember(token: string, verified: VerifiedToken): void {
    if (this.#recent.size >= REMEMBERED_MAX) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(token, verified);
  }
}

function isInterface(text: unknown): text is AdminInterface {
  return typeof text === 'string' && Object.hasOwn(interfaceFlags, text);
}

function refused(message: string): ServiceError {
  return new ServiceError('UNAUTHORIZED', message);
}
