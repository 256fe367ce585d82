import { closeSync, openSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startProgram } from '#test/support/run-program.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

const programs = [
  'operator/backup.ts',
  'operator/nats-users.ts',
  'operator/reset-password.ts',
  'operator/status.ts',
  'server/backup/restore.ts',
  'server/check/check-data.ts',
  'server/export-log.ts',
  'server/salvage/rebuild-catalogue.ts',
  'server/salvage/salvage.ts',
];

describe('a program for operators', () => {
  it.each(programs)('finishes when its output has no reader: %s', async (file) => {
    const { child, ended } = startProgram(file, ['--help']);
    child.stdout?.destroy();
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([0, '']);
  });

  it('fails in words when its output is on a full disk', () => {
    const full = openSync('/dev/full', 'w');
    try {
      const { status, stderr } = spawnSync(
        process.execPath,
        [join(projectRoot, 'operator/status.ts'), '--help'],
        { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' },
      );
      expect([status, stderr]).toEqual([1, 'The output cannot be written (ENOSPC).\n']);
    } finally {
      closeSync(full);
    }
  });
});
