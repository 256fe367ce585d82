import { spawnSync } from 'node:child_process';
import { constants, accessSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { OperatorError } from '#operator/operator-error.ts';

/** Folders of server programs. On some systems the PATH of ordinary users lacks them. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** A required program. */
export interface NeededProgram {
  /** `nats-server` */
  readonly name: string;
  /** Environment variable with the path of the program, to override the search. */
  readonly variable?: string;
  /** Debian package with the program; default: the name of the program. */
  readonly packageName?: string;
  /** Why it is needed, as the beginning of a sentence: `npm run cluster starts`. */
  readonly purpose: string;
  /** Where else to get it. */
  readonly source?: string;
}

/**
 * Finds a program: by its variable, else on the PATH. If it is missing and this process is root on Debian, it is
 * installed.
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
