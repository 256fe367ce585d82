import { execFileSync, spawnSync } from 'node:child_process';

/**
 * Path of a program a test drives. Looked up on the PATH; where this process is root on Debian it is installed.
 *
 * @param name the program, `curl`
 * @param packageName the Debian package that has it
 * @throws {Error} naming exactly what to install; a test never goes on without its program
 */
export function requiredProgram(name: string, packageName = name): string {
  const found = lookUp(name);
  if (found !== undefined) return found;
  const canInstall = process.getuid?.() === 0 && lookUp('apt-get') !== undefined;
  if (canInstall) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update'], { env, stdio: 'ignore' });
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', packageName], { env, stdio: 'ignore' });
  }
  const installed = lookUp(name);
  if (installed === undefined)
    throw new Error(`this test drives ${name}: install the Debian package ${packageName}`);
  return installed;
}

function lookUp(name: string): string | undefined {
  try {
    return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}
