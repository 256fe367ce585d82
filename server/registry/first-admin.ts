import type { FirstAdmin } from '#actors/tenant/messages.ts';
import type { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { randomPassword } from '#runtime/access/random-password.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Secret } from '#runtime/config/secret.ts';

/** Name of the first account of a tenant. */
const USERNAME = 'admin';

/**
 * Returns the first administrator: with the configured password, or with a random one that is printed and must be
 * changed. It is printed before the account is stored: a crash in between leaves a password without an account,
 * and the next start prints another one. In the other order the password could be lost.
 *
 * @param configured `SVC_ADMIN_PASSWORD`
 * @param print prints text for the person who starts the process; not the log, which is kept
 * @see docs/interface/accounts.md#the-first-administrator
 */
export async function firstAdmin(
  configured: Secret | undefined,
  hasher: PasswordHasher,
  random: Random,
  print: (text: string) => void,
  tenant = SYSTEM_TENANT,
): Promise<FirstAdmin> {
  const password = configured?.reveal() ?? randomPassword(random);
  const passwordHash = await hasher.hash(password);
  if (configured === undefined) print(banner(password, tenant));
  return { username: USERNAME, email: null, passwordHash, mustChangePassword: configured === undefined };
}

function banner(password: string, tenant: string): string {
  const lines = [
    'The first administrator has been created. This is shown only once.',
    '',
    `  tenant    ${tenant}`,
    `  username  ${USERNAME}`,
    `  password  ${password}`,
    '',
    'Change the password first: nothing else can be done with it.',
  ];
  const width = Math.max(...lines.map((line) => line.length));
  const rule = '─'.repeat(width + 2);
  return [`┌${rule}┐`, ...lines.map((line) => `│ ${line.padEnd(width)} │`), `└${rule}┘`, ''].join('\n');
}
