import type { AdminTokens } from '#runtime/access/admin-tokens.ts';
import type { AnonymousPrincipal, Principal } from '#runtime/access/principal.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestRequest } from '../rest-route.ts';

/** Says who makes a request. */
export type Authenticate = (request: RestRequest, need: Need) => Principal | Promise<Principal>;

/** Whether a route wants to know who calls, or only who says so. */
type Need = 'required' | 'optional';

/** Tokens that say nothing of who calls: the operator token. */
export interface OtherTokens {
  /** @throws {ServiceError} `FORBIDDEN` for such a token on a route it does not open */
  refuseElsewhere(request: RestRequest, token: string): void;
}

const bearerShape = /^bearer +([^\s]+) *$/i;

/** Headers whose token is known; clients send the same one with every request. */
const KNOWN_HEADERS_MAX = 1_024;

/** Longest header that is kept, in characters; ours are shorter. */
const HEADER_CHARACTERS_KEPT_MAX = 2_048;

/** Characters at the end of a header that tell it from others: they are of the token's signature. */
const HEADER_MARK_CHARACTERS = 24;

/** Name of the path parameter that names a tenant. */
const TENANT_PARAMETER = '{tenant}';

/** A header that was taken apart before. */
interface KnownHeader {
  readonly header: string;
  readonly token: string;
}

/**
 * Every request brings its header as a new text of some 400 characters, and looking a new text up means hashing
 * all of it, a tenth of the time of a read. So headers are found by their end and compared; what comes out is
 * the text of the first time, which has its hash.
 */
let knownHeaders = new Map<string, KnownHeader>();

/** The one that was asked for last: many requests in a row are of one client. */
let lastHeader: KnownHeader | undefined;

/**
 * The bearer token of a request.
 *
 * @returns undefined without an `Authorization` header; the empty text when there is one of another kind
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
 * The authenticate hook of the HTTP server. With a token, the token's tenant counts, and another tenant in
 * `X-Tenant-Id` or in the address is refused. Without one the caller is anonymous in the tenant that
 * `X-Tenant-Id` names, `default` unless told otherwise. Where nobody has to log in, a token that is of no use
 * is the same as none. The operator token is no principal: where it opens nothing it is refused with 403.
 *
 * @see docs/interface/accounts.md#access-tokens
 */
export function createAuthenticate(tokens: AdminTokens, others: OtherTokens): Authenticate {
  const unusable = (request: RestRequest, need: Need, token: string, error: unknown): Principal => {
    others.refuseElsewhere(request, token);
    const isRefusal = error instanceof ServiceError && error.code === 'UNAUTHORIZED';
    if (need === 'required' || !isRefusal) throw error;
    return withoutToken(request, need);
  };
  return (request, need) => {
    const token = bearerToken(request);
    if (token === undefined) return withoutToken(request, need);
    let verified: ReturnType<AdminTokens['verify']>;
    try {
      verified = token === '' ? refuse('Authorization must be a bearer token') : tokens.verify(token);
    } catch (error) {
      return unusable(request, need, token, error);
    }
    if (!(verified instanceof Promise)) return checkTenant(request, verified.principal);
    return verified.then(
      ({ principal }) => checkTenant(request, principal),
      (error: unknown) => unusable(request, need, token, error),
    );
  };
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
