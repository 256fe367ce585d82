import type { LineLevel } from './log-context.ts';

/** Terminal codes of the level names. */
const levelColours: Readonly<Record<LineLevel, number>> = { debug: 2, info: 32, warn: 33, error: 31 };

/** Terminal code of less important text. */
const DIM = 2;

/** Length of the longest level name. */
const LEVEL_CHARACTERS = 5;

/** An error in a log line. */
interface LoggedError {
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
}

/**
 * A log line for a person at a terminal: the time of day, the level, the message, the facts as `name=value`, and stacks
 * on lines of their own. Control characters are escaped, so that outside input cannot control the terminal.
 *
 * @param line JSON, as a log writes it, with its line feed
 * @param isColoured whether the terminal supports colours
 * @returns one or more lines with their line feed; other text unchanged
 */
export function readableLine(line: string, isColoured: boolean): string {
  let parsed: Readonly<Record<string, unknown>>;
  try {
    parsed = JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return line;
  }
  const paint = (code: number, text: string): string =>
    isColoured ? `\u001b[${code}m${text}\u001b[0m` : text;
  // A terminal shows one member, so its name is left out.
  const { error, level, member: _, msg, time, ...facts } = parsed;
  const levelName = String(level).toUpperCase().padEnd(LEVEL_CHARACTERS);
  const colour = levelColours[level as LineLevel] ?? DIM;
  const parts = [paint(DIM, timeOfDay(String(time))), paint(colour, levelName), escaped(String(msg))];
  for (const [name, value] of Object.entries(facts)) parts.push(paint(DIM, `${name}=${valueText(value)}`));
  const errors = error === undefined ? [] : errorLines(error as LoggedError);
  return `${[parts.join(' '), ...errors.map((text) => paint(DIM, `    ${text}`))].join('\n')}\n`;
}

/** In the time zone of the terminal. */
function timeOfDay(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? escaped(time) : at.toTimeString().slice(0, 8);
}

function valueText(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[^\s"=\u0000-\u001f\u007f-\u009f]+$/.test(value);
  return isPlain ? value : escaped(JSON.stringify(value) ?? '');
}

/** The stack of an error and of its causes. */
function errorLines(error: LoggedError): string[] {
  if (typeof error !== 'object' || error === null) return [escaped(String(error))];
  const { cause, message, stack } = error;
  const lines = String(stack ?? message).split('\n');
  const causes = cause === undefined ? [] : errorLines(cause as LoggedError);
  return [
    ...lines.map((text) => escaped(text)),
    ...causes.map((text, index) => (index === 0 ? `caused by ${text}` : text)),
  ];
}

function escaped(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
