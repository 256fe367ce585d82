import { delimiter } from 'node:path';
import { findProgram } from '#operator/local-cluster/find-program.ts';
import { TEST_PROGRAMS } from './programs.ts';

/**
 * Path of a program a test drives. Looked up on the PATH; where this process is root on Debian it is installed.
 *
 * @param name one of {@link TEST_PROGRAMS}, so that it is installed before the test files start
 * @throws {Error} naming exactly what to install; a test never goes on without its program
 */
export function requiredProgram(name: string): string {
  const program = TEST_PROGRAMS.find((each) => each.name === name);
  if (program === undefined) throw new Error(`${name} is not in TEST_PROGRAMS.`);
  const path = [process.env.PATH, ...(program.folders ?? [])].join(delimiter);
  return findProgram({ ...program, purpose: 'this test drives' }, { ...process.env, PATH: path });
}
