import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { SHARD_FORMAT } from '#runtime/shard/lmdb-tables.ts';
import { SUITE_TABLES, shardSuite } from './shard-suite.ts';

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'shard-'));
}

shardSuite('an LMDB shard', () => {
  const folder = newFolder();
  return {
    open: () => new LmdbShard(folder, SUITE_TABLES),
    openCopy: (copy) => new LmdbShard(copy, SUITE_TABLES),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
});

describe('an LMDB shard on its disk', () => {
  let folder: string;

  beforeEach(() => {
    folder = newFolder();
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** Sets the format number as a newer build would. */
  async function setFormat(format: number): Promise<void> {
    const environment = open<Uint8Array, string>({
      path: folder,
      noSubdir: false,
      maxDbs: 32,
      safeRestore: true,
    } as never);
    const keyEncoder = {
      writeKey: (key: string, target: Buffer, start: number) => start + target.latin1Write(key, start),
      readKey: (source: Buffer, start: number, end: number) => source.latin1Slice(start, end),
    };
    const system = environment.openDB({ name: '_shard', encoding: 'binary', keyEncoder } as never);
    await system.put('format', Uint8Array.of(format));
    await environment.close();
  }

  it('is taken for overwritten neither while it is applied to, nor once it is closed', async () => {
    const shard = new LmdbShard(folder, ['a']);
    for (let sequence = 1; sequence <= 20; sequence += 1) {
      let isDone = false;
      const writes = [{ table: 0, key: 'k', value: Buffer.alloc(100_000, sequence) }];
      const applied = shard.apply(writes, { sequence, clock: revisionZero }).flushed.then(() => {
        isDone = true;
      });
      while (!isDone) {
        expect(() => shard.requireUntouched()).not.toThrow();
        await new Promise((resolve) => setImmediate(resolve));
      }
      await applied;
      expect(() => shard.requireUntouched()).not.toThrow();
    }
    await shard.close();
    expect(() => shard.requireUntouched()).not.toThrow();
  });

  it('refuses a newer format and leaves it as it is', async () => {
    await new LmdbShard(folder, ['a']).close();
    await setFormat(SHARD_FORMAT + 1);
    const before = readFileSync(join(folder, 'data.mdb'));
    const newer = expect.objectContaining({
      code: 'DATA_CORRUPTED',
      message: expect.stringMatching(/newer build/),
    });
    expect(() => new LmdbShard(folder, ['a', 'b', 'c'])).toThrow(newer);
    expect(() => new LmdbShard(folder, ['a', 'b', 'c'])).toThrow(newer);
    expect(readFileSync(join(folder, 'data.mdb'))).toEqual(before);
    await setFormat(SHARD_FORMAT);
    await new LmdbShard(folder, ['a', 'b', 'c']).close();
  });

  const hands: readonly [string, string, (path: string) => void][] = [
    ['removed', 'removed', (path) => rmSync(path)],
    [
      'replaced',
      'replaced',
      (path) => {
        writeFileSync(`${path}.other`, '');
        renameSync(`${path}.other`, path);
      },
    ],
    ['emptied', 'cut to 0 bytes', (path) => truncateSync(path, 0)],
    ['cut', 'cut to 8192 bytes', (path) => truncateSync(path, 8_192)],
  ];

  it.each(hands)(
    'takes nothing once its file was %s under it, and ends without the process',
    async (_, what, harm) => {
      const shard = new LmdbShard(folder, ['a']);
      const row = (number: number) => [{ table: 0, key: `k${number}`, value: Buffer.alloc(3_000, 1) }];
      const clock = shard.position.clock;
      for (let number = 1; number <= 20; number += 1)
        await shard.apply(row(number), { sequence: number, clock }).flushed;
      harm(join(folder, 'data.mdb'));
      for (let time = 0; time < 2; time += 1)
        await expect(shard.apply(row(21), { sequence: 21, clock }).flushed).rejects.toMatchObject({
          code: 'DATA_CORRUPTED',
          message: expect.stringContaining(
            `data.mdb is damaged (it was ${what} under the running server)`,
          ) as string,
        });
      await shard.close();
    },
  );

  it('notices that an earlier copy was written over its file, and is not read any more', async () => {
    const shard = new LmdbShard(folder, ['a']);
    const file = join(folder, 'data.mdb');
    const clock = shard.position.clock;
    const put = async (sequence: number): Promise<void> => {
      const applied = shard.apply([{ table: 0, key: `k${sequence}`, value: Buffer.from('v') }], {
        sequence,
        clock,
      });
      // While it runs, readers may see either position.
      shard.requireUntouched();
      await applied.flushed;
      shard.requireUntouched();
    };
    shard.requireUntouched();
    await put(1);
    copyFileSync(file, `${file}.earlier`);
    for (let sequence = 2; sequence <= 9; sequence += 1) await put(sequence);
    const pinned = shard.snapshot();
    const rows = pinned.range(0, { start: 'k1', end: 'k9' })[Symbol.iterator]();
    rows.next();
    writeFileSync(file, readFileSync(`${file}.earlier`), { flag: 'r+' });
    await new Promise((resolve) => setImmediate(resolve));
    const overwritten = expect.objectContaining({
      code: 'DATA_CORRUPTED',
      message: expect.stringContaining(
        'it no longer has its state of log record 9: another file was copied over it under the running server',
      ) as string,
    });
    expect(() => shard.requireUntouched()).toThrow(overwritten);
    expect(() => shard.get(0, 'k1')).toThrow(overwritten);
    expect(() => shard.snapshot()).toThrow(overwritten);
    expect(() => pinned.get(0, 'k1')).toThrow(overwritten);
    expect(() => pinned.has?.(0, 'k1')).toThrow(overwritten);
    expect(() => rows.next()).toThrow(overwritten);
    pinned.close();
    const refused = shard.apply([], { sequence: 10, clock });
    await expect(refused.flushed).rejects.toEqual(overwritten);
    await shard.close();
  });

  it('notices that the file of another actor was written over its file, which has the same log record', async () => {
    const fileOf = (name: string): string => join(folder, name, 'data.mdb');
    const [shard, other] = ['one', 'two'].map(
      (actor) => new LmdbShard(join(folder, actor), ['a'], { actor, directory: 'd', created: 1 }),
    ) as [LmdbShard, LmdbShard];
    for (const each of [shard, other]) {
      const writes = [{ table: 0, key: 'k', value: Buffer.from('v') }];
      await each.apply(writes, { sequence: 1, clock: revisionZero }).flushed;
      each.requireUntouched();
    }
    await other.close();
    writeFileSync(fileOf('one'), readFileSync(fileOf('two')), { flag: 'r+' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(() => shard.requireUntouched()).toThrow(
      'another file was copied over it under the running server',
    );
    await shard.close();
  });

  it('writes nothing to a file that an earlier copy was written over, not even its position', async () => {
    const shard = new LmdbShard(folder, ['a']);
    const file = join(folder, 'data.mdb');
    const clock = shard.position.clock;
    const put = (sequence: number): Promise<void> =>
      shard.apply([{ table: 0, key: `k${sequence}`, value: Buffer.from('v') }], { sequence, clock }).flushed;
    await put(1);
    copyFileSync(file, `${file}.earlier`);
    for (let sequence = 2; sequence <= 9; sequence += 1) await put(sequence);
    writeFileSync(file, readFileSync(`${file}.earlier`), { flag: 'r+' });
    await new Promise((resolve) => setImmediate(resolve));
    await expect(put(10)).rejects.toMatchObject({
      code: 'DATA_CORRUPTED',
      message: expect.stringContaining('it no longer has its state of log record 9') as string,
    });
    await shard.close();
    // Whoever still has it hears the cause, and not that it may be read again.
    expect(() => shard.get(0, 'k1')).toThrow('it no longer has its state of log record 9');
    const again = new LmdbShard(folder, ['a']);
    expect(again.position.sequence).toBe(1);
    await again.close();
  });

  it('does not ask LMDB to write large values to a volume without room, which would end the process', async () => {
    let free = 2 * 1024 * 1024;
    const open = () => new LmdbShard(folder, ['a'], undefined, undefined, () => free);
    const rows = (count: number, bytes: number) =>
      Array.from({ length: count }, (_, row) => ({
        table: 0,
        key: `k${row}`,
        value: Buffer.alloc(bytes, 1),
      }));
    const shard = open();
    const clock = shard.position.clock;
    await shard.apply(rows(3, 300_000), { sequence: 1, clock }).flushed;
    for (let time = 0; time < 2; time += 1)
      await expect(shard.apply(rows(10, 300_000), { sequence: 2, clock }).flushed).rejects.toMatchObject({
        code: 'STORAGE_FULL',
      });
    expect(shard.position.sequence).toBe(1);
    expect(shard.get(0, 'k3')).toBeUndefined();
    await shard.close();
    // What needs no pages of its own is left to LMDB, and large values are when there is room again.
    free = 0;
    const again = open();
    await again.apply(rows(10, 500), { sequence: 2, clock }).flushed;
    free = 16 * 1024 * 1024;
    await again.apply(rows(10, 300_000), { sequence: 3, clock }).flushed;
    expect(again.get(0, 'k9')?.length).toBe(300_000);
    await again.close();
  });

  it('reports damage when a write meets a damaged page, and closes its file', async () => {
    const shard = new LmdbShard(folder, ['a']);
    const row = (number: number) => [{ table: 0, key: `k${number}`, value: Buffer.alloc(900, number) }];
    const clock = shard.position.clock;
    for (let number = 10; number <= 60; number += 1)
      await shard.apply(row(number), { sequence: number, clock }).flushed;
    await shard.close();
    const path = join(folder, 'data.mdb');
    const bytes = readFileSync(path);
    // Every page with the row, present and past: which of them counts is for LMDB to know.
    for (let at = bytes.indexOf('k30'); at >= 0; at = bytes.indexOf('k30', at + 1))
      bytes.fill(0xdf, at - (at % 4096), at - (at % 4096) + 4096);
    writeFileSync(path, bytes);
    const damaged = new LmdbShard(folder, ['a']);
    for (let time = 0; time < 2; time += 1)
      await expect(damaged.apply(row(30), { sequence: 61, clock }).flushed).rejects.toMatchObject({
        code: 'DATA_CORRUPTED',
        message: expect.stringContaining(`the shard ${path} is damaged`) as string,
      });
    await damaged.close();
  });

  it('grows tables that an older build did not have', async () => {
    const old = new LmdbShard(folder, ['a']);
    await old.apply([{ table: 0, key: 'k', value: Buffer.from('v') }], {
      sequence: 1,
      clock: { ms: 1, counter: 0 },
    }).flushed;
    await old.close();
    const shard = new LmdbShard(folder, ['a', 'b']);
    await shard.apply([{ table: 1, key: 'k', value: Buffer.from('w') }], {
      sequence: 2,
      clock: { ms: 2, counter: 0 },
    }).flushed;
    expect([shard.get(0, 'k'), shard.get(1, 'k')].map(String)).toEqual(['v', 'w']);
    await shard.close();
  });

  it('reads single pages from the disk, not what lies around them', async () => {
    const shard = new LmdbShard(folder, ['a']);
    const maps = readFileSync('/proc/self/smaps', 'utf8').split(/\n(?=[0-9a-f]+-)/);
    const ours = maps.filter((map) => map.includes(join(folder, 'data.mdb')));
    expect(ours).not.toEqual([]);
    for (const map of ours) expect(map).toMatch(/^VmFlags:.* rr /m);
    await shard.close();
  });

  it('tells whether it has a large value without reading it', async () => {
    const filled = new LmdbShard(folder, ['a']);
    const writes = [{ table: 0, key: 'large', value: Buffer.alloc(8 * 1024 * 1024, 'x') }];
    await filled.apply(writes, { sequence: 1, clock: revisionZero }).flushed;
    await filled.close();
    const mappedKilobytes = (): number => {
      const maps = readFileSync('/proc/self/smaps', 'utf8').split(/\n(?=[0-9a-f]+-)/);
      return Number(/^Rss: +(\d+)/m.exec(maps.find((map) => map.includes(folder)) ?? '')?.[1]);
    };
    const shard = new LmdbShard(folder, ['a']);
    const pinned = shard.snapshot();
    expect([hasRow(shard, 0, 'large'), hasRow(pinned, 0, 'large')]).toEqual([true, true]);
    expect(mappedKilobytes()).toBeLessThan(4096);
    shard.get(0, 'large');
    expect(mappedKilobytes()).toBeGreaterThan(8192);
    pinned.close();
    await shard.close();
  });

  it('takes nothing while it is copied, and closes when the copy is whole', async () => {
    const shard = new LmdbShard(folder, ['a']);
    const at = (sequence: number) => ({ sequence, clock: revisionZero });
    const value = Buffer.alloc(3_000_000, 7);
    await shard.apply([{ table: 0, key: 'big', value }], at(1)).flushed;
    const copied = shard.copyTo(join(folder, 'copy'));
    expect(() => shard.apply([], at(2))).toThrow(InvariantError);
    expect(shard.get(0, 'big')).toHaveLength(value.length);
    await shard.close();
    await copied;
    const copy = new LmdbShard(join(folder, 'copy'), ['a']);
    expect(value.equals(copy.get(0, 'big') as Uint8Array)).toBe(true);
    expect(copy.position).toEqual(at(1));
    await copy.close();
  });

  it('can be copied again after a copy that failed', async () => {
    const shard = new LmdbShard(folder, ['a']);
    writeFileSync(join(folder, 'file'), '');
    await expect(shard.copyTo(join(folder, 'file', 'copy'))).rejects.toMatchObject({
      code: 'WRITES_STOPPED',
    });
    await shard.copyTo(join(folder, 'copy'));
    await shard.close();
  });

  it('reports that it cannot be created', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => new LmdbShard(join(folder, 'file', 'shard'), ['a'])).toThrow(
      expect.objectContaining({ code: 'WRITES_STOPPED' }),
    );
  });

  it('opens and closes hundreds of times in one process', async () => {
    for (let round = 1; round <= 300; round += 1) {
      const shard = new LmdbShard(folder, ['a']);
      expect(shard.position.sequence).toBe(Math.floor((round - 1) / 100));
      const pinned = shard.snapshot();
      pinned.get(0, 'k');
      if (round % 100 === 0)
        await shard.apply([], { sequence: round / 100, clock: { ms: 1, counter: 0 } }).flushed;
      await shard.close();
    }
  });
});

interface Seen {
  readonly code: string;
  readonly refused: string;
  readonly applied: number;
  readonly position: number;
  readonly newest: string;
  readonly rows: number;
  readonly whole: boolean;
  readonly pinnedAfter: string;
  readonly unhandled: readonly string[];
}

/** Runs a shard in a process whose files may not grow beyond a limit, in kibibytes. */
function fillLimited(kibibytes: number): Seen {
  const folder = newFolder();
  try {
    const script = join(import.meta.dirname, '..', '..', 'support', 'limited-shard.ts');
    // dash counts in blocks of 512 bytes. Without the trap the signal would kill it at the limit.
    const limited = `ulimit -f ${kibibytes * 2}; trap '' XFSZ; exec "$@"`;
    const run = spawnSync('/bin/sh', ['-c', limited, 'sh', process.execPath, script, folder], {
      encoding: 'utf8',
    });
    expect(run.signal).toBeNull();
    return JSON.parse(run.stdout) as Seen;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('an LMDB shard whose disk takes no more', () => {
  it.each([400, 700, 1501, 2003])(
    'closes, opens again and shows exactly what was applied: %d KiB',
    (kibibytes) => {
      const seen = fillLimited(kibibytes);
      expect(seen.applied).toBeGreaterThan(2);
      expect(seen).toEqual({
        code: 'WRITES_STOPPED',
        refused: 'WRITES_STOPPED',
        applied: seen.applied,
        position: seen.applied,
        newest: `${seen.applied}`,
        rows: seen.applied,
        whole: true,
        pinnedAfter: 'SHUTTING_DOWN',
        unhandled: [],
      });
    },
  );
});
