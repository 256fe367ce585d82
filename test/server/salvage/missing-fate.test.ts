import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TenantTable } from '#actors/tenant/tenant-tables.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { fateOf } from '#server/salvage/missing-fate.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';

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

/** The registry names no repository, and ends with a record. */
async function register(sequence: number): Promise<void> {
  const actor = actorId('default', 'tenant');
  const shard = new LmdbShard(store.folders.of(actor), store.tablesOf(actor));
  const row = { table: TenantTable.tenants, key: 'default', value: encodeJsonRow({ tenant_id: 'default' }) };
  await shard.apply([row], { sequence, clock: revisionZero }).flushed;
  await shard.close();
}

/** The locks were created by record 5; records 7 to 9 have left the journal. */
const fate = (holes = [{ first: 7, last: 9 }]): unknown => fateOf({ journal: { holes }, store }, locks, 5);

describe('an actor without a folder that the journal creates', () => {
  it('is lost where no later record has left the journal', () => {
    remove('default/one~1');
    expect(fate([{ first: 2, last: 4 }])).toEqual({ kind: 'lost' });
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

  it('is listed where the registry is of a time before it was created', async () => {
    await register(4);
    expect(fate()).toMatchObject({
      kind: 'unknown',
      isListed: true,
      remark: expect.stringContaining('missing, damaged or older') as string,
    });
  });
});
