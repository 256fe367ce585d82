import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backupFolder } from '#server/host/backup-folder.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { startServer } from '#test/support/server.ts';

let root: string;
let dataDir: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'grove-backup-folder-'));
  dataDir = join(root, 'data');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function folderFor(backupDir?: string): string {
  const env = { SVC_DATA_DIR: dataDir, ...(backupDir === undefined ? {} : { SVC_BACKUP_DIR: backupDir }) };
  return backupFolder(loadOptions(env, () => undefined).server);
}

describe('the folder of the backups', () => {
  it('is beside the data, in a folder of its own there, or elsewhere', () => {
    expect(folderFor()).toBe(join(dataDir, 'backups'));
    for (const place of [
      join(dataDir, 'backups/nightly'),
      join(dataDir, 'journals'),
      join(root, 'elsewhere'),
    ])
      expect(folderFor(place)).toBe(place);
  });

  it.each(['actors', 'journal', 'journal/x', 'partitions', 'blobs', 'secrets', 'unsettled', 'check'])(
    'is none that has other files of the data directory: %s',
    (name) => {
      const relativePath = relative(process.cwd(), join(dataDir, name));
      for (const place of [join(dataDir, name), `${join(dataDir, 'x/..', name)}/`, relativePath])
        expect(() => folderFor(place)).toThrow(
          /^SVC_BACKUP_DIR .* is in .*data\/[a-z]+, which is for other files: set it to a folder of its own/,
        );
    },
  );

  it('is not the data directory itself', () => {
    expect(() => folderFor(`${dataDir}/`)).toThrow(/is the data directory itself/);
  });

  it('is not reached over links either', () => {
    mkdirSync(join(root, 'volume'));
    mkdirSync(dataDir);
    symlinkSync(join(root, 'volume'), join(dataDir, 'journal'));
    symlinkSync(dataDir, join(root, 'link'));
    for (const place of [join(root, 'volume/x'), join(root, 'link/journal'), join(root, 'link/actors')])
      expect(() => folderFor(place)).toThrow(/which is for other files/);
  });

  it('is looked at before a start makes anything', async () => {
    const env = { SVC_BACKUP_DIR: join(dataDir, 'journal') };
    await expect(startServer({ dataDir, env })).rejects.toThrow(/SVC_BACKUP_DIR/);
    expect(readdirSync(root)).toEqual([]);
  });
});
