import { requireAdministrator } from '#runtime/access/policy.ts';
import { apiKeyTag } from '#runtime/access/api-key.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { unknownMessage } from '#runtime/actor/unknown-message.ts';
import { removedTokenFloor } from '#runtime/base/token-floor.ts';
import type { ActorBehaviour, ActorKind, Caller, QueryContext, Turn } from '#runtime/commit/behaviour.ts';
import {
  listRecords,
  readRecord,
  RecordCache,
  removeRecord,
  writeRecord,
} from '#runtime/commit/record-store.ts';
import { requireRepositoryName, requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { spaceUseByType } from '#runtime/space/space-use.ts';
import type {
  BootstrapTenant,
  RegisterRepository,
  RegisterTenant,
  RegistryChanged,
  RepositoryEntry,
  TenantCommand,
  TenantEntry,
  TenantMade,
  TenantQuery,
  UnfinishedTenant,
} from './messages.ts';
import {
  changePassword,
  createAdmin,
  deleteAdmin,
  findAdmin,
  listAdmins,
  recordLogin,
  updateAdmin,
  writeAccount,
} from './admin-accounts.ts';
import { createApiKey, findApiKey, recordApiKeyUse, revokeApiKey } from './api-keys.ts';
import { listAudit, noteAction, recordAction, recordActions } from './audit-trail.ts';
import { forgetEnding, listEnding, noteEnding } from './ending-branches.ts';
import { highestNameFloor, nameFloor } from './name-floors.ts';
import { newAccount } from './new-account.ts';
import { type TenantRow, TenantTable, tenantTableNames } from './tenant-tables.ts';

const registryChanged: RegistryChanged = Object.freeze({ type: 'RegistryChanged' });

/**
 * The records of one tenant: its admin accounts and repositories; in tenant `default` also the tenants. A repository
 * exists for clients while it has an entry here. Its actors are created before the entry and removed after it.
 *
 * Invariants: invariants.md in this folder.
 */
class TenantActor implements ActorBehaviour {
  readonly #cache = new RecordCache();

  execute(command: TenantCommand, turn: Turn): unknown {
    switch (command.type) {
      case 'BootstrapTenant':
        requireEngine(turn.caller);
        return bootstrap(command, turn);
      case 'ChangeAdminPassword':
        return changePassword(command, turn);
      case 'RecordAdminLogin':
        requireEngine(turn.caller);
        return recordLogin(command, turn);
      case 'CreateAdmin':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return createAdmin(command, turn);
      case 'UpdateAdmin':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return updateAdmin(command, turn);
      case 'DeleteAdmin':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return deleteAdmin(command, turn);
      case 'CreateApiKey':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return createApiKey(command, turn);
      case 'RevokeApiKey':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return revokeApiKey(command, turn);
      case 'RecordApiKeyUse':
        requireEngine(turn.caller);
        return recordApiKeyUse(command, turn);
      case 'RecordAdminAction':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return recordAction(turn, command);
      case 'RecordAdminActions':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return recordActions(turn, command);
      case 'RegisterRepository':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return registerRepository(command, turn);
      case 'UnregisterRepository':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return unregisterRepository(command.repositoryId, turn);
      case 'RegisterTenant':
        requireAdministrator(turn.caller.policy, turn.caller.principal);
        return registerTenant(command, turn);
      case 'CompleteTenant':
        requireEngine(turn.caller);
        return completeTenant(command.tenantId, turn);
      case 'NoteEnding':
        requireEngine(turn.caller);
        return noteEnding(turn, command);
      case 'ForgetEnding':
        requireEngine(turn.caller);
        return forgetEnding(turn, command);
      default:
        return unknownMessage(command);
    }
  }

  query(query: TenantQuery, { caller, view }: QueryContext): unknown {
    const records = this.#cache.at(view);
    switch (query.type) {
      case 'FindRepository':
        requireEngine(caller);
        return records.record<RepositoryEntry>(TenantTable.repositories, query.repositoryId);
      case 'ReadNameFloor':
        requireEngine(caller);
        return query.repositoryId === undefined
          ? highestNameFloor(view)
          : nameFloor(view, query.repositoryId);
      case 'FindAdmin':
        requireEngine(caller);
        return findAdmin(records, query);
      case 'ListAdmins':
        requireAdministrator(caller.policy, caller.principal);
        return listAdmins(records, query);
      case 'FindApiKey':
        requireEngine(caller);
        return findApiKey(records, query);
      case 'FindTenantsByTag':
        requireEngine(caller);
        return tenantsByTag(records).get(query.tag) ?? [];
      case 'ListAudit':
        requireAdministrator(caller.policy, caller.principal);
        return listAudit(view, query);
      case 'ListRepositories':
        requireAdministrator(caller.policy, caller.principal);
        return records.derived('repositories', (reader) =>
          listRecords<RepositoryEntry>(reader, TenantTable.repositories),
        );
      case 'ListTenants':
        requireAdministrator(caller.policy, caller.principal);
        return tenantEntries(records, query.tenantId);
      case 'ListUnfinishedTenants':
        requireEngine(caller);
        return listRecords<TenantRow>(view, TenantTable.tenants).flatMap(unfinishedOf);
      case 'ListEnding':
        requireEngine(caller);
        return listEnding(view, query);
      default:
        return unknownMessage(query);
    }
  }
}

/** Refuses callers other than the engine. These messages carry password hashes, or find names for other operations. */
function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}

function bootstrap({ tenantId, admin }: BootstrapTenant, turn: Turn): TenantMade {
  if (listRecords(turn, TenantTable.admins).length > 0) return { created: false };
  const userId = turn.newId();
  writeAccount(turn, newAccount(admin, userId, turn.wallMs));
  noteAction(turn, { action: 'account_created', subject: admin.username, details: { user_id: userId } });
  // The system tenant registers itself, because no other tenant exists before it.
  if (tenantId === SYSTEM_TENANT) {
    const entry: TenantEntry = { tenant_id: tenantId, metadata: {}, created_at: timestampOf(turn) };
    writeRecord(turn, TenantTable.tenants, entry, tenantId);
  }
  return { created: true };
}

function registerRepository(
  { createdAt, repositoryId, tokenFloor = 0, uid }: RegisterRepository,
  turn: Turn,
): RepositoryEntry {
  requireRepositoryName(repositoryId);
  if (readRecord(turn, TenantTable.repositories, repositoryId) !== undefined) {
    throw new ServiceError('REPOSITORY_ALREADY_EXISTS', `Repository '${repositoryId}' already exists`, {
      field: 'repo_id',
    });
  }
  if (tokenFloor < nameFloor(turn, repositoryId)) {
    throw new ServiceError('CONFLICT', `A repository '${repositoryId}' was removed meanwhile; try again`);
  }
  const entry: RepositoryEntry = {
    repositoryId,
    uid,
    createdAt: createdAt ?? timestampOf(turn),
    ...(tokenFloor > 0 ? { tokenFloor } : {}),
  };
  writeRecord(turn, TenantTable.repositories, entry, repositoryId);
  noteAction(turn, { action: 'repository_created', subject: repositoryId });
  turn.emit(registryChanged);
  return entry;
}

function unregisterRepository(repositoryId: string, turn: Turn): RepositoryEntry {
  const entry = readRecord<RepositoryEntry>(turn, TenantTable.repositories, repositoryId);
  if (entry === undefined) {
    throw new ServiceError('REPOSITORY_NOT_FOUND', `Repository '${repositoryId}' not found`);
  }
  removeRecord(turn, TenantTable.repositories, repositoryId);
  // Tokens of a later repository with this name have to be higher than all tokens of this one.
  const floor = removedTokenFloor(entry.tokenFloor ?? 0, turn.wallMs - Date.parse(entry.createdAt));
  writeRecord(turn, TenantTable.tokens, floor, repositoryId);
  noteAction(turn, { action: 'repository_deleted', subject: repositoryId });
  turn.emit(registryChanged);
  return entry;
}

function registerTenant({ tenantId, metadata, admin }: RegisterTenant, turn: Turn): TenantEntry {
  requireTenantName(tenantId);
  if (readRecord(turn, TenantTable.tenants, tenantId) !== undefined) {
    throw new ServiceError('TENANT_ALREADY_EXISTS', `Tenant '${tenantId}' already exists`, {
      field: 'tenant_id',
    });
  }
  const entry: TenantEntry = { tenant_id: tenantId, metadata, created_at: timestampOf(turn) };
  const row: TenantRow = { ...entry, admin };
  writeRecord(turn, TenantTable.tenants, row, tenantId);
  noteAction(turn, { action: 'tenant_created', subject: tenantId });
  turn.emit(registryChanged);
  return entry;
}

function completeTenant(tenantId: string, turn: Turn): void {
  const row = readRecord<TenantRow>(turn, TenantTable.tenants, tenantId);
  if (row === undefined) throw new ServiceError('TENANT_NOT_FOUND');
  if (row.admin === undefined) return;
  writeRecord(turn, TenantTable.tenants, entryOf(row), tenantId);
  turn.emit(registryChanged);
}

/** Tenants by the tag of their keys; tags of two tenants may be alike. */
function tenantsByTag(records: RecordCache): ReadonlyMap<string, readonly string[]> {
  return records.derived('tags', (reader) => {
    const tagged = new Map<string, string[]>();
    for (const { tenant_id: tenant } of listRecords<TenantRow>(reader, TenantTable.tenants)) {
      const tag = apiKeyTag(tenant);
      tagged.set(tag, [...(tagged.get(tag) ?? []), tenant]);
    }
    return tagged;
  });
}

function tenantEntries(records: RecordCache, tenantId: string | undefined): readonly TenantEntry[] {
  if (tenantId === undefined) {
    return records.derived('tenants', (reader) =>
      listRecords<TenantRow>(reader, TenantTable.tenants).map(entryOf),
    );
  }
  const row = records.record<TenantRow>(TenantTable.tenants, tenantId);
  return row === undefined ? [] : [entryOf(row)];
}

function entryOf({ tenant_id, metadata, created_at }: TenantRow): TenantEntry {
  return { tenant_id, metadata, created_at };
}

function unfinishedOf({ tenant_id, admin }: TenantRow): UnfinishedTenant[] {
  return admin === undefined ? [] : [{ tenantId: tenant_id, admin }];
}

function timestampOf(turn: Turn): string {
  return new Date(turn.wallMs).toISOString();
}

/** The kind `tenant`: one actor for each tenant, id `{tenant}/tenant`. */
export const tenantActor: ActorKind = Object.freeze({
  kind: 'tenant',
  tables: tenantTableNames,
  // The creation of a registered tenant is finished even without disk space, a removal frees some, and access that
  // should end must end.
  spaceUse: spaceUseByType<TenantCommand['type']>([
    'UnregisterRepository',
    'ChangeAdminPassword',
    'UpdateAdmin',
    'DeleteAdmin',
    'RevokeApiKey',
    'BootstrapTenant',
    'CompleteTenant',
    'NoteEnding',
    'ForgetEnding',
  ]),
  create: () => new TenantActor(),
});
