import { existsSync, readFileSync } from 'node:fs';
import { ListenError } from '#protocols/http/listen-error.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { holdProcess } from '#runtime/base/hold-process.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { helpText } from '#runtime/config/help-text.ts';
import { loadOptions, optionWarnings } from '#runtime/config/load-options.ts';
import { OptionError } from '#runtime/config/option.ts';
import type { Options } from '#runtime/config/options.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { createLog, type RootLog } from '#runtime/telemetry/log-context.ts';
import { ProcessOutput } from '#runtime/telemetry/process-output.ts';
import { openFilesMax, tooFewFiles } from './descriptor-plan.ts';
import { drainOnSignals } from './drain.ts';
import { type Member, startMember } from './wiring.ts';

/** Exit code for a configuration, or limits of the system, that cannot be used. */
const CONFIGURATION_EXIT_CODE = 2;

/** Exit code for a start that failed otherwise. */
const FAILED_EXIT_CODE = 1;

const output = new ProcessOutput(1, systemClock);

function print(text: string): void {
  output.write(`${text}\n`);
}

function fail(message: string, code: number): never {
  const errors = new ProcessOutput(2, systemClock);
  errors.write(`${message}\n`);
  errors.flush();
  process.exit(code);
}

/** @param warnings is given what the operator should know of the file */
function readOptions(warnings: string[]): Options {
  try {
    const read = (path: string): string | undefined =>
      existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    return loadOptions(process.env, read, (sentence) => void warnings.push(sentence));
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    return fail(
      `The configuration cannot be used:\n  ${error.problems.join('\n  ')}`,
      CONFIGURATION_EXIT_CODE,
    );
  }
}

function productVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** What a person wants to know next. */
function nextSteps(member: Member, dataDir: string): string {
  const login = `${member.url}/api/svc/sys/default/auth`;
  return [
    '',
    `Grove serves ${dataDir} at ${member.url}`,
    '',
    '  Log in and keep the token:',
    `    TOKEN=$(curl -s ${login} -H 'content-type: application/json' \\`,
    `      -d '{"username": "admin", "password": "…"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`,
    '  Create a repository:',
    `    curl ${member.url}/api/repositories -H "authorization: Bearer $TOKEN" \\`,
    `      -H 'content-type: application/json' -d '{"repo_id": "demo"}'`,
    '',
    `  Everything it can do: ${member.url}/openapi.json. Stop it with Ctrl+C; options: npm start -- --help`,
    '',
  ].join('\n');
}

/** Whether the message of an error says what to do, so that a stack adds nothing. */
function isExplained(error: unknown): boolean {
  return error instanceof OptionError || error instanceof ServiceError || error instanceof ListenError;
}

function explain(error: unknown): string {
  if (error instanceof OptionError) return error.problems.join('\n');
  if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

function stopOn(member: Member, options: Options, log: RootLog): void {
  const hooks = {
    async drain(signal: string) {
      log.info('draining', { signal });
      await member.drain(options.server.shutdownGraceMs);
      log.info('stopped');
    },
    exit(code: number) {
      log.flush();
      process.exit(code);
    },
  };
  drainOnSignals(process, hooks, systemClock);
}

async function main(): Promise<void> {
  const [argument] = process.argv.slice(2);
  if (argument === '--help' || argument === '-h') {
    output.write(helpText());
    return;
  }
  if (argument !== undefined) fail(`Unknown argument ${argument}; see --help`, CONFIGURATION_EXIT_CODE);
  // Ends with process.exit, and not when all that is left to wait for is a timer.
  holdProcess();
  armCrashPointFromText(process.env.SVC_CRASH_POINT);
  const problem = tooFewFiles(openFilesMax());
  if (problem !== undefined) fail(`Grove cannot start: ${problem}`, CONFIGURATION_EXIT_CODE);
  const warnings: string[] = [];
  const options = readOptions(warnings);
  const log = createLog({ level: options.server.logLevel, clock: systemClock, sink: output });
  for (const warning of [...warnings, ...optionWarnings(options, process.env)]) log.warn(warning);
  let member: Member;
  try {
    member = await startMember({
      options,
      clock: systemClock,
      random: systemRandom,
      log,
      version: productVersion(),
      print,
      collectDefaultMetrics: true,
      linesDropped: () => output.dropped,
      end(cause) {
        log.flush();
        fail(`Grove ends: ${explain(cause)}`, FAILED_EXIT_CODE);
      },
    });
  } catch (error) {
    // What names its cause needs no second line in the log; the stack of anything else is for whoever mends it.
    if (!isExplained(error)) log.error('the member cannot start', { error });
    log.flush();
    const code = error instanceof OptionError ? CONFIGURATION_EXIT_CODE : FAILED_EXIT_CODE;
    return fail(`Grove cannot start: ${explain(error)}`, code);
  }
  stopOn(member, options, log);
  print(nextSteps(member, options.server.dataDir));
  log.info('ready', { port: member.port, url: member.url, version: member.status.version });
}

process.on('exit', () => output.flush());
await main();
