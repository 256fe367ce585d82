/**
 * Copies everything that verifies from a damaged data directory into a new one.
 *
 * Run: npm run salvage -- --help
 */
import { join } from 'node:path';
import type { FirstAdmin } from '#actors/tenant/messages.ts';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Secret } from '#runtime/config/secret.ts';
import { givenFolder, requireFolder, requireMakeable, requireOutside } from '#operator/given-folder.ts';
import { UsageError } from '#operator/operator-error.ts';
import { ProgressLine } from '#operator/progress-line.ts';
import {
  type CommandValues,
  FAILED_EXIT_CODE,
  interruption,
  runCommand,
  USAGE_EXIT_CODE,
} from '#operator/run-command.ts';
import { firstAdmin } from '#server/registry/first-admin.ts';
import { givenKeys } from '#server/check/given-keys.ts';
import { salvageDirectory } from './salvage-directory.ts';
import { missingLine, REPORT_FILE } from './salvage-report.ts';

/** The new directory is usable, and some data is missing. */
const MISSING_EXIT_CODE = 3;

/** Maximum number of losses shown; the report has all. */
const SHOWN_MAX = 40;

const usage = `npm run salvage -- --from <data directory> --into <new directory>

Copies everything that verifies from the damaged data directory of a single member into a new one. It prints what is missing,
and writes it as JSON to ${REPORT_FILE} in the new directory. Stop the member first. The damaged directory is not changed;
keep it until you have verified the new one. Keys (secrets) are copied. Backups and idempotency keys are not. If you have a
recent backup, restore it instead, and use this program for data that was written after it.

If a part of a registry (tenants, accounts, repositories) is lost, it is rebuilt from the other shards. A tenant without any
account left gets a new administrator. In tenant default it has SVC_ADMIN_PASSWORD, else a random password that is shown once.

  --from <folder>   the damaged data directory
  --into <folder>   the new data directory; it must be empty, except for secrets
  --no-lock         do not lock the damaged directory. Use it only if nothing writes to it meanwhile, as for a copy
  --json            print the report as JSON
  --help            show this text

Exit code 0: everything was copied. ${MISSING_EXIT_CODE}: done, but something is missing; start a server on the new directory and look.
${FAILED_EXIT_CODE}: it failed, and the new directory cannot be used. ${USAGE_EXIT_CODE}: wrong options.
`;

const options = {
  from: { type: 'string' },
  into: { type: 'string' },
  'no-lock': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

async function main(values: CommandValues<typeof options>): Promise<number> {
  const { from, into } = values;
  if (from === undefined || into === undefined) throw new UsageError(`Name --from and --into.\n\n${usage}`);
  const damaged = givenFolder('--from', from);
  const made = givenFolder('--into', into);
  requireFolder(damaged);
  requireOutside(made, damaged);
  requireOutside(damaged, made);
  requireMakeable(made);
  const shown: string[] = [];
  const line = new ProgressLine(values.json ? process.stderr : process.stdout, systemClock);
  const report = await salvageDirectory({
    dataDir: damaged.path,
    into: made.path,
    clock: systemClock,
    random: systemRandom,
    signal: interruption(),
    newAdmin: (tenant) => newAdmin(tenant, (text) => void shown.push(text)),
    takesLock: !values['no-lock'],
    givenKeys: givenKeys(),
    onUnlocked: (why) => process.stderr.write(`${why}\n`),
    onProgress: (done, total, current) => line.show(`${done} of ${total}: ${current}`),
  }).finally(() => line.end());
  const { actors, missing, rows } = report;
  for (const text of shown) (values.json ? process.stderr : process.stdout).write(text);
  if (values.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else {
    for (const one of missing.slice(0, SHOWN_MAX)) process.stdout.write(`${missingLine(one)}\n`);
    if (missing.length > SHOWN_MAX) process.stdout.write(`… and ${missing.length - SHOWN_MAX} more\n`);
    const has = `${into} has ${actors} actors with ${rows} rows`;
    process.stdout.write(
      missing.length === 0
        ? `${has}: everything was copied. Start a server on it: SVC_DATA_DIR=${into} npm start\n`
        : `${has}. Missing: ${missing.length}, all listed in ${join(into, REPORT_FILE)}. Start a server on it (SVC_DATA_DIR=${into} npm start) and compare it with a backup. Keep ${from} until then.\n`,
    );
  }
  return missing.length === 0 ? 0 : MISSING_EXIT_CODE;
}

/** Returns the password of the environment, else a new one that is shown once. */
async function newAdmin(tenant: string, print: (text: string) => void): Promise<FirstAdmin> {
  const given = process.env.SVC_ADMIN_PASSWORD;
  const password = tenant === SYSTEM_TENANT && given ? new Secret(given) : undefined;
  return await firstAdmin(password, new PasswordHasher(), systemRandom, print, tenant);
}

await runCommand({ usage, options, main });
