/**
 * Shows the state of a cluster, or of a single member.
 *
 * Run: npm run status, npm run status -- --help
 */
import { AdminClient } from './admin-client.ts';
import { connect, connectionUsage, DEFAULT_URL } from './connect.ts';
import { readArguments } from './run-command.ts';
import { runProgram } from './run-program.ts';
import { hasAlarms, statusPageOf } from './status-page.ts';
import { colours, plain, statusView } from './status-view.ts';

/** A warning requires action, or the server does not answer. */
const WRONG_EXIT_CODE = 1;

/** The arguments are invalid. */
const USAGE_EXIT_CODE = 2;

const PATH = '/api/management/cluster';

/** Timeout of the answer, in milliseconds. A member answers within two seconds even when parts of the cluster fail. */
const STATUS_MS_MAX = 5_000;

const usage = `npm run status [-- option …]

Shows the state of a Grove cluster: members, partitions with their owners and followers, NATS servers, and what is
wrong. Ask any member, or the load balancer.

  --url <address>   address of a member or of the load balancer, default ${DEFAULT_URL}
  --user <name>     administrator of tenant default, default admin
  --partitions      show all partitions, also those without a problem
  --json            print the answer as JSON
  --help            show this text

  SVC_METRICS_TOKEN operator token of the members; it needs no account, so it works while accounts cannot be read
${connectionUsage}

On the machine of a member, without a proxy in between, no token and no login are needed.

Exit code 0: no alarm. ${WRONG_EXIT_CODE}: there is an alarm, or the server does not answer. ${USAGE_EXIT_CODE}: wrong options, or no login.
`;

interface Settings {
  readonly url: string;
  readonly user: string;
  readonly isJson: boolean;
  readonly showsPartitions: boolean;
}

function readSettings(): Settings | undefined {
  const values = readArguments(
    {
      url: { type: 'string' },
      user: { type: 'string' },
      json: { type: 'boolean' },
      partitions: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
    usage,
  );
  if (values.help === true) return undefined;
  return {
    url: values.url ?? (process.env.GROVE_URL || DEFAULT_URL),
    user: values.user ?? 'admin',
    isJson: values.json === true,
    showsPartitions: values.partitions === true,
  };
}

/**
 * Requests the status with the given token, else without one. It logs in only when that is refused, because a login
 * needs the owner of the accounts, which may be down.
 */
async function readStatus(settings: Settings): Promise<unknown> {
  const { GROVE_TOKEN, SVC_METRICS_TOKEN } = process.env;
  const token = GROVE_TOKEN || SVC_METRICS_TOKEN || undefined;
  const client = new AdminClient(settings.url, token);
  if (token !== undefined) return client.read(PATH, STATUS_MS_MAX);
  const { json, status } = await client.send('GET', PATH, undefined, STATUS_MS_MAX);
  return status === 200 ? json : (await connect(settings)).read(PATH, STATUS_MS_MAX);
}

async function main(): Promise<number> {
  const settings = readSettings();
  if (settings === undefined) {
    process.stdout.write(usage);
    return 0;
  }
  const json = await readStatus(settings);
  const page = statusPageOf(json);
  const isColoured = process.stdout.isTTY && !process.env.NO_COLOR;
  const shown = settings.isJson
    ? JSON.stringify(json, null, 2)
    : statusView(page, isColoured ? colours : plain, settings.showsPartitions).join('\n');
  process.stdout.write(`${shown}\n`);
  return hasAlarms(page) ? WRONG_EXIT_CODE : 0;
}

await runProgram(main, { failed: WRONG_EXIT_CODE, usage: USAGE_EXIT_CODE });
