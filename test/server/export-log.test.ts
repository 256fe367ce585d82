import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimName } from '#server/host/claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';

const program = join(import.meta.dirname, '../../server/export-log.ts');

let dataDir: string;
/** Where to. */
let target: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'export-'));
  target = mkdtempSync(join(tmpdir(), 'exported-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
  rmSync(target, { recursive: true });
});

function run(partition: string, nats = 'nats://127.0.0.1:1') {
  const options = ['--partition', partition, '--data-dir', dataDir, '--to', join(target, 'to')];
  const { status, stderr } = spawnSync(process.execPath, [program, ...options, '--nats', nats], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

describe('npm run export-log', () => {
  it('reports an error in the address of NATS in plain text', () => {
    mkdirSync(join(dataDir, 'partitions/007/flush-journal'), { recursive: true });
    const { status, stderr } = run('7', 'http://127.0.0.1:1');
    expect(stderr).toContain('is not of the form nats://host:4222');
    expect(stderr).not.toMatch(/OptionError|^ +at /m);
    expect(status).toBe(1);
  });

  it('leaves the journal of a member alone that runs', async () => {
    const journal = join(dataDir, 'partitions/007/flush-journal');
    mkdirSync(journal, { recursive: true });
    writeFileSync(join(journal, 'note'), '');
    const lock = await acquireDataDirectory(dataDir, claimName);
    try {
      const { status, stderr } = run('7');
      expect(stderr).toContain(`is in use by process ${process.pid}. Stop that one`);
      expect(status).toBe(1);
      expect(readdirSync(journal)).toEqual(['note']);
    } finally {
      lock.release();
    }
  });

  it('reports a missing journal, and creates none', () => {
    const { status, stderr } = run('7');
    expect(stderr).toContain(
      'partitions/007/flush-journal does not exist: this member has no flush journal of the partition',
    );
    expect(status).toBe(1);
    expect(readdirSync(dataDir)).toEqual([]);
    expect(run('seven').status).toBe(2);
  });
});
