/**
 * Verifies the data directory of a member: directly for a stopped single member, through its server for a running one.
 *
 * Run: npm run check-data, npm run check-data -- --help
 */
import { systemClock } from '#runtime/base/time/clock.ts';
import { addressOfHolder } from '#runtime/embedded/data-directory-lock.ts';
import {
  type ConnectionSettings,
  connectionOf,
  connectionOptions,
  connectionUsage,
} from '#operator/connect.ts';
import { givenFolder, requireFolder } from '#operator/given-folder.ts';
import { UsageError } from '#operator/operator-error.ts';
import { bytesText, ProgressLine } from '#operator/progress-line.ts';
import {
  type CommandValues,
  FAILED_EXIT_CODE,
  interruption,
  runCommand,
  USAGE_EXIT_CODE,
} from '#operator/run-command.ts';
import { givenKeys } from './given-keys.ts';
import { checkDirectory } from './check-directory.ts';
import { type DamageFound, damageLine } from './check-report.ts';
import { checkServer } from './check-server.ts';

const usage = `npm run check-data [-- option …]

Verifies everything in a data directory and changes nothing. It verifies:
  - the records of the journal
  - the pages and rows of every shard, and each shard against the journal
  - indexes against content, and the tables of the present state against each other and against history
  - files by their hash
  - that all registered repositories and branches exist

If a server runs on the directory, or with --url or --online, that server makes the check while it serves requests. It copies
each shard as of one moment and verifies the copy. It does not verify the journal. A member of a cluster always makes the
check in this way. It verifies the partitions that it owns and follows, and names the others. Ctrl+C cancels the check.

The lock file of the directory names the server. It is used only if its address is a loopback address, and if only you and
root can write the file. Use --url for any other server.

  --data-dir <folder>   the data directory; default: SVC_DATA_DIR, else data
  --no-lock             do not lock the directory. Use it only if nothing writes to the directory meanwhile, as for a copy or a
                        snapshot. On a read-only volume that no server has used, no lock is taken anyway
  --online              check through the server at GROVE_URL
  --url <address>       check through the server at this address
  --user <name>         for a server: administrator of tenant default, default admin
  --token <token>       for a server: token of an administrator, instead of a login
  --json                print the report as JSON
  --help                show this text

For a check through a server:
${connectionUsage}

If it finds damage, put the named file back from a copy, or restore the repository from a backup, or make a new directory
from everything that verifies: npm run salvage -- --help. A member of a cluster rebuilds damaged shards by itself.

Exit code 0: everything that was read verifies. ${FAILED_EXIT_CODE}: damage was found, or something could not be read, or the check was
cancelled. ${USAGE_EXIT_CODE}: wrong options, or no login.
`;

const options = {
  'data-dir': { type: 'string' },
  'no-lock': { type: 'boolean', default: false },
  online: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  ...connectionOptions,
} as const;

/** Maximum number of characters shown of an untrusted address. */
const ADDRESS_LENGTH_MAX = 200;

type Arguments = CommandValues<typeof options>;

async function main(values: Arguments): Promise<number> {
  const { 'data-dir': given, 'no-lock': isUnlocked, online, url } = values;
  const isOnline = online || url !== undefined;
  if (isOnline && (given !== undefined || isUnlocked))
    throw new UsageError(
      `A server checks its own directory; leave out --data-dir and --no-lock.\n\n${usage}`,
    );
  if (isOnline) return await throughServer(connectionOf(values), values);
  const folder = givenFolder('--data-dir', given ?? (process.env.SVC_DATA_DIR || 'data'));
  requireFolder(folder);
  const dataDir = folder.path;
  try {
    return await alone(dataDir, values);
  } catch (error) {
    const address = addressOfHolder(error);
    if (address === undefined) throw error;
    const [inUse = ''] = (error as Error).message.split('. ');
    if (address.trustedUrl === undefined) throw strangeAddress(inUse, address.text);
    process.stderr.write(`${inUse}: checking through the server at ${address.trustedUrl}\n`);
    return await throughServer({ ...connectionOf(values), url: address.trustedUrl }, values);
  }
}

/** @param text from an untrusted file: escaped so that it does nothing to the terminal */
function strangeAddress(inUse: string, text: string): UsageError {
  return new UsageError(
    `${inUse}. The lock file gives its address as ${JSON.stringify(text.slice(0, ADDRESS_LENGTH_MAX))}. The password was not sent ` +
      'there: the address is not one of this machine, or somebody other than you and root can write the lock file. ' +
      'If it is your server, name it: npm run check-data -- --online --url <address>\n',
  );
}

async function alone(dataDir: string, values: Arguments): Promise<number> {
  const line = progress(values);
  const report = await checkDirectory({
    dataDir,
    clock: systemClock,
    signal: interruption(),
    takesLock: !values['no-lock'],
    givenKeys: givenKeys(),
    onUnlocked: (why) => process.stderr.write(`${why}\n`),
    onProgress: (bytes, total, current) =>
      line.show(`${share(bytes, total)} of ${bytesText(total)}${current === '' ? '' : `, ${current}`}`),
  }).finally(() => line.end());
  const { actors, blobs, bytes, damage, journal } = report;
  const files = blobs === 0 ? '' : `, ${blobs} files by their hash`;
  const read = `${shardsText(actors, bytes)}, ${journal.records} records of the journal${files}`;
  return print(report, damage, damage.length, read, values);
}

async function throughServer(settings: ConnectionSettings, values: Arguments): Promise<number> {
  const line = progress(values);
  const check = await checkServer(settings, systemClock, interruption(), (now) =>
    line.show(
      `${now.actors} of ${now.actors_total} shards, ${bytesText(now.bytes)}${now.current === null ? '' : `, ${now.current}`}`,
    ),
  ).finally(() => line.end());
  const read = shardsText(check.actors, check.bytes);
  return print(check, check.damage, check.damage_total, read, values, check.partitions_skipped);
}

function progress({ json }: Arguments): ProgressLine {
  return new ProgressLine(json ? process.stderr : process.stdout, systemClock);
}

function share(bytes: number, total: number): string {
  return `${total === 0 ? 100 : Math.floor((100 * bytes) / total)} %`;
}

function shardsText(actors: number, bytes: number): string {
  return `${actors} shards (${bytesText(bytes)})`;
}

/**
 * @param total number of findings, of which the first ones are listed
 * @param partitionsSkipped partitions that were not read, or not completely
 * @returns the exit code
 */
function print(
  report: object,
  damage: readonly DamageFound[],
  total: number,
  read: string,
  { json }: Arguments,
  partitionsSkipped: readonly number[] = [],
): number {
  if (json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else {
    for (const found of damage) process.stdout.write(`${damageLine(found)}\n`);
    if (total > damage.length) process.stdout.write(`… and ${total - damage.length} more\n`);
    process.stdout.write(
      total === 0
        ? `${partitionsSkipped.length === 0 ? 'Everything' : 'Everything that was read'} verifies: ${read}\n`
        : `${total} findings of damage (read: ${read}). Put the named files back from a copy, restore their repositories from a backup, or make a new directory from everything that verifies: npm run salvage -- --help\n`,
    );
    if (partitionsSkipped.length > 0)
      process.stdout.write(
        `Partitions not verified, because this member did not own or follow them during the whole check: ${partitionsSkipped.join(', ')}. Check the members that do\n`,
      );
  }
  return total === 0 ? 0 : FAILED_EXIT_CODE;
}

await runCommand({ usage, options, main });
