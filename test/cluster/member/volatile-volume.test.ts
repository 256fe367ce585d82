import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { volatileVolumeWarning } from '#cluster/member/volatile-volume.ts';

const inMemory = '/dev/shm';

it.runIf(existsSync(inMemory) && statfsSync(inMemory).type === 0x0102_1994)(
  'a data folder in memory is told of, with what that loses',
  () => {
    const folder = mkdtempSync(join(inMemory, 'grove-test-'));
    try {
      expect(volatileVolumeWarning(folder)).toMatch(`${folder} is on tmpfs, which lives in memory`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

it('a folder on a disk is not', () => {
  // Whatever the sources are on, they survive a restart.
  expect(volatileVolumeWarning(import.meta.dirname)).toBeUndefined();
});
