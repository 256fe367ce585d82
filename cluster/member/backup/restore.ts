/**
 * Restores a backup: into a running server, or into an empty data directory without one.
 *
 * Run: npm run restore -- --help
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '#runtime/base/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { connect, connectionUsage, DEFAULT_URL, UsageError } from '#cluster/operator/connect.ts';
import { begin, follow, type Operation } from '#cluster/operator/operation.ts';
import { OperatorError } from '#cluster/operator/operator-error.ts';
import { bytesText, ProgressLine } from '#cluster/operator/progress-line.ts';
import { restoreDirectory } from './restore-directory.ts';

/** It failed, or nobody answers. */
const FAILED_EXIT_CODE = 1;

/** It could not be asked for. */
const USAGE_EXIT_CODE = 2;

const usage = `npm run restore -- --from <backup> [option …]

Restores a backup. Every file is compared with its checksum first. Locks are not held any more afterwards, and fence
tokens begin above all that were handed out before.

Into a running server: one repository, under its own or another name, or everything when the server is empty. What
exists is never replaced.

  --from <name>          of a backup in the server's backup folder, or its folder
  --repository <t/name>  tenant and name of a repository in it; default: the only one, else everything
  --as <t/name>          another tenant or name for it
  --url <address>        of the server, default ${DEFAULT_URL}
  --user <name>          administrator of tenant default, default admin
  --token <token>        to ask with

Into an empty data directory, with no server running on it: everything.

  --from <folder>        of the backup
  --into <folder>        the data directory; put the old secrets/ into it first

  --help                 this text

${connectionUsage}

Exit code 0: done. ${FAILED_EXIT_CODE}: it failed. ${USAGE_EXIT_CODE}: it could not be asked for.
`;

interface RestoreOperation extends Operation {
  readonly id: string;
  readonly bytes_total: number;
  readonly as: string | null;
}

type Arguments = ReturnType<typeof readArguments>;

function readArguments() {
  try {
    return parseArgs({
      options: {
        from: { type: 'string' },
        into: { type: 'string' },
        repository: { type: 'string' },
        as: { type: 'string' },
        url: { type: 'string' },
        user: { type: 'string' },
        token: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`);
  }
}

async function main(): Promise<void> {
  const values = readArguments();
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const { from, into } = values;
  if (from === undefined) throw new UsageError(`Which backup? Name it with --from.\n\n${usage}`);
  if (into === undefined) await intoServer(from, values);
  else await intoDirectory(from, into, values);
}

async function intoServer(from: string, values: Arguments): Promise<void> {
  const path = '/api/management/restores';
  const client = await connect({
    url: values.url ?? (process.env.GROVE_URL || DEFAULT_URL),
    user: values.user ?? 'admin',
    ...(values.token === undefined ? {} : { token: values.token }),
  });
  const { id } = await begin<RestoreOperation>(client, path, {
    from: from.includes('/') ? resolve(from) : from,
    repository: values.repository,
    as: values.as,
  });
  const line = new ProgressLine(process.stdout, systemClock);
  const restore = await follow<RestoreOperation>(client, `${path}/${id}`, systemClock, (now) => {
    if (now.state === 'running') line.show(progressText(now.bytes, now.bytes_total, now.current));
  }).finally(() => line.end());
  process.stdout.write(
    restore.as === null ? 'Everything is restored\n' : `Repository ${restore.as} is restored\n`,
  );
}

async function intoDirectory(from: string, into: string, values: Arguments): Promise<void> {
  if (values.repository !== undefined || values.as !== undefined) {
    throw new UsageError(
      'An empty directory takes everything; a single repository goes into a running server.',
    );
  }
  armCrashPointFromText(process.env.SVC_CRASH_POINT);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const line = new ProgressLine(process.stdout, systemClock);
  const { repositories, tenants } = await restoreDirectory({
    dataDir: resolve(into),
    backup: resolve(from),
    clock: systemClock,
    random: systemRandom,
    signal: stop.signal,
    onProgress: (bytes, total, current) => line.show(progressText(bytes, total, current ?? null)),
  }).finally(() => line.end());
  process.stdout.write(
    `${into} has ${tenants} tenants and ${repositories} repositories; start a server on it\n`,
  );
}

function progressText(bytes: number, total: number, current: string | null): string {
  const percent = total === 0 ? 100 : Math.floor((bytes / total) * 100);
  return `${percent} % of ${bytesText(total / 2)}, ${current ?? 'comparing checksums'}`;
}

main().catch((error: unknown) => {
  const isTold = error instanceof OperatorError || error instanceof ServiceError;
  process.stderr.write(`${isTold ? error.message : String((error as Error).stack ?? error)}\n`);
  process.exitCode = error instanceof UsageError ? USAGE_EXIT_CODE : FAILED_EXIT_CODE;
});
