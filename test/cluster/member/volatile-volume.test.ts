import { mkdtempSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { volatileVolumeWarning } from '#cluster/member/volatile-volume.ts';

it('a data folder in memory is told of, with what that loses', () => {
  // Where Linux keeps shared memory.
  const folder = mkdtempSync('/dev/shm/grove-test-');
  try {
    expect(volatileVolumeWarning(folder)).toMatch(`${folder} is on tmpfs, which lives in memory`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a folder on a disk is not', () => {
  // Whatever the sources are on, they survive a restart.
  expect(volatileVolumeWarning(import.meta.dirname)).toBeUndefined();
});
