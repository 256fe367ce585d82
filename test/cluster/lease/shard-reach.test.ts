import { expect, it } from 'vitest';
import { ShardReach } from '#cluster/lease/shard-reach.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';

const FOLDER = '/partition';

function at(sequence: number, identity = 'stream') {
  return { identity, sequence, epoch: 1, chain: Buffer.alloc(16, sequence) };
}

it('is on the disk before shards get anything of a record, with one write for all that wait', async () => {
  const files = new FaultyFileSystem();
  const reach = new ShardReach(files, FOLDER);
  await reach.read();
  let newest = at(3);
  await Promise.all([1, 3, 2].map((sequence) => reach.cover(sequence, () => newest)));
  const writes = files.calls.get('write');
  await reach.cover(3, () => newest);
  expect([writes, files.calls.get('write')]).toEqual([1, 1]);
  newest = at(9);
  await reach.cover(4, () => newest);
  const after = new ShardReach(
    files.crash('drop-unsynced', () => 0),
    FOLDER,
  );
  await after.read();
  expect(after.position).toEqual(at(9));
});

it('says nothing new when the disk fails, and does when that takes it again', async () => {
  const files = new FaultyFileSystem();
  const reach = new ShardReach(files, FOLDER);
  await reach.read();
  files.fail('sync', 'ENOSPC');
  await expect(reach.cover(1, () => at(2))).rejects.toThrow('ENOSPC');
  expect(reach.position).toBeUndefined();
  await reach.cover(1, () => at(2));
  expect(reach.position).toEqual(at(2));
});

it('begins anew with another stream, and when the shards are thrown away', async () => {
  const files = new FaultyFileSystem();
  const reach = new ShardReach(files, FOLDER);
  await reach.read();
  await reach.cover(5, () => at(5));
  await reach.cover(1, () => at(2, 'another'));
  expect(reach.position).toEqual(at(2, 'another'));
  await reach.remove();
  const after = new ShardReach(files, FOLDER);
  await after.read();
  expect([reach.position, after.position]).toEqual([undefined, undefined]);
});
