/**
 * Prints NATS users for members, each with its own password and its permissions to publish and subscribe.
 *
 * Run: npm run -s nats-users -- --help
 */
import { parseArgs } from 'node:util';
import { systemRandom } from '#runtime/base/random.ts';
import { OptionError } from '#runtime/config/option.ts';
import { checkClusterName, checkMemberId } from '#runtime/config/text-checks.ts';
import { type MemberUser, natsUsers } from '#cluster/nats/permissions.ts';
import { newNatsPassword } from '#cluster/nats/nats-password.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { tolerateClosedOutput } from './run-program.ts';

const usage = `npm run -s nats-users -- [option …] <SVC_MEMBER_ID> …

Prints the users of the NATS account of Grove, for the configuration of nats-server (users.conf beside nats.conf). Each
member gets one user, with a new password and with permissions for that member only. Put the password into SVC_NATS_URL of
that member: tls://<SVC_MEMBER_ID>:<password>@host:4222. Make the file readable only for yourself (umask 077).

  --name <name>   [cluster] name, default grove
  --help          show this text`;

/** The arguments are invalid. */
const USAGE_EXIT_CODE = 2;

function main(): void {
  const { positionals, values } = parseArgs({
    options: { name: { type: 'string' }, help: { type: 'boolean' } },
    allowPositionals: true,
  });
  if (values.help === true || positionals.length === 0) {
    process.stdout.write(`${usage}\n`);
    process.exitCode = values.help === true ? 0 : USAGE_EXIT_CODE;
    return;
  }
  const name = values.name === undefined ? undefined : checkClusterName(values.name);
  const users = [...new Set(positionals)].map(
    (member): MemberUser => ({ member: checkMemberId(member), password: newNatsPassword(systemRandom) }),
  );
  process.stdout.write(natsUsers(new Subjects(name), users));
}

tolerateClosedOutput(USAGE_EXIT_CODE);
try {
  main();
} catch (error) {
  process.stderr.write(
    `${error instanceof OptionError ? error.problems.join('\n') : (error as Error).message}\n`,
  );
  process.exitCode = USAGE_EXIT_CODE;
}
