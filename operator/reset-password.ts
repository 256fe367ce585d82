/**
 * Resets a lost password of an administrator, through the server that runs on a data directory of this machine.
 *
 * Run: npm run reset-password, npm run reset-password -- --help
 */
import { accessSync, constants } from 'node:fs';
import { randomPassword } from '#runtime/access/random-password.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { holderOf } from '#runtime/embedded/data-directory-lock.ts';
import { readLocalAccess } from '#runtime/embedded/local-access.ts';
import { AdminClient } from './admin-client.ts';
import { givenFolder, requireFolder } from './given-folder.ts';
import { OperatorError, UsageError } from './operator-error.ts';
import { type CommandValues, FAILED_EXIT_CODE, runCommand, USAGE_EXIT_CODE } from './run-command.ts';

const usage = `npm run reset-password [-- option …]

Sets a new password for an administrator whose password was lost. The server, or any member of a cluster, must run on this
machine; nothing has to be stopped. Run this as the user of the server or as root: the program proves its right to the
server with a file in the data directory that only they can read.

Without GROVE_NEW_PASSWORD it makes a random password and prints it once. The account must then change it at the next login.
Tokens issued earlier stay valid for up to 24 hours. To end them all, change JWT_SECRET (or remove secrets/jwt-secret) and
restart the server.

  --data-dir <folder>   data directory of the server or member; default: SVC_DATA_DIR, else data
  --user <name>         name of the administrator, default admin
  --tenant <name>       tenant of the administrator, default default
  --help                show this text

  GROVE_NEW_PASSWORD    the new password: at least 12 characters with lower case, upper case, digit and another character

Exit code 0: the account has the new password. ${FAILED_EXIT_CODE}: it failed. ${USAGE_EXIT_CODE}: wrong options, or no server runs.
`;

const options = {
  'data-dir': { type: 'string' },
  user: { type: 'string' },
  tenant: { type: 'string' },
} as const;

async function main(values: CommandValues<typeof options>): Promise<number> {
  const { tenant = 'default', user = 'admin' } = values;
  const folder = givenFolder('--data-dir', values['data-dir'] ?? (process.env.SVC_DATA_DIR || 'data'));
  requireFolder(folder);
  const server = runningServer(folder.path);
  const given = process.env.GROVE_NEW_PASSWORD || undefined;
  const password = given ?? randomPassword(systemRandom);
  const client = new AdminClient(server.url, server.key);
  const path = `/api/svc/sys/${encodeURIComponent(tenant)}/auth/reset-password`;
  const body = { username: user, new_password: password, must_change_password: given === undefined };
  const { json, status } = await client.send('POST', path, body);
  if (status !== 204) {
    const { message } = (json ?? {}) as { readonly message?: unknown };
    throw new OperatorError(
      typeof message === 'string'
        ? message
        : `${server.url} answers with ${status}. Is it a Grove server of this version?`,
    );
  }
  const done = `The password of ${user} in tenant ${tenant} was changed.\n`;
  if (given !== undefined) {
    process.stdout.write(done);
    return 0;
  }
  await show(`${done}\n  password  ${password}\n\nThis is shown only once. Change it at the next login.\n`);
  return 0;
}

/** Prints the password, which is stored nowhere else. @throws {OperatorError} when it cannot be printed */
async function show(text: string): Promise<void> {
  const error = await new Promise<Error | null | undefined>((resolve) => {
    process.stdout.write(text, resolve);
  });
  if (!error) return;
  const { code } = error as NodeJS.ErrnoException;
  throw new OperatorError(
    `The password was changed, but could not be shown (${code}). Run this again where its output can be read.`,
  );
}

/** @throws {UsageError} when no server runs on the folder, or this user may not read the folder */
function runningServer(dataDir: string): { readonly url: string; readonly key: string } {
  requireReadable(dataDir);
  const holder = holderOf(dataDir);
  if (holder === undefined)
    throw new UsageError(
      `No server runs on ${dataDir}. Start it, then run this again; the server does not need the password to start. ` +
        'Use --data-dir for another data directory.',
    );
  const { pid, url } = holder;
  const key = readLocalAccess(dataDir);
  if (url === undefined || key === undefined)
    throw new UsageError(
      `${dataDir} is in use by ${pid === undefined ? 'another process' : `process ${pid}`}, which does not ` +
        'accept this command: it may still be starting, have an earlier version, or be another program. Try again when the server runs.',
    );
  return { url, key };
}

/**
 * Checks that the folder is readable, because files in an unreadable folder appear to be missing.
 *
 * @throws {UsageError}
 */
function requireReadable(folder: string): void {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new UsageError(
      `${folder} cannot be read (${code}). Run this as the user of the server, or as root (sudo).`,
      { cause },
    );
  }
}

await runCommand({ usage, options, main });
