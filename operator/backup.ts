/**
 * Backs up a running server or one of its repositories.
 *
 * Run: npm run backup, npm run backup -- --help
 */
import { resolve } from 'node:path';
import { systemClock } from '#runtime/base/time/clock.ts';
import { connect, connectionOf, connectionOptions, connectionUsage, DEFAULT_URL } from './connect.ts';
import { begin, follow, type Operation } from './operation.ts';
import { bytesText, ProgressLine } from './progress-line.ts';
import { type CommandValues, FAILED_EXIT_CODE, runCommand, USAGE_EXIT_CODE } from './run-command.ts';

const usage = `npm run backup [-- option …]

Backs up a running Grove server: everything, or one repository. The server accepts writes meanwhile. The backup is a new
folder in the backup folder of the server ([server] backup_dir). It contains every write that was answered before the
backup began, so it contains all content and the password hashes of accounts. It does not contain the keys of the server
(master key, JWT secret). If you stop this program, the server still finishes the backup.

  --to <name>            name of the backup, or a folder directly in the backup folder; default: the time
  --repository <t/name>  tenant and name of one repository; default: everything
  --url <address>        address of the server, default ${DEFAULT_URL}
  --user <name>          administrator of tenant default, default admin
  --token <token>        token of an administrator, instead of a login
  --list                 list the existing backups
  --help                 show this text

${connectionUsage}

Exit code 0: done. ${FAILED_EXIT_CODE}: it failed. ${USAGE_EXIT_CODE}: wrong options, or no login.
`;

interface BackupOperation extends Operation {
  readonly name: string;
  readonly actors: number;
  readonly repository: string | null;
  readonly finished_at: string | null;
  readonly signed_by: string | null;
}

const path = '/api/management/backups';

const options = {
  to: { type: 'string' },
  repository: { type: 'string' },
  list: { type: 'boolean', default: false },
  ...connectionOptions,
} as const;

async function main(values: CommandValues<typeof options>): Promise<number> {
  const client = await connect(connectionOf(values));
  if (values.list) {
    for (const backup of (await client.read(path)) as readonly BackupOperation[]) {
      process.stdout.write(`${listed(backup)}\n`);
    }
    return 0;
  }
  const name = values.to?.includes('/') === true ? resolve(values.to) : values.to;
  const { repository } = values;
  const { name: made } = await begin<BackupOperation>(client, path, { name, repository });
  const line = new ProgressLine(process.stdout, systemClock);
  const backup = await follow<BackupOperation>(client, `${path}/${made}`, systemClock, (now) => {
    if (now.state === 'running') line.show(`${bytesText(now.bytes)} copied, ${now.current ?? ''}`);
  }).finally(() => line.end());
  process.stdout.write(`Backup ${made}: ${backup.actors} files, ${bytesText(backup.bytes)}\n`);
  return 0;
}

function listed({ bytes, error, finished_at, name, repository, signed_by, state }: BackupOperation): string {
  const what = repository ?? 'everything';
  const signer = signed_by === null || signed_by === 'own' ? '' : `  ${signed_by}`;
  if (state === 'done') return `${name}  ${finished_at}  ${what}  ${bytesText(bytes)}${signer}`;
  return `${name}  ${state}  ${error?.message ?? what}`;
}

await runCommand({ usage, options, main });
