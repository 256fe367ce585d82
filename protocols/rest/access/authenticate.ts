import type { AdminCaller } from '#protocols/admin/admin-access.ts';
import type { IdentityCaller } from '#protocols/identity/identity-callers.ts';
import { requirePresentPassword } from '#protocols/identity/identity-logins.ts';
import { isMeantAsApiKey } from '#runtime/access/api-key.ts';
import type { AdminPrincipal, AnonymousPrincipal, Principal } from '#runtime/access/principal.ts';
import { claimedTokenType } from '#runtime/access/token-keys.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { actingAs } from './impersonation.ts';

/** Authenticates the caller of a request. */
export type Authenticate = (request: RestRequest, need: Need) => Principal | Promise<Principal>;

/** Whether a route requires authentication, or only uses it if present. */
type Need = 'required' | 'optional';

/** Tokens that identify no caller: the operator token. */
export interface OtherTokens {
  /** @throws {ServiceError} `FORBIDDEN` for such a token on a route it does not grant */
  refuseElsewhere(request: RestRequest, token: string): void;
}

/** Verifies the tokens and keys of administrators. */
export interface AdminVerifier {
  /** @throws {ServiceError} `UNAUTHORIZED` */
  verifyToken(token: string): AdminCaller | Promise<AdminCaller>;
  /** As {@link AdminVerifier.verifyToken}; the signature suffices while the account cannot be read. */
  verifyTokenInOutage(token: string): AdminCaller | Promise<AdminCaller>;
  /** @throws {ServiceError} `UNAUTHORIZED`, `INSUFFICIENT_PERMISSIONS`, `OVERLOADED` */
  verifyKey(token: string): AdminCaller | Promise<AdminCaller>;
}

/** Verifies the access tokens of identities. */
export interface IdentityVerifier {
  /** @throws {ServiceError} `UNAUTHORIZED`, `ACCOUNT_DISABLED` */
  verify(token: string): IdentityCaller | Promise<IdentityCaller>;
}

/** Everything that decides who a caller is. */
export interface Verifiers {
  readonly admins: AdminVerifier;
  readonly identities: IdentityVerifier;
  readonly others: OtherTokens;
  /** Whether the tenant, or the server where the tenant says nothing, permits anonymous access. */
  readonly anonymousEnabled: (tenant: string) => boolean | Promise<boolean>;
}

/** Type of the access tokens of identities, in the claim `token_type`. */
const ACCESS_TYPE = 'access';

const bearerShape = /^bearer +([^\s]+) *$/i;

/** Cached headers with their tokens; a client sends the same header with every request. */
const KNOWN_HEADERS_MAX = 1_024;

/** Longest cached header, in characters; tokens of this server are shorter. */
const HEADER_CHARACTERS_KEPT_MAX = 2_048;

/** Characters at the end of a header that identify it: they belong to the token's signature. */
const HEADER_MARK_CHARACTERS = 24;

/** The path parameter of a tenant. */
const TENANT_PARAMETER = '{tenant}';

/** What a bearer token is meant as. The verifier of that kind decides whether it is one. */
type TokenKind = 'admin' | 'identity' | 'key' | 'none';

/** A header that was parsed before. */
interface KnownHeader {
  readonly header: string;
  /** Empty for another scheme. */
  readonly token: string;
  readonly kind: TokenKind;
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
  return bearerOf(request)?.token;
}

function bearerOf(request: RestRequest): KnownHeader | undefined {
  const header = request.header('authorization');
  if (header === undefined) return undefined;
  if (lastHeader?.header === header) return lastHeader;
  const mark = header.slice(-HEADER_MARK_CHARACTERS);
  const known = knownHeaders.get(mark);
  if (known !== undefined && known.header === header) {
    lastHeader = known;
    return known;
  }
  const token = bearerShape.exec(header)?.[1] ?? '';
  const parsed: KnownHeader = { header, token, kind: tokenKind(token) };
  if (token.length > HEADER_MARK_CHARACTERS && header.length <= HEADER_CHARACTERS_KEPT_MAX) {
    if (knownHeaders.size >= KNOWN_HEADERS_MAX) knownHeaders = new Map();
    knownHeaders.set(mark, parsed);
  }
  return parsed;
}

function tokenKind(token: string): TokenKind {
  if (token === '') return 'none';
  if (isMeantAsApiKey(token)) return 'key';
  return claimedTokenType(token) === ACCESS_TYPE ? 'identity' : 'admin';
}

/**
 * The authenticate hook of the HTTP server. A token begins with `svc_`, or is a JWT that says whether it is of an
 * administrator or of an identity; each kind opens the routes of its {@link RestRoute.audience}. With a token, the
 * token's tenant is used, and another tenant in `X-Tenant-Id` or in the address is refused. Without one the caller is
 * anonymous in the tenant of `X-Tenant-Id`, by default `default`. Where login is optional, an invalid token counts as
 * absent. The operator token is not a principal: on routes that it does not grant it is refused with 403.
 *
 * @see docs/interface/accounts.md#which-token-opens-what
 * @see docs/interface/identities.md#access-tokens
 */
export function createAuthenticate(verifiers: Verifiers): Authenticate {
  const { others } = verifiers;
  const unusable = (
    request: RestRequest,
    need: Need,
    token: string,
    error: unknown,
  ): Principal | Promise<Principal> => {
    others.refuseElsewhere(request, token);
    const isRefusal = error instanceof ServiceError && error.code === 'UNAUTHORIZED';
    if (need === 'required' || !isRefusal) throw error;
    return withoutToken(verifiers, request, need);
  };
  return (request, need) => {
    const bearer = bearerOf(request);
    if (bearer === undefined) return withoutToken(verifiers, request, need);
    try {
      const principal = principalOf(verifiers, request, bearer);
      if (!(principal instanceof Promise)) return principal;
      return principal.catch((error: unknown) => unusable(request, need, bearer.token, error));
    } catch (error) {
      return unusable(request, need, bearer.token, error);
    }
  };
}

/** The caller with a bearer token. @throws {ServiceError} `UNAUTHORIZED` for a token that is not valid */
function principalOf(
  { admins, identities }: Verifiers,
  request: RestRequest,
  { kind, token }: KnownHeader,
): Principal | Promise<Principal> {
  switch (kind) {
    case 'none':
      throw new ServiceError('UNAUTHORIZED', 'Authorization must be a bearer token');
    case 'key':
      return onceVerified(admins.verifyKey(token), (caller) => keyPrincipal(request, caller));
    case 'admin': {
      const verified = isForOutages(request) ? admins.verifyTokenInOutage(token) : admins.verifyToken(token);
      return onceVerified(verified, (caller) => adminPrincipal(request, caller));
    }
    case 'identity':
      return onceVerified(identities.verify(token), (caller) => identityPrincipal(request, caller));
  }
}

function isForOutages(request: RestRequest): boolean {
  return (request.route as RestRoute).duringOutages === true;
}

function onceVerified<Verified>(
  verified: Verified | Promise<Verified>,
  toPrincipal: (verified: Verified) => Principal,
): Principal | Promise<Principal> {
  return verified instanceof Promise ? verified.then(toPrincipal) : toPrincipal(verified);
}

function adminPrincipal(request: RestRequest, { mustChangePassword, principal }: AdminCaller): Principal {
  checkTenant(request, principal);
  const { audience, beforePasswordChange } = request.route as RestRoute;
  if (audience === 'identities')
    throw new ServiceError(
      'FORBIDDEN',
      'This is for the tokens of identities; an administrator has none of it',
    );
  if (mustChangePassword && beforePasswordChange !== true) throw passwordExpired(principal);
  return audience === 'content' ? actingAs(request, principal) : principal;
}

function keyPrincipal(request: RestRequest, { mustChangePassword, principal }: AdminCaller): Principal {
  checkTenant(request, principal);
  const { audience } = request.route as RestRoute;
  if (audience !== 'content' && audience !== 'repositories')
    throw new ServiceError('FORBIDDEN', 'An API key opens content and repositories only; log in for this');
  if (mustChangePassword) throw passwordExpired(principal);
  return principal;
}

function identityPrincipal(request: RestRequest, { access, principal }: IdentityCaller): Principal {
  checkTenant(request, principal);
  const { audience = 'administration', beforePasswordChange } = request.route as RestRoute;
  if (audience === 'administration')
    throw new ServiceError('FORBIDDEN', 'This is for administrators; the token is of an identity');
  if (beforePasswordChange !== true) requirePresentPassword(access);
  return principal;
}

function passwordExpired({ tenant }: AdminPrincipal): ServiceError {
  return new ServiceError(
    'PASSWORD_CHANGE_REQUIRED',
    `The password has to be changed first: POST /api/svc/sys/${tenant}/auth/change-password`,
  );
}

function withoutToken(
  { anonymousEnabled }: Verifiers,
  request: RestRequest,
  need: Need,
): AnonymousPrincipal | Promise<AnonymousPrincipal> {
  if (need === 'required') throw new ServiceError('UNAUTHORIZED');
  const tenant = requireTenantName(request.header('x-tenant-id') ?? SYSTEM_TENANT);
  // What is needed during outages opens nothing to anonymous callers, and waits for no answer of a tenant.
  const isEnabled = !isForOutages(request) && anonymousEnabled(tenant);
  if (!(isEnabled instanceof Promise)) return { kind: 'anonymous', tenant, isEnabled };
  return isEnabled.then((enabled) => ({ kind: 'anonymous', tenant, isEnabled: enabled }));
}

function checkTenant(request: RestRequest, principal: Principal): void {
  const named = request.header('x-tenant-id');
  if (named !== undefined && named !== principal.tenant) throw mismatch();
  if (request.route.pattern.includes(TENANT_PARAMETER) && request.segment('tenant') !== principal.tenant) {
    throw mismatch();
  }
}

function mismatch(): ServiceError {
  return new ServiceError('TENANT_MISMATCH');
}
