import {
  createLocalJWKSet,
  type CryptoKey,
  errors,
  type FlattenedJWSInput,
  type JWK,
  type JWSHeaderParameters,
  jwtVerify,
} from 'jose';
import { isJsonObject, type JsonObject } from '#runtime/content/values/json-value.ts';

/** Longest ID token, in characters. */
const ID_TOKEN_CHARACTERS_MAX = 64 * 1024;

/** Tolerance for the clock of the provider, in seconds. */
const CLOCK_TOLERANCE_SECONDS = 30;

/** Keys of a set that are used. */
const KEYS_MAX = 64;

/** Characters of a modulus: 8,192 bits in base64url. Larger keys make each verification slow. */
const MODULUS_CHARACTERS_MAX = 1_366;

/** Characters of an exponent: 32 bits, as all keys have. */
const EXPONENT_CHARACTERS_MAX = 6;

/** Characters of the name of a key. */
const KEY_ID_CHARACTERS_MAX = 1_024;

/** The only accepted algorithm: a token must not choose its own. */
const algorithm = 'RS256';

/** An ID token is not accepted. */
export class IdTokenError extends Error {
  override readonly name = 'IdTokenError';
  /** Why, for people, without anything of the token. */
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(`an ID token is refused: ${reason}`, { cause });
    this.reason = reason;
  }
}

/** The keys of a provider for RS256, as it showed them at one time. Others are left out: it may have more kinds. */
export class IdTokenKeys {
  readonly #set: ReturnType<typeof createLocalJWKSet>;

  /** @param document key set (RFC 7517, section 5), or anything else, which has no keys */
  constructor(document: unknown) {
    const keys = isJsonObject(document) && Array.isArray(document.keys) ? document.keys : [];
    const used = keys.filter(isJsonObject).filter(isUsable).slice(0, KEYS_MAX).map(usedOf);
    this.#set = createLocalJWKSet({ keys: used });
  }

  /** The key that a token names. @returns undefined when it is not in the set @throws {JOSEError} when several fit */
  async find(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey | undefined> {
    try {
      return await this.#set(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  }
}

/** Where the keys of a provider come from. */
export interface IdTokenKeySource {
  /** The keys as far as they are known. */
  present(): IdTokenKeys | Promise<IdTokenKeys>;
  /** Keys that were read after others. @returns undefined when they may not be read again yet */
  newerThan(known: IdTokenKeys): IdTokenKeys | Promise<IdTokenKeys> | undefined;
}

/** Whose token it must be, and for whom. */
export interface ExpectedIdToken {
  readonly issuer: string;
  readonly clientId: string;
  readonly keys: IdTokenKeySource;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

/**
 * Verifies an ID token: signature, issuer, audience, authorized party and times. The nonce is up to the caller.
 *
 * @throws {IdTokenError}
 * @throws what the source of the keys throws
 * @see OpenID Connect Core section 3.1.3.7
 */
export async function verifiedIdToken(token: string, expected: ExpectedIdToken): Promise<JsonObject> {
  const { clientId, issuer, keys, nowMs } = expected;
  if (token.length > ID_TOKEN_CHARACTERS_MAX) throw new IdTokenError('it is too long');
  const { payload } = await jwtVerify(token, (header, jws) => keyOf(keys, header, jws), {
    algorithms: [algorithm],
    issuer,
    audience: clientId,
    requiredClaims: ['sub', 'exp', 'iat'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(nowMs),
  }).catch((error: unknown) => {
    throw refusalOf(error);
  });
  const { aud, azp, sub } = payload;
  if (typeof sub !== 'string') throw new IdTokenError("its claim 'sub' is not a text");
  // A token for several audiences was given to the one that it names.
  const isForOthers = Array.isArray(aud) && aud.length > 1;
  if ((isForOthers || azp !== undefined) && azp !== clientId)
    throw new IdTokenError("its claim 'azp' is not as expected");
  return payload as unknown as JsonObject;
}

async function keyOf(
  source: IdTokenKeySource,
  header: JWSHeaderParameters,
  token: FlattenedJWSInput,
): Promise<CryptoKey> {
  const known = await source.present();
  const key =
    (await known.find(header, token)) ?? (await (await source.newerThan(known))?.find(header, token));
  if (key !== undefined) return key;
  throw new IdTokenError('its key is not among the keys of the provider');
}

/** The errors of the library as ours; others, of the source of the keys, as they are. */
function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JOSEError) return new IdTokenError(reasonOf(error), error);
  // Keys that cannot be imported, or are too small.
  const isOfKey = error instanceof TypeError || error instanceof DOMException;
  return isOfKey ? new IdTokenError('its key cannot be used', error) : error;
}

function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JOSEAlgNotAllowed) return `it is not signed with ${algorithm}`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature does not fit';
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it does not say which key it is signed with';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `its claim '${error.claim}' is missing, or not as expected`;
  return 'it cannot be read';
}

function isUsable({ alg, e, kid, kty, n, use }: Readonly<Record<string, unknown>>): boolean {
  return (
    kty === 'RSA' &&
    isTextUpTo(n, MODULUS_CHARACTERS_MAX) &&
    isTextUpTo(e, EXPONENT_CHARACTERS_MAX) &&
    (kid === undefined || isTextUpTo(kid, KEY_ID_CHARACTERS_MAX)) &&
    (use === undefined || use === 'sig') &&
    (alg === undefined || alg === algorithm)
  );
}

/** What is used of a key, so that little of a document is kept. */
function usedOf({ e, kid, n }: Readonly<Record<string, unknown>>): JWK {
  const key = { kty: 'RSA', alg: algorithm, use: 'sig', n: n as string, e: e as string };
  return kid === undefined ? key : { ...key, kid: kid as string };
}

function isTextUpTo(value: unknown, charactersMax: number): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= charactersMax;
}
