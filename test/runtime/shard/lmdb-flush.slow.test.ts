import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { requiredProgram } from '#test/support/required-program.ts';

const support = join(import.meta.dirname, '..', '..', 'support');

describe('an LMDB shard one flush of which fails [DUR-011]', () => {
  /** A disk that fails on request has to be compiled. */
  const compiler = requiredProgram('cc');
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'flush-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function run(how: string): unknown {
    const library = join(folder, 'failing-flush.so');
    const compiled = spawnSync(compiler, [
      '-shared',
      '-fPIC',
      '-o',
      library,
      join(support, 'failing-flush.c'),
      '-ldl',
    ]);
    expect(String(compiled.stderr)).toBe('');
    const script = join(support, 'failing-flush-shard.ts');
    const child = spawnSync(process.execPath, [script, join(folder, 'shard'), how], {
      env: { ...process.env, LD_PRELOAD: library, FAIL_FLUSH_FILE: join(folder, 'trigger') },
      encoding: 'utf8',
    });
    expect(child.signal).toBeNull();
    expect(existsSync(join(folder, 'trigger'))).toBe(false);
    return JSON.parse(child.stdout);
  }

  it('returns to what was flushed before, although a second flush would succeed', async () => {
    expect(run('once')).toEqual({
      outcomes: ['done', 'WRITES_STOPPED', 'WRITES_STOPPED', 'done', 'done'],
      states: [
        { text: '1', sequence: 1 },
        { text: '4', sequence: 4 },
      ],
      unhandled: [],
    });
    const shard = new LmdbShard(join(folder, 'shard'), ['a']);
    expect([shard.position.sequence, String(shard.get(0, 'k299'))]).toEqual([5, '5']);
    await shard.close();
  });

  it('is never opened again when it cannot go back', () => {
    expect(run('for-good')).toEqual({
      outcomes: ['done', 'WRITES_STOPPED', 'WRITES_STOPPED'],
      states: ['DATA_CORRUPTED', 'DATA_CORRUPTED'],
      unhandled: [],
    });
  });
});
