import { mkdtempSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { unsuitedVolumeWarning } from '#server/host/unsuited-volume.ts';

it('a data folder in memory is reported, with the possible loss', () => {
  // Where Linux keeps shared memory.
  const folder = mkdtempSync('/dev/shm/grove-test-');
  try {
    expect(unsuitedVolumeWarning(folder)).toMatch(`${folder} is on tmpfs, which lives in memory`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it.each([
  ['NFS', 0x6969],
  // As the system may give it: a number of 32 bits with its sign.
  ['CIFS', 0xff53_4d42 | 0],
  ['9P', 0x0102_1997],
])('a data folder on a network file system is reported, with the remedy: %s', (name, type) => {
  expect(unsuitedVolumeWarning('/srv/grove', type)).toMatch(
    new RegExp(`^SVC_DATA_DIR /srv/grove is on ${name}, which is a network file system: .*local disk$`),
  );
});

it('a data folder on an unknown file system is reported', () => {
  expect(unsuitedVolumeWarning('/srv/grove', 0x6573_5546)).toContain(
    'FUSE, which may keep the data on another machine',
  );
});

it('a folder on a disk is not', () => {
  // Whatever the sources are on, they survive a restart.
  expect(unsuitedVolumeWarning(import.meta.dirname)).toBeUndefined();
  for (const type of [0xef53, 0x5846_5342, 0x9123_683e, 0x2fc1_2fc1])
    expect(unsuitedVolumeWarning('/srv/grove', type)).toBeUndefined();
});
