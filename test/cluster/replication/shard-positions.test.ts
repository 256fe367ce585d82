import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ShardPositions } from '#cluster/replication/shard-positions.ts';
import { CATALOGUE } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { MemoryShard } from '#runtime/shard/memory-shard.ts';
import { MemoryShardFiles } from '#test/support/memory-shard-files.ts';
import { noteActor } from '#test/support/note-actor.ts';

function at(sequence: number, identity = 'stream') {
  return { identity, sequence, epoch: 1, chain: Buffer.alloc(16, sequence) };
}

/** The head of a shard that has everything up to a record. */
function head(sequence: number) {
  const { chain, epoch } = at(sequence);
  return { sequence, mark: { epoch, chain } };
}

function looked(files: MemoryShardFiles): ShardPositions {
  const positions = new ShardPositions(files, systemClock, systemRandom);
  positions.inspect();
  return positions;
}

it('finds the newest record named by a shard, among the shards that received one', async () => {
  const files = new MemoryShardFiles();
  const positions = looked(files);
  expect(positions.newest).toBeUndefined();
  await Promise.all([
    positions.cover(3, at(9), 'a'),
    positions.cover(4, at(9), 'b'),
    positions.cover(8, at(9), 'c'),
  ]);
  files.heads.set('a', head(3));
  files.heads.set('b', head(4));
  files.heads.set('d', head(5));
  // Nothing of record 8 came to the disk.
  files.heads.set('c', { sequence: 0, mark: undefined });
  expect(looked(files.crash()).newest).toEqual(at(4));
});

it('knows a record that created or removed an actor without a shard that names it', async () => {
  const files = new MemoryShardFiles();
  const positions = looked(files);
  await positions.cover(3, at(3), 'a');
  files.heads.set('a', head(3));
  await positions.cover(5, at(6), undefined);
  files.heads.delete('a');
  expect(looked(files.crash()).newest).toEqual(at(6));
});

it('names a shard on the disk before it is given something, once as long as it is given more', async () => {
  const files = new MemoryShardFiles();
  const positions = looked(files);
  files.failure = new ServiceError('STORAGE_FULL');
  await expect(positions.cover(2, at(2), 'a')).rejects.toThrow(files.failure);
  files.heads.set('a', head(2));
  expect(looked(files.crash()).newest).toBeUndefined();
  files.failure = undefined;
  await positions.cover(2, at(2), 'a');
  expect(looked(files.crash()).newest).toEqual(at(2));
  // A disk that fails now is not asked.
  files.failure = new ServiceError('STORAGE_FULL');
  await positions.cover(3, at(3), 'a');
});

it('looks at no shard again that the stored position is ahead of, and that got nothing for a while', async () => {
  const files = new MemoryShardFiles();
  const positions = looked(files);
  await positions.cover(2, at(2), 'idle');
  await positions.cover(2, at(2), 'under way');
  await positions.cover(5, at(5), 'ahead');
  positions.applied('idle', 2, undefined);
  positions.applied('ahead', 5, undefined);
  for (let times = 0; times < 4; times += 1) positions.stored(at(4));
  await positions.close();
  const after = files.crash();
  after.heads.set('idle', head(2)).set('under way', head(2)).set('ahead', head(5));
  const again = looked(after);
  expect([after.looks, again.newest]).toEqual([2, at(5)]);
  // What was ahead when the process ended is not for ever.
  for (let times = 0; times < 4; times += 1) again.stored(at(5));
  await again.close();
  const last = after.crash();
  looked(last);
  expect(last.looks).toBe(0);
});

it('starts again with another stream, and when the shards were replaced', async () => {
  const files = new MemoryShardFiles();
  const positions = looked(files);
  await positions.cover(5, at(5), 'a');
  await positions.cover(1, at(2, 'another'), 'a');
  files.heads.set('a', head(2));
  expect(looked(files.crash()).newest).toEqual(at(2, 'another'));
  // Also the newest record that makes or removes an actor.
  await positions.cover(4, at(4, 'another'), undefined);
  await positions.cover(1, at(1, 'a third'), undefined);
  files.heads.delete('a');
  expect(looked(files.crash()).newest).toEqual(at(1, 'a third'));
  await positions.suspend();
  positions.inspect();
  expect(positions.newest).toEqual(at(1, 'a third'));
  positions.resume();
  expect(positions.newest).toBeUndefined();
});

/** One with actor `a`, that may be used. */
async function opened(files: MemoryShardFiles): Promise<ShardPositions> {
  const positions = new ShardPositions(files, systemClock, systemRandom);
  await positions.open(undefined, undefined);
  await files.catalogue?.note({ actors: new Map([['a', { created: 0, floor: 0 }]]) }, 1);
  return positions;
}

/** What another process finds. */
async function after(files: MemoryShardFiles): Promise<MemoryShardFiles> {
  const left = files.crash();
  const positions = new ShardPositions(left, systemClock, systemRandom);
  await positions.open(undefined, undefined);
  return left;
}

it('knows how far a shard was ahead of the position before the position is stored again', async () => {
  const files = new MemoryShardFiles();
  await (await opened(files)).cover(5, at(5), 'a');
  // The process ends before it hears that the shard has it.
  files.heads.set('a', head(5));
  const left = await after(files);
  const positions = looked(left);
  await positions.open(undefined, undefined);
  left.heads.clear();
  await positions.storing(at(1));
  expect(left.catalogue?.get('a')).toEqual({ created: 0, floor: 5 });
});

it('lists no removed actor whose shard is ahead', async () => {
  const files = new MemoryShardFiles();
  await (await opened(files)).cover(5, at(5), 'a');
  await files.catalogue?.note({ actors: new Map([['a', null]]) }, 6);
  // Its files go later.
  files.heads.set('a', head(5));
  const left = await after(files);
  const positions = looked(left);
  await positions.open(undefined, undefined);
  await positions.storing(at(6));
  expect(await positions.actors()).toEqual([]);
});

it('expects nothing of an actor that the one of its name had before it was removed', async () => {
  const files = new MemoryShardFiles();
  const positions = await opened(files);
  await positions.cover(5, at(5), 'a');
  positions.applied('a', 5, undefined);
  await files.catalogue?.note({ actors: new Map([['a', null]]) }, 6);
  await files.catalogue?.note({ actors: new Map([['a', { created: 0, floor: 0 }]]) }, 7);
  await positions.storing(at(7));
  expect(files.catalogue?.get('a')?.floor).toBe(0);
});

it('lets no position be stored that is past a record whose actor has a floor below it', async () => {
  const files = new MemoryShardFiles();
  const positions = await opened(files);
  await positions.cover(5, at(5), 'a');
  positions.applied('a', 5, undefined);
  await positions.storing(at(4));
  await files.catalogue?.note({ actors: new Map([['a', { created: 0, floor: 4 }]]) }, 5);
  await positions.storing(at(4));
  await expect(positions.storing(at(5))).rejects.toThrow(/a has record 5 and its floor is 4/);
});

it('does not use a catalogue of another name than the position was stored with', async () => {
  const files = new MemoryShardFiles();
  const positions = await opened(files);
  const again = new ShardPositions(files.crash(), systemClock, systemRandom);
  await expect(again.open(at(1), 'another')).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  await again.open(at(1), positions.name);
  expect(again.name).toBe(positions.name);
});

it('does not use a catalogue that replaced its own while it could not be written', async () => {
  const files = new ReplacedFiles();
  const positions = await opened(files);
  const other = new MemoryShardFiles();
  await opened(other);
  files.failure = new ServiceError('WRITES_STOPPED');
  files.other = other;
  await expect(positions.cover(2, at(2), 'a')).rejects.toThrow(files.failure);
  await expect(positions.storing(at(2))).rejects.toThrow(/replaced under the running member/);
  files.other = undefined;
  files.failure = undefined;
  await positions.cover(2, at(2), 'a');
  await positions.storing(at(2));
});

/** A catalogue in whose place there may be another one. */
class ReplacedFiles extends MemoryShardFiles {
  other: MemoryShardFiles | undefined;

  override openCatalogue(tables: readonly string[]): MemoryShard {
    return this.other?.openCatalogue(tables) ?? super.openCatalogue(tables);
  }
}

/** A catalogue that cannot be opened again for a while. */
class UnopenedFiles extends MemoryShardFiles {
  isClosed = false;

  override openCatalogue(tables: readonly string[]): MemoryShard {
    if (this.isClosed) throw new ServiceError('WRITES_STOPPED');
    return super.openCatalogue(tables);
  }
}

it('forgets no floor while the catalogue cannot be opened', async () => {
  const files = new UnopenedFiles();
  const positions = await opened(files);
  await positions.cover(2, at(2), 'a');
  positions.applied('a', 2, undefined);
  files.failure = new ServiceError('WRITES_STOPPED');
  files.isClosed = true;
  await expect(positions.cover(3, at(3), 'b')).rejects.toThrow(files.failure);
  await expect(positions.storing(at(2))).rejects.toThrow(files.failure);
  files.failure = undefined;
  files.isClosed = false;
  // Opens it again.
  await positions.cover(3, at(3), 'b');
  await positions.storing(at(2));
  expect(files.catalogue?.get('a')?.floor).toBe(2);
});

it('lets no position be stored before the floors are on the disk, however often that is tried', async () => {
  const files = new MemoryShardFiles();
  const positions = await opened(files);
  await positions.cover(2, at(2), 'a');
  positions.applied('a', 2, undefined);
  files.failure = new ServiceError('STORAGE_FULL');
  for (let times = 0; times < 3; times += 1)
    await expect(positions.storing(at(2))).rejects.toThrow(files.failure);
  files.failure = undefined;
  await positions.storing(at(2));
  expect((await after(files)).catalogue?.get('a')?.floor).toBe(2);
});

it('names a shard once that is given something again and again, also when the position is stored in between', async () => {
  const files = new MemoryShardFiles();
  const positions = looked(files);
  await positions.cover(1, at(1), 'a');
  // Each name would cost a flush.
  for (let sequence = 2; sequence < 6; sequence += 1) {
    positions.applied('a', sequence - 1, undefined);
    positions.stored(at(sequence - 1));
    files.failure = new ServiceError('STORAGE_FULL');
    await positions.cover(sequence, at(sequence), 'a');
    files.failure = undefined;
  }
});

it('does not look at what is about to be replaced, and looks at what replaced it', async () => {
  const files = new MemoryShardFiles();
  await looked(files).cover(5, at(5), 'a');
  files.heads.set('a', head(5));
  const after = files.crash();
  const positions = new ShardPositions(after, systemClock, systemRandom);
  await positions.suspend();
  positions.inspect();
  expect([after.looks, positions.newest]).toEqual([0, undefined]);
  after.heads.set('a', head(4));
  positions.resume();
  positions.inspect();
  expect(positions.newest).toEqual(at(4));
});

it('verifies the catalogue once before its first read, and again when it was damaged or replaced', async () => {
  const files = new MemoryShardFiles();
  const before = looked(files);
  await before.cover(2, at(2), 'a');
  await before.close();
  let reads = 0;
  let what: string | undefined = 'page 7';
  const read = Object.assign(files.crash(), {
    damageOfCatalogue: async () => {
      reads += 1;
      await Promise.resolve();
      return what === undefined ? undefined : { path: 'data.mdb', what };
    },
  });
  const positions = new ShardPositions(read, systemClock, systemRandom);
  await positions.suspend();
  await positions.verify();
  expect(reads).toBe(0);
  positions.resume();
  await expect(Promise.all([positions.verify(), positions.verify()])).rejects.toThrow(
    /is damaged \(data\.mdb: page 7\)/,
  );
  expect(reads).toBe(1);
  what = undefined;
  await Promise.all([positions.verify(), positions.verify()]);
  expect(reads).toBe(2);
  positions.inspect();
  await positions.verify();
  expect(reads).toBe(2);
  await positions.suspend();
  await positions.verify();
  expect(reads).toBe(2);
  positions.resume();
  await positions.verify();
  expect(reads).toBe(3);
  await positions.close();
});

describe('a catalogue that is not there', () => {
  let folder: string;
  let store: ActorStore;
  let positions: ShardPositions;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'shard-positions-'));
    store = new ActorStore(folder, [noteActor], systemClock);
    positions = new ShardPositions(store, systemClock, systemRandom);
  });

  afterEach(async () => {
    await positions.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is not created by a read, which would hide that there was no list', async () => {
    await positions.verify();
    positions.inspect();
    expect(store.hasCatalogue()).toBe(false);
    await expect(positions.open(at(3), undefined)).rejects.toThrow(/neither actors nor a list of them/);
  });

  it('is missed where one was stored with the position, and not made in its place', async () => {
    await expect(positions.open(at(3), 'named')).rejects.toThrow(/ is missing/);
    expect(store.hasCatalogue()).toBe(false);
  });

  it('is missed when it was removed while it is used', async () => {
    await positions.open(undefined, undefined);
    positions.requireCatalogue();
    rmSync(join(folder, CATALOGUE), { recursive: true });
    expect(() => positions.requireCatalogue()).toThrow(/was removed under the running member/);
    await expect(positions.storing(at(3))).rejects.toThrow(/was removed under the running member/);
  });
});

it('makes no other catalogue in the place of its own that is gone when it could not be written', async () => {
  const files = new MemoryShardFiles();
  const positions = await opened(files);
  let opens = 0;
  const openCatalogue = files.openCatalogue.bind(files);
  Object.assign(files, {
    hasCatalogue: () => false,
    openCatalogue: (tables: readonly string[]) => {
      opens += 1;
      return openCatalogue(tables);
    },
  });
  files.failure = new ServiceError('WRITES_STOPPED');
  await expect(positions.cover(2, at(2), 'a')).rejects.toThrow(files.failure);
  files.failure = undefined;
  await expect(positions.cover(3, at(3), 'a')).rejects.toThrow(/was removed under the running member/);
  expect(opens).toBe(0);
});

it('takes a list without actors for what it is where the position does not name it', async () => {
  const files = new MemoryShardFiles();
  const first = new ShardPositions(files, systemClock, systemRandom);
  await first.open(undefined, undefined);
  await first.close();
  const positions = new ShardPositions(files.crash(), systemClock, systemRandom);
  await positions.open(at(3), undefined);
  expect(await positions.actors()).toEqual([]);
  await positions.close();
});

it('expects nothing of an actor that one of its name had which the process before removed', async () => {
  const files = new MemoryShardFiles();
  await (await opened(files)).cover(5, at(5), 'a');
  files.heads.set('a', head(5));
  await files.catalogue?.note({ actors: new Map([['a', null]]) }, 6);
  // The process ends before its files are gone.
  const left = files.crash();
  const positions = looked(left);
  await positions.open(undefined, undefined);
  left.heads.delete('a');
  await left.catalogue?.note({ actors: new Map([['a', { created: 0, floor: 0 }]]) }, 7);
  await positions.storing(at(7));
  expect(left.catalogue?.get('a')).toEqual({ created: 0, floor: 0 });
});

it('notes the mark the log has of a record, also where the floor is known already', async () => {
  const files = new MemoryShardFiles();
  const positions = await opened(files);
  await positions.cover(5, at(5), 'a');
  positions.applied('a', 5, undefined);
  await positions.storing(at(5));
  const { mark } = head(5);
  positions.applied('a', 5, mark);
  await positions.storing(at(6));
  expect(files.catalogue?.get('a')).toMatchObject({ floor: 5, mark: { epoch: mark.epoch } });
});
