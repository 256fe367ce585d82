import { existsSync, readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { getHeapStatistics } from 'node:v8';
import { ListenError } from '#protocols/http/listen-error.ts';
import { requestHeadProblem } from '#protocols/http/uws-environment.ts';
import { systemClock, wallClockProblem } from '#runtime/base/time/clock.ts';
import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { armCrashPointFromText } from '#runtime/commit/crash-point.ts';
import { helpText } from '#runtime/config/help-text.ts';
import { loadOptions, optionWarnings } from '#runtime/config/load-options.ts';
import { OptionError } from '#runtime/config/option.ts';
import type { Options } from '#runtime/config/options.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { prepareParser } from '#runtime/sql-syntax/parse-statements.ts';
import { createLog, type RootLog } from '#runtime/telemetry/log-context.ts';
import { ProcessOutput } from '#runtime/telemetry/process-output.ts';
import { readableLine } from '#runtime/telemetry/readable-line.ts';
import { openFilesMax, tooFewFiles } from '#server/host/descriptor-plan.ts';
import { drainOnSignals } from './drain.ts';
import { smallHeapWarning } from '#server/host/least-heap.ts';
import { memberName } from '#server/host/member-name.ts';
import { startMember } from './wiring.ts';
import type { Member } from './member.ts';

/** Exit code for an unusable configuration, or insufficient limits of the system. */
const CONFIGURATION_EXIT_CODE = 2;

/** Exit code for a start that failed otherwise. */
const FAILED_EXIT_CODE = 1;

/** Descriptors of a process. */
const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;

/** Outputs of a process: lines of its log, and text for the person who starts it. */
interface Outputs {
  readonly log: ProcessOutput;
  readonly people: ProcessOutput;
  /** Formats a line of the log, which is JSON. */
  readonly render: (line: string) => string;
}

/** A reader of JSON gets nothing else: then text for people goes to standard error. */
function openOutputs(format: Options['server']['logFormat']): Outputs {
  const isTerminal = isatty(STANDARD_OUTPUT);
  const isText = format === 'automatic' ? isTerminal : format === 'text';
  const isColoured = isTerminal && !process.env.NO_COLOR;
  const render = (line: string): string => (isText ? readableLine(line, isColoured) : line);
  const log = new ProcessOutput(STANDARD_OUTPUT, systemClock, render);
  const people = isText ? log : new ProcessOutput(STANDARD_ERROR, systemClock);
  process.on('exit', () => {
    log.flush();
    people.flush();
  });
  return { log, people, render };
}

function fail(message: string, code: number): never {
  const errors = new ProcessOutput(STANDARD_ERROR, systemClock);
  errors.write(`${message}\n`);
  errors.flush();
  process.exit(code);
}

/** @param warnings receives warnings about the file for the operator */
function readOptions(warnings: string[]): Options {
  const read = (path: string): string | undefined =>
    existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  return orRefuse(() => loadOptions(process.env, read, (sentence) => void warnings.push(sentence)));
}

/** Ends the process when the configuration cannot be used, naming what is wrong with it. */
function orRefuse<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    return fail(
      `The configuration cannot be used:\n  ${error.problems.join('\n  ')}`,
      CONFIGURATION_EXIT_CODE,
    );
  }
}

function productVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** Returns the next steps to show to the person who started it. */
function nextSteps(member: Member, dataDir: string): string {
  const login = `${member.url}/api/svc/sys/default/auth`;
  return [
    '',
    `Grove serves ${dataDir} at ${member.url}`,
    '',
    '  Log in and keep the token:',
    `    TOKEN=$(curl -s ${login} -H 'content-type: application/json' \\`,
    `      -d '{"username": "admin", "password": "…"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`,
    '  A password that was printed has to be changed first; then log in with the new one:',
    `    curl ${login}/change-password -H "authorization: Bearer $TOKEN" \\`,
    `      -H 'content-type: application/json' -d '{"old_password": "…", "new_password": "…"}'`,
    '  Create a repository:',
    `    curl ${member.url}/api/repositories -H "authorization: Bearer $TOKEN" \\`,
    `      -H 'content-type: application/json' -d '{"repo_id": "demo"}'`,
    '',
    `  Everything it can do: ${member.url}/openapi.json. Stop it with Ctrl+C; options: npm start -- --help`,
    '',
  ].join('\n');
}

/** Returns whether the message of an error contains the remedy, so that a stack trace is not needed. */
function isExplained(error: unknown): boolean {
  return error instanceof OptionError || error instanceof ServiceError || error instanceof ListenError;
}

function explain(error: unknown): string {
  if (error instanceof OptionError) return error.problems.join('\n');
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
    const output = new ProcessOutput(STANDARD_OUTPUT, systemClock);
    output.write(helpText());
    output.flush();
    return;
  }
  if (argument !== undefined) fail(`Unknown argument ${argument}; see --help`, CONFIGURATION_EXIT_CODE);
  // The process ends with process.exit, and not when only a timer is left.
  holdProcess();
  orRefuse(() => armCrashPointFromText(process.env.SVC_CRASH_POINT));
  const problem =
    tooFewFiles(openFilesMax()) ??
    wallClockProblem() ??
    requestHeadProblem(process.env.UWS_HTTP_MAX_HEADERS_SIZE);
  if (problem !== undefined) fail(`Grove cannot start: ${problem}`, CONFIGURATION_EXIT_CODE);
  const warnings: string[] = [];
  const options = readOptions(warnings);
  const outputs = openOutputs(options.server.logFormat);
  let { port } = options.server;
  const log = createLog({
    level: options.server.logLevel,
    clock: systemClock,
    sink: {
      write: (line) => outputs.log.write(outputs.render(line)),
      flush: () => outputs.log.flush(),
    },
    member: () => memberName(options.server.memberId, port),
  });
  const heapWarning = smallHeapWarning(getHeapStatistics().heap_size_limit);
  if (heapWarning !== undefined) warnings.push(heapWarning);
  for (const warning of [...warnings, ...optionWarnings(options, process.env)]) log.warn(warning);
  // Here nobody waits for the event loop yet; otherwise everybody would at the first statement.
  prepareParser();
  let member: Member;
  try {
    member = await startMember({
      options,
      clock: systemClock,
      random: systemRandom,
      log,
      version: productVersion(),
      print: (text) => outputs.people.write(`${text}\n`),
      collectDefaultMetrics: true,
      linesDropped: () => outputs.log.dropped,
      end(cause) {
        log.flush();
        fail(`Grove ends: ${explain(cause)}`, FAILED_EXIT_CODE);
      },
    });
  } catch (error) {
    // An error that names its cause needs no second line in the log; the stack of any other is for developers.
    if (!isExplained(error)) log.error('the member cannot start', { error });
    log.flush();
    const code = error instanceof OptionError ? CONFIGURATION_EXIT_CODE : FAILED_EXIT_CODE;
    return fail(`Grove cannot start: ${explain(error)}`, code);
  }
  stopOn(member, options, log);
  port = member.port;
  outputs.people.write(`${nextSteps(member, options.server.dataDir)}\n`);
  log.info('ready', { port, url: member.url, version: member.status.version });
}

await main();
