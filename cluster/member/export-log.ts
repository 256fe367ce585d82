/**
 * Writes both sides of a partition whose log went back to files: what NATS has, and what a member has on its disk.
 *
 * Run: npm run export-log -- --help
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '#runtime/base/clock.ts';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { exportSides } from '#cluster/flush-journal/export-sides.ts';
import { FlushJournal } from '#cluster/flush-journal/flush-journal.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { AppendChannel } from '#cluster/replication/append-channel.ts';
import { JetStreamLogStream } from '#cluster/replication/jetstream-log-stream.ts';

const usage = `npm run export-log -- --partition <number> --data-dir <folder> --to <folder> [option …]

Writes stream.jsonl (what NATS has of the partition's log) and journal.jsonl (what the member with this data folder has
on its disk) into a folder: a line of JSON for each message, with its sequence, kind, epoch, chain and bytes. Stop the
member first. Nothing is changed but what the journal itself cuts off: a write that was never finished.

  --nats <addresses>   of NATS, separated by commas; default: SVC_NATS_URL
  --name <name>        [cluster] name, default grove`;

/** It could not be asked for. */
const USAGE_EXIT_CODE = 2;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      partition: { type: 'string' },
      'data-dir': { type: 'string' },
      to: { type: 'string' },
      nats: { type: 'string' },
      name: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const urls = values.nats ?? process.env.SVC_NATS_URL;
  const { partition, to, 'data-dir': dataDir } = values;
  if (values.help === true || !partition || !to || !dataDir || !urls) {
    console.log(usage);
    process.exitCode = values.help === true ? 0 : USAGE_EXIT_CODE;
    return;
  }
  const subjects = new Subjects(values.name);
  const number = Number(partition);
  const journal = await FlushJournal.open({
    files: realFileSystem,
    folder: join(dataDir, 'partitions', partition.padStart(3, '0'), 'flush-journal'),
    clock: systemClock,
    random: systemRandom,
  });
  const connection = await connectToNats({ urls: urls.split(','), name: 'export', clock: systemClock });
  const channel = new AppendChannel(connection, systemClock);
  try {
    const stream = new JetStreamLogStream(
      connection,
      channel,
      subjects.logStream(number),
      subjects.log(number),
    );
    const counts = await exportSides(stream, journal, to);
    console.log(`${counts.stream} messages of the stream and ${counts.journal} of the journal are in ${to}`);
  } finally {
    channel.close();
    await connection.close();
    await journal.close();
  }
}

await main();
