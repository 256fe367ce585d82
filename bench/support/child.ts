import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { requiredProgram } from './programs.ts';

/** Characters of the output of a failed program that are shown, enough for the first error. */
const SAID_CHARACTERS_MAX = 2_000;

/** Characters of the output of a server kept in memory. */
const LOG_CHARACTERS_KEPT = 20_000;

/** Running child processes. */
const living = new Set<ChildProcess>();

/**
 * Starts a program pinned to one core; its threads and children inherit the pinning. It ends when this process ends in
 * any way, because a leftover process would disturb later measurements.
 */
export function spawnPinned(
  core: number,
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const dyingWithParent = [requiredProgram('setpriv', 'util-linux'), '--pdeathsig', 'KILL'];
  const child = spawn(
    requiredProgram('taskset', 'util-linux'),
    ['-c', String(core), ...dyingWithParent, program, ...args],
    options,
  );
  living.add(child);
  child.once('error', () => living.delete(child));
  child.once('exit', () => living.delete(child));
  return child;
}

/** Kills all running child processes. */
export function killChildren(): void {
  for (const child of living) child.kill('SIGKILL');
}

/**
 * Runs a program pinned to one core until it ends.
 *
 * @returns what it wrote to its standard output
 * @throws {Error} with its output, unless it ended with 0
 */
export async function runPinned(
  core: number,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const child = spawnPinned(core, program, args, { env: { ...process.env, ...env } });
  let output = '';
  let complaints = '';
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => (complaints += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) {
    const said = `${output}${complaints}`.slice(0, SAID_CHARACTERS_MAX);
    throw new Error(`${program} ended with ${code}:\n${said}`);
  }
  return output;
}

/** Sends a signal and waits for the end. @returns exit code, null when a signal ended it */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, 'exit');
  child.kill(signal);
  const [code] = await ended;
  return code as number | null;
}

/** The last output of a program. */
export interface Output {
  text: string;
}

/** Keeps the end of the output of a program, for error messages. */
export function keepOutput(child: ChildProcess): Output {
  const output: Output = { text: '' };
  const keep = (chunk: Buffer): void => {
    output.text = (output.text + chunk).slice(-LOG_CHARACTERS_KEPT);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return output;
}

/** Whether no process listens on a port now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Finds a port on which no process listens now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
