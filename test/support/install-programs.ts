import { bundleMain } from './bundled-main.ts';
import { TEST_PROGRAMS } from './programs.ts';
import { requiredProgram } from './required-program.ts';

/**
 * Installs what the tests drive before the first test file starts, and puts the program of a member into one file. Test
 * files run side by side, and the package manager serves one caller at a time: a file that asked second would fail.
 */
export default async function setup(): Promise<void> {
  for (const { name } of TEST_PROGRAMS) requiredProgram(name);
  // Once for all projects of a run; processes of tests inherit it.
  process.env.GROVE_BUNDLED_MAIN ??= await bundleMain();
}
