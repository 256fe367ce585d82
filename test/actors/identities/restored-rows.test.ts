import { expect, it } from 'vitest';
import { AUTHENTICATION, IdentitiesTable } from '#actors/identities/identities-tables.ts';
import { restoredIdentitiesRow } from '#actors/identities/restored-rows.ts';
import {
  type AuthConfiguration,
  defaultAuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';
import { recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';

const changed = (configuration: AuthConfiguration): AuthConfiguration => ({
  ...configuration,
  anonymous_enabled: true,
});
const row = (table: number, ...name: readonly string[]) => ({
  table,
  key: recordKey(...name),
  value: encodeJsonRow(defaultAuthConfiguration),
});

it('changes the configuration, and nothing else that is kept', () => {
  const settings = row(IdentitiesTable.settings, AUTHENTICATION);
  const restored = restoredIdentitiesRow(changed)(settings) as Uint8Array;
  expect(decodeJsonRow(restored)).toEqual(changed(defaultAuthConfiguration));
  for (const kept of [
    row(IdentitiesTable.settings, 'other'),
    row(IdentitiesTable.identities, AUTHENTICATION),
  ])
    expect(restoredIdentitiesRow(changed)(kept)).toBe(kept.value);
  expect(restoredIdentitiesRow(changed)(row(IdentitiesTable.sessions, AUTHENTICATION))).toBeNull();
  expect(restoredIdentitiesRow()(settings)).toBe(settings.value);
});
