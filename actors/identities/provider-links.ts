import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { readRecord } from '#runtime/commit/record-store.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { configurationOf, saveIdentity } from './identity-store.ts';
import { dropRow, IdentitiesTable, type IdentityRow, putRow, UNBOUND_ISSUERS } from './identities-tables.ts';
import type { LinkedProvider } from './messages.ts';

/** Issuers by provider id, which links without an issuer belong to. */
type UnboundIssuers = Readonly<Record<string, string>>;

/** The name of a provider in links. */
export function strategyOf(providerId: string): string {
  return `oidc:${providerId}`;
}

/** The link of an identity with a provider. */
export function linkWith(identity: IdentityRow, providerId: string): LinkedProvider | undefined {
  const strategy = strategyOf(providerId);
  return identity.linked_providers.find(({ strategy_id: id }) => id === strategy);
}

/**
 * Whether a link is with an issuer. The claim `sub` is an id within an issuer only (OpenID Connect Core section 2): another
 * issuer that is configured under the id of the provider may name somebody else so.
 *
 * Earlier builds stored no issuer. Their links belong to the issuer that the provider had when this build changed the
 * configuration for the first time, and until then to the present one.
 */
export function isWithIssuer(
  reader: TableReader,
  link: LinkedProvider,
  providerId: string,
  issuer: string,
): boolean {
  if (link.issuer !== undefined) return link.issuer === issuer;
  return (unboundIssuers(reader) ?? issuersOf(configurationOf(reader)))[providerId] === issuer;
}

/** Notes once, before the configuration is changed, which issuers the links without one belong to. */
export function noteIssuers(turn: Turn): void {
  if (unboundIssuers(turn) !== undefined) return;
  putRow(turn, IdentitiesTable.settings, issuersOf(configurationOf(turn)), UNBOUND_ISSUERS);
}

/** An identity without its link with a provider, stored. */
export function unlinked(turn: Turn, identity: IdentityRow, link: LinkedProvider): IdentityRow {
  dropRow(turn, IdentitiesTable.providers, link.strategy_id, link.external_id);
  const left = {
    ...identity,
    linked_providers: identity.linked_providers.filter(({ strategy_id: id }) => id !== link.strategy_id),
  };
  saveIdentity(turn, left);
  return left;
}

function unboundIssuers(reader: TableReader): UnboundIssuers | undefined {
  return readRecord<UnboundIssuers>(reader, IdentitiesTable.settings, UNBOUND_ISSUERS);
}

function issuersOf({ oidc_providers: providers }: AuthConfiguration): UnboundIssuers {
  return Object.fromEntries(providers.map(({ issuer_url: issuer, provider_id: id }) => [id, issuer]));
}
