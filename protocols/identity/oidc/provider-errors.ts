import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { IdTokenError } from '#runtime/access/identity/id-token.ts';
import { InvariantError } from '#runtime/base/assert.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Errors of logins at a provider. Texts contain nothing that the provider or the browser sent, except for codes of the
 * list below and names of claims: the answers are shown in browsers, and logs are read by people.
 */

/** How far errors are followed to their causes. */
const CAUSES_MAX = 8;

/** Error codes of providers: RFC 6749 sections 4.1.2.1 and 5.2, OpenID Connect Core section 3.1.2.6. */
const providerCodes: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  'access_denied',
  'server_error',
  'temporarily_unavailable',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
]);

/** Codes with which a provider says that the person, or an administrator there, does not want the login. */
const denials: ReadonlySet<string> = new Set([
  'access_denied',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
]);

/** Codes with which a provider says that it has trouble. */
const troubles: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/** What is wrong with a response, by the codes of `openid-client`. */
const reasons: Readonly<Record<string, string>> = {
  OAUTH_PARSE_ERROR: 'it is not JSON',
  OAUTH_RESPONSE_IS_NOT_JSON: 'it is not JSON',
  OAUTH_RESPONSE_IS_NOT_CONFORM: 'it has an unexpected status',
  OAUTH_WWW_AUTHENTICATE_CHALLENGE: 'it asks for other credentials',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'its ID token has expired, or is not valid yet',
};

/** Claims that responses are compared by. */
const comparedClaims: ReadonlySet<string> = new Set([
  'iss',
  'aud',
  'azp',
  'sub',
  'exp',
  'nbf',
  'iat',
  'nonce',
]);

/** The response of a provider is not acceptable. @returns `UPSTREAM_INVALID` (502) */
export function notAccepted(providerId: string, reason: string, cause?: unknown): ServiceError {
  return new ServiceError(
    'UPSTREAM_INVALID',
    `The response of provider '${providerId}' is refused: ${reason}`,
    {
      cause,
    },
  );
}

/** There is nothing that the browser comes back to. @returns `VALIDATION_FAILED` (400) */
export function notUnderWay(): ServiceError {
  return new ServiceError(
    'VALIDATION_FAILED',
    'No login is under way with this state: it has expired, was used, or the settings have changed; start the login again',
    { field: 'state' },
  );
}

/**
 * The error for whatever failed between this server and a provider. Errors of the guard of outgoing requests stay as they
 * are.
 *
 * @param error of `openid-client`, or thrown in between
 */
export function providerFailure(providerId: string, error: unknown): unknown {
  const chain = causesOf(error);
  const known = chain.find((each) => each instanceof ServiceError || each instanceof InvariantError);
  if (known !== undefined) return known;
  if (error instanceof IdTokenError)
    return notAccepted(providerId, `its ID token is not accepted: ${error.reason}`, error);
  if (error instanceof AuthorizationResponseError) return refusedLogin(providerId, error.error, error);
  if (error instanceof ResponseBodyError) return refusedCode(providerId, error.error, error);
  // The token endpoint asks for the credentials of a client in this way, and userinfo for a bearer token.
  if (error instanceof WWWAuthenticateChallengeError && error.cause.some(({ scheme }) => scheme === 'basic'))
    return refusedCode(providerId, 'invalid_client', error);
  const claim = chain.map(claimOf).find((each) => each !== undefined);
  if (claim === 'nonce')
    return new ServiceError(
      'UNAUTHORIZED',
      'The login at the provider is not the one that was started here',
      {
        cause: error,
      },
    );
  const reason = chain.map(reasonOf).find((each) => each !== undefined);
  if (reason !== undefined) return notAccepted(providerId, reason, error);
  if (claim !== undefined) return notAccepted(providerId, `its claim '${claim}' is not as expected`, error);
  return notAccepted(providerId, 'it is not what OpenID Connect asks for', error);
}

/** The browser came back with an error of the provider. */
function refusedLogin(providerId: string, given: string, cause: unknown): ServiceError {
  const code = providerCodes.has(given) ? given : 'another error';
  if (denials.has(code))
    return new ServiceError('FORBIDDEN', `The login was refused at provider '${providerId}': ${code}`, {
      details: { provider_error: code },
      cause,
    });
  if (troubles.has(code))
    return new ServiceError('UPSTREAM_UNREACHABLE', `Provider '${providerId}' has trouble: ${code}`, {
      details: { provider_error: code },
      cause,
    });
  return new ServiceError(
    'UPSTREAM_INVALID',
    `Provider '${providerId}' refused the request of this server: ${code}. Compare client_id, scopes and redirect_uri with what is registered there`,
    { details: { provider_error: code }, cause },
  );
}

/** The provider did not exchange the code. */
function refusedCode(providerId: string, given: string, cause: unknown): ServiceError {
  const code = providerCodes.has(given) ? given : 'another error';
  if (code === 'invalid_grant')
    return new ServiceError(
      'UNAUTHORIZED',
      `Provider '${providerId}' does not accept the code: it has expired or was used; start the login again`,
      { details: { provider_error: code }, cause },
    );
  return new ServiceError(
    'UPSTREAM_INVALID',
    `Provider '${providerId}' refused this server: ${code}. Compare client_id, client_secret and redirect_uri with what is registered there`,
    { details: { provider_error: code }, cause },
  );
}

function causesOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && chain.length < CAUSES_MAX; at = at.cause) chain.push(at);
  return chain;
}

/** The claim that an error is about: in the facts that are its cause. */
function claimOf(error: unknown): string | undefined {
  const facts = (error as Error).cause;
  if (typeof facts !== 'object' || facts === null) return undefined;
  const { attribute, claim } = facts as { readonly claim?: unknown; readonly attribute?: unknown };
  const name = claim ?? attribute;
  return typeof name === 'string' && comparedClaims.has(name) ? name : undefined;
}

function reasonOf(error: unknown): string | undefined {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && Object.hasOwn(reasons, code) ? reasons[code] : undefined;
}
