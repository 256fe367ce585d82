import { beforeEach, expect, it } from 'vitest';
import { PositionFile } from '#cluster/ownership/position-file.ts';
import { PositionKeeper } from '#cluster/ownership/position-keeper.ts';
import { ShardPositions } from '#cluster/replication/shard-positions.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { MemoryShardFiles } from '#test/support/memory-shard-files.ts';

const FOLDER = '/partition';
const position = { identity: 'stream', sequence: 7, epoch: 2, chain: Buffer.alloc(16, 7) };

let files: FaultyFileSystem;
let positions: PositionKeeper;

/** What a start finds after a power cut at this moment. */
async function found(): Promise<readonly unknown[]> {
  const file = new PositionFile(files.crash('drop-unsynced'), FOLDER);
  return [await file.read(), file.catalogue, file.actors];
}

beforeEach(async () => {
  files = new FaultyFileSystem();
  await new PositionFile(files, FOLDER).write(position, 'listed', 3);
  const shards = new ShardPositions(new MemoryShardFiles(), systemClock, systemRandom);
  positions = new PositionKeeper({ files, folder: FOLDER, clock: systemClock, flushed: undefined, shards });
  await positions.load();
});

it('forgets a position before it removes the rows, which would count as read otherwise', async () => {
  const before = await found();
  await positions.removeWith(async () => {
    expect([before, await found()]).toEqual([
      [position, 'listed', 3],
      [undefined, undefined, undefined],
    ]);
  });
  expect([positions.current, ...(await found())]).toEqual([undefined, undefined, undefined, undefined]);
});

it('keeps its position when nothing could be removed', async () => {
  const refusal = new ServiceError('STORAGE_FULL');
  await expect(positions.removeWith(() => Promise.reject(refusal))).rejects.toBe(refusal);
  expect([positions.current, ...(await found())]).toEqual([position, position, 'listed', 3]);
});
