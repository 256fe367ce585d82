import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { discard, makeDirectory } from '#test/support/damaged-directory.ts';
import { type ProgramOutcome, runProgram } from '#test/support/run-program.ts';
import { startServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

const CHECK = 'server/check/check-data.ts';
const RESTORE = 'server/backup/restore.ts';
const SALVAGE = 'server/salvage/salvage.ts';

let whole: string;
let scratch: string;

beforeAll(async () => {
  whole = await makeDirectory();
  scratch = mkdtempSync(join(tmpdir(), 'grove-interrupted-'));
});

afterAll(() => discard(whole, scratch));

/** Runs a program that is interrupted while it prints a text. */
async function interruptedAt(text: string, file: string, args: readonly string[]): Promise<ProgramOutcome> {
  const preload = join(projectRoot, 'test/support/interrupt-at-line.ts');
  const outcome = await runProgram(file, args, { INTERRUPT_AT: text }, ['--import', preload]);
  expect(outcome.stdout).toContain(text);
  return outcome;
}

/** Whether a server refuses a folder, and why. */
async function refusal(dataDir: string): Promise<string> {
  const server = await startServer({ dataDir }).catch((error: unknown) => error as Error);
  if (server instanceof Error) return server.message;
  await server.close();
  return '';
}

describe('a program that is interrupted', () => {
  it('check-data prints no result for what it has read [CHK-013]', async () => {
    const { code, stderr, stdout } = await interruptedAt('0 % of', CHECK, ['--data-dir', whole]);
    expect([code, stderr]).toEqual([1, 'The check was given up\n']);
    expect(stdout).not.toContain('verif');
    expect(await runProgram(CHECK, ['--data-dir', whole])).toMatchObject({ code: 0 });
  });

  it.each(['0 of', 'the journal', 'tables of'])(
    'salvage reports that its output is incomplete, and the output is not accepted as complete, at "%s" [SAL-009]',
    async (text) => {
      const into = join(scratch, text.replaceAll(' ', '-'));
      const { code, stderr, stdout } = await interruptedAt(text, SALVAGE, ['--from', whole, '--into', into]);
      expect([code, stdout]).toEqual([1, expect.not.stringContaining('was copied')]);
      expect(stderr).toContain(`The salvage was given up: ${into} has a part only`);
      expect(existsSync(join(into, 'salvage-report.json'))).toBe(false);
      const checked = await runProgram(CHECK, ['--data-dir', into]);
      expect([checked.code, checked.stdout]).toEqual([1, expect.stringContaining('findings of damage')]);
      expect(await refusal(into)).toMatch(/is missing|are missing/);
      const again = await runProgram(SALVAGE, ['--from', whole, '--into', into]);
      expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('is not empty')]);
    },
  );

  it('restore reports it, and its output is not accepted as complete until it is run again [BAK-024]', async () => {
    const source = await startServer({ dataDir: whole });
    try {
      await source.admin('POST', '/api/management/backups', { name: 'all' });
      const path = '/api/management/backups/all';
      await until(async () => (await source.admin('GET', path)).json.state === 'done', 'the backup is over');
    } finally {
      await source.close();
    }
    const into = join(scratch, 'restored');
    const given = ['--from', join(whole, 'backups/all'), '--into', into, '--accept-foreign'];
    const early = await interruptedAt('comparing checksums', RESTORE, given);
    expect([early.code, early.stderr]).toEqual([1, 'The restore was given up\n']);
    expect(existsSync(join(into, 'actors'))).toBe(false);
    const late = await interruptedAt('/branch', RESTORE, given);
    expect([late.code, late.stderr]).toEqual([1, 'The restore was given up\n']);
    expect(await refusal(into)).toContain('did not finish');
    const checked = await runProgram(CHECK, ['--data-dir', into]);
    expect([checked.code, checked.stdout]).toEqual([1, expect.stringContaining('did not finish')]);
    expect(await runProgram(RESTORE, given)).toMatchObject({ code: 0 });
    expect(await runProgram(CHECK, ['--data-dir', into])).toMatchObject({ code: 0 });
  });
});
