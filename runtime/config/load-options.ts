import { parse, TomlError } from 'smol-toml';

import { nearestName } from './nearest-name.ts';
import { OptionError } from './option.ts';
import {
  configFileVariable,
  defaultConfigFile,
  fileSections,
  type OptionEntry,
  optionEntries,
  optionTable,
  type Options,
} from './options.ts';

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Our variables that are not options of a member: other code reads them. */
const otherVariables: ReadonlySet<string> = new Set([configFileVariable, 'SVC_CRASH_POINT']);

/**
 * Reads the configuration of a member: environment variables first, then the configuration file, then defaults. An
 * empty environment variable counts as not set.
 *
 * @param env environment variables
 * @param readFile returns the text of a file, or `undefined` when it does not exist; otherwise throws the system error
 * @param warn takes a sentence for each value that is no longer valid and is replaced by another one
 * @throws {OptionError} with every problem at once: unknown sections and keys, values out of bounds, options that
 *   exclude each other
 */
export function loadOptions(
  env: Environment,
  readFile: (path: string) => string | undefined,
  warn: (sentence: string) => void = () => {},
): Options {
  const problems: string[] = [];
  const file = readConfigFile(env, readFile, problems);
  checkKeys(file, problems);
  const options: Record<string, Record<string, unknown>> = {};
  for (const section of Object.keys(optionTable)) options[section] = {};
  for (const entry of optionEntries) {
    const target = options[entry.section] as Record<string, unknown>;
    target[entry.name] = lowered(entry, readOption(entry, env, file, problems), warn);
  }
  for (const members of Object.values(options)) Object.freeze(members);
  const loaded = Object.freeze(options) as Options;
  if (problems.length === 0) checkTogether(loaded, problems);
  if (problems.length > 0) throw new OptionError(problems);
  return loaded;
}

/**
 * Warnings for the operator that do not prevent the start.
 *
 * @param env the environment the options were read from
 * @returns one sentence each; none of them contains a value
 */
export function optionWarnings(options: Options, env: Environment): string[] {
  const warnings: string[] = [];
  const known = new Set(optionEntries.flatMap(({ option }) => option.environment ?? []));
  for (const name of Object.keys(env).sort()) {
    if (!name.startsWith('SVC_') || known.has(name) || otherVariables.has(name)) continue;
    warnings.push(`environment variable ${name} is not used${suggest(name, known)}`);
  }
  const { host } = options.server;
  if (!isLoopback(host) && options.server.baseUrl === undefined) {
    warnings.push(
      `SVC_HOST ${host} takes connections from outside, but SVC_BASE_URL is not set: links and callbacks of login providers need addresses of their own, because they follow no Host header`,
    );
  }
  return warnings;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** The configuration file with its name for messages. */
interface ConfigFile {
  readonly path: string;
  readonly sections: Readonly<Record<string, unknown>>;
}

function readConfigFile(
  env: Environment,
  readFile: (path: string) => string | undefined,
  problems: string[],
): ConfigFile {
  const named = env[configFileVariable];
  const path = named === undefined || named === '' ? defaultConfigFile : named;
  const text = readText(path, readFile, problems);
  if (text === null) return { path, sections: {} };
  if (text === undefined) {
    if (path === named) problems.push(`${configFileVariable} names ${path}, which does not exist`);
    return { path, sections: {} };
  }
  try {
    return { path, sections: parse(text, { maxDepth: 16 }) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the first line: the others quote the file, which may contain secrets.
    const what = error.message.split('\n', 1)[0];
    problems.push(`${path}:${error.line}:${error.column}: ${what}`);
    return { path, sections: {} };
  }
}

/**
 * @returns null when the system refuses access, which is reported as a problem; undefined when there is no such file
 */
function readText(
  path: string,
  readFile: (path: string) => string | undefined,
  problems: string[],
): string | undefined | null {
  try {
    return readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const what = code === 'EISDIR' ? 'it is a folder' : code;
    problems.push(
      `the configuration file ${path} cannot be read (${what}): set ${configFileVariable} to a file that the user of the server can read`,
    );
    return null;
  }
}

/** Finds sections and keys that belong to no option. */
function checkKeys(file: ConfigFile, problems: string[]): void {
  for (const [section, content] of Object.entries(file.sections)) {
    if (!fileSections.includes(section)) {
      problems.push(unknownSection(file.path, section, content));
      continue;
    }
    if (typeof content !== 'object' || content === null || Array.isArray(content)) {
      problems.push(`${file.path}: ${section} must be a section: write [${section}]`);
      continue;
    }
    const known = optionEntries.filter((entry) => entry.fileSection === section);
    for (const key of Object.keys(content)) {
      if (known.some((entry) => entry.fileKey === key)) continue;
      problems.push(unknownKey(file.path, section, key, known));
    }
  }
}

function unknownSection(path: string, section: string, content: unknown): string {
  const isSection = typeof content === 'object' && content !== null && !Array.isArray(content);
  if (isSection) {
    return `${path}: unknown section [${section}]${suggest(section, fileSections)}; known are ${fileSections.join(', ')}`;
  }
  const home = optionEntries.find((entry) => entry.fileKey === section);
  const hint = home === undefined ? '' : `; it belongs into section [${home.fileSection}]`;
  return `${path}: ${section} stands outside of a section${hint}`;
}

function unknownKey(path: string, section: string, key: string, known: readonly OptionEntry[]): string {
  const place = `${path}: [${section}] ${key}`;
  if (known.length === 0) return `${place} is unknown; the section has no options in this version`;
  const elsewhere = optionEntries.find((entry) => entry.fileKey === key);
  if (elsewhere !== undefined)
    return `${place} is unknown; it belongs into section [${elsewhere.fileSection}]`;
  const keys = known.filter((entry) => !entry.option.isEnvironmentOnly).map((entry) => entry.fileKey);
  return `${place} is unknown${suggest(key, keys)}`;
}

function suggest(name: string, candidates: Iterable<string>): string {
  const near = nearestName(name, candidates);
  return near === undefined ? '' : ` (did you mean ${near}?)`;
}

function lowered(
  { fileKey, fileSection, option }: OptionEntry,
  value: unknown,
  warn: (sentence: string) => void,
): unknown {
  const most = option.loweredTo;
  if (most === undefined || typeof value !== 'number' || value <= most) return value;
  warn(
    `[${fileSection}] ${fileKey} is ${value} and counts as ${most}: more than that is not possible any more`,
  );
  return most;
}

function readOption(entry: OptionEntry, env: Environment, file: ConfigFile, problems: string[]): unknown {
  const { option, fileSection, fileKey } = entry;
  const text = option.environment === undefined ? undefined : env[option.environment];
  const section = file.sections[fileSection];
  const written =
    typeof section === 'object' && section !== null
      ? (section as Readonly<Record<string, unknown>>)[fileKey]
      : undefined;
  const fromFile = (): unknown => option.fromToml(written);
  const fromEnvironment = (): unknown => option.fromText(text as string);
  // The file is checked even where the environment overrides it: an error should not stay hidden until then.
  const fileValue =
    written === undefined
      ? option.defaultValue
      : guarded(`${file.path}: [${fileSection}] ${fileKey}`, fromFile, problems);
  if (text === undefined || text === '') return fileValue;
  return guarded(option.environment as string, fromEnvironment, problems);
}

function guarded(place: string, read: () => unknown, problems: string[]): unknown {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    problems.push(`${place} ${error.problems.join('; ')}`);
    return undefined;
  }
}

/** Options that are fine alone and do not work together; each sentence names the remedy. */
/** Durability classes by the mode they belong to. */
const embeddedClasses: ReadonlySet<string> = new Set(['automatic', 'local', 'relaxed']);
const clusterClasses: ReadonlySet<string> = new Set(['automatic', 'quorum', 'quorum-disk', 'replica-disk']);

function checkMode({ server, cluster }: Options, problems: string[]): void {
  if (server.natsUrl.length === 0) {
    if (!embeddedClasses.has(cluster.durability))
      problems.push(
        `[cluster] durability ${cluster.durability} is a class of clusters; set SVC_NATS_URL, or choose local or relaxed`,
      );
    return;
  }
  if (!clusterClasses.has(cluster.durability))
    problems.push(
      `[cluster] durability ${cluster.durability} is a class of a single member; choose quorum, quorum-disk or replica-disk`,
    );
  // Each member would generate its own, and the members could not use each other's tokens and secrets.
  if (server.jwtSecret === undefined)
    problems.push(
      'a cluster needs JWT_SECRET, the same on all members; make one with: openssl rand -base64 48',
    );
  if (server.masterKey === undefined)
    problems.push(
      'a cluster needs SVC_MASTER_KEY, the same on all members; make one with: openssl rand -hex 32',
    );
}

function checkEmail({ email, server }: Options, problems: string[]): void {
  if (email.smtpUrl === undefined) return;
  if (email.from === undefined)
    problems.push('SVC_SMTP_URL needs SVC_EMAIL_FROM: mail has a sender, such as login@example.org');
  if (email.emailBaseUrl === undefined && server.baseUrl === undefined)
    problems.push(
      'SVC_SMTP_URL needs SVC_BASE_URL or SVC_EMAIL_BASE_URL: links in mail must not follow the Host header of a request',
    );
}

function checkTogether(options: Options, problems: string[]): void {
  checkMode(options, problems);
  checkEmail(options, problems);
  const { limits } = options;
  const atLeast = (bigger: keyof typeof limits, smaller: keyof typeof limits, why: string): void => {
    if (limits[bigger] >= limits[smaller]) return;
    const [big, small] = [bigger, smaller].map(
      (name) => optionEntries.find((entry) => entry.section === 'limits' && entry.name === name)?.fileKey,
    );
    problems.push(
      `[limits] ${big} (${limits[bigger]}) is below ${small} (${limits[smaller]}): ${why}; raise ${big} or lower ${small}`,
    );
  };
  atLeast('mailboxMax', 'batchCommandsMax', 'a batch could never be filled');
  atLeast('journalSegmentBytes', 'batchBytesMax', 'a full batch would not fit into a journal segment');
  atLeast('applyPendingBytesMax', 'batchBytesMax', 'every full batch would stop the writers');
  atLeast('spaceRefusePercent', 'spaceAlarmPercent', 'writes would be refused before anybody is told');
  atLeast('spaceReadOnlyPercent', 'spaceRefusePercent', 'deletes would be refused before other writes');
}
