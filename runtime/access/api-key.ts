import { createHash } from 'node:crypto';
import type { Random } from '#runtime/base/random.ts';

/** Beginning of every key, by which people and programs recognise one. */
const START = 'svc_';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Characters after the start. */
const CHARACTERS = 32;

/** The first of these are a hash of the tenant, so that a member knows whom to ask about a key. */
const TAG_CHARACTERS = 6;

/** Characters of a token that its owner sees later on. */
const SHOWN_CHARACTERS = 16;

const shape = /^svc_[0-9A-Za-z]{32}$/;

/** A new key: the token, which is shown once, and what is stored of it. */
export interface NewApiKey {
  readonly token: string;
  readonly keyPrefix: string;
  readonly tokenHash: string;
}

/**
 * Makes a key for an account of a tenant: `svc_`, six characters that depend on the tenant alone, and 26 random ones,
 * which are 154 bits. So a plain hash of it suffices, unlike for a password.
 *
 * @see docs/interface/accounts.md#api-keys
 */
export function newApiKey(tenant: string, random: Random): NewApiKey {
  const secret = Array.from({ length: CHARACTERS - TAG_CHARACTERS }, () => randomCharacter(random)).join('');
  const token = `${START}${apiKeyTag(tenant)}${secret}`;
  return { token, keyPrefix: token.slice(0, SHOWN_CHARACTERS), tokenHash: apiKeyHash(token) };
}

/** The characters that all keys of a tenant have after the start. */
export function apiKeyTag(tenant: string): string {
  const digest = createHash('sha256').update(`grove api key\0${tenant}`).digest();
  return Array.from({ length: TAG_CHARACTERS }, (_, index) =>
    alphabet.charAt((digest[index] as number) % alphabet.length),
  ).join('');
}

/** The tag in a token, or undefined for a text that is no key. */
export function tagOfApiKey(token: string): string | undefined {
  return shape.test(token) ? token.slice(START.length, START.length + TAG_CHARACTERS) : undefined;
}

/** Whether a bearer token is meant as a key; no other token begins like one. */
export function isMeantAsApiKey(token: string): boolean {
  return token.startsWith(START);
}

/** The stored form of a token: its SHA-256 in hexadecimal digits. */
export function apiKeyHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function randomCharacter(random: Random): string {
  const fair = 256 - (256 % alphabet.length);
  for (;;) {
    const byte = random.bytes(1)[0] as number;
    if (byte < fair) return alphabet.charAt(byte % alphabet.length);
  }
}
