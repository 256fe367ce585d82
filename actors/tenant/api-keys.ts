import type { Turn } from '#runtime/commit/behaviour.ts';
import { listRecords, readRecord, type RecordCache, writeRecord } from '#runtime/commit/record-store.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { changeAccount, ownAccount } from './admin-accounts.ts';
import { noteAction } from './audit-trail.ts';
import {
  ACTIVE_KEYS_MAX,
  type AdminAccount,
  type ApiKeyPlace,
  type ApiKeyRecord,
  type CreateApiKey,
  ENDED_KEYS_MAX,
  type FindApiKey,
  KEY_USE_MS,
  type RecordApiKeyUse,
  type RevokeApiKey,
  type ShownApiKey,
} from './messages.ts';
import { TenantTable } from './tenant-tables.ts';

/** @see messages.ts, CreateApiKey */
export function createApiKey({ keyPrefix, name, tokenHash }: CreateApiKey, turn: Turn): ShownApiKey {
  const account = ownAccount(turn);
  if (!account.access_flags.api_access)
    throw new ServiceError(
      'INSUFFICIENT_PERMISSIONS',
      'The account has no api_access, so a key would not work',
    );
  const keys = account.api_keys ?? [];
  if (keys.filter(isActive).length >= ACTIVE_KEYS_MAX)
    throw invalid(`An account has at most ${ACTIVE_KEYS_MAX} active keys; revoke one first`);
  const key: ApiKeyRecord = {
    key_id: turn.newId(),
    name,
    key_prefix: keyPrefix,
    token_hash: tokenHash,
    created_at: new Date(turn.wallMs).toISOString(),
    last_used_at: null,
    is_active: true,
  };
  changeAccount(turn, { ...account, api_keys: [...keys, key] });
  noteAction(turn, { action: 'api_key_created', subject: account.username, details: factsOf(key) });
  return shownApiKey(key);
}

/** @see messages.ts, RevokeApiKey */
export function revokeApiKey({ keyId }: RevokeApiKey, turn: Turn): void {
  const account = ownAccount(turn);
  const keys = account.api_keys ?? [];
  const key = keys.find((each) => each.key_id === keyId);
  if (key === undefined) throw new ServiceError('NOT_FOUND', `There is no key '${keyId}'`);
  if (!key.is_active) return;
  const changed = keys.map((each) => (each === key ? { ...key, is_active: false } : each));
  changeAccount(turn, { ...account, api_keys: withoutOldest(changed) });
  noteAction(turn, { action: 'api_key_revoked', subject: account.username, details: factsOf(key) });
}

/** @see messages.ts, RecordApiKeyUse */
export function recordApiKeyUse({ keyId, userId }: RecordApiKeyUse, turn: Turn): void {
  const account = readRecord<AdminAccount>(turn, TenantTable.admins, userId);
  const key = account?.api_keys?.find((each) => each.key_id === keyId);
  if (account === undefined || key === undefined) return;
  if (key.last_used_at !== null && turn.ageMs(Date.parse(key.last_used_at)) < KEY_USE_MS) return;
  const used = { ...key, last_used_at: new Date(turn.wallMs).toISOString() };
  const keys = account.api_keys?.map((each) => (each === key ? used : each)) ?? [];
  // Nothing that decides whether tokens and keys count: nobody is told.
  writeRecord(turn, TenantTable.admins, { ...account, api_keys: keys }, userId);
}

/** @see messages.ts, FindApiKey */
export function findApiKey(records: RecordCache, { tokenHash }: FindApiKey): ApiKeyPlace | undefined {
  const places = records.derived('api-keys', (reader) => {
    const known = new Map<string, ApiKeyPlace>();
    for (const { api_keys: keys = [], user_id: userId } of listRecords<AdminAccount>(
      reader,
      TenantTable.admins,
    ))
      for (const { key_id: keyId, token_hash: hash } of keys) known.set(hash, { userId, keyId });
    return known;
  });
  return places.get(tokenHash);
}

/** A key without the hash of its token. */
export function shownApiKey(key: ApiKeyRecord): ShownApiKey {
  const { token_hash: _hash, ...shown } = key;
  return shown;
}

function isActive({ is_active: active }: ApiKeyRecord): boolean {
  return active;
}

function withoutOldest(keys: readonly ApiKeyRecord[]): readonly ApiKeyRecord[] {
  const ended = keys.filter((key) => !isActive(key));
  const removed = new Set(ended.slice(0, Math.max(0, ended.length - ENDED_KEYS_MAX)));
  return keys.filter((key) => !removed.has(key));
}

function factsOf({ key_id: id, key_prefix: prefix, name }: ApiKeyRecord) {
  return { key_id: id, key_prefix: prefix, name };
}
