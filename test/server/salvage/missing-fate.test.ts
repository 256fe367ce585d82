import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TenantTable } from '#actors/tenant/tenant-tables.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { recordKey } from '#runtime/commit/record-store.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { fateOf } from '#server/salvage/missing-fate.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';

/** Of the file of a shard. */
const PAGE_BYTES = 4096;

const locks = actorId('default', 'one~1', 'main~2', 'locks');

let root: string;
let store: ActorStore;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'missing-fate-'));
  store = new ActorStore(root, actorKinds(defaultLimits), systemClock);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Keeps the folder of something that was removed. */
function remove(owner: string): void {
  const place = join(root, '.removed', `1-${'0'.repeat(32)}`);
  mkdirSync(join(place, 'actors'), { recursive: true });
  writeFileSync(join(place, 'owner'), `${owner}\n`);
}

/** The registry names one repository, and ends with a record. */
async function register(sequence: number, repositoryId = 'other'): Promise<void> {
  const actor = actorId('default', 'tenant');
  const shard = new LmdbShard(store.folders.of(actor), store.tablesOf(actor));
  const value = encodeJsonRow({ repositoryId, uid: '1' });
  const row = { table: TenantTable.repositories, key: recordKey(repositoryId), value };
  await shard.apply([row], { sequence, clock: revisionZero }).flushed;
  await shard.close();
}

/** Makes the pages of a shard that have a text those of other places. */
function damagePagesWith(path: string, text: string): void {
  const bytes = readFileSync(path);
  const pages = Array.from({ length: bytes.length / PAGE_BYTES }, (_, number) =>
    bytes.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES),
  ).filter((page) => page.includes(text));
  expect(pages).not.toHaveLength(0);
  for (const page of pages) page.writeUInt8(page.readUInt8(0) ^ 1, 0);
  writeFileSync(path, bytes);
}

/** The locks were created by record 5; records 7 to 9 have left the journal. */
const fate = (holes = [{ first: 7, last: 9 }]): unknown => fateOf({ journal: { holes }, store }, locks, 5);

describe('an actor without a folder that the journal creates', () => {
  it('is lost where no later record has left the journal', () => {
    remove('default/one~1');
    expect(fate([{ first: 2, last: 4 }])).toEqual({ kind: 'lost' });
  });

  it('is lost where the registry names what it belongs to', async () => {
    await register(8, 'one');
    const jobs = actorId('default', 'one~1', 'jobs');
    expect(fateOf({ journal: { holes: [{ first: 7, last: 9 }] }, store }, jobs, 5)).toEqual({ kind: 'lost' });
  });

  it.each(['default/one~1', 'default/one~1/main~2'])('is removed with its owner %s', (owner) => {
    remove(owner);
    expect(fate()).toEqual({ kind: 'removed' });
  });

  it.each([locks, 'default/one~11', 'default'])('is not removed by the removal of %s', async (owner) => {
    remove(owner);
    await register(8);
    expect(fate()).toMatchObject({ kind: 'unknown', isListed: false });
  });

  it('is listed where a part of the registry cannot be read', async () => {
    await register(8);
    damagePagesWith(join(store.folders.of(actorId('default', 'tenant')), 'data.mdb'), '"other"');
    expect(fate()).toMatchObject({
      kind: 'unknown',
      isListed: true,
      remark: expect.stringContaining('missing, damaged or older') as string,
    });
  });

  it('is listed where the registry is of a time before it was created', async () => {
    await register(4);
    expect(fate()).toMatchObject({
      kind: 'unknown',
      isListed: true,
      remark: expect.stringContaining('missing, damaged or older') as string,
    });
  });
});
