import { OperatorError } from '#operator/operator-error.ts';

/**
 * Parses a Procfile: a line `type: command` for each process type; other lines are comments.
 *
 * @returns the command of each type, in the order of the file
 * @throws {OperatorError} when a type occurs twice
 */
export function parseProcfile(text: string): ReadonlyMap<string, string> {
  const commands = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const match = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line);
    if (match === null) continue;
    const [, type, command] = match as unknown as readonly [string, string, string];
    if (commands.has(type)) throw new OperatorError(`The Procfile has process type ${type} twice.`);
    commands.set(type, command.trimEnd());
  }
  return commands;
}
