import { nearestName } from './nearest-name.ts';
import { Secret } from './secret.ts';

/**
 * The configuration is invalid. Thrown before anything is opened, with every problem found, so that an operator can
 * correct them all at once.
 */
export class OptionError extends Error {
  override readonly name = 'OptionError';
  /** One sentence each: what is wrong, where, and the remedy. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.length === 1 ? problems[0] : `${problems.length} problems:\n  ${problems.join('\n  ')}`);
    this.problems = Object.freeze([...problems]);
  }
}

/**
 * The complete definition of one option of a member. Loading, the help text and the page `docs/configuration.md` all
 * read this object, so that they cannot disagree.
 */
export interface Option<Value> {
  /** Format of a value, for people: `integer`, `text`, … with its bounds. */
  readonly type: string;
  /** Unit of a number, `undefined` for anything else. */
  readonly unit: string | undefined;
  /** Environment variable that sets it, if there is one. */
  readonly environment: string | undefined;
  /** Not allowed in the configuration file: files are copied, shown and committed, and secrets must not be. */
  readonly isEnvironmentOnly: boolean;
  /** The value when none is set. */
  readonly defaultValue: Value;
  /** The default, for people. */
  readonly defaultText: string;
  /** Larger numbers that older versions accepted are lowered to this one; `undefined`: there are none. */
  readonly loweredTo: number | undefined;
  /** Its purpose, and the effect of too low and too high values. */
  readonly description: string;
  /** Parses an environment variable. @throws {OptionError} the expected format */
  readonly fromText: (text: string) => Value;
  /** Parses a value of the configuration file. @throws {OptionError} the expected format */
  readonly fromToml: (value: unknown) => Value;
}

interface Described {
  readonly description: string;
  readonly environment?: string;
}

function refuse(expected: string, value: unknown): never {
  const shown = typeof value === 'string' ? `'${value.slice(0, 80)}'` : describeKind(value);
  throw new OptionError([`must be ${expected}, not ${shown}`]);
}

function describeKind(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  return typeof value === 'object' && value !== null ? 'a table' : String(value);
}

/** A whole number with a unit and bounds; the file may write it with underscores, as TOML allows. */
export function integerOption(
  settings: Described & {
    readonly unit: string;
    readonly default: number;
    readonly min: number;
    readonly max: number;
    /** Larger numbers up to here, which an older version accepted, become `max` with a warning at the start. */
    readonly acceptedMax?: number;
    /** Whether `off` may be written for 0. */
    readonly canBeOff?: boolean;
  },
): Option<number> {
  const { acceptedMax, min, max, unit } = settings;
  const orOff = settings.canBeOff === true;
  const expected = `a whole number from ${min} to ${max} (${unit})${orOff ? ', or off' : ''}`;
  const check = (value: unknown): number => {
    if (orOff && value === 'off') return 0;
    return typeof value === 'number' &&
      Number.isSafeInteger(value) &&
      value >= min &&
      value <= (acceptedMax ?? max)
      ? value
      : refuse(expected, value);
  };
  return Object.freeze({
    type: `integer, ${min} to ${max}${orOff ? ', or `off`' : ''}`,
    unit,
    environment: settings.environment,
    isEnvironmentOnly: false,
    loweredTo: acceptedMax === undefined ? undefined : max,
    defaultValue: settings.default,
    defaultText: String(settings.default),
    description: settings.description,
    fromText: (text: string) => check(/^-?\d{1,16}$/.test(text) ? Number(text) : text),
    fromToml: check,
  });
}

/** Yes or no: `true`, `1`, `false`, `0` in the environment, a boolean in the file. */
export function booleanOption(settings: Described & { readonly default: boolean }): Option<boolean> {
  const words: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };
  return Object.freeze({
    type: 'boolean',
    unit: undefined,
    environment: settings.environment,
    isEnvironmentOnly: false,
    loweredTo: undefined,
    defaultValue: settings.default,
    defaultText: String(settings.default),
    description: settings.description,
    fromText: (text: string) => words[text.toLowerCase()] ?? refuse('1, 0, true or false', text),
    fromToml: (value: unknown) => (typeof value === 'boolean' ? value : refuse('true or false', value)),
  });
}

/** One of a fixed set of words. */
export function choiceOption<const Choice extends string>(
  settings: Described & { readonly default: NoInfer<Choice>; readonly choices: readonly Choice[] },
): Option<Choice> {
  const { choices } = settings;
  const check = (value: unknown): Choice => {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    const near = typeof value === 'string' ? nearestName(value, choices) : undefined;
    const hint = near === undefined ? '' : ` (did you mean '${near}'?)`;
    return refuse(`one of ${choices.join(', ')}${hint}`, value);
  };
  return Object.freeze({
    type: `one of ${choices.map((choice) => `\`${choice}\``).join(', ')}`,
    unit: undefined,
    environment: settings.environment,
    isEnvironmentOnly: false,
    loweredTo: undefined,
    defaultValue: settings.default,
    defaultText: settings.default,
    description: settings.description,
    fromText: check,
    fromToml: check,
  });
}

/** Checks a text and returns its canonical form. @throws {OptionError} */
export type TextCheck = (text: string) => string;

interface TextSettings extends Described {
  /** Format of a value, for people. */
  readonly type: string;
  readonly check?: TextCheck;
}

/** A text that always has a value. */
export function textOption(settings: TextSettings & { readonly default: string }): Option<string> {
  return textWith(settings, settings.default, settings.default);
}

/** A text that may be unset. @param settings with `defaultText`, the behaviour in that case */
export function optionalTextOption(
  settings: TextSettings & { readonly defaultText: string },
): Option<string | undefined> {
  return textWith<string | undefined>(settings, undefined, settings.defaultText);
}

function textWith<Value extends string | undefined>(
  settings: TextSettings,
  defaultValue: Value,
  defaultText: string,
): Option<Value> {
  const check = settings.check ?? ((text: string) => text);
  const read = (value: unknown): Value =>
    typeof value === 'string' && value !== '' ? (check(value) as Value) : refuse('a text', value);
  return Object.freeze({
    type: settings.type,
    unit: undefined,
    environment: settings.environment,
    isEnvironmentOnly: false,
    loweredTo: undefined,
    defaultValue,
    defaultText,
    description: settings.description,
    fromText: read,
    fromToml: read,
  });
}

/** A list of texts: separated by commas in the environment, a list in the file. */
export function textListOption(
  settings: Described & {
    readonly type: string;
    /** Limit of entries. */
    readonly entriesMax: number;
    /** Entry that stands for all others, so that a list with it and others contradicts itself. */
    readonly alone?: string;
    readonly check: TextCheck;
  },
): Option<readonly string[]> {
  const { alone, check, entriesMax } = settings;
  const read = (values: readonly unknown[]): readonly string[] => {
    if (alone !== undefined && values.length > 1 && values.includes(alone))
      throw new OptionError([`must be '${alone}' alone, or a list without it`]);
    if (values.length > entriesMax) refuse(`a list of at most ${entriesMax}`, `${values.length} entries`);
    return Object.freeze(
      values.map((value) => (typeof value === 'string' ? check(value) : refuse('a list of texts', value))),
    );
  };
  return Object.freeze({
    type: settings.type,
    unit: undefined,
    environment: settings.environment,
    isEnvironmentOnly: false,
    loweredTo: undefined,
    defaultValue: Object.freeze([]),
    defaultText: 'none',
    description: settings.description,
    fromText: (text: string) => {
      const entries = text.split(',').map((entry) => entry.trim());
      // Mostly a variable of a script that was not set. Without the entry, a cluster would lack a server, or not be one.
      if (entries.includes(''))
        throw new OptionError(['has an empty entry: separate the entries with one comma each, or unset it']);
      return read(entries);
    },
    fromToml: (value: unknown) => (Array.isArray(value) ? read(value) : refuse('a list of texts', value)),
  });
}

/**
 * A secret: read from the environment only, never shown. The message of `check` is printed, so it must not contain the
 * value.
 */
export function secretOption(
  settings: Described & {
    readonly environment: string;
    readonly type: string;
    readonly defaultText: string;
    readonly check: TextCheck;
  },
): Option<Secret | undefined> {
  const read = (text: string): Secret => new Secret(settings.check(text));
  return Object.freeze({
    type: settings.type,
    unit: undefined,
    environment: settings.environment,
    isEnvironmentOnly: true,
    loweredTo: undefined,
    defaultValue: undefined,
    defaultText: settings.defaultText,
    description: settings.description,
    fromText: read,
    fromToml: (): never => {
      throw new OptionError([
        `may not stand in a file; set the environment variable ${settings.environment} instead`,
      ]);
    },
  });
}
