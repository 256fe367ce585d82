import { spawnSync } from 'node:child_process';
import { constants, accessSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { OperatorError } from '#operator/operator-error.ts';

/** Where programs that servers run are, and the PATH of ordinary users on some systems lacks. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** A program that has to be there. */
export interface NeededProgram {
  /** `nats-server` */
  readonly name: string;
  /** Environment variable that names another file. */
  readonly variable?: string;
  /** Debian package that has it; default: called like the program. */
  readonly packageName?: string;
  /** What it is wanted for, as the beginning of a sentence: `npm run cluster starts`. */
  readonly purpose: string;
  /** Where else to get it. */
  readonly source?: string;
}

/**
 * Path of a program: the one the variable names, else the first on the PATH, else it is installed where this process
 * is root on Debian.
 *
 * @throws {OperatorError} naming exactly what to install
 */
export function findProgram(program: NeededProgram, environment: NodeJS.ProcessEnv = process.env): string {
  const { name, packageName = name, purpose, source, variable } = program;
  const chosen = variable === undefined ? undefined : environment[variable];
  if (chosen !== undefined && chosen !== '') {
    if (isProgram(chosen)) return chosen;
    throw new OperatorError(`${variable} names ${chosen}, which is no program that can be run.`);
  }
  const found = lookUp(name, environment);
  if (found !== undefined) return found;
  const installer = process.getuid?.() === 0 ? lookUp('apt-get', environment) : undefined;
  if (installer !== undefined) install(installer, packageName, environment);
  const installed = lookUp(name, environment);
  if (installed !== undefined) return installed;
  throw new OperatorError(
    [
      `${purpose} ${name}, which is not on the PATH.`,
      `On Debian or Ubuntu: sudo apt install ${packageName}`,
      ...(source === undefined ? [] : [`Elsewhere: ${source}`]),
      ...(variable === undefined ? [] : [`Where it is elsewhere, name it: ${variable}=/path/to/${name}`]),
    ].join('\n'),
  );
}

function lookUp(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const folders = [
    ...(environment.PATH ?? '').split(delimiter).filter((each) => each !== ''),
    ...SYSTEM_FOLDERS,
  ];
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function install(installer: string, packageName: string, environment: NodeJS.ProcessEnv): void {
  const env = { ...environment, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync(installer, ['update'], { env, stdio: 'ignore' });
  // Another installation may be running: wait for it, up to five minutes.
  const wait = ['-o', 'DPkg::Lock::Timeout=300'];
  const options = ['install', '-y', '--no-install-recommends', ...wait, packageName];
  spawnSync(installer, options, { env, stdio: 'ignore' });
}
