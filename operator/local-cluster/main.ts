/**
 * Runs a whole cluster on this machine.
 *
 * Run: npm run cluster, npm run cluster -- --help
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '#runtime/base/time/clock.ts';
import { type Random, systemRandom } from '#runtime/base/random.ts';
import { SignalEcho } from '#runtime/base/process/signal-echo.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { loadSecrets } from '#runtime/config/secrets.ts';
import { Secret } from '#runtime/config/secret.ts';
import { OptionError } from '#runtime/config/option.ts';
import { acquireDataDirectory, claimNothing } from '#runtime/embedded/data-directory-lock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { AdminClient } from '#operator/admin-client.ts';
import { OperatorError, UsageError } from '#operator/operator-error.ts';
import { FAILED_EXIT_CODE, USAGE_EXIT_CODE } from '#operator/run-command.ts';
import { newNatsPassword } from '#cluster/nats/nats-password.ts';
import { FirstPassword } from './admin-password.ts';
import { findProgram } from './find-program.ts';
import { LocalCluster, StartStoppedSignal } from './local-cluster.ts';
import { writeNatsFiles } from './nats-files.ts';
import {
  type ClusterSettings,
  clashingPorts,
  memberNames,
  type NatsPasswords,
  natsMonitorUrls,
  natsPortMax,
  planCluster,
  type PlannedPort,
  type PlannedProcess,
  portMax,
} from './plan.ts';
import { parseProcfile } from './procfile.ts';

const DEFAULT_PORT = 8080;
const DEFAULT_NATS_PORT = 4222;
const DEFAULT_FOLDER = './data/cluster';

const root = join(import.meta.dirname, '../..');

const usage = `npm run cluster [-- option …]

Runs a cluster on this machine, to try it out: three NATS servers, three members and a load balancer (HAProxy).
The data is kept, and the next start uses it again. Ctrl-C stops the cluster in order, a second Ctrl-C stops it at once.

  --port <n>        port of the load balancer, default ${DEFAULT_PORT}; the members use the next three ports
  --nats-port <n>   port of the first NATS server, default ${DEFAULT_NATS_PORT}; the others use the next two ports. Each
                    server also uses the ports 2000 and 4000 above its own
  --data <folder>   data of the cluster, default ${DEFAULT_FOLDER}
  --no-restart      do not restart a process that has ended
  --help            show this text

  NATS_SERVER_BIN     the nats-server program, default the one on the PATH
  HAPROXY_BIN         the haproxy program, default the one on the PATH
  SVC_HOST            address the load balancer listens on, default 127.0.0.1
  SVC_ADMIN_PASSWORD  password of admin at the first start, default a random one, shown once
  JWT_SECRET, SVC_MASTER_KEY
                      keys of the members, default generated into the folder at the first start
  SVC_CONFIG          configuration file of the members, default one with the addresses of the NATS monitoring pages

The members also get all other SVC_… variables.
`;

interface Arguments {
  readonly port: number;
  readonly natsPort: number;
  readonly folder: string;
  readonly restarts: boolean;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function readArguments(): Arguments | undefined {
  let values: { readonly [name in 'port' | 'nats-port' | 'data']?: string } & {
    readonly help?: boolean;
    readonly 'no-restart'?: boolean;
  };
  try {
    ({ values } = parseArgs({
      options: {
        port: { type: 'string' },
        'nats-port': { type: 'string' },
        data: { type: 'string' },
        'no-restart': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }));
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`);
  }
  if (values.help === true) return undefined;
  return {
    port: portOf('--port', values.port, DEFAULT_PORT, portMax),
    natsPort: portOf('--nats-port', values['nats-port'], DEFAULT_NATS_PORT, natsPortMax),
    folder: resolve(values.data ?? DEFAULT_FOLDER),
    restarts: values['no-restart'] !== true,
  };
}

function portOf(option: string, text: string | undefined, byDefault: number, max: number): number {
  const port = Number(text ?? byDefault);
  if (Number.isInteger(port) && port >= 1 && port <= max) return port;
  throw new UsageError(`${option} takes a port from 1 to ${max}, not '${text}'.`);
}

/** Locks the data directory, with errors for the user of this program. */
async function lockFolder(folder: string): Promise<void> {
  try {
    await acquireDataDirectory(folder, claimNothing);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') throw error;
    const { pid } = error.details as { readonly pid: number | null };
    throw new OperatorError(
      `A cluster runs on ${folder} already${pid === null ? '' : ` (process ${pid})`}. Stop it, or choose another folder with --data and other ports.`,
    );
  }
}

function programs(): ClusterSettings['programs'] {
  return {
    nats: findProgram({
      name: 'nats-server',
      variable: 'NATS_SERVER_BIN',
      purpose: 'npm run cluster starts',
      source: 'https://nats.io/download',
    }),
    balancer: findProgram({
      name: 'haproxy',
      variable: 'HAPROXY_BIN',
      purpose: 'npm run cluster starts',
      source: 'https://www.haproxy.org',
    }),
  };
}

/** A password for NATS, created once and stored. */
function storedPassword(folder: string, name: string, random: Random): string {
  const file = join(folder, 'secrets', name);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const password = newNatsPassword(random);
  writeFileSync(file, `${password}\n`, { mode: 0o600 });
  return password;
}

function secretOf(text: string | undefined): Secret | undefined {
  return text === undefined || text === '' ? undefined : new Secret(text);
}

/** Settings of a cluster, with the version its NATS servers print. */
type Prepared = ClusterSettings & { readonly natsVersion: string };

/** Writes the files of the processes and returns the settings of the cluster. */
function prepare({ folder, natsPort, port }: Arguments, password: FirstPassword): Prepared {
  const { env } = process;
  const found = programs();
  mkdirSync(join(folder, 'logs'), { recursive: true, mode: 0o700 });
  const { jwtSecret, masterKey } = loadSecrets(
    { dataDir: folder, jwtSecret: secretOf(env.JWT_SECRET), masterKey: secretOf(env.SVC_MASTER_KEY) },
    systemRandom,
  );
  mkdirSync(join(folder, 'secrets'), { recursive: true, mode: 0o700 });
  const version = spawnSync(found.nats, ['--version'], { encoding: 'utf8' }).stdout.trim();
  const natsPasswords: NatsPasswords = {
    members: Object.fromEntries(
      memberNames.map((name) => [name, storedPassword(folder, `nats-${name}-password`, systemRandom)]),
    ),
    route: storedPassword(folder, 'nats-route-password', systemRandom),
    system: storedPassword(folder, 'nats-system-password', systemRandom),
  };
  const memberConfig = env.SVC_CONFIG || join(folder, 'member.toml');
  if (memberConfig !== env.SVC_CONFIG) {
    const urls = natsMonitorUrls(natsPort).map((url) => JSON.stringify(url));
    writeFileSync(memberConfig, `[cluster]\nnats_monitor_urls = [${urls.join(', ')}]\n`);
  }
  print(`Using ${found.nats} (${version}) and ${found.balancer}.`);
  return {
    folder,
    host: env.SVC_HOST || '127.0.0.1',
    port,
    natsPort,
    secrets: { jwtSecret: jwtSecret.reveal(), masterKey: Buffer.from(masterKey.bytes()).toString('hex') },
    natsPasswords,
    natsVersion: version,
    adminPassword: env.SVC_ADMIN_PASSWORD || password.toStartWith(systemRandom),
    programs: found,
    memberConfig,
  };
}

/** The prefix of names in NATS. The configuration of the members may override the default. */
function clusterName(processes: readonly PlannedProcess[]): string {
  const member = processes.find(({ type }) => type === 'member');
  return loadOptions({ ...process.env, ...member?.env }, readIfThere).cluster.name;
}

function readIfThere(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/**
 * @throws {UsageError} that names two options with one port
 * @throws {OperatorError} that names every port in use and the option that changes it
 */
async function requireFreePorts(processes: readonly PlannedProcess[]): Promise<void> {
  const clashes = clashingPorts(processes);
  if (clashes.length > 0) throw new UsageError(clashes.join('\n'));
  const taken: string[] = [];
  for (const { name, ports } of processes)
    for (const each of ports)
      if (!(await isFree(each)))
        taken.push(`  ${each.host}:${each.port}, for ${name}: choose another with ${each.option}`);
  if (taken.length > 0) throw new OperatorError(`These ports are taken:\n${taken.join('\n')}`);
}

function isFree({ host, port }: PlannedPort): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', () => done(false));
    server.listen(port, host, () => server.close(() => done(true)));
  });
}

/** On Linux the processes receive a signal to end when this process dies without stopping them. */
function dyingWithParent(): readonly string[] {
  if (process.platform !== 'linux') return [];
  const isThere = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true'], { stdio: 'ignore' }).status === 0;
  return isThere ? ['setpriv', '--pdeathsig', 'TERM'] : [];
}

/** Shows the password once, after it has been verified. */
async function firstAdminText(
  settings: ClusterSettings,
  url: string,
  password: FirstPassword,
): Promise<string[]> {
  if (process.env.SVC_ADMIN_PASSWORD || settings.adminPassword === undefined) return [];
  const isTaken = await new AdminClient(url).logIn('admin', settings.adminPassword);
  password.forget();
  // The account is from an earlier start with a password chosen by the user.
  if (!isTaken) return [];
  return [
    '',
    '  The first administrator, shown only once:',
    '',
    '    tenant    default',
    '    username  admin',
    `    password  ${settings.adminPassword}`,
  ];
}

function summary(processes: readonly PlannedProcess[], cluster: LocalCluster, folder: string): string[] {
  const row = ({ name, url }: PlannedProcess): string =>
    `    ${name.padEnd(10)} ${url.padEnd(24)} process ${cluster.pids.get(name) ?? '-'}`;
  const of = (type: string): PlannedProcess[] => processes.filter((each) => each.type === type);
  const victim = cluster.pids.get('member-2');
  const [front] = of('balancer');
  return [
    '',
    `Grove runs as a cluster at ${front?.url}`,
    '',
    ...[...of('balancer'), ...of('member'), ...of('nats')].map(row),
    '',
    `  Stored in ${folder}, logs in ${join(folder, 'logs')}`,
    `  Show the state:  GROVE_URL=${front?.url} npm run status`,
    `  Test a failure:  kill -9 ${victim}   (member-2 dies, the others continue, and it is started again)`,
    '  Stop it:         Ctrl-C',
  ];
}

function stopOnSignals(cluster: LocalCluster): void {
  const echo = new SignalEcho(systemClock);
  let isStopping = false;
  const onSignal = (signal: string): void => {
    if (echo.isEcho(signal)) return;
    if (isStopping) {
      print('Stopping at once.');
      cluster.kill();
      process.exit(1);
    }
    isStopping = true;
    print('\nStopping in order; Ctrl-C again stops at once.');
    void cluster.stop().then(() => {
      print('Stopped. The data is kept.');
      process.exit(0);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
}

async function main(): Promise<void> {
  const given = readArguments();
  if (given === undefined) {
    process.stdout.write(usage);
    return;
  }
  const commands = parseProcfile(readFileSync(join(root, 'Procfile'), 'utf8'));
  await lockFolder(given.folder);
  const password = new FirstPassword(given.folder);
  const settings = prepare(given, password);
  const processes = planCluster(settings);
  writeNatsFiles({
    folder: given.folder,
    version: settings.natsVersion,
    passwords: settings.natsPasswords,
    name: clusterName(processes),
    clock: systemClock,
    random: systemRandom,
  });
  await requireFreePorts(processes);
  for (const path of processes.flatMap(({ folders }) => folders))
    mkdirSync(path, { recursive: true, mode: 0o700 });
  const cluster = new LocalCluster({
    processes,
    commands,
    folder: root,
    logFolder: join(given.folder, 'logs'),
    env: process.env,
    prefix: dyingWithParent(),
    restarts: given.restarts,
    clock: systemClock,
    tell: (text) => print(`${new Date(systemClock.wallMs()).toLocaleTimeString('en-GB')} ${text}`),
  });
  stopOnSignals(cluster);
  try {
    await cluster.start();
    const front = processes.at(-1) as PlannedProcess;
    const admin = await firstAdminText(settings, front.url, password);
    print([...summary(processes, cluster, given.folder), ...admin, ''].join('\n'));
  } catch (error) {
    // The handler that stopped the start ends this process when all others have ended.
    if (error instanceof StartStoppedSignal) return;
    await cluster.stop();
    throw error;
  }
}

function explain(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof OptionError) return error.problems.join('\n');
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(error instanceof UsageError ? USAGE_EXIT_CODE : FAILED_EXIT_CODE);
});
