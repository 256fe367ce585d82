import { holdProcess } from '#runtime/base/hold-process.ts';
import { OptionError } from '#runtime/config/option.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { NotThereYetError } from '#cluster/nats/not-there-yet.ts';
import { OperatorError, UsageError } from './operator-error.ts';

/** Exit codes of a program for operators. */
export interface ExitCodes {
  /** It failed. */
  readonly failed: number;
  /** It could not be asked for. */
  readonly usage: number;
}

/**
 * Lets a program come to its end when nobody reads what it prints any more (`| head`): what it does counts more than what
 * it says. An output that fails otherwise, as on a full disk, makes it fail.
 *
 * @returns whether the output has failed
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
 * Runs a program for a person: what it fails with is told in words, and its exit code is 0 only when it has come to
 * its end. Timers of the clock do not keep a process alive, so a program that waits for one would otherwise be ended
 * by Node in the middle, with exit code 0.
 *
 * @param main what it resolves with is the exit code; without a number it is 0
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
