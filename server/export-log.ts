/**
 * Writes both sides of a partition whose log has regressed to files: the records in NATS, and those on a member's disk.
 *
 * Run: npm run export-log -- --help
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { type ExportedSides, exportSides } from '#cluster/replica-durability/export-sides.ts';
import { FlushJournal } from '#cluster/replica-durability/flush-journal.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { givenFolder, requireMakeable, requireOutside } from '#operator/given-folder.ts';
import { OperatorError, UsageError } from '#operator/operator-error.ts';
import { FAILED_EXIT_CODE, readArguments, USAGE_EXIT_CODE } from '#operator/run-command.ts';
import { runProgram } from '#operator/run-program.ts';
import { AppendChannel } from '#cluster/replication/append-channel.ts';
import { isUnavailable } from '#cluster/replication/log-errors.ts';
import { JetStreamLogStream } from '#cluster/replication/jetstream-log-stream.ts';

const usage = `npm run export-log -- --partition <number> --data-dir <folder> --to <folder> [option …]

Writes two files into a folder: stream.jsonl, the log of the partition as NATS has it, and journal.jsonl, the log as the
member with this data directory has it on its disk. Each line is one message as JSON, with its sequence, kind, epoch, chain
and bytes. Stop the member first. Neither log is changed, except that an unfinished write at the end of the journal is cut
off, as at a start of the member.

  --partition <number>  partition of the log
  --data-dir <folder>   data directory of the member
  --to <folder>         folder for the two files
  --nats <addresses>    addresses of NATS, separated by commas; default: SVC_NATS_URL
  --name <name>         [cluster] name, default grove
  --help                show this text

  SVC_NATS_CREDS        credentials file for NATS
  SVC_NATS_CA           certificates of the authorities that sign the certificates of NATS
  SVC_MEMBER_ID         name of the member, needed if the users of NATS have permissions`;

/** Time for the servers to elect a leader of the stream, in milliseconds. */
const LEADER_MS_MAX = 30_000;

/** Time before they are asked again, in milliseconds. */
const RETRY_MS = 250;

const options = {
  partition: { type: 'string' },
  'data-dir': { type: 'string' },
  to: { type: 'string' },
  nats: { type: 'string' },
  name: { type: 'string' },
  help: { type: 'boolean' },
} as const;

async function main(): Promise<number> {
  const values = readArguments(options, usage);
  if (values.help === true) {
    console.log(usage);
    return 0;
  }
  const { dataDir, partition, to, urls } = requireAll(values);
  const target = givenFolder('--to', to);
  requireOutside(target, givenFolder('--data-dir', dataDir));
  requireMakeable(target);
  const folder = join(dataDir, 'partitions', partition.padStart(3, '0'), 'flush-journal');
  // Opening a missing one would create it, and make it look as if the member had no records.
  if (!existsSync(folder))
    throw new OperatorError(`${folder} does not exist: this member has no flush journal of the partition.`);
  const lock = await acquireDataDirectory(dataDir, claimName);
  try {
    const counts = await exportTo(to, folder, Number(partition), urls.split(','), new Subjects(values.name));
    console.log(`${counts.stream} messages of the stream and ${counts.journal} of the journal are in ${to}`);
    return 0;
  } finally {
    lock.release();
  }
}

type Values = ReturnType<typeof readArguments<typeof options>>;

/** What the export needs. @throws {UsageError} that names everything that is missing */
function requireAll(values: Values): Record<'partition' | 'dataDir' | 'to' | 'urls', string> {
  const { partition, to, 'data-dir': dataDir } = values;
  const urls = values.nats || process.env.SVC_NATS_URL;
  if (partition && dataDir && to && urls) {
    if (/^\d{1,3}$/.test(partition)) return { partition, dataDir, to, urls };
    throw new UsageError(`--partition takes a number from 0 to 999, not '${partition}'.`);
  }
  const missing: string[] = [];
  if (!partition) missing.push('--partition is missing: a number, such as 7');
  if (!dataDir) missing.push('--data-dir is missing: the data directory of the member');
  if (!to) missing.push('--to is missing: the folder for the two files');
  if (!urls) missing.push('--nats is missing, and SVC_NATS_URL is not set: the addresses of NATS');
  throw new UsageError(`${missing.join('\n')}\n\n${usage}`);
}

async function exportTo(
  to: string,
  folder: string,
  partition: number,
  urls: readonly string[],
  subjects: Subjects,
): Promise<ExportedSides> {
  const journal = await FlushJournal.open({
    files: realFileSystem,
    folder,
    clock: systemClock,
    random: systemRandom,
  });
  const { SVC_MEMBER_ID, SVC_NATS_CA: authorities, SVC_NATS_CREDS: credentials } = process.env;
  const connection = await connectToNats({
    urls,
    name: 'export',
    ...(credentials ? { credentials: readFileSync(credentials, 'utf8') } : {}),
    ...(SVC_MEMBER_ID ? { inbox: subjects.inbox(SVC_MEMBER_ID) } : {}),
    ...(authorities ? { authorities: readFileSync(authorities, 'utf8') } : {}),
  });
  const channel = new AppendChannel(connection, systemClock);
  try {
    const stream = new JetStreamLogStream(
      connection,
      channel,
      subjects.logStream(partition),
      subjects.log(partition),
    );
    await leaderOf(stream);
    return await exportSides(stream, journal, to);
  } finally {
    channel.close();
    await connection.close();
    await journal.close();
  }
}

/** Waits until the stream has a leader: servers that have just been started elect one. @throws {ServiceError} */
async function leaderOf(stream: JetStreamLogStream): Promise<void> {
  const untilMs = systemClock.monotonicMs() + LEADER_MS_MAX;
  for (;;) {
    try {
      await stream.state();
      return;
    } catch (error) {
      if (!isUnavailable(error) || systemClock.monotonicMs() > untilMs) throw error;
    }
    await sleep(systemClock, RETRY_MS);
  }
}

await runProgram(main, { failed: FAILED_EXIT_CODE, usage: USAGE_EXIT_CODE });
