import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { assert } from '#runtime/base/assert.ts';
import { guardMutants } from './guards.ts';

const root = join(import.meta.dirname, '../..');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

/** What vitest reports; only what is looked at. */
interface Report {
  readonly numFailedTests: number;
  readonly numTotalTests: number;
}

/** Runs the tests of a guard without it. @throws {Error} with what was printed when they cannot be run */
async function runWithout(index: number): Promise<Report> {
  const { tests } = guardMutants[index] as (typeof guardMutants)[number];
  const folder = mkdtempSync(join(tmpdir(), 'mutant-'));
  const report = join(folder, 'report.json');
  const options = ['--config', 'test/mutants/mutant.config.ts', '--bail', '1'];
  const args = [vitest, 'run', ...options, '--reporter', 'json', '--outputFile', report, ...tests];
  try {
    const printed = await new Promise<string>((resolve) => {
      const env = { ...process.env, MUTANT: String(index) };
      // It ends with 1 when a test fails, which is what is wanted.
      execFile(process.execPath, args, { cwd: root, env }, (_, stdout, stderr) => resolve(stdout + stderr));
    });
    assert(existsSync(report), printed);
    return JSON.parse(readFileSync(report, 'utf8')) as Report;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('without it tests fail:', () => {
  // Two at a time: they are a third of the slow suite, and often its end.
  it.concurrent.each(guardMutants.map(({ guard }, index) => [guard, index] as const))(
    '%s',
    async (_, index) => {
      const { numFailedTests, numTotalTests } = await runWithout(index);
      expect(numTotalTests).toBeGreaterThan(0);
      expect(numFailedTests).toBeGreaterThan(0);
    },
  );
});
