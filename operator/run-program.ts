import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { OptionError } from '#runtime/config/option.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { NotThereYetError } from '#cluster/nats/not-there-yet.ts';
import { OperatorError, UsageError } from './operator-error.ts';

/** Exit codes of a program for operators. */
export interface ExitCodes {
  /** The program failed. */
  readonly failed: number;
  /** The arguments are invalid. */
  readonly usage: number;
}

/**
 * Lets a program finish when its output was closed (`| head`), because its work matters more than its output. Any other
 * output error, such as a full disk, makes it fail.
 *
 * @returns a function that tells whether the output has failed
 */
export function tolerateClosedOutput(failedExitCode: number): () => boolean {
  let hasFailed = false;
  process.stderr.on('error', () => undefined);
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || hasFailed) return;
    hasFailed = true;
    process.exitCode = failedExitCode;
    process.stderr.write(`The output cannot be written (${code}).\n`);
  });
  return () => hasFailed;
}

/**
 * Runs an operator program. It prints errors as messages, and its exit code is 0 only when the program has finished.
 * Timers of the clock do not keep a process alive, so Node would otherwise end a waiting program early, with code 0.
 *
 * @param main resolves with the exit code; without a number it is 0
 */
export async function runProgram(main: () => Promise<unknown>, codes: ExitCodes): Promise<void> {
  process.exitCode = codes.failed;
  const hasOutputFailed = tolerateClosedOutput(codes.failed);
  const release = holdProcess();
  try {
    const code = await main();
    if (!hasOutputFailed()) process.exitCode = typeof code === 'number' ? code : 0;
  } catch (error) {
    const isTold =
      error instanceof OperatorError ||
      error instanceof OptionError ||
      error instanceof ServiceError ||
      error instanceof NotThereYetError;
    process.stderr.write(`${isTold ? error.message : String((error as Error).stack ?? error)}\n`);
    process.exitCode = error instanceof UsageError ? codes.usage : codes.failed;
  } finally {
    release();
  }
}
