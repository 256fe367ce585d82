import { TEST_PROGRAMS } from './programs.ts';
import { requiredProgram } from './required-program.ts';

/**
 * Installs what the tests drive before the first test file starts. Test files run side by side, and the package
 * manager serves one caller at a time: a file that asked second would fail.
 */
export default function setup(): void {
  for (const { name } of TEST_PROGRAMS) requiredProgram(name);
}
