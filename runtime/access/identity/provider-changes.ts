import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import {
  type AuthConfiguration,
  mergedProvider,
  type OidcProvider,
  type OidcProviderChange,
  providerOf,
  PROVIDERS_MAX,
} from './auth-configuration.ts';

/** A change of one provider. All others stay as they are, so that several changes at once lose none. */
export type ProviderChange =
  | { readonly kind: 'add'; readonly provider: OidcProviderChange }
  | {
      readonly kind: 'update';
      readonly id: string;
      /** Those that are absent stay. */
      readonly fields: Partial<Omit<OidcProviderChange, 'provider_id'>>;
    }
  | { readonly kind: 'remove'; readonly id: string };

/**
 * Applies a change of one provider. To remove one that is not there changes nothing.
 *
 * @throws {ServiceError} `ALREADY_EXISTS`, `PROVIDER_NOT_FOUND`; `VALIDATION_FAILED` for too many, and for a secret that has to be
 *   given again
 */
export function withChangedProvider(stored: AuthConfiguration, change: ProviderChange): AuthConfiguration {
  return { ...stored, oidc_providers: changedProviders(stored, change) };
}

function changedProviders(stored: AuthConfiguration, change: ProviderChange): readonly OidcProvider[] {
  const { oidc_providers: providers } = stored;
  if (change.kind === 'remove') return providers.filter(({ provider_id: id }) => id !== change.id);
  if (change.kind === 'update') {
    const known = requireProvider(stored, change.id);
    const { client_secret: _secret, ...rest } = known;
    const changed = mergedProvider(known, { ...rest, ...change.fields, provider_id: change.id }, '');
    return providers.map((provider) => (provider === known ? changed : provider));
  }
  const { provider_id: id } = change.provider;
  if (providerOf(stored, id) !== undefined)
    throw new ServiceError('ALREADY_EXISTS', `Provider '${id}' already exists`);
  if (providers.length >= PROVIDERS_MAX) {
    const field = 'oidc_providers';
    throw invalid(`\`${field}\` may have ${PROVIDERS_MAX} entries`, { field });
  }
  return [...providers, mergedProvider(undefined, change.provider, '')];
}

/** A provider by its id. @throws {ServiceError} `PROVIDER_NOT_FOUND` */
export function requireProvider(stored: AuthConfiguration, id: string): OidcProvider {
  const known = providerOf(stored, id);
  if (known === undefined) throw new ServiceError('PROVIDER_NOT_FOUND', `Provider '${id}' not found`);
  return known;
}

/** Encrypts the secret of a change, which arrives as plain text. @param seal bound to the id of the provider */
export function withSealedSecret(
  change: ProviderChange,
  seal: (secret: string, providerId: string) => string,
): ProviderChange {
  switch (change.kind) {
    case 'add': {
      const { client_secret: secret, provider_id: id } = change.provider;
      if (typeof secret !== 'string') return change;
      return { ...change, provider: { ...change.provider, client_secret: seal(secret, id) } };
    }
    case 'update': {
      const { client_secret: secret } = change.fields;
      if (typeof secret !== 'string') return change;
      return { ...change, fields: { ...change.fields, client_secret: seal(secret, change.id) } };
    }
    case 'remove':
      return change;
  }
}
