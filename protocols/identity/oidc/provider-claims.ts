import type { ProviderProof } from '#actors/identities/messages.ts';
import type { OidcProvider } from '#runtime/access/identity/auth-configuration.ts';
import { emailKeyOf } from '#runtime/access/identity/email-address.ts';
import { measureJson } from '#runtime/content/values/json-bounds.ts';
import { type JsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Longest text of a claim that an identity is made from, in UTF-16 units. A longer one counts as absent. */
const TEXT_CHARACTERS_MAX = 2_048;

/** Groups that are passed on; the identities store fewer. */
const GROUPS_MAX = 1_000;

/** Largest claims that are passed on, in units of `measureJson`; the identities store smaller ones. */
const CLAIMS_UNITS_MAX = 64 * 1024;

/** Claims about the token itself, not about the person. */
const tokenClaims: ReadonlySet<string> = new Set([
  'acr',
  'amr',
  'aud',
  'at_hash',
  'auth_time',
  'azp',
  'c_hash',
  'exp',
  'iat',
  'jti',
  'nbf',
  'nonce',
  's_hash',
  'sid',
]);

/** What a provider says of a person: in the signed token, and what its userinfo endpoint adds. */
export interface PersonClaims {
  readonly signed: JsonObject;
  /** undefined: the endpoint was not asked. */
  readonly userinfo: JsonObject | undefined;
}

/** Whether the token lacks a claim that an identity is made from. */
export function lacksClaims(signed: JsonObject, provider: OidcProvider): boolean {
  const { attribute_mapping: names, groups_claim: groups } = provider;
  const wanted = [names.email, names.email_verified, names.name, names.picture];
  if (groups !== null) wanted.push(groups);
  return wanted.some((name) => ownValue(signed, name) === undefined);
}

/**
 * What a provider vouches for. A claim of the token counts; userinfo adds what the token lacks.
 *
 * @throws {ServiceError} `FORBIDDEN` when the provider names no email address
 */
export function proofOf({ signed, userinfo = {} }: PersonClaims, provider: OidcProvider): ProviderProof {
  const { attribute_mapping: names, groups_claim: groups, provider_id: providerId } = provider;
  const claim = (name: string): JsonValue | undefined => {
    const value = ownValue(signed, name);
    return value === undefined ? ownValue(userinfo, name) : value;
  };
  const email = textOf(claim(names.email));
  if (email === null)
    throw new ServiceError(
      'FORBIDDEN',
      `Provider '${providerId}' does not tell the email address; the login needs the claim '${names.email}'`,
    );
  return {
    kind: 'provider',
    providerId,
    issuer: provider.issuer_url,
    externalId: signed.sub as string,
    email,
    emailVerified: isVerified({ signed, userinfo }, names.email, names.email_verified),
    displayName: textOf(claim(names.name)),
    avatarUrl: httpUrlOf(claim(names.picture)),
    claims: storedClaims({ ...userinfo, ...signed }),
    groups: groups === null ? [] : textsOf(claim(groups)),
  };
}

/**
 * Whether the address is verified. What verifies it must speak of the same address: that of userinfo may be another one
 * than that of the token.
 */
function isVerified(
  { signed, userinfo }: { readonly signed: JsonObject; readonly userinfo: JsonObject },
  emailName: string,
  verifiedName: string,
): boolean {
  const signedEmail = ownValue(signed, emailName);
  const signedWord = ownValue(signed, verifiedName);
  const addedWord = ownValue(userinfo, verifiedName);
  if (signedEmail === undefined) {
    // The token may say no, but its yes is about an address that it does not name.
    return isYes(addedWord) && (signedWord === undefined || isYes(signedWord));
  }
  if (signedWord !== undefined) return isYes(signedWord);
  return isYes(addedWord) && isSameAddress(signedEmail, ownValue(userinfo, emailName));
}

/** Some providers send the boolean as a text. */
function isYes(value: JsonValue | undefined): boolean {
  return value === true || value === 'true';
}

function isSameAddress(one: JsonValue, other: JsonValue | undefined): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return false;
  const key = emailKeyOf(one);
  return key !== undefined && key === emailKeyOf(other);
}

/** What is passed on of the claims; nothing of claims that cannot be stored. */
function storedClaims(claims: JsonObject): JsonObject {
  const units = measureJson(claims);
  if (units < 0 || units > CLAIMS_UNITS_MAX) return {};
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !tokenClaims.has(name)));
}

function textOf(value: JsonValue | undefined): string | null {
  return isText(value) ? value : null;
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter(isText).slice(0, GROUPS_MAX) : [];
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_CHARACTERS_MAX;
}

/** The address of a picture, which pages show: only of a kind that cannot run as a script. */
function httpUrlOf(value: JsonValue | undefined): string | null {
  const text = textOf(value);
  const protocol = text === null ? undefined : URL.parse(text)?.protocol;
  return protocol === 'https:' || protocol === 'http:' ? text : null;
}
