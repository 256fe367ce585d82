import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FolderWatch } from '#server/host/folder-watch.ts';
import { startServer } from '#test/support/server.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'folder-watch-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Does something while a folder is on a volume that is read-only. */
async function whileReadOnly(folder: string, work: () => Promise<void>): Promise<void> {
  const mount = (...args: readonly string[]): void => expect(spawnSync('mount', args).status).toBe(0);
  mount('--bind', folder, folder);
  try {
    mount('-o', 'remount,bind,ro', folder);
    await work();
  } finally {
    spawnSync('umount', [folder]);
  }
}

it('names the folders of actors that cannot be written to, until they can', async () => {
  const clock = new TestClock();
  const partition = join(dataDir, 'partitions/p007/actors');
  for (const path of [join(dataDir, 'actors'), partition]) mkdirSync(path, { recursive: true });
  const watch = await FolderWatch.start(dataDir, clock);
  const looked = (): Promise<void> =>
    until(() => {
      clock.advance(1_000);
      return watch.missing.length !== before;
    }, 'it looks');
  let before = 0;
  expect([watch.findings, watch.missing]).toEqual([[], []]);
  await whileReadOnly(partition, async () => {
    await looked();
    expect(watch.findings).toMatchObject([
      {
        code: 'folder-refused',
        message: expect.stringContaining(`${partition} (EROFS) cannot be written: give the user`),
      },
    ]);
    expect(watch.missing).toMatchObject([{ part: 'folder', partitions: [] }]);
    before = 1;
  });
  await looked();
  expect([watch.findings, watch.missing]).toEqual([[], []]);
  watch.stop();
});

it('makes a member report that it is not ready, in the status as well', async () => {
  const server = await startServer({ dataDir });
  const ready = async () => (await server.request('GET', '/ready')).json;
  try {
    await whileReadOnly(join(dataDir, 'actors'), async () => {
      await until(async () => (await ready()).missing.length > 0, 'it is noticed');
      expect(await ready()).toMatchObject({ missing: [{ part: 'folder' }] });
      const { json } = await server.admin('GET', '/api/management/cluster');
      expect(json.warnings).toMatchObject([{ code: 'folder-refused', severity: 'alarm' }]);
    });
    await until(async () => (await ready()).missing.length === 0, 'it is over');
  } finally {
    await server.close();
  }
});
