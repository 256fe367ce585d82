import { renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { noteActor } from '#test/support/note-actor.ts';

const tables = [...commonTableNames, ...noteActor.tables];

let fixture: HostFixture;

const idOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');

function read(name: string): unknown {
  return fixture.query(idOf(name), { type: 'Read', key: 'k' } as never);
}

/** A shard as an older version left it: it does not say whose it is. */
async function strip(path: string): Promise<void> {
  const shard = new ShardFile(path, tables);
  const rows = tables.flatMap((_, table) => [...shard.rows(table)].map((row) => ({ table, ...row })));
  const old = new LmdbShard(`${path}.old`, tables);
  await old.apply(rows, shard.position).flushed;
  shard.close();
  await old.close();
  renameSync(join(`${path}.old`, 'data.mdb'), path);
  rmSync(`${path}.old`, { recursive: true });
}

beforeEach(async () => {
  fixture = await HostFixture.open([noteActor]);
  for (const name of ['used', 'unused']) await fixture.host.create(idOf(name));
  await fixture.command(idOf('used'), { type: 'Write', key: 'k', text: '1' } as never);
  // So that the journal does not have everything any more.
  for (let restart = 0; restart < 2; restart += 1) {
    await fixture.reopen();
    await fixture.command(idOf('used'), { type: 'Write', key: 'other', text: '1' } as never);
  }
  await fixture.reopen(async () => {
    await strip(file('used'));
    rmSync(join(fixture.folder, 'actors/.catalogue'), { recursive: true });
  });
});

afterEach(() => fixture.close());

const file = (name: string): string => join(fixture.folder, 'actors', ...idOf(name).split('/'), 'data.mdb');

describe('a data directory of an older version', () => {
  it('is taken as it is, once', async () => {
    expect([read('used'), read('unused')]).toEqual(['1', undefined]);
    expect(fixture.host.stoppedActors).toEqual([]);
    await fixture.command(idOf('unused'), { type: 'Write', key: 'k', text: '2' } as never);
    await fixture.reopen();
    expect([read('used'), read('unused')]).toEqual(['1', '2']);
    rmSync(join(fixture.folder, 'actors/.catalogue'), { recursive: true });
    await expect(fixture.reopen()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it.each(['missing', 'empty'])('refuses a shard that is %s by then', async (how) => {
    await fixture.reopen(async () => {
      await strip(file('used'));
      rmSync(join(fixture.folder, 'actors/.catalogue'), { recursive: true });
      if (how === 'empty') truncateSync(file('used'), 0);
      else rmSync(file('used'));
    });
    expect(() => read('used')).toThrow(file('used'));
    expect(read('unused')).toBeUndefined();
    expect(fixture.host.stoppedActors).toMatchObject([{ actor: idOf('used'), reason: 'damage' }]);
  });
});
