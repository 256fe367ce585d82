/**
 * Verifies the data directory of a single member that is not running.
 *
 * Run: npm run check-data, npm run check-data -- --help
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '#runtime/base/clock.ts';
import { UsageError } from '#cluster/operator/operator-error.ts';
import { bytesText, ProgressLine } from '#cluster/operator/progress-line.ts';
import { runProgram } from '#cluster/operator/run-program.ts';
import { checkDirectory } from './check-directory.ts';
import { damageLine } from './check-report.ts';

/** Something is damaged, or it could not be read. */
const DAMAGE_EXIT_CODE = 1;

/** It could not be asked for. */
const USAGE_EXIT_CODE = 2;

const usage = `npm run check-data [-- option …]

Verifies everything in the data directory of a single member: the records of the journal, the pages and rows of every
shard, indexes against content, present tables against each other and against history, shards against the journal, and
that all repositories and branches that are registered are there. Nothing is changed. Stop the member first.

  --data-dir <folder>   the data directory; default: SVC_DATA_DIR, else data
  --json                print a report as JSON
  --help                this text

What to do with what it finds: put the named file back from a copy; or restore the repository from a backup; or make a new
directory of all that is whole: npm run salvage -- --help

Exit code 0: everything verifies. ${DAMAGE_EXIT_CODE}: something does not, or could not be read. ${USAGE_EXIT_CODE}: it could not be asked for.
`;

function readArguments() {
  try {
    return parseArgs({
      options: {
        'data-dir': { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`);
  }
}

async function main(): Promise<number> {
  const values = readArguments();
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const dataDir = resolve(values['data-dir'] ?? (process.env.SVC_DATA_DIR || 'data'));
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const line = new ProgressLine(values.json ? process.stderr : process.stdout, systemClock);
  const report = await checkDirectory({
    dataDir,
    clock: systemClock,
    signal: stop.signal,
    onProgress: (bytes, total, current) =>
      line.show(
        `${total === 0 ? 100 : Math.floor((100 * bytes) / total)} % of ${bytesText(total)}, ${current}`,
      ),
  }).finally(() => line.end());
  if (values.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else {
    for (const found of report.damage) process.stdout.write(`${damageLine(found)}\n`);
    const read = `${report.actors} shards (${bytesText(report.bytes)}), ${report.journal.records} records of the journal`;
    process.stdout.write(
      report.damage.length === 0
        ? `Everything verifies: ${read}\n`
        : `${report.damage.length} things do not verify (${read} were read). Put the named files back from a copy, restore what they belong to from a backup, or salvage what is whole: npm run salvage -- --help\n`,
    );
  }
  return report.damage.length === 0 ? 0 : DAMAGE_EXIT_CODE;
}

await runProgram(main, { failed: DAMAGE_EXIT_CODE, usage: USAGE_EXIT_CODE });
