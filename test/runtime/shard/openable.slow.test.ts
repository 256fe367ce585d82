import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

const opener = fileURLToPath(new URL('../../support/shard-opener.ts', import.meta.url));

let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-openable-'));
  chmodSync(folder, 0o777);
  await new LmdbShard(folder, ['rows']).close();
  for (const name of ['data.mdb', 'lock.mdb']) chmodSync(join(folder, name), 0o666);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Opens the shard in a process of its own, which LMDB may end. @param free files it may still open */
function openElsewhere(free?: number): { readonly said: string; readonly signal: string | null } {
  const command = [process.execPath, opener, folder, ...(free === undefined ? [] : [String(free)])];
  const limited = ['-c', 'ulimit -n 128 && exec "$@"', 'sh', ...command];
  const { signal, stdout } = spawnSync('/bin/sh', limited, { encoding: 'utf8' });
  return { said: stdout.trim(), signal };
}

describe('a shard whose files cannot be opened', () => {
  const hands: readonly [string, string, (path: string) => void][] = [
    ['lock.mdb', 'a folder', (path) => mkdirSync(path)],
    ['lock.mdb', 'a pipe', (path) => void spawnSync('mkfifo', [path])],
    ['lock.mdb', 'a link to a device', (path) => symlinkSync('/dev/null', path)],
    ['data.mdb', 'a folder', (path) => mkdirSync(path)],
    ['data.mdb', 'a pipe', (path) => void spawnSync('mkfifo', [path])],
  ];

  it.each(hands)('because %s is %s reports that', (name, _, put) => {
    rmSync(join(folder, name));
    put(join(folder, name));
    expect(openElsewhere()).toEqual({
      said: expect.stringContaining(`WRITES_STOPPED ${join(folder, name)} cannot be used (it is no file)`),
      signal: null,
    });
  });

  it.each(['lock.mdb', 'data.mdb'])('because %s belongs to another user reports that', (name) => {
    chmodSync(join(folder, name), 0);
    expect(openElsewhere()).toEqual({
      said: expect.stringContaining(`WRITES_STOPPED ${join(folder, name)} cannot be used (EACCES)`),
      signal: null,
    });
  });

  it('because no file can be created in its folder reports that', () => {
    rmSync(join(folder, 'lock.mdb'));
    chmodSync(folder, 0o555);
    const { said, signal } = openElsewhere();
    chmodSync(folder, 0o777);
    expect({ said, signal }).toEqual({
      said: expect.stringContaining('lock.mdb cannot be used (EACCES)'),
      signal: null,
    });
  });

  it.each([0, 1, 2, 3])('because the process may open only %i more reports that', (free) => {
    expect(openElsewhere(free)).toEqual({
      said: expect.stringMatching(/^WRITES_STOPPED .* EMFILE$/),
      signal: null,
    });
  });

  it('because too few may be opened is whole when there are enough again', () => {
    expect(openElsewhere(4)).toEqual({ said: 'opened', signal: null });
  });
});
