import { cpSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { ActorCatalogue } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { makeShardOlder } from '#test/support/older-shard.ts';

const tables = [...commonTableNames, ...noteActor.tables];

let fixture: HostFixture;

const idOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');

function read(name: string): unknown {
  return fixture.query(idOf(name), { type: 'Read', key: 'k' } as never);
}

const strip = (path: string): Promise<void> => makeShardOlder(path, tables);

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

  it('refuses a shard that was written to later, and is lost when the journal has that no more', async () => {
    await fixture.command(idOf('unused'), { type: 'Write', key: 'k', text: '2' } as never);
    for (let restart = 0; restart < 3; restart += 1) {
      await fixture.reopen();
      await fixture.command(idOf('used'), { type: 'Write', key: 'other', text: '2' } as never);
    }
    await fixture.reopen(() => rmSync(file('unused')));
    expect(() => read('unused')).toThrow(file('unused'));
    expect(read('used')).toBe('1');
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

describe('a directory of an older version whose process was killed', () => {
  const late = ['opened', 'written'];
  const catalogue = (): string => join(fixture.folder, 'actors/.catalogue');
  const write = (name: string, text: string): Promise<unknown> =>
    fixture.command(idOf(name), { type: 'Write', key: 'k', text } as never);

  /** Makes the shard of an actor one that was made and not written to. */
  async function empty(name: string): Promise<void> {
    rmSync(file(name));
    await new LmdbShard(dirname(file(name)), tables).close();
  }

  async function requireServed(): Promise<void> {
    expect([...late, 'used'].map(read)).toEqual([undefined, 'in the journal', 'newer']);
    expect(fixture.host.stoppedActors).toEqual([]);
    await write('opened', 'later');
    await fixture.reopen();
    expect([...late, 'used'].map(read)).toEqual(['later', 'in the journal', 'newer']);
  }

  beforeEach(async () => {
    await fixture.reopen(() => cpSync(file('used'), `${file('used')}.before`));
    for (const name of late) await fixture.host.create(idOf(name));
    await write('written', 'in the journal');
    await write('used', 'newer');
    read('opened');
    await fixture.reopen(async () => {
      // Nothing of what the journal has was applied.
      renameSync(`${file('used')}.before`, file('used'));
      await strip(file('used'));
      for (const name of late) await empty(name);
      rmSync(catalogue(), { recursive: true });
    });
  });

  it('has what only the journal has, and shards without content', requireServed);

  it('is served also where an earlier start took such shards for shards with content', async () => {
    await fixture.reopen(async () => {
      for (const name of late) await empty(name);
      const catalogue = new ActorCatalogue(join(fixture.folder, 'actors'), systemClock);
      const actors = new Map(late.map((name) => [idOf(name), { created: 0, floor: 1 }]));
      await catalogue.note({ actors }, catalogue.sequence);
      await catalogue.close();
    });
    await requireServed();
  });

  it('does not take the record that made an actor for its content when that leaves the journal', async () => {
    for (let restart = 0; restart < 3; restart += 1) {
      await write('used', 'newer');
      await fixture.reopen();
    }
    await requireServed();
  });
});

describe('a data directory that lost its catalogue', () => {
  it('does not start, however many of its shards have no identity yet', async () => {
    const lost = fixture.reopen(async () => {
      for (let number = 0; number < 70; number += 1)
        await new LmdbShard(dirname(file(`a${number}`)), tables).close();
      rmSync(join(fixture.folder, 'actors/.catalogue'), { recursive: true });
    });
    await expect(lost).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(ActorCatalogue.isIn(join(fixture.folder, 'actors'))).toBe(false);
  });
});
