/**
 * Shows the state of a cluster, or of a single member.
 *
 * Run: npm run status, npm run status -- --help
 */
import { parseArgs } from 'node:util';
import { AdminClient } from './admin-client.ts';
import { askPassword } from './ask-password.ts';
import { OperatorError } from './operator-error.ts';
import { hasAlarms, statusPageOf } from './status-page.ts';
import { colours, plain, statusView } from './status-view.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** There is something to do, or nobody answers. */
const WRONG_EXIT_CODE = 1;

/** The question could not be asked. */
const USAGE_EXIT_CODE = 2;

const usage = `npm run status [-- option …]

Shows the state of a Grove cluster: members, partitions with their owners and followers, NATS servers, and what is
wrong. Any member answers, and so does the load balancer.

  --url <address>   of a member or the load balancer, default ${DEFAULT_URL}
  --user <name>     administrator of tenant default, default admin
  --json            print the answer as it comes
  --help            this text

  GROVE_URL         as --url
  GROVE_TOKEN       token to ask with; without one a login is made
  GROVE_PASSWORD    password for it, or SVC_ADMIN_PASSWORD; without one it is asked for

Exit code 0: nothing to do. ${WRONG_EXIT_CODE}: there is an alarm, or no answer. ${USAGE_EXIT_CODE}: the question could not be asked.
`;

interface Settings {
  readonly url: string;
  readonly user: string;
  readonly isJson: boolean;
}

/** The question could not be asked, in words. */
class UsageError extends OperatorError {}

function readSettings(): Settings | undefined {
  let values: { readonly [name in 'url' | 'user']?: string } & {
    readonly json?: boolean;
    readonly help?: boolean;
  };
  try {
    ({ values } = parseArgs({
      options: {
        url: { type: 'string' },
        user: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }));
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`);
  }
  if (values.help === true) return undefined;
  return {
    url: values.url ?? (process.env.GROVE_URL || DEFAULT_URL),
    user: values.user ?? 'admin',
    isJson: values.json === true,
  };
}

async function passwordOf(user: string): Promise<string> {
  const { GROVE_PASSWORD, SVC_ADMIN_PASSWORD } = process.env;
  const given = GROVE_PASSWORD || SVC_ADMIN_PASSWORD;
  if (given) return given;
  if (!process.stdin.isTTY)
    throw new UsageError(`Which password does ${user} have? Set GROVE_PASSWORD, or GROVE_TOKEN to a token.`);
  const typed = await askPassword(`Password of ${user}: `);
  if (typed === undefined) throw new UsageError('Without a password there is no answer.');
  return typed;
}

async function connect({ url, user }: Settings): Promise<AdminClient> {
  const { GROVE_TOKEN } = process.env;
  if (GROVE_TOKEN) return new AdminClient(url, GROVE_TOKEN);
  const client = new AdminClient(url);
  if (!(await client.logIn(user, await passwordOf(user))))
    throw new UsageError(`${url} does not take this password for ${user}.`);
  return client;
}

async function main(): Promise<number> {
  const settings = readSettings();
  if (settings === undefined) {
    process.stdout.write(usage);
    return 0;
  }
  const client = await connect(settings);
  const json = await client.read('/api/management/cluster');
  const page = statusPageOf(json);
  const isColoured = process.stdout.isTTY && !process.env.NO_COLOR;
  const shown = settings.isJson
    ? JSON.stringify(json, null, 2)
    : statusView(page, isColoured ? colours : plain).join('\n');
  process.stdout.write(`${shown}\n`);
  return hasAlarms(page) ? WRONG_EXIT_CODE : 0;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    const text = error instanceof OperatorError ? error.message : String((error as Error).stack ?? error);
    process.stderr.write(`${text}\n`);
    process.exitCode = error instanceof UsageError ? USAGE_EXIT_CODE : WRONG_EXIT_CODE;
  },
);
