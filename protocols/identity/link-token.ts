import { createHash } from 'node:crypto';
import type { Random } from '#runtime/base/random.ts';
import { requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Random bytes of a login link. */
const SECRET_BYTES = 32;

/** Secret and tenant, in base64url. */
const shape = /^([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{1,512})$/;

/** A new token of a login link. */
export interface NewLinkToken {
  /** What the link carries. */
  readonly token: string;
  /** What is stored. */
  readonly hash: string;
}

/** A token as a client sent it. */
export interface ReadLinkToken {
  readonly tenant: string;
  readonly hash: string;
}

/**
 * Makes the token of a login link. It names its tenant, because a browser that opens a link sends no header.
 */
export function newLinkToken(tenant: string, random: Random): NewLinkToken {
  const secret = Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');
  return { token: `${secret}.${Buffer.from(tenant).toString('base64url')}`, hash: hashOf(secret) };
}

/** Reads the token of a login link. @returns undefined for a text that is none */
export function readLinkToken(text: string): ReadLinkToken | undefined {
  const [, secret, named] = shape.exec(text) ?? [];
  if (secret === undefined || named === undefined) return undefined;
  try {
    return { tenant: requireTenantName(Buffer.from(named, 'base64url').toString()), hash: hashOf(secret) };
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** The secret has 256 random bits, so a plain hash suffices. */
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

/** The address that a mail contains. @param origin of the server; @param repository null for the tenant as a whole */
export function linkAddress(origin: string, repository: string | null, token: string): string {
  const scope = repository === null ? '' : `/${encodeURIComponent(repository)}`;
  return `${origin}/auth${scope}/magic-link/verify?token=${token}`;
}
