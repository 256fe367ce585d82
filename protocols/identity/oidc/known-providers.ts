import { createHash } from 'node:crypto';
import type { OidcProvider } from '#runtime/access/identity/auth-configuration.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type ProviderEgress, providerFetch } from './provider-fetch.ts';
import { ProviderKeys } from './provider-keys.ts';
import { type ProviderMetadata, providerMetadata } from './provider-metadata.ts';

/** How long a discovery document is used, in milliseconds. */
const METADATA_MS = 60 * 60 * 1000;

/** Providers of all tenants that are known at once; the one that was found first is forgotten first. */
const KNOWN_MAX = 512;

/** What a member knows of a provider. */
export interface KnownProvider {
  readonly metadata: ProviderMetadata;
  readonly keys: ProviderKeys;
}

interface Entry {
  readonly settings: string;
  readonly atMs: number;
  readonly found: Promise<KnownProvider>;
}

/** Identifies the settings of a provider that decide who is asked, and as whom. */
export function settingsOf(provider: OidcProvider): string {
  const { authorization_url, client_id, issuer_url, jwks_url, redirect_uri, token_url, userinfo_url } =
    provider;
  const told = [issuer_url, client_id, redirect_uri, authorization_url, token_url, userinfo_url, jwks_url];
  return createHash('sha256').update(JSON.stringify(told)).digest('base64url');
}

/**
 * Endpoints and keys of the providers of all tenants. They are found when a login needs them, once for logins at the same
 * time, and again when they are old or the settings have changed. A failure is not kept.
 */
export class KnownProviders {
  readonly #egress: ProviderEgress;
  readonly #clock: Clock;
  /** By tenant and provider, oldest first. */
  readonly #entries = new Map<string, Entry>();

  constructor(egress: ProviderEgress, clock: Clock) {
    this.#egress = egress;
    this.#clock = clock;
  }

  /** @throws {ServiceError} as the guard of outgoing requests; `UPSTREAM_INVALID` */
  of(tenant: string, provider: OidcProvider): Promise<KnownProvider> {
    const key = `${tenant}\0${provider.provider_id}`;
    const settings = settingsOf(provider);
    const known = this.#entries.get(key);
    const nowMs = this.#clock.monotonicMs();
    if (known !== undefined && known.settings === settings && nowMs - known.atMs < METADATA_MS)
      return known.found;
    const entry: Entry = { settings, atMs: nowMs, found: this.#find(tenant, provider) };
    this.#keep(key, entry);
    entry.found.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return entry.found;
  }

  async #find(tenant: string, provider: OidcProvider): Promise<KnownProvider> {
    const fetch = providerFetch(this.#egress, tenant, undefined);
    const metadata = await providerMetadata(provider, fetch);
    return { metadata, keys: new ProviderKeys(provider.provider_id, metadata.jwks_uri, fetch, this.#clock) };
  }

  #keep(key: string, entry: Entry): void {
    // Deleted first, so that it is the newest in the order of the map.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= KNOWN_MAX) break;
      this.#entries.delete(oldest);
    }
  }
}
