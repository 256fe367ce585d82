import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostLimits } from '#runtime/actor/host/actor-host.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { OpenRoom } from '#runtime/actor/host/open-room.ts';
import { InvariantError } from '#runtime/base/assert.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { compareRevisions, parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { noteActor, type NoteCommand } from '#test/support/note-actor.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const idleCloseMs = 1000;

let folder: string;
let clock: TestClock;
let engine: Engine;

/** How often an actor was opened. */
let opened = 0;

const countedKind: ActorKind = {
  ...noteActor,
  create: (context) => {
    opened += 1;
    return noteActor.create(context);
  },
};

function open(limits: Partial<HostLimits> = {}): Promise<Engine> {
  return Engine.open(folder, { clock, kinds: [countedKind], limits: { idleCloseMs, ...limits } });
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'host-'));
  clock = new TestClock();
  engine = await open();
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

function notes(name: string, owner = 'site~1'): string {
  return actorId('acme', owner, name, 'notes');
}

async function make(...names: readonly string[]): Promise<string[]> {
  const actors = names.map((name) => notes(name));
  for (const actor of actors) await engine.host.create(actor);
  return actors;
}

function send(actor: string, command: NoteCommand): Promise<unknown> {
  return engine.host.command(actor, command, { caller });
}

function write(actor: string, key: string, text: string): Promise<unknown> {
  return send(actor, { type: 'Write', key, text });
}

function read(actor: string, key: string): unknown {
  return engine.host.query(actor, { type: 'Read', key }, caller);
}

function readAll(actor: string, until?: Promise<void>): Promise<Record<string, string>> {
  return engine.host.query(actor, { type: 'ReadAll', until }, caller) as Promise<Record<string, string>>;
}

const missing = expect.objectContaining({ code: 'NOT_FOUND' });

/** Lets time pass until a condition holds; idle checks and applications happen meanwhile. */
async function waitUntil(isTrue: () => boolean): Promise<void> {
  for (let round = 0; !isTrue(); round += 1) {
    if (round > 5000) throw new Error('it never came true');
    clock.advance(100);
    // The disk takes its own time.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe('an actor', () => {
  it('does not exist before it is created, and asking for it leaves nothing behind', async () => {
    const actor = notes('a');
    await expect(write(actor, 'k', '1')).rejects.toEqual(missing);
    expect(() => read(actor, 'k')).toThrow(missing);
    expect(engine.host.exists(actor)).toBe(false);
    expect(readdirSync(join(folder, 'actors'))).toEqual(['.catalogue']);
  });

  it('is created once; creating it again changes nothing', async () => {
    const [actor = ''] = await make('a');
    await write(actor, 'k', '1');
    await engine.host.create(actor);
    expect(read(actor, 'k')).toBe('1');
    expect(engine.host.exists(actor)).toBe(true);
    expect(engine.host.namesUnder('acme/site~1')).toEqual(['a']);
    expect(engine.host.namesUnder('acme')).toEqual(['site~1']);
    expect(engine.host.namesUnder('nobody')).toEqual([]);
  });

  it('does not wait for the commands of another one [ROB-013]', async () => {
    await engine.close();
    engine = await Engine.open(folder, { kinds: [noteActor] });
    const [busy = '', other = ''] = await make('busy', 'other');
    const gate = { isOpen: false };
    const slow = send(busy, { type: 'WriteAfter', gate, key: 'k' });
    const behind = write(busy, 'k2', 'behind');
    for (let number = 0; number < 5; number += 1) await write(other, `${number}`, 'x');
    expect(read(busy, 'k')).toBeUndefined();
    gate.isOpen = true;
    await Promise.all([slow, behind]);
    expect([read(busy, 'k'), read(busy, 'k2')]).toEqual(['after', 'behind']);
  });
});

describe('an actor whose invariant was broken', () => {
  it('takes no commands until it is reopened, while others go on', async () => {
    const [one, other] = (await make('one', 'other')) as [string, string];
    await write(one, 'k', '1');
    expect(engine.host.stoppedActors).toEqual([]);
    await expect(send(one, { type: 'Break' })).rejects.toThrow(InvariantError);
    const stopped = expect.objectContaining({ code: 'ACTOR_STOPPED' });
    await expect(write(one, 'k', '2')).rejects.toEqual(stopped);
    expect(engine.host.stoppedActors).toEqual([
      { actor: one, reason: 'invariant', message: 'notes are where they are' },
    ]);
    expect(engine.stopped).toHaveLength(1);
    // Nobody uses it for long: it is not closed, for it would begin again without anybody having looked.
    await write(other, 'k', '1');
    await waitUntil(() => engine.host.openActors === 1);
    await expect(write(one, 'k', '2')).rejects.toEqual(stopped);
    expect(read(one, 'k')).toBe('1');
    await engine.close();
    engine = await open();
    expect(engine.host.stoppedActors).toEqual([]);
    await write(one, 'k', '3');
    expect(read(one, 'k')).toBe('3');
  });
});

it('looks at nothing any more once it is closed', async () => {
  await make('one');
  await engine.close();
  // What is set still finds it closed.
  clock.advance(10 * idleCloseMs);
  expect(clock.alarms).toBe(0);
});

describe('an idle actor', () => {
  it('is closed after a while and opened again by the next message, with everything [DUR-020]', async () => {
    const [actor = ''] = await make('a');
    await write(actor, 'k', '1');
    await waitUntil(() => engine.host.openActors === 0);
    expect(read(actor, 'k')).toBe('1');
    expect(engine.host.openActors).toBe(1);
    await waitUntil(() => engine.host.openActors === 0);
    await write(actor, 'k2', '2');
    expect(await readAll(actor)).toEqual({ k: '1', k2: '2' });
  });

  it('loses no command and no answer when it is closed and opened all the time [DUR-020]', async () => {
    const actors = await make('a', 'b', 'c');
    const expected = new Map(actors.map((actor) => [actor, {} as Record<string, string>]));
    const answers: Promise<unknown>[] = [];
    const acknowledged: number[] = [];
    const before = opened;
    for (let round = 0; round < 300; round += 1) {
      const actor = actors[round % 3] as string;
      // Around the limit, so that closing and commands meet at every step of it.
      clock.advance([40, 260, 1010, 1260, 30][(round * 7) % 5] as number);
      await settle(round % 4);
      if (round % 5 !== 4) {
        const answer = write(actor, `k${round}`, `${round}`);
        answers.push(answer.then(() => acknowledged.push(round)));
        (expected.get(actor) as Record<string, string>)[`k${round}`] = `${round}`;
      }
      await settle(round % 3);
      if (round % 4 === 3) await Promise.all(answers);
      const last = acknowledged.at(-1);
      if (round % 9 === 8 && last !== undefined)
        expect(read(actors[last % 3] as string, `k${last}`)).toBe(`${last}`);
    }
    await Promise.all(answers);
    // How often exactly depends on how the disk's own time falls in with the clock's.
    expect(opened - before).toBeGreaterThan(10);
    for (const actor of actors) expect(await readAll(actor)).toEqual(expected.get(actor));
    await engine.close();
    engine = await open();
    for (const actor of actors) expect(await readAll(actor)).toEqual(expected.get(actor));
  });

  it('stays open during a long read, which succeeds', async () => {
    const [actor = ''] = await make('a');
    await write(actor, 'k', '1');
    const { promise, resolve } = Promise.withResolvers<void>();
    const answer = readAll(actor, promise);
    for (let round = 0; round < 50; round += 1) {
      clock.advance(500);
      await settle(2);
    }
    expect(engine.host.openActors).toBe(1);
    resolve();
    expect(await answer).toEqual({ k: '1' });
    await waitUntil(() => engine.host.openActors === 0);
  });

  it('stays open while its changes cannot be applied, because only the log has them', async () => {
    const [actor = ''] = await make('a');
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await write(actor, 'k', '1');
    for (let round = 0; round < 60; round += 1) {
      clock.advance(500);
      await settle(3);
    }
    expect(engine.applyFailures.length).toBeGreaterThan(2);
    expect(engine.host.openActors).toBe(1);
    expect(read(actor, 'k')).toBe('1');
    Reflect.deleteProperty(engine.journal, 'flush');
    await waitUntil(() => engine.host.openActors === 0);
    expect(read(actor, 'k')).toBe('1');
  });

  it('answers another actor at once, whether it is open, being closed or closed', async () => {
    const [asking = '', asked = ''] = await make('asking', 'asked');
    await write(asked, 'k', 'text');
    for (let round = 0; round < 200; round += 1) {
      clock.advance(round % 6 === 0 ? 1010 : 260);
      await settle(round % 4);
      expect(await send(asking, { type: 'CopyFrom', actor: asked, key: 'k' })).toBe('text');
    }
    await expect(send(asking, { type: 'CopyFrom', actor: notes('nobody'), key: 'k' })).rejects.toEqual(
      missing,
    );
  });
});

describe('the bound on open actors', () => {
  it('closes those unused for longest, and every one answers all the same', async () => {
    await engine.close();
    engine = await open({ openActorsMax: 4 });
    const actors = await make(...Array.from({ length: 30 }, (_, number) => `a${number}`));
    const expected = new Map(actors.map((actor) => [actor, {} as Record<string, string>]));
    let most = 0;
    for (let round = 0; round < 40; round += 1) {
      const answers = Array.from({ length: 5 }, (_, index) => {
        const actor = actors[(round * 7 + index * 11) % actors.length] as string;
        (expected.get(actor) as Record<string, string>)[`k${round}`] = `${round}`;
        return write(actor, `k${round}`, `${round}`);
      });
      await Promise.all(answers);
      clock.advance(30);
      await settle();
      most = Math.max(most, engine.host.openActors);
    }
    await waitUntil(() => engine.host.openActors <= 4);
    expect(most).toBeLessThan(actors.length);
    for (const actor of actors) expect(await readAll(actor)).toEqual(expected.get(actor));
  });

  it('holds for all hosts of a process together, and each answers all the same', async () => {
    await engine.close();
    const room = new OpenRoom(6);
    const others: Engine[] = [];
    for (const name of ['one', 'two', 'three']) {
      const setup = { clock, kinds: [countedKind], limits: { idleCloseMs }, room };
      others.push(await Engine.open(join(folder, name), setup));
    }
    const openNow = (): number => others.reduce((sum, { host }) => sum + host.openActors, 0);
    for (let number = 0; number < 8; number += 1) {
      for (const { host } of others) {
        await host.create(notes(`a${number}`));
        await host.command(notes(`a${number}`), { type: 'Write', key: 'k', text: `${number}` }, { caller });
      }
    }
    await waitUntil(() => openNow() <= 6);
    for (let number = 0; number < 8; number += 1) {
      for (const { host } of others) {
        expect(host.query(notes(`a${number}`), { type: 'Read', key: 'k' }, caller)).toBe(`${number}`);
      }
    }
    for (const each of others) await each.close();
    engine = await open();
  });

  it('leaves room for one at least, the one that is asked and the one that asks', async () => {
    await engine.close();
    engine = await open({ openActorsMax: 1 });
    const [one = '', two = ''] = await make('one', 'two');
    await write(two, 'k', 'text');
    for (let round = 0; round < 20; round += 1) {
      expect(await send(one, { type: 'CopyFrom', actor: two, key: 'k' })).toBe('text');
      clock.advance(50);
      await settle(round % 6);
    }
  });
});

describe('removing actors', () => {
  it('answers what they have queued, then they do not exist, and others do', async () => {
    const [a = '', b = ''] = await make('a', 'b');
    const other = notes('a', 'site~10');
    await engine.host.create(other);
    await write(other, 'k', 'kept');
    await write(b, 'k', '1');
    const queued = Array.from({ length: 50 }, (_, number) => write(a, `k${number}`, 'x'));
    const destroyed = engine.host.destroyUnder('acme/site~1');
    const late = write(a, 'late', 'x');
    expect(() => read(b, 'k')).toThrow(missing);
    expect(engine.host.exists(a)).toBe(false);
    const again = engine.host.destroyUnder('acme/site~1');
    await expect(late).rejects.toEqual(missing);
    await Promise.all(queued);
    await Promise.all([destroyed, again]);
    expect(readdirSync(join(folder, 'actors', 'acme'))).toEqual(['site~10']);
    expect(readdirSync(join(folder, 'actors', '.removed'))).toEqual([]);
    await expect(write(a, 'k', '1')).rejects.toEqual(missing);
    expect(read(other, 'k')).toBe('kept');
    expect([...engine.journal.pending().keys()].filter((actor) => actor.startsWith('acme/site~1/'))).toEqual(
      [],
    );
    await engine.host.destroyUnder('acme/site~1');
  });

  it('continues during a long read of them, and ends it with an error', async () => {
    const [actor = ''] = await make('a');
    await write(actor, 'k', '1');
    const { promise, resolve } = Promise.withResolvers<void>();
    const answer = readAll(actor, promise);
    await engine.host.destroyUnder('acme/site~1');
    resolve();
    await expect(answer).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  it('changes nothing when the log does not take the record of it, over a restart too', async () => {
    const [actor = ''] = await make('a');
    await write(actor, 'k', '1');
    const { append, flush } = engine.journal;
    // What was written waits in memory: the shard takes it when the log was flushed.
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await write(actor, 'k2', '2');
    engine.journal.append = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await expect(engine.host.destroyUnder('acme/site~1')).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    Object.assign(engine.journal, { append, flush });
    expect(await readAll(actor)).toEqual({ k: '1', k2: '2' });
    await write(actor, 'k3', '3');
    await engine.close();
    engine = await open();
    expect(await readAll(actor)).toEqual({ k: '1', k2: '2', k3: '3' });
  });

  it('does not bring back what a log still has of them', async () => {
    const [actor = ''] = await make('a');
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await write(actor, 'k', '1');
    await engine.host.destroyUnder('acme/site~1');
    await engine.close();
    engine = await open();
    expect(engine.host.exists(actor)).toBe(false);
    expect(engine.journal.pending().size).toBe(0);
  });
});

describe('a log that has all of an actor', () => {
  it('restores one whose folder was lost', async () => {
    const [actor = ''] = await make('a');
    await write(actor, 'k', '1');
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await write(actor, 'k2', '2');
    await engine.close();
    rmSync(join(folder, 'actors', 'acme'), { recursive: true });
    engine = await open();
    expect(await readAll(actor)).toEqual({ k: '1', k2: '2' });
    expect(engine.journal.pending().size).toBe(0);
  });

  it('restores a fork as its source was at that position, and later changes of the fork', async () => {
    const [source = ''] = await make('a');
    const target = notes('fork');
    await write(source, 'k', '1');
    await engine.host.fork(source, target);
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await Promise.all([write(source, 'late', '1'), write(target, 'own', '2')]);
    await engine.close();
    rmSync(join(folder, 'actors', ...target.split('/')), { recursive: true });
    engine = await open();
    expect(await readAll(target)).toEqual({ k: '1', own: '2' });
    expect(await readAll(source)).toEqual({ k: '1', late: '1' });
  });
});

describe('a fork of an actor', () => {
  const target = notes('fork');

  it('has the content of its source, and both change independently, also after a restart', async () => {
    const [source = ''] = await make('a');
    await write(source, 'k', '1');
    await engine.host.fork(source, target);
    expect(await readAll(target)).toEqual({ k: '1' });
    await Promise.all([write(source, 'k', 'source'), write(target, 'k', 'target'), write(target, 'k2', '2')]);
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await Promise.all([write(source, 'late', '1'), write(target, 'late', '2')]);
    await engine.close();
    engine = await open();
    expect(await readAll(source)).toEqual({ k: 'source', late: '1' });
    expect(await readAll(target)).toEqual({ k: 'target', k2: '2', late: '2' });
  });

  it('shows one moment of a source that is written to all the while', async () => {
    const [source = ''] = await make('a');
    for (let round = 0; round < 5; round += 1) {
      const written = [];
      for (let number = 0; number < 40; number += 1)
        written.push(write(source, 'count', `${round} ${number}`), write(source, `k${number}`, `${round}`));
      const fork = notes(`fork${round}`);
      const forked = engine.host.fork(source, fork);
      for (let number = 40; number < 80; number += 1) {
        written.push(write(source, 'count', `${round} ${number}`), write(source, `k${number}`, `${round}`));
        await settle(1);
      }
      await Promise.all([forked, ...written]);
      const { count, ...rest } = await readAll(fork);
      // Every note up to the one the count names, none behind it.
      const [reached, number] = (count ?? '0 0').split(' ').map(Number) as [number, number];
      const fresh = Object.entries(rest).filter(([, text]) => Number(text) === reached);
      expect([number, number + 1]).toContain(fresh.length);
      expect(await readAll(source)).toMatchObject({ count: `${round} 79`, k79: `${round}` });
    }
  });

  it('is refused where something is, of what is not there, and while the host closes', async () => {
    const [source = '', other = ''] = await make('a', 'b');
    await expect(engine.host.fork(source, other)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await expect(engine.host.fork(notes('nobody'), target)).rejects.toEqual(missing);
    expect(engine.host.exists(target)).toBe(false);
    await engine.host.close();
    await expect(engine.host.fork(source, target)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  it('leaves nothing behind when its owner is removed meanwhile', async () => {
    const [source = ''] = await make('a');
    await write(source, 'k', '1');
    const forked = engine.host.fork(source, target);
    const destroyed = engine.host.destroyUnder('acme/site~1');
    await expect(forked).rejects.toEqual(missing);
    await destroyed;
    expect(readdirSync(join(folder, 'actors', 'acme'))).toEqual([]);
    expect(readdirSync(join(folder, 'actors', '.removed'))).toEqual([]);
  });

  it('leaves nothing behind when its source cannot be applied', async () => {
    const [source = ''] = await make('a');
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    await write(source, 'k', '1');
    await expect(engine.host.fork(source, target)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect([engine.host.exists(target), read(source, 'k')]).toEqual([false, '1']);
    Reflect.deleteProperty(engine.journal, 'flush');
    await engine.host.fork(source, target);
    expect(read(target, 'k')).toBe('1');
  });

  it('keeps its source open for as long as it takes', async () => {
    const [source = ''] = await make('a');
    await write(source, 'k', '1');
    for (let round = 0; round < 10; round += 1) {
      const forked = engine.host.fork(source, notes(`f${round}`));
      for (let time = 0; time < 4; time += 1) {
        clock.advance(1010);
        await settle(1);
      }
      await forked;
      expect(read(notes(`f${round}`), 'k')).toBe('1');
    }
  });
});

describe('closing the host', () => {
  it('answers every command: done and kept, or refused [DUR-020]', async () => {
    const actors = await make('a', 'b', 'c');
    const outcomes: Promise<string>[] = [];
    const submit = (number: number): void => {
      const actor = actors[number % 3] as string;
      const answer = write(actor, `k${number}`, `${number}`);
      outcomes.push(
        answer.then(
          () => 'done',
          (error: { code: string }) => error.code,
        ),
      );
    };
    for (let number = 0; number < 100; number += 1) submit(number);
    const closed = engine.host.close();
    for (let number = 100; number < 200; number += 1) {
      submit(number);
      await settle(number % 3 === 0 ? 1 : 0);
    }
    await closed;
    submit(200);
    const answered = await Promise.all(outcomes);
    expect(answered.slice(0, 100)).toEqual(Array<string>(100).fill('done'));
    expect(new Set(answered.slice(100))).toEqual(new Set(['SHUTTING_DOWN']));
    expect(() => read(actors[0] as string, 'k0')).toThrow(expect.objectContaining({ code: 'SHUTTING_DOWN' }));
    await expect(engine.host.create(notes('new'))).rejects.toThrow(
      expect.objectContaining({ code: 'SHUTTING_DOWN' }),
    );
    await engine.close();
    engine = await open();
    for (let number = 0; number < 200; number += 1)
      expect(read(actors[number % 3] as string, `k${number}`)).toBe(number < 100 ? `${number}` : undefined);
  });

  it('lets a command that waits in the mailbox ask another actor', async () => {
    const [asking = '', asked = ''] = await make('asking', 'asked');
    await write(asked, 'k', 'text');
    await waitUntil(() => engine.host.openActors === 0);
    const first = write(asking, 'other', 'x');
    const copy = send(asking, { type: 'CopyFrom', actor: asked, key: 'k' });
    await engine.host.close();
    expect(await copy).toBe('text');
    await first;
  });

  it('ends although nothing can be applied; the log has it all', async () => {
    const actors = await make('a', 'b');
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    for (const actor of actors) await write(actor, 'k', actor);
    await engine.close();
    await engine.close();
    engine = await open();
    for (const actor of actors) expect(read(actor, 'k')).toBe(actor);
  });
});

describe('a start', () => {
  it('brings a hundred actors up to date with the log', async () => {
    const actors = await make(...Array.from({ length: 100 }, (_, number) => `a${number}`));
    engine.journal.flush = () => Promise.reject(new ServiceError('STORAGE_FULL'));
    for (let round = 0; round < 4; round += 1)
      await Promise.all(actors.map((actor, index) => write(actor, `k${round}`, `${index}`)));
    await Promise.all(
      actors.map((actor, index) => (index % 3 === 0 ? write(actor, 'last', 'x') : undefined)),
    );
    await engine.close();
    engine = await open({ openActorsMax: 1000 });
    expect(engine.journal.pending().size).toBe(0);
    expect(engine.host.openActors).toBe(0);
    for (const [index, actor] of actors.entries()) {
      const notes = { k0: `${index}`, k1: `${index}`, k2: `${index}`, k3: `${index}` };
      expect(await readAll(actor)).toEqual(index % 3 === 0 ? { ...notes, last: 'x' } : notes);
    }
  });

  it('is refused without the log, and succeeds when that is back', async () => {
    const [actor = ''] = await make('a');
    await write(actor, 'k', '1');
    await engine.close();
    const journal = join(folder, 'journal');
    renameSync(journal, `${journal}.away`);
    await expect(open()).rejects.toMatchObject({
      code: 'DATA_CORRUPTED',
      message: expect.stringMatching(/journal ends at record 0/),
    });
    rmSync(journal, { recursive: true, force: true });
    renameSync(`${journal}.away`, journal);
    engine = await open();
    expect(read(actor, 'k')).toBe('1');
  });

  it('fails when the log is damaged, with nothing changed and nothing held', async () => {
    await make('a');
    await engine.close();
    const journal = join(folder, 'journal');
    const unreadable = { ...realFileSystem, readdir: () => Promise.reject(new Error('no disk')) };
    await expect(Engine.open(folder, { clock, kinds: [noteActor], files: unreadable })).rejects.toThrow(
      'no disk',
    );
    expect(existsSync(journal)).toBe(true);
    engine = await open();
  });

  it('gives revisions above all earlier ones although the clock was set back an hour [DUR-013]', async () => {
    const [actor = '', other = ''] = await make('a', 'b');
    const before = parseRevision((await write(actor, 'k', '1')) as string);
    clock.setWall(clock.wallMs() - 3_600_000);
    const during = parseRevision((await write(other, 'k', '1')) as string);
    await engine.close();
    clock.setWall(clock.wallMs() - 3_600_000);
    engine = await open();
    const after = parseRevision((await write(actor, 'k', '2')) as string);
    expect(compareRevisions(during, before)).toBeGreaterThan(0);
    expect(compareRevisions(after, during)).toBeGreaterThan(0);
  });

  it('gives such revisions also when the log was cut down to its last segment', async () => {
    await engine.close();
    const small = () => Engine.open(folder, { clock, kinds: [noteActor], segmentBytes: 4096 });
    engine = await small();
    const [actor = ''] = await make('a');
    let last = parseRevision('0-0');
    for (let number = 0; number < 60; number += 1) {
      last = parseRevision((await write(actor, `k${number}`, 'x'.repeat(300))) as string);
      clock.advance(100);
      await settle(3);
    }
    await engine.close();
    expect(readdirSync(join(folder, 'journal')).length).toBeLessThan(5);
    clock.setWall(1_000_000);
    engine = await small();
    const next = parseRevision((await write(actor, 'k', '2')) as string);
    expect(compareRevisions(next, last)).toBeGreaterThan(0);
  });
});
