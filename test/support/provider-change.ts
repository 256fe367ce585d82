import {
  defaultAttributeMapping,
  defaultScopes,
  type OidcProviderChange,
} from '#runtime/access/identity/auth-configuration.ts';

/** An OpenID provider as a change of a configuration has it, without a secret. @param more replaces fields */
export function providerChange<More extends Partial<OidcProviderChange>>(
  id: string,
  more: More = {} as More,
): OidcProviderChange & More {
  return {
    provider_id: id,
    display_name: id,
    icon: null,
    priority: 0,
    enabled: true,
    issuer_url: `https://${id}.example.org`,
    client_id: 'client',
    redirect_uri: null,
    scopes: defaultScopes,
    allowed_email_domains: null,
    attribute_mapping: defaultAttributeMapping,
    groups_claim: null,
    authorization_url: null,
    token_url: null,
    userinfo_url: null,
    jwks_url: null,
    ...more,
  };
}
