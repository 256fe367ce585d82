import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActorCatalogue } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { makeShardOlder } from '#test/support/older-shard.ts';

const tables = [...commonTableNames, ...noteActor.tables];
const idOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');
const [source, fork] = [idOf('source'), idOf('fork')];

let fixture: HostFixture;

const actors = (): string => join(fixture.folder, 'actors');
const folderOf = (actor: string): string => join(actors(), ...actor.split('/'));
const fileOf = (actor: string): string => join(folderOf(actor), 'data.mdb');
const write = (actor: string, key: string): Promise<unknown> =>
  fixture.command(actor, { type: 'Write', key, text: key } as never);

/** What is shown of some notes of an actor, or why it is not. */
function shown(actor: string, ...keys: readonly string[]): unknown {
  try {
    return keys.map((key) => fixture.query(actor, { type: 'Read', key } as never));
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

const strip = (path: string): Promise<void> => makeShardOlder(path, tables);

/** Makes a directory of an older version of it. */
async function makeOlder(...whole: readonly string[]): Promise<void> {
  for (const actor of whole) await strip(fileOf(actor));
  rmSync(join(actors(), '.catalogue'), { recursive: true });
}

/** Lets the catalogue say that the log has everything of the fork, as an earlier version took it to be. */
async function lowerFloor(): Promise<void> {
  const catalogue = new ActorCatalogue(actors(), systemClock);
  const { created = 0 } = catalogue.get(fork) ?? {};
  await catalogue.note({ actors: new Map([[fork, { created, floor: 0 }]]) }, catalogue.sequence);
  await catalogue.close();
}

/** Makes the fork of a source that the log does not make any more, and removes that. */
async function removeOldSource(): Promise<void> {
  await fixture.host.destroyUnder(fork);
  for (let restart = 0; restart < 2; restart += 1) {
    await fixture.reopen();
    await write(source, 'more');
  }
  await fixture.host.fork(source, fork);
  await write(fork, 'own');
  await fixture.host.destroyUnder(source);
}

/** Refused, told of, and by the next start as well. */
async function requireRefused(): Promise<void> {
  for (let start = 0; start < 2; start += 1) {
    expect(shown(fork, 'early', 'own')).toBe('DATA_CORRUPTED');
    await expect(write(fork, 'new')).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(fixture.host.stoppedActors).toMatchObject(
      expect.arrayContaining([
        { actor: fork, reason: 'damage', message: expect.stringContaining(fork) as string },
      ]),
    );
    await fixture.reopen();
  }
}

beforeEach(async () => {
  fixture = await HostFixture.open([noteActor]);
  await fixture.host.create(source);
  await write(source, 'early');
  await fixture.host.fork(source, fork);
});

afterEach(() => fixture.close());

describe('a fork of an older version whose file is lost', () => {
  it.each(['file', 'content'])('is refused where its source has gone on: its %s', async (what) => {
    await write(source, 'later');
    await write(fork, 'own');
    await fixture.reopen(async () => {
      await makeOlder(source);
      rmSync(what === 'file' ? fileOf(fork) : folderOf(fork), { recursive: true });
      mkdirSync(folderOf(fork), { recursive: true });
    });
    await requireRefused();
    expect(shown(source, 'early', 'later')).toEqual(['early', 'later']);
  });

  it('is made of its source when the source has not reached the fork point', async () => {
    await write(fork, 'own');
    await fixture.reopen(async () => {
      await makeOlder(source);
      rmSync(fileOf(fork));
    });
    expect(shown(fork, 'early', 'own')).toEqual(['early', 'own']);
    expect(fixture.host.stoppedActors).toEqual([]);
  });

  it('is not confused with an earlier one of its name', async () => {
    await write(source, 'later');
    await fixture.host.destroyUnder(fork);
    await fixture.host.create(fork);
    await write(fork, 'own');
    await fixture.reopen(async () => {
      await makeOlder(source);
      rmSync(fileOf(fork));
    });
    expect(shown(fork, 'early', 'own')).toEqual([undefined, 'own']);
    expect(fixture.host.stoppedActors).toEqual([]);
  });
});

describe('a listed fork whose file is lost', () => {
  it.each([
    ['has gone on', () => write(source, 'later'), () => {}],
    ['was removed, and its making left the log', removeOldSource, () => {}],
    ['is damaged', () => Promise.resolve(), () => writeFileSync(fileOf(source), Buffer.alloc(8192, 1))],
  ])('is refused alone where its source %s, and served when it is back', async (_, before, damage) => {
    await write(fork, 'own');
    await before();
    const kept = join(fixture.folder, 'kept.mdb');
    await fixture.reopen(async () => {
      await lowerFloor();
      cpSync(fileOf(fork), kept);
      rmSync(folderOf(fork), { recursive: true });
      damage();
    });
    await requireRefused();
    await fixture.reopen(() => {
      mkdirSync(dirname(fileOf(fork)), { recursive: true });
      cpSync(kept, fileOf(fork));
    });
    expect(shown(fork, 'early', 'own')).toEqual(['early', 'own']);
  });

  it('is another one than an earlier one of its name', async () => {
    await write(source, 'later');
    await fixture.host.destroyUnder(fork);
    await fixture.host.create(fork);
    await write(fork, 'own');
    await fixture.reopen(() => rmSync(fileOf(fork)));
    expect(shown(fork, 'early', 'own')).toEqual([undefined, 'own']);
    expect(fixture.host.stoppedActors).toEqual([]);
    expect(fixture.damaged).toEqual([]);
  });
});
