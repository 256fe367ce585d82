import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { until } from '#test/support/until.ts';
import { MutantRunner } from './mutant-runner.ts';

const file = 'runtime/base/stable-hash.ts';
const tests = ['test/runtime/base/stable-hash.test.ts'];
const seed = '0x811c9dc5';
const passed = { total: 2, failed: 0 };

describe('runs of tests with changed sources', () => {
  const runner = new MutantRunner();
  afterAll(() => runner.end());

  /** Runs the tests with another text in the place of one. */
  const run = (from: string, to: string) => runner.run({ tests, change: { file, from, to } });

  it('have their own change, and none of the run before', async () => {
    for (let round = 0; round < 2; round += 1) {
      expect(await run(seed, '7')).toEqual({ total: 2, failed: 1 });
      expect(await runner.run({ tests })).toEqual(passed);
      // Equal values in another notation: what it replaces is that of the file, not that of the run before.
      expect(await run(seed, '0x811c9DC5')).toEqual(passed);
      expect(await run('hash >>> 16)) >>> 0', 'hash >>> 16)) & 1')).toEqual({ total: 2, failed: 1 });
    }
  });

  it('are refused unless the text to replace is there once', async () => {
    await expect(run('no such text', '')).rejects.toThrow('has not exactly once: no such text');
    await expect(run('Math.imul', '')).rejects.toThrow('has not exactly once: Math.imul');
    expect(await runner.run({ tests })).toEqual(passed);
  });

  it.each([
    ['no code', 'export function', 'export fun', 'Parse failed'],
    ['no module', 'export function', "import './nowhere.ts';\nexport function", 'nowhere.ts'],
    ['a module that throws', 'export function', "throw new Error('at once');\nexport function", 'at once'],
  ])('are refused when the change leaves %s', async (_, from, to, message) => {
    await expect(run(from, to)).rejects.toThrow(message);
    expect(await runner.run({ tests })).toEqual(passed);
  });

  it('have as much time for what prepares a test as for a test', async () => {
    const from = "describe('stableHash', () => {";
    // More than what Vitest gives to it by default.
    const to = [
      "import { beforeEach } from 'vitest';",
      from,
      'let ms = 11_000;',
      'beforeEach(() => new Promise((done) => setTimeout(done, ms)).finally(() => (ms = 0)));',
    ].join('\n');
    expect(await runner.run({ tests, change: { file: tests[0] as string, from, to } })).toEqual(passed);
  });

  it('are refused when a test file is not there', async () => {
    await expect(runner.run({ tests: ['test/mutants/nowhere.test.ts'] })).rejects.toThrow('nowhere.test.ts');
    expect(await runner.run({ tests })).toEqual(passed);
  });
});

it('ends a run that hangs, with its processes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mutant-'));
  const reached = join(folder, 'pids');
  const runner = new MutantRunner(20_000);
  try {
    const to = [
      "import { spawn } from 'node:child_process';",
      "import { writeFileSync } from 'node:fs';",
      "const { pid } = spawn('sleep', ['600']);",
      `writeFileSync('${reached}', JSON.stringify([process.pid, pid]));`,
      'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);',
      'export function',
    ].join('\n');
    const hanging = runner.run({ tests, change: { file, from: 'export function', to } });
    await expect(hanging).rejects.toThrow('the run hangs');
    const pids = JSON.parse(readFileSync(reached, 'utf8')) as number[];
    await until(() => !pids.some(isRunning), 'the process that hung and the one it started have ended');
    expect(await runner.run({ tests })).toEqual(passed);
  } finally {
    await runner.end();
    rmSync(folder, { recursive: true });
  }
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
