import {
  allowInsecureRequests,
  type CustomFetch,
  customFetch,
  discovery,
  None,
  type ServerMetadata,
} from 'openid-client';
import type { OidcProvider } from '#runtime/access/identity/auth-configuration.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { notAccepted, providerFailure } from './provider-errors.ts';

/** Longest URL of an endpoint, in UTF-16 units. */
const URL_CHARACTERS_MAX = 2_048;

/** Ways to authenticate at the token endpoint that this server knows. */
const knownMethods: readonly string[] = ['client_secret_basic', 'client_secret_post'];

/** What a login uses of the metadata of a provider. */
export interface ProviderMetadata extends ServerMetadata {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly jwks_uri: string;
}

/**
 * The endpoints of a provider. A provider with all of its own endpoints in the configuration needs no discovery document;
 * otherwise they take the place of those in the document.
 *
 * @throws {ServiceError} as the guard of outgoing requests; `UPSTREAM_INVALID`
 */
export async function providerMetadata(
  provider: OidcProvider,
  fetch: CustomFetch,
): Promise<ProviderMetadata> {
  const { authorization_url: authorization, jwks_url: jwks, token_url: token } = provider;
  const isComplete = authorization !== null && token !== null && jwks !== null;
  const found = isComplete ? { issuer: provider.issuer_url } : await discovered(provider, fetch);
  const authorizationEndpoint = authorization ?? urlOf(found.authorization_endpoint);
  const tokenEndpoint = token ?? urlOf(found.token_endpoint);
  const keysEndpoint = jwks ?? urlOf(found.jwks_uri);
  const userinfo = provider.userinfo_url ?? urlOf(found.userinfo_endpoint);
  const methods = methodsOf(found.token_endpoint_auth_methods_supported);
  if (authorizationEndpoint === undefined) throw lacks(provider, 'authorization_endpoint');
  if (tokenEndpoint === undefined) throw lacks(provider, 'token_endpoint');
  if (keysEndpoint === undefined) throw lacks(provider, 'jwks_uri');
  if (!isForBrowsers(authorizationEndpoint, provider.issuer_url))
    throw notAccepted(provider.provider_id, 'its authorization endpoint does not begin with https');
  return {
    issuer: found.issuer,
    authorization_endpoint: authorizationEndpoint,
    token_endpoint: tokenEndpoint,
    jwks_uri: keysEndpoint,
    ...(userinfo === undefined ? {} : { userinfo_endpoint: userinfo }),
    ...(methods === undefined ? {} : { token_endpoint_auth_methods_supported: methods }),
    ...(found.authorization_response_iss_parameter_supported === true
      ? { authorization_response_iss_parameter_supported: true }
      : {}),
  };
}

/** Reads the discovery document. Its issuer must be that of the configuration, whose tokens are accepted. */
async function discovered(provider: OidcProvider, fetch: CustomFetch): Promise<ServerMetadata> {
  const { client_id: clientId, issuer_url: issuer, provider_id: id } = provider;
  let metadata: ServerMetadata;
  try {
    const options = { [customFetch]: fetch, execute: [allowInsecureRequests] };
    const configuration = await discovery(new URL(issuer), clientId, undefined, None(), options);
    metadata = configuration.serverMetadata();
  } catch (error) {
    throw providerFailure(id, error);
  }
  // The library leaves this check out for some hosts and for addresses of documents.
  if (URL.parse(metadata.issuer)?.href !== new URL(issuer).href)
    throw notAccepted(id, 'its discovery document is of another issuer than issuer_url');
  return metadata;
}

function urlOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= URL_CHARACTERS_MAX && URL.parse(value) !== null
    ? value
    : undefined;
}

function methodsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) ? knownMethods.filter((method) => value.includes(method)) : undefined;
}

/** People type their passwords there. Plain HTTP is for a provider whose issuer has it as well. */
function isForBrowsers(url: string, issuer: string): boolean {
  const { protocol } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && new URL(issuer).protocol === 'http:');
}

function lacks({ provider_id: id }: OidcProvider, name: string): ServiceError {
  return notAccepted(id, `its discovery document has no ${name}`);
}
