import { describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { MemoryDisk, MemoryShard, type MemoryShardStep } from '#runtime/shard/memory-shard.ts';
import { SUITE_TABLES, shardSuite } from './shard-suite.ts';

shardSuite('a memory shard', () => {
  const disk = new MemoryDisk();
  return { open: () => new MemoryShard(disk, SUITE_TABLES.length, systemClock), remove: () => {} };
});

function at(sequence: number) {
  return { sequence, clock: { ms: sequence, counter: 0 } };
}

function write(text: string) {
  return [{ table: 0, key: 'a', value: Buffer.from(text) }];
}

function shown(shard: MemoryShard): string | undefined {
  const bytes = shard.get(0, 'a');
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
}

describe('a crash under a memory shard', () => {
  it('takes away what was committed and not flushed, and nothing else', async () => {
    const disk = new MemoryDisk();
    const shard = new MemoryShard(disk, 1, systemClock);
    await shard.apply(write('flushed'), at(1)).flushed;
    const { committed, flushed } = shard.apply(write('committed'), at(2));
    await committed;
    expect(shown(shard)).toBe('committed');
    const after = disk.crash();
    await flushed;
    const reopened = new MemoryShard(after, 1, systemClock);
    expect(shown(reopened)).toBe('flushed');
    expect(reopened.position).toEqual(at(1));
  });
});

describe('a step of a memory shard that fails', () => {
  function failing(step: MemoryShardStep): { disk: MemoryDisk; shard: MemoryShard } {
    const disk = new MemoryDisk();
    const fails = (now: MemoryShardStep) => (now === step ? new ServiceError('STORAGE_FULL') : undefined);
    return { disk, shard: new MemoryShard(disk, 1, systemClock, fails) };
  }

  it('rejects both promises of a commit and shows nothing', async () => {
    const { disk, shard } = failing('commit');
    const { committed, flushed } = shard.apply(write('x'), at(1));
    await expect(committed).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await expect(flushed).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(shown(shard)).toBeUndefined();
    expect(shown(new MemoryShard(disk, 1, systemClock))).toBeUndefined();
  });

  it('rejects the flush and still shows the write until it is reopened, as LMDB does', async () => {
    const { disk, shard } = failing('flush');
    const { committed, flushed } = shard.apply(write('x'), at(1));
    await committed;
    await expect(flushed).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(shown(shard)).toBe('x');
    await expect(shard.apply(write('y'), at(2)).committed).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await shard.close();
    expect(shown(new MemoryShard(disk, 1, systemClock))).toBeUndefined();
  });
});
