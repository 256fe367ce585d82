import { findProgram } from '#cluster/local/find-program.ts';

/**
 * Path of a program a test drives. Looked up on the PATH; where this process is root on Debian it is installed.
 *
 * @param name the program, `curl`
 * @param packageName the Debian package that has it
 * @throws {Error} naming exactly what to install; a test never goes on without its program
 */
export function requiredProgram(name: string, packageName = name): string {
  return findProgram({ name, packageName, purpose: 'this test drives' });
}
