import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync } from 'node:fs';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';

/** Bytes at the end of a log that are read for its last lines. */
const TAIL_BYTES = 16 * 1024;

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** How long it ran, in milliseconds. */
  readonly ranMs: number;
}

/** Options of a process. */
export interface LocalProcessOptions {
  readonly name: string;
  /** Shell command. With `exec` in it signals reach the program itself. */
  readonly command: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Receives the output; the log of the previous start is kept beside it. */
  readonly logFile: string;
  /** Prepended to the shell: a program that makes it die with this process. */
  readonly prefix: readonly string[];
  readonly clock: Clock;
}

/**
 * A process that can be restarted. It has its own session, so that Ctrl-C in the terminal reaches only the parent,
 * which stops all processes in order.
 */
export class LocalProcess {
  readonly name: string;
  readonly #options: LocalProcessOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<Exit> | undefined;

  constructor(options: LocalProcessOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get logFile(): string {
    return this.#options.logFile;
  }

  /** Starts the process. @returns how it ended, when it ends */
  start(): Promise<Exit> {
    const { clock, command, env, folder, logFile, prefix } = this.#options;
    if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`);
    const log = openSync(logFile, 'a', 0o600);
    const startedMs = clock.monotonicMs();
    const [program, ...args] = [...prefix, 'sh', '-c', command];
    const child = spawn(program as string, args, {
      cwd: folder,
      env,
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    const exited = new Promise<Exit>((resolve) => {
      const over = (code: number | null, signal: NodeJS.Signals | null): void => {
        if (this.#child === child) this.#child = undefined;
        resolve({ code, signal, ranMs: clock.monotonicMs() - startedMs });
      };
      child.once('error', () => over(null, null));
      child.once('exit', over);
    });
    this.#exited = exited;
    return exited;
  }

  /**
   * Signals the process to end, and kills it after a timeout.
   *
   * @param graceMs time until it is killed
   * @returns how it ended; undefined when it did not run
   */
  async stop(signal: NodeJS.Signals, graceMs: number): Promise<Exit | undefined> {
    if (this.#child === undefined || this.#exited === undefined) return undefined;
    const exited = this.#exited;
    this.#child.kill(signal);
    const isOver = await Promise.race([
      exited.then(() => true),
      sleep(this.#options.clock, graceMs).then(() => false),
    ]);
    if (!isOver) this.kill();
    return exited;
  }

  /** Ends it at once. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** The last lines it wrote. */
  tail(lines: number): readonly string[] {
    if (!existsSync(this.#options.logFile)) return [];
    const file = openSync(this.#options.logFile, 'r');
    try {
      const { size } = fstatSync(file);
      const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
      const read = readSync(file, buffer, 0, buffer.length, size - buffer.length);
      return buffer.toString('utf8', 0, read).trimEnd().split('\n').slice(-lines);
    } finally {
      closeSync(file);
    }
  }
}

/** How a process ended, as text: `ended with code 1`, `was ended by SIGKILL`. */
export function exitText({ code, signal }: Exit): string {
  if (signal !== null) return `was ended by ${signal}`;
  return code === null ? 'could not be started' : `ended with code ${code}`;
}
