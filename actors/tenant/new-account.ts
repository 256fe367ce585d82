import type { AccessFlags } from '#runtime/access/principal.ts';
import type { AdminAccount, FirstAdmin } from './messages.ts';

/** Default access flags of the first admin of a tenant. @see docs/interface/accounts.md#administrator-accounts */
const firstAdminFlags: AccessFlags = Object.freeze({
  console_login: true,
  cli_access: true,
  api_access: true,
  pgwire_access: false,
  can_impersonate: false,
});

/** Makes the account of the first admin of a tenant. @param wallMs the present time */
export function newAccount(admin: FirstAdmin, userId: string, wallMs: number): AdminAccount {
  return {
    user_id: userId,
    username: admin.username,
    email: admin.email,
    password_hash: admin.passwordHash,
    access_flags: admin.accessFlags ?? firstAdminFlags,
    must_change_password: admin.mustChangePassword,
    is_active: true,
    created_at: new Date(wallMs).toISOString(),
    last_login: null,
    password_changed_ms: wallMs,
  };
}
