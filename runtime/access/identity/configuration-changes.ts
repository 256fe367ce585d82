import type { AuthConfiguration } from './auth-configuration.ts';

/** Most characters of the names that are told of one change. */
const NAMES_CHARACTERS_MAX = 3_000;

/** Names of fields that differ, as `password_policy.min_length` and `oidc_providers.acme.client_secret`. */
export interface ChangedFields {
  readonly changed: readonly string[];
  /** How many more differ than are named. */
  readonly more: number;
}

/**
 * Which fields of a configuration a change has changed: names alone, never values, because some are secret. A provider or
 * a mail server that was added or removed is one name.
 */
export function changedFields(before: AuthConfiguration, after: AuthConfiguration): ChangedFields {
  const names: string[] = [];
  collect('', byProvider(before), byProvider(after), names);
  let characters = 0;
  const changed = names.filter((name) => {
    characters += name.length;
    return characters <= NAMES_CHARACTERS_MAX;
  });
  return { changed, more: names.length - changed.length };
}

function byProvider({ oidc_providers: providers, ...rest }: AuthConfiguration): object {
  return { ...rest, oidc_providers: Object.fromEntries(providers.map((each) => [each.provider_id, each])) };
}

function collect(prefix: string, before: unknown, after: unknown, names: string[]): void {
  if (!isObject(before) || !isObject(after)) {
    if (JSON.stringify(before) !== JSON.stringify(after)) names.push(prefix);
    return;
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
    collect(prefix === '' ? key : `${prefix}.${key}`, before[key], after[key], names);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
