import { type ChildProcess, execFile } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '#test/tidy/source-file.ts';

/** How a program for operators ended. */
export interface ProgramOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program for operators that runs. */
export interface RunningProgram {
  readonly child: ChildProcess;
  /** What it has printed so far, on both outputs. */
  readonly output: () => string;
  readonly ended: Promise<ProgramOutcome>;
}

/**
 * Starts a program of the project as `npm run` does, without npm.
 *
 * @param file its path in the project
 * @param env besides `PATH`
 * @param nodeArgs options of Node
 */
export function startProgram(
  file: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  nodeArgs: readonly string[] = [],
): RunningProgram {
  let output = '';
  let child: ChildProcess | undefined;
  const ended = new Promise<ProgramOutcome>((resolve) => {
    child = execFile(
      process.execPath,
      [...nodeArgs, join(projectRoot, file), ...args],
      {
        env: {
          PATH: process.env.PATH,
          NODE_OPTIONS: process.env.NODE_OPTIONS,
          UV_THREADPOOL_SIZE: '32',
          ...env,
        },
        maxBuffer: 2 ** 26,
      },
      (_, stdout, stderr) => resolve({ code: child?.exitCode ?? null, stdout, stderr }),
    );
  });
  const started = child as unknown as ChildProcess;
  started.stdin?.end();
  for (const stream of [started.stdout, started.stderr])
    stream?.on('data', (text: string) => {
      output += text;
    });
  return { child: started, output: () => output, ended };
}

/** Runs a program of the project to its end, see {@link startProgram}. */
export function runProgram(...given: Parameters<typeof startProgram>): Promise<ProgramOutcome> {
  return startProgram(...given).ended;
}
