import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ActorCatalogue, catalogueTables } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';

const source = actorId('acme', 'site~1', 'source', 'notes');
const fork = actorId('acme', 'site~1', 'fork', 'notes');

let folder: string;
let engine: Engine;

const open = (): Promise<Engine> => Engine.open(folder, { kinds: [noteActor] });
const actors = (): string => join(folder, 'actors');
const shardOf = (actor: string): string => join(actors(), ...actor.split('/'), 'data.mdb');

function write(actor: string, text: string): Promise<unknown> {
  return engine.host.command(actor, { type: 'Write', key: 'k', text }, { caller });
}

function read(actor: string): unknown {
  return engine.host.query(actor, { type: 'Read', key: 'k' }, caller);
}

/** Closes the engine and takes the row of the fork out of the catalogue, as if it had not reached the disk. */
async function forgetFork(): Promise<void> {
  await engine.close();
  const catalogue = new ActorCatalogue(actors(), systemClock);
  await catalogue.note({ actors: new Map([[fork, null]]) }, catalogue.sequence);
  await catalogue.close();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fork-'));
  engine = await open();
  await engine.host.create(source);
  await write(source, 'before');
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a fork', () => {
  it('is listed on the disk when it is made', async () => {
    await engine.host.fork(source, fork);
    const file = new PageFile(ActorCatalogue.pathIn(actors()), catalogueTables, () => {});
    expect([...file.rows(0)].map(({ key }) => key)).toContain(fork);
    file.close();
  });

  it('is found again whose row did not reach the disk, also when its source has gone on', async () => {
    await engine.host.fork(source, fork);
    await write(fork, 'of the fork');
    await write(source, 'later');
    await forgetFork();
    engine = await open();
    expect([read(source), read(fork)]).toEqual(['later', 'of the fork']);
    expect(engine.host.stoppedActors).toEqual([]);
    await write(fork, 'more');
    await engine.close();
    engine = await open();
    expect(read(fork)).toBe('more');
  });

  it('whose row cannot be stored is refused, leaves nothing behind, and can be made again', async () => {
    await write(source, 'now');
    const note = vi.spyOn(ActorCatalogue.prototype, 'note');
    const failure = new ServiceError('STORAGE_FULL');
    let failed = 0;
    note.mockImplementation(function (this: ActorCatalogue, changes) {
      if (changes.actors?.get(fork) == null) return Promise.resolve();
      failed += 1;
      return Promise.reject(failure);
    });
    try {
      await expect(engine.host.fork(source, fork)).rejects.toBe(failure);
    } finally {
      note.mockRestore();
    }
    expect([failed, engine.host.exists(fork), existsSync(dirname(shardOf(fork)))]).toEqual([1, false, false]);
    expect(engine.host.stoppedActors).toEqual([]);
    await engine.close();
    engine = await open();
    expect([engine.host.exists(fork), existsSync(dirname(shardOf(fork)))]).toEqual([false, false]);
    await write(source, 'later');
    await engine.host.fork(source, fork);
    expect([read(source), read(fork)]).toEqual(['later', 'later']);
  });

  it.each(['of its source', 'not readable'])(
    'is refused when its file is %s, and the log keeps it',
    async (how) => {
      await engine.host.fork(source, fork);
      await write(fork, 'of the fork');
      await write(source, 'later');
      await forgetFork();
      const whole = `${shardOf(fork)}.whole`;
      copyFileSync(shardOf(fork), whole);
      if (how === 'not readable') writeFileSync(shardOf(fork), Buffer.alloc(8192, 1));
      else copyFileSync(shardOf(source), shardOf(fork));
      engine = await open();
      expect(() => read(fork)).toThrow(shardOf(fork));
      expect(read(source)).toBe('later');
      expect(engine.host.stoppedActors).toMatchObject([{ actor: fork, reason: 'damage' }]);
      await engine.close();
      copyFileSync(whole, shardOf(fork));
      engine = await open();
      expect(read(fork)).toBe('of the fork');
    },
  );
});
