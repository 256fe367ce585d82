import { isDeepStrictEqual } from 'node:util';
import { type AccessFlags, accessFlagNames } from '#runtime/access/principal.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import {
  listRecords,
  readRecord,
  type RecordCache,
  removeRecord,
  writeRecord,
} from '#runtime/commit/record-store.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { noteAction } from './audit-trail.ts';
import {
  type AccountChanged,
  ADMINS_MAX,
  type AdminAccount,
  type AdminChanges,
  type ChangeAdminPassword,
  type CreateAdmin,
  type DeleteAdmin,
  type FindAdmin,
  type ListAdmins,
  type RecordAdminLogin,
  type ShownAdmin,
  type UpdateAdmin,
} from './messages.ts';
import { newAccount } from './new-account.ts';
import { TenantTable } from './tenant-tables.ts';

/** Stores a new account under its name. */
export function writeAccount(turn: Turn, account: AdminAccount): void {
  writeRecord(turn, TenantTable.admins, account, account.user_id);
  writeRecord(turn, TenantTable.adminNames, { userId: account.user_id }, account.username);
}

/** Stores a changed account, and tells those who decide whether its tokens and keys count. */
export function changeAccount(turn: Turn, account: AdminAccount): void {
  writeRecord(turn, TenantTable.admins, account, account.user_id);
  tellChanged(turn, account.user_id);
}

/** @throws {ServiceError} `USER_NOT_FOUND` */
export function accountOf(turn: Turn, userId: string): AdminAccount {
  const account = readRecord<AdminAccount>(turn, TenantTable.admins, userId);
  if (account === undefined) throw new ServiceError('USER_NOT_FOUND');
  return account;
}

/**
 * The account of the caller.
 *
 * @throws {ServiceError} `FORBIDDEN` for other callers than administrators, `USER_NOT_FOUND`
 */
export function ownAccount(turn: Turn): AdminAccount {
  const { principal } = turn.caller;
  if (principal.kind !== 'admin') throw new ServiceError('FORBIDDEN');
  return accountOf(turn, principal.userId);
}

/** @see messages.ts, CreateAdmin */
export function createAdmin(command: CreateAdmin, turn: Turn): ShownAdmin {
  const { username } = command;
  const accounts = listRecords<AdminAccount>(turn, TenantTable.admins);
  // Histories name authors by their names, so two names must not pass for each other.
  const namesake = accounts.find((each) => each.username.toLowerCase() === username.toLowerCase());
  if (namesake !== undefined)
    throw new ServiceError('ALREADY_EXISTS', `There is an administrator '${namesake.username}' already`, {
      field: 'username',
    });
  if (accounts.length >= ADMINS_MAX)
    throw invalid(`A tenant has at most ${ADMINS_MAX} administrators; delete one first`);
  const account = newAccount(command, turn.newId(), turn.wallMs);
  writeAccount(turn, account);
  noteAction(turn, {
    action: 'account_created',
    subject: username,
    details: { user_id: account.user_id, access_flags: { ...account.access_flags } },
  });
  return shownAdmin(account);
}

/** @see messages.ts, UpdateAdmin */
export function updateAdmin({ changes, username }: UpdateAdmin, turn: Turn): ShownAdmin {
  const account = accountNamed(turn, username);
  const changed: AdminAccount = {
    ...account,
    email: changes.email === undefined ? account.email : changes.email,
    access_flags: { ...account.access_flags, ...changes.access_flags },
    must_change_password: changes.must_change_password ?? account.must_change_password,
    is_active: changes.is_active ?? account.is_active,
  };
  // Nothing happened, so the audit trail has nothing to tell.
  if (isDeepStrictEqual(changed, account)) return shownAdmin(account);
  if (administers(account) && !administers(changed)) requireOther(turn, account.user_id);
  changeAccount(turn, changed);
  noteAction(turn, { action: 'account_changed', subject: username, details: detailsOf(account, changes) });
  return shownAdmin(changed);
}

/** @see messages.ts, DeleteAdmin */
export function deleteAdmin({ username }: DeleteAdmin, turn: Turn): void {
  const account = accountNamed(turn, username);
  const { user_id: userId } = account;
  const { principal } = turn.caller;
  if (principal.kind === 'admin' && principal.userId === userId) throw new ServiceError('CANNOT_DELETE_SELF');
  if (administers(account)) requireOther(turn, userId);
  removeRecord(turn, TenantTable.admins, userId);
  removeRecord(turn, TenantTable.adminNames, username);
  tellChanged(turn, userId);
  noteAction(turn, { action: 'account_deleted', subject: username, details: { user_id: userId } });
}

/** @see messages.ts, ChangeAdminPassword */
export function changePassword(command: ChangeAdminPassword, turn: Turn): void {
  const { principal } = turn.caller;
  const isOwn = principal.kind === 'admin' && principal.userId === command.userId;
  const mustChangePassword = command.mustChangePassword === true;
  if ((!isOwn || mustChangePassword) && principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
  const account = accountOf(turn, command.userId);
  if (account.password_hash !== command.oldPasswordHash) {
    throw new ServiceError('CONFLICT', 'The password was changed meanwhile');
  }
  changeAccount(turn, {
    ...account,
    password_hash: command.passwordHash,
    must_change_password: mustChangePassword,
    // Strictly increasing, so that older tokens are refused even when the clock does not advance.
    password_changed_ms: Math.max(turn.wallMs, account.password_changed_ms + 1),
  });
  noteAction(turn, { action: isOwn ? 'password_changed' : 'password_reset', subject: account.username });
}

/** @see messages.ts, RecordAdminLogin */
export function recordLogin({ rehashed, userId }: RecordAdminLogin, turn: Turn): void {
  const account = accountOf(turn, userId);
  // A password that was set meanwhile has a hash of its own.
  const isSame = rehashed !== undefined && rehashed.judged === account.password_hash;
  const changed: AdminAccount = {
    ...account,
    last_login: new Date(turn.wallMs).toISOString(),
    password_hash: isSame ? rehashed.passwordHash : account.password_hash,
  };
  writeRecord(turn, TenantTable.admins, changed, userId);
}

/** @see messages.ts, FindAdmin */
export function findAdmin(records: RecordCache, { username, userId }: FindAdmin): AdminAccount | undefined {
  const id =
    userId ??
    (username === undefined || username === ''
      ? undefined
      : records.record<{ readonly userId: string }>(TenantTable.adminNames, username)?.userId);
  return id === undefined ? undefined : records.record<AdminAccount>(TenantTable.admins, id);
}

/** @see messages.ts, ListAdmins */
export function listAdmins(records: RecordCache, { username }: ListAdmins): readonly ShownAdmin[] {
  if (username === undefined)
    return records.derived('admins', (reader) =>
      listRecords<AdminAccount>(reader, TenantTable.admins)
        .map(shownAdmin)
        .sort((a, b) => (a.username < b.username ? -1 : 1)),
    );
  const account = findAdmin(records, { type: 'FindAdmin', username });
  return account === undefined ? [] : [shownAdmin(account)];
}

/** Tells those who decide whether tokens and keys count. */
export function tellChanged(turn: Turn, userId: string): void {
  const event: AccountChanged = { type: 'AccountChanged', userId };
  turn.emit(event);
}

function accountNamed(turn: Turn, username: string): AdminAccount {
  const lead =
    username === ''
      ? undefined
      : readRecord<{ readonly userId: string }>(turn, TenantTable.adminNames, username);
  if (lead === undefined) throw new ServiceError('USER_NOT_FOUND', `There is no administrator '${username}'`);
  return accountOf(turn, lead.userId);
}

/** Whether an account can log in and administer the accounts. */
function administers({ access_flags: flags, is_active: isActive }: AdminAccount): boolean {
  return isActive && flags.console_login;
}

/** @throws {ServiceError} `LAST_ADMINISTRATOR` unless another account can administer the accounts */
function requireOther(turn: Turn, userId: string): void {
  const others = listRecords<AdminAccount>(turn, TenantTable.admins);
  if (!others.some((other) => other.user_id !== userId && administers(other)))
    throw new ServiceError('LAST_ADMINISTRATOR');
}

/** What changed, for the audit trail: flags that got another value, and the other fields that were given. */
function detailsOf({ access_flags: before }: AdminAccount, changes: AdminChanges): JsonObject {
  const { access_flags: given = {}, email, ...rest } = changes;
  const flags: Partial<Record<keyof AccessFlags, boolean>> = {};
  for (const name of accessFlagNames) {
    const value = given[name];
    if (value !== undefined && value !== before[name]) flags[name] = value;
  }
  return {
    ...rest,
    ...(email === undefined ? {} : { email: 'changed' }),
    ...(Object.keys(flags).length === 0 ? {} : { access_flags: flags }),
  };
}

function shownAdmin(account: AdminAccount): ShownAdmin {
  const { api_keys: _keys, password_changed_ms: _changed, password_hash: _hash, ...shown } = account;
  return shown;
}
