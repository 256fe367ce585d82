import { afterEach, expect, it } from 'vitest';
import { SpaceWatch } from '#server/host/space-watch.ts';
import { realFileSystem, type VolumeSpace } from '#runtime/base/files/file-system.ts';
import { SpaceGate } from '#runtime/space/space-gate.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const marks = { alarmPercent: 80, refusePercent: 90, readOnlyPercent: 95 };

let watch: SpaceWatch | undefined;

afterEach(() => watch?.stop());

it('resumes writes when a volume has room again whose usage changed during the check', async () => {
  const clock = new TestClock();
  const gate = new SpaceGate(
    marks,
    () => {},
    () => {},
  );
  const told = new Map<string, VolumeSpace>();
  const nearlyFull = { usedBytes: 99, freeBytes: 0 };
  let others: VolumeSpace = nearlyFull;
  const statfs = (path: string): Promise<VolumeSpace> => Promise.resolve(told.get(path) ?? others);
  watch = new SpaceWatch({
    gate,
    files: { ...realFileSystem, statfs },
    clock,
    dataDir: '/data',
    backupDir: '/data/backups',
  });
  // Between the two looks root began to use what is set aside for it.
  told.set('/data/journal', { usedBytes: 100, freeBytes: 0 });
  await watch.start();
  expect(gate.at('member').refusal('ends')?.code).toBe('STORAGE_FULL');
  told.clear();
  others = { usedBytes: 50, freeBytes: 49 };
  clock.advance(1_000);
  await settle();
  expect(gate.short).toEqual([]);
  expect(gate.at('member').refusal('grows')).toBeUndefined();
  // A volume of its own counts for itself, as before.
  told.set('/data/journal', { usedBytes: 1_000, freeBytes: 1 });
  clock.advance(1_000);
  await settle();
  expect(gate.short.map(({ place }) => place)).toEqual(['the volume of /data/journal']);
});
