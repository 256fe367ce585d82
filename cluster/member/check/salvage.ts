/**
 * Takes everything that verifies out of a damaged data directory into a new one.
 *
 * Run: npm run salvage -- --help
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '#runtime/base/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { UsageError } from '#cluster/operator/operator-error.ts';
import { ProgressLine } from '#cluster/operator/progress-line.ts';
import { runProgram } from '#cluster/operator/run-program.ts';
import { type Missing, REPORT_FILE, salvageDirectory } from './salvage-directory.ts';

/** It failed: there is no new directory to be used. */
const FAILED_EXIT_CODE = 1;

/** It could not be asked for. */
const USAGE_EXIT_CODE = 2;

/** The new directory can be used, and something is not in it. */
const MISSING_EXIT_CODE = 3;

/** Lines of what is missing that are shown; the report has all. */
const SHOWN_MAX = 40;

const usage = `npm run salvage -- --from <data directory> --into <new directory>

Takes everything that verifies out of the data directory of a single member into a new one, and lists what is missing: at
the terminal, and as JSON in ${REPORT_FILE} of the new directory. Stop the member first. The damaged directory is not
changed; keep it until the new one was looked at. Keys (secrets) are copied, backups are not; idempotency keys are
forgotten. A backup is better where there is a recent one: this is for what came after it.

  --from <folder>   the damaged data directory
  --into <folder>   the new one; it must be empty, but for secrets
  --json            print the report as JSON
  --help            this text

Exit code 0: everything came over. ${MISSING_EXIT_CODE}: done, and something is missing; start a server on the new directory and look.
${FAILED_EXIT_CODE}: it failed, and the new directory is of no use. ${USAGE_EXIT_CODE}: it could not be asked for.
`;

function readArguments() {
  try {
    return parseArgs({
      options: {
        from: { type: 'string' },
        into: { type: 'string' },
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
  const { from, into } = values;
  if (from === undefined || into === undefined) throw new UsageError(`Name --from and --into.\n\n${usage}`);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const line = new ProgressLine(values.json ? process.stderr : process.stdout, systemClock);
  const report = await salvageDirectory({
    dataDir: resolve(from),
    into: resolve(into),
    clock: systemClock,
    random: systemRandom,
    signal: stop.signal,
    onProgress: (done, total, current) => line.show(`${done} of ${total}: ${current}`),
  }).finally(() => line.end());
  const { actors, missing, rows } = report;
  if (values.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else {
    for (const one of missing.slice(0, SHOWN_MAX)) process.stdout.write(`${missingLine(one)}\n`);
    if (missing.length > SHOWN_MAX) process.stdout.write(`… and ${missing.length - SHOWN_MAX} more\n`);
    const made = `${into} has ${actors} actors with ${rows} rows`;
    process.stdout.write(
      missing.length === 0
        ? `${made}: everything came over. Start a server on it: SVC_DATA_DIR=${into} npm start\n`
        : `${made}. Missing: ${missing.length} things, all of them in ${join(into, REPORT_FILE)}. Start a server on it (SVC_DATA_DIR=${into} npm start), compare with a backup, and keep ${from} until then.\n`,
    );
  }
  return missing.length === 0 ? 0 : MISSING_EXIT_CODE;
}

function missingLine({ actor, path, table, what }: Missing): string {
  const where = path ?? (table === undefined || table === '' ? '' : `table ${table}`);
  return `${actor}${where === '' ? '' : `, ${where}`}: ${what}`;
}

await runProgram(main, { failed: FAILED_EXIT_CODE, usage: USAGE_EXIT_CODE });
