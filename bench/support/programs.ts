import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Folder of the server programs of PostgreSQL on Debian, with one folder for each major version. */
const POSTGRES_ROOT = '/usr/lib/postgresql';

/**
 * Finds a program of the benchmark on the PATH, or among the server programs of PostgreSQL, which Debian does not add
 * to the PATH. A missing program is installed if this process is root on Debian.
 *
 * @param name the program, `wrk`
 * @param packageName the Debian package with the program
 * @throws {Error} naming exactly what to install
 */
export function requiredProgram(name: string, packageName = name): string {
  const found = lookUp(name);
  if (found !== undefined) return found;
  if (process.getuid?.() === 0 && lookUp('apt-get') !== undefined) {
    console.error(`installing ${packageName}, which has ${name}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update'], { env, stdio: 'ignore' });
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', packageName], { env, stdio: 'ignore' });
  }
  const installed = lookUp(name);
  if (installed === undefined) {
    throw new Error(
      `this benchmark needs ${name}. Install the Debian package ${packageName} (apt-get install -y ${packageName}) and run it again.`,
    );
  }
  return installed;
}

function lookUp(name: string): string | undefined {
  const path = [process.env.PATH, ...postgresFolders(), '/usr/sbin', '/sbin'].join(':');
  try {
    const found = execFileSync('sh', ['-c', `command -v ${name}`], {
      encoding: 'utf8',
      env: { ...process.env, PATH: path },
    });
    return found.trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Newest version first. */
function postgresFolders(): string[] {
  try {
    const versions = readdirSync(POSTGRES_ROOT).sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join(POSTGRES_ROOT, version, 'bin'));
  } catch {
    return [];
  }
}

/** First line of the version a program prints, or `unknown`. */
export function versionOf(program: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return `${stdout}\n${stderr}`.trim().split('\n')[0] || 'unknown';
}
