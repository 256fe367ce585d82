import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

describe.each(['actors', 'journal', 'partitions', 'unsettled', '.'])('the folder %s', (name) => {
  it.each(['is moved away', 'is replaced'])('is told when it %s, until it is back', async (how) => {
    const clock = new TestClock();
    const root = join(dataDir, 'data');
    const folder = join(root, name);
    for (const made of ['actors', 'journal', 'partitions', 'unsettled'])
      mkdirSync(join(root, made), { recursive: true });
    const watch = await FolderWatch.start(root, clock);
    expect([watch.findings, watch.missing]).toEqual([[], []]);
    const away = join(dataDir, 'away');
    renameSync(folder, away);
    if (how === 'is replaced') mkdirSync(folder);
    await watch.check();
    const message = expect.stringMatching(
      `^${folder} was removed, moved away or replaced under the running server.*bring that one back`,
    );
    expect(watch.findings).toEqual([{ code: 'folder-refused', message }]);
    expect(watch.missing).toEqual([{ part: 'folder', message, partitions: [] }]);
    rmSync(folder, { recursive: true, force: true });
    renameSync(away, folder);
    await watch.check();
    expect([watch.findings, watch.missing]).toEqual([[], []]);
    watch.stop();
  });
});

it('misses no folder that was never there, and takes one that is made later', async () => {
  const watch = await FolderWatch.start(dataDir, new TestClock());
  expect(watch.missing).toEqual([]);
  mkdirSync(join(dataDir, 'actors'));
  await watch.check();
  expect(watch.missing).toEqual([]);
  rmSync(join(dataDir, 'actors'), { recursive: true });
  await watch.check();
  expect(watch.missing).toMatchObject([{ part: 'folder' }]);
  watch.stop();
});

it('makes a member of which a folder was moved away report that it is not ready', async () => {
  for (const name of ['.', 'actors', 'journal']) {
    const root = join(dataDir, `data-${name}`);
    const server = await startServer({ dataDir: root });
    const ready = async () => await server.request('GET', '/ready');
    const folders = async () =>
      (await ready()).json.missing.filter(({ part }: { part: string }) => part === 'folder');
    const [folder, away] = [join(root, name), join(dataDir, 'away')];
    try {
      expect((await ready()).status).toBe(200);
      renameSync(folder, away);
      await until(async () => (await folders()).length > 0, 'it is noticed');
      expect((await ready()).status).toBe(503);
      expect((await folders())[0].message).toContain(`${folder} was removed, moved away or replaced`);
    } finally {
      renameSync(away, folder);
      await server.close();
    }
  }
});
