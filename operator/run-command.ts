import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UsageError } from './operator-error.ts';
import { runProgram } from './run-program.ts';

/** The program failed, or found a problem it looks for. */
export const FAILED_EXIT_CODE = 1;

/** The arguments are invalid. */
export const USAGE_EXIT_CODE = 2;

/** Options of a program. */
export type CommandOptions = NonNullable<ParseArgsConfig['options']>;

/** Values of the given options. */
export type CommandValues<Options extends CommandOptions> = ReturnType<
  typeof parseArgs<{ readonly options: Options }>
>['values'];

/** A program for operators. */
export interface Command<Options extends CommandOptions> {
  /** What `--help` prints. */
  readonly usage: string;
  /** Besides `--help`. */
  readonly options: Options;
  /**
   * @returns the exit code
   * @throws {UsageError} when the values are invalid
   */
  main(values: CommandValues<Options>): Promise<number>;
}

const help = { help: { type: 'boolean', short: 'h', default: false } } as const;

/**
 * Runs an operator program with the arguments of the process. Exit codes: 0, {@link FAILED_EXIT_CODE},
 * {@link USAGE_EXIT_CODE}.
 */
export async function runCommand<const Options extends CommandOptions>(
  command: Command<Options>,
): Promise<void> {
  const main = async (): Promise<number> => {
    const values = readArguments({ ...command.options, ...help }, command.usage);
    if ((values as { readonly help?: unknown }).help === true) {
      process.stdout.write(command.usage);
      return 0;
    }
    return await command.main(values as CommandValues<Options>);
  };
  await runProgram(main, { failed: FAILED_EXIT_CODE, usage: USAGE_EXIT_CODE });
}

/**
 * Parses the options of the process.
 *
 * @throws {UsageError} with the usage, for an option that is unknown, lacks its value or is given twice
 */
export function readArguments<const Options extends CommandOptions>(
  options: Options,
  usage: string,
): CommandValues<Options> {
  try {
    const { tokens, values } = parseArgs({ options, tokens: true });
    const seen = new Set<string>();
    for (const token of tokens) {
      if (token.kind !== 'option') continue;
      if (seen.has(token.name)) throw new UsageError(`--${token.name} is given twice`);
      seen.add(token.name);
    }
    return values as CommandValues<Options>;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`);
  }
}

/** A signal that aborts at the first Ctrl-C. The second Ctrl-C ends the process. */
export function interruption(): AbortSignal {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  return stop.signal;
}
