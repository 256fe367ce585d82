import type { IdentityCaller, IdentityCallers } from '#protocols/identity/identity-callers.ts';
import { requirePresentPassword } from '#protocols/identity/identity-logins.ts';
import type { AdminTokens } from '#runtime/access/admin-tokens.ts';
import type { AnonymousPrincipal, Principal } from '#runtime/access/principal.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { recovering, afterwards, type Soon } from '../soon.ts';

/** Authenticates the caller of a request. */
export type Authenticate = (request: RestRequest, need: Need) => Principal | Promise<Principal>;

/** Whether a route requires authentication, or only uses it if present. */
type Need = 'required' | 'optional';

/** Tokens that identify no caller: the operator token. */
export interface OtherTokens {
  /** @throws {ServiceError} `FORBIDDEN` for such a token on a route it does not grant */
  refuseElsewhere(request: RestRequest, token: string): void;
}

const bearerShape = /^bearer +([^\s]+) *$/i;

/** Cached headers with their tokens; a client sends the same header with every request. */
const KNOWN_HEADERS_MAX = 1_024;

/** Longest cached header, in characters; tokens of this server are shorter. */
const HEADER_CHARACTERS_KEPT_MAX = 2_048;

/** Characters at the end of a header that identify it: they belong to the token's signature. */
const HEADER_MARK_CHARACTERS = 24;

/** The path parameter of a tenant. */
const TENANT_PARAMETER = '{tenant}';

/** A header that was parsed before. */
interface KnownHeader {
  readonly header: string;
  readonly token: string;
}

/**
 * Every request delivers its header as a new string of some 400 characters, and a lookup hashes all of it, a tenth of
 * the time of a read. So headers are looked up by their end and then compared. The result is the string of the first
 * request, whose hash is computed already.
 */
let knownHeaders = new Map<string, KnownHeader>();

/** The most recent header: consecutive requests often come from one client. */
let lastHeader: KnownHeader | undefined;

/**
 * The bearer token of a request.
 *
 * @returns undefined without an `Authorization` header; the empty text for another scheme
 */
export function bearerToken(request: RestRequest): string | undefined {
  const header = request.header('authorization');
  if (header === undefined) return undefined;
  if (lastHeader?.header === header) return lastHeader.token;
  const mark = header.slice(-HEADER_MARK_CHARACTERS);
  const known = knownHeaders.get(mark);
  if (known !== undefined && known.header === header) {
    lastHeader = known;
    return known.token;
  }
  const token = bearerShape.exec(header)?.[1] ?? '';
  if (token.length > HEADER_MARK_CHARACTERS && header.length <= HEADER_CHARACTERS_KEPT_MAX) {
    if (knownHeaders.size >= KNOWN_HEADERS_MAX) knownHeaders = new Map();
    knownHeaders.set(mark, { header, token });
  }
  return token;
}

/**
 * The authenticate hook of the HTTP server. With a token, the token's tenant is used, and another tenant in
 * `X-Tenant-Id` or in the address is refused. Without one the caller is anonymous in the tenant of `X-Tenant-Id`, by
 * default `default`. Where login is optional, an invalid token counts as absent. The operator token is not a
 * principal: on routes that it does not grant it is refused with 403.
 *
 * A token is that of an administrator or of an identity. An identity that has to change its password is refused on routes
 * that do not serve it, see `worksBeforePasswordChange`.
 *
 * @see docs/interface/accounts.md#access-tokens
 * @see docs/interface/identities.md#access-tokens
 */
export function createAuthenticate(
  tokens: AdminTokens,
  others: OtherTokens,
  callers: Pick<IdentityCallers, 'knows' | 'verify'>,
): Authenticate {
  const ofIdentity = (request: RestRequest, token: string): Soon<Principal> =>
    afterwards(callers.verify(token), (caller) => identityOn(request, caller));
  const verify = (request: RestRequest, token: string): Soon<Principal> => {
    // Otherwise each request would be compared with the tokens of administrators first.
    if (callers.knows(token)) return ofIdentity(request, token);
    return recovering(
      () => afterwards(tokens.verify(token), ({ principal }): Principal => principal),
      (error) => {
        if (!isRefusal(error)) throw error;
        return ofIdentity(request, token);
      },
    );
  };
  const unusable = (request: RestRequest, need: Need, token: string, error: unknown): Principal => {
    others.refuseElsewhere(request, token);
    if (need === 'required' || !isRefusal(error)) throw error;
    return withoutToken(request, need);
  };
  return (request, need) => {
    const token = bearerToken(request);
    if (token === undefined) return withoutToken(request, need);
    let verified: Soon<Principal>;
    try {
      verified = token === '' ? refuse('Authorization must be a bearer token') : verify(request, token);
    } catch (error) {
      return unusable(request, need, token, error);
    }
    if (!(verified instanceof Promise)) return checkTenant(request, verified);
    return verified.then(
      (principal) => checkTenant(request, principal),
      (error: unknown) => unusable(request, need, token, error),
    );
  };
}

/** @throws {ServiceError} `PASSWORD_CHANGE_REQUIRED` */
function identityOn(request: RestRequest, { access, principal }: IdentityCaller): Principal {
  const { worksBeforePasswordChange } = request.route as RestRoute;
  if (worksBeforePasswordChange !== true) requirePresentPassword(access);
  return principal;
}

function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'UNAUTHORIZED';
}

function refuse(message: string): never {
  throw new ServiceError('UNAUTHORIZED', message);
}

function withoutToken(request: RestRequest, need: Need): AnonymousPrincipal {
  if (need === 'required') throw new ServiceError('UNAUTHORIZED');
  return { kind: 'anonymous', tenant: requireTenantName(request.header('x-tenant-id') ?? SYSTEM_TENANT) };
}

function checkTenant(request: RestRequest, principal: Principal): Principal {
  const named = request.header('x-tenant-id');
  if (named !== undefined && named !== principal.tenant) throw mismatch();
  if (request.route.pattern.includes(TENANT_PARAMETER) && request.segment('tenant') !== principal.tenant) {
    throw mismatch();
  }
  return principal;
}

function mismatch(): ServiceError {
  return new ServiceError('TENANT_MISMATCH');
}
