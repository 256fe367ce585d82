import { decodeJwt, errors, type JWTPayload, jwtVerify, type SignJWT } from 'jose';

/** Longest accepted token, in characters; ours have at most about 1,000. */
const TOKEN_CHARACTERS_MAX = 8_192;

/** Tolerance for the clock of the issuing member, in seconds. It does not extend the lifetime of a token. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** The only accepted algorithm: a token must not choose its own. */
const algorithm = 'HS256';

const issuer = 'svc';

/**
 * The keys of tokens: one signs and verifies, and during a rotation one more verifies. Tokens are JWTs with HMAC-SHA-256.
 *
 * @see docs/operations.md#rotating-keys
 */
export class TokenKeys {
  readonly #current: Uint8Array;
  /** In the order in which they are tried. */
  readonly #accepted: readonly Uint8Array[];

  /**
   * @param secret `JWT_SECRET`
   * @param previous `JWT_SECRET_PREVIOUS`
   */
  constructor(secret: string, previous?: string) {
    const encoder = new TextEncoder();
    this.#current = encoder.encode(secret);
    this.#accepted = previous === undefined ? [this.#current] : [this.#current, encoder.encode(previous)];
  }

  /** Signs a token; the issuer is set here. */
  sign(token: SignJWT): Promise<string> {
    return token.setProtectedHeader({ alg: algorithm, typ: 'JWT' }).setIssuer(issuer).sign(this.#current);
  }

  /**
   * The claims of a token that one of the keys has signed, with plausible times.
   *
   * @param nowMs milliseconds since the Unix epoch
   * @param secondsMax longest lifetime that is given
   * @returns undefined for a token that is not ours
   */
  async claimsOf(
    token: string,
    nowMs: number,
    secondsMax: number,
  ): Promise<JWTPayload | 'expired' | undefined> {
    if (token.length > TOKEN_CHARACTERS_MAX) return undefined;
    for (const key of this.#accepted) {
      const claims = await verified(token, key, nowMs);
      if (claims === 'other-key') continue;
      if (typeof claims !== 'object') return claims;
      // jose applies its tolerance to the expiry too. Then the token would be accepted once and refused afterwards.
      if (Number(claims.exp) * 1000 <= nowMs) return 'expired';
      return isPlausible(claims, nowMs, secondsMax) ? claims : undefined;
    }
    return undefined;
  }
}

async function verified(
  token: string,
  key: Uint8Array,
  nowMs: number,
): Promise<JWTPayload | 'expired' | 'other-key' | undefined> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      issuer,
      requiredClaims: ['sub', 'exp', 'iat', 'nbf', 'jti'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(nowMs),
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'other-key';
    if (error instanceof errors.JWTExpired) return 'expired';
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/** Whether the times of a token are plausible: issued in the past, with a lifetime that is given. */
function isPlausible({ exp, iat, nbf }: JWTPayload, nowMs: number, secondsMax: number): boolean {
  const [end, issued, start] = [Number(exp), Number(iat), Number(nbf)];
  if (![end, issued, start].every((seconds) => Number.isSafeInteger(seconds) && seconds >= 0)) return false;
  if (issued > nowMs / 1000 + CLOCK_TOLERANCE_SECONDS) return false;
  return end > issued && end - issued <= secondsMax;
}

/**
 * The type that a token claims to have, in `token_type`. Nothing is verified: it only tells who verifies the token.
 *
 * @returns undefined for a text that is no JWT or has no type
 */
export function claimedTokenType(token: string): unknown {
  if (token.length > TOKEN_CHARACTERS_MAX) return undefined;
  try {
    const { token_type: type } = decodeJwt<{ readonly token_type?: { readonly type?: unknown } | null }>(
      token,
    );
    return type?.type;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
