import { spawnSync } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import fs, {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ActorFolders } from '#runtime/actor/store/actor-folders.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Engine, type EngineSetup, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { SmallVolume } from '#test/support/small-volume.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const removedKeepMs = 3_600_000;
const actor = actorId('acme', 'site~1', 'a', 'notes');

let folder: string;
let clock: TestClock;
let engine: Engine;
let isFull = false;

function setup(): EngineSetup {
  const refusal = (): ServiceError | undefined => (isFull ? new ServiceError('STORAGE_FULL') : undefined);
  return { kinds: [noteActor], clock, removedKeepMs, limits: { idleCloseMs: 1000 }, space: { refusal } };
}

/** Names in the folder of what was removed. */
function kept(): string[] {
  const removed = join(folder, 'actors/.removed');
  return existsSync(removed) ? readdirSync(removed) : [];
}

beforeEach(async () => {
  isFull = false;
  folder = mkdtempSync(join(tmpdir(), 'removed-'));
  clock = new TestClock();
  engine = await Engine.open(folder, setup());
  await engine.host.create(actor);
  await engine.host.command(actor, { type: 'Write', key: 'k', text: '1' }, { caller });
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('what was removed', () => {
  it('has a folder: something else of its name is named, and nothing is removed', async () => {
    const place = join(folder, 'actors/.removed');
    writeFileSync(place, 'kept by somebody');
    const told = { code: 'WRITES_STOPPED', message: expect.stringContaining(`${place} cannot be used`) };
    const folders = new ActorFolders(join(folder, 'actors'), clock);
    await expect(folders.sweep()).rejects.toMatchObject(told);
    await expect(folders.remove('acme/site~1')).rejects.toMatchObject(told);
    expect(folders.exists(actor)).toBe(true);
    expect(readFileSync(place, 'utf8')).toBe('kept by somebody');
    rmSync(place);
    await folders.sweep();
  });

  it('is gone from the disk when that is said: a power cut could bring it back', async () => {
    const folders = new ActorFolders(join(folder, 'actors'), clock);
    const parent = join(folder, 'actors/acme');
    const { fsyncSync } = fs;
    fs.fsyncSync = (descriptor) => {
      if (fs.readlinkSync(`/proc/self/fd/${descriptor}`) === parent)
        throw Object.assign(new TypeError('EIO: i/o error, fsync'), { code: 'EIO' });
      fsyncSync(descriptor);
    };
    syncBuiltinESMExports();
    try {
      await expect(folders.remove('acme/site~1')).rejects.toMatchObject({ code: 'EIO' });
    } finally {
      fs.fsyncSync = fsyncSync;
      syncBuiltinESMExports();
    }
  });

  it('is kept with the name of its owner, over a restart, until its time is over [DUR-024]', async () => {
    await engine.host.destroyUnder('acme/site~1');
    const [name = '', ...others] = kept();
    expect(others).toEqual([]);
    const place = join(folder, 'actors/.removed', name);
    expect(name.startsWith(`${clock.wallMs()}-`)).toBe(true);
    expect(readFileSync(join(place, 'owner'), 'utf8')).toBe('acme/site~1\n');
    expect(existsSync(join(place, 'actors/a/notes/data.mdb'))).toBe(true);
    expect(engine.host.exists(actor)).toBe(false);
    await engine.close();
    engine = await Engine.open(folder, setup());
    expect([kept(), engine.host.exists(actor)]).toEqual([[name], false]);
    clock.advance(removedKeepMs - 10_000);
    expect(kept()).toEqual([name]);
    clock.advance(20_000);
    await until(() => {
      clock.advance(300);
      return kept().length === 0;
    }, 'it is removed');
  });

  it('is deleted at the start when its retention has ended', async () => {
    await engine.host.destroyUnder('acme/site~1');
    await engine.close();
    clock.advance(removedKeepMs);
    engine = await Engine.open(folder, setup());
    expect(kept()).toEqual([]);
  });

  it('is kept when the system refuses its deletion, and the start continues [DUR-024]', async () => {
    await engine.host.destroyUnder('acme/site~1');
    await engine.host.create(actor);
    await engine.host.destroyUnder('acme/site~1');
    await engine.close();
    const [first = '', second = ''] = kept().sort();
    const { rm } = fs.promises;
    fs.promises.rm = async (path, options) => {
      if (String(path).endsWith(first)) throw Object.assign(new Error('EBUSY: busy'), { code: 'EBUSY' });
      await rm(path, options);
    };
    syncBuiltinESMExports();
    try {
      clock.advance(removedKeepMs + 1000);
      engine = await Engine.open(folder, setup());
      expect(kept()).toEqual([first]);
      expect(second).not.toBe('');
      await expect(new ActorFolders(join(folder, 'actors'), clock).purge()).rejects.toThrow('EBUSY');
    } finally {
      fs.promises.rm = rm;
      syncBuiltinESMExports();
    }
    await engine.close();
    engine = await Engine.open(folder, setup());
    expect(kept()).toEqual([]);
  });

  it('is kept also when the process died between the catalogue and the folder', async () => {
    await engine.close();
    const path = join(folder, 'actors/acme/site~1');
    const saved = join(folder, 'saved');
    cpSync(path, saved, { recursive: true });
    engine = await Engine.open(folder, setup());
    await engine.host.destroyUnder('acme/site~1');
    const killed = join(folder, 'killed');
    mkdirSync(killed);
    for (const name of ['actors', 'journal'])
      cpSync(join(folder, name), join(killed, name), { recursive: true });
    await engine.close();
    rmSync(join(killed, 'actors/.removed'), { recursive: true });
    cpSync(saved, join(killed, 'actors/acme/site~1'), { recursive: true });
    engine = await Engine.open(killed, setup());
    expect(engine.host.exists(actor)).toBe(false);
    expect(existsSync(join(killed, 'actors/acme/site~1'))).toBe(false);
    const [name = ''] = readdirSync(join(killed, 'actors/.removed'));
    expect(readFileSync(join(killed, 'actors/.removed', name, 'owner'), 'utf8')).toBe('acme/site~1\n');
  });

  it('is deleted at once, with what was kept before it, when there is no room', async () => {
    await engine.host.destroyUnder('acme/site~1');
    const other = actorId('acme', 'site~2', 'a', 'notes');
    await engine.host.create(other);
    isFull = true;
    await engine.host.destroyUnder('acme/site~2');
    expect(kept()).toHaveLength(1);
    await until(() => {
      clock.advance(300);
      return kept().length === 0;
    }, 'all of it is removed');
  });

  it('is forgotten too when its files were lost before', async () => {
    await engine.close();
    rmSync(join(folder, 'actors/acme/site~1'), { recursive: true });
    // So that nothing can be made again of the log.
    engine = await Engine.open(folder, setup());
    await engine.close();
    engine = await Engine.open(folder, setup());
    await engine.close();
    rmSync(join(folder, 'actors/acme'), { recursive: true, force: true });
    engine = await Engine.open(folder, setup());
    expect(engine.host.exists(actor)).toBe(true);
    await engine.host.destroyUnder('acme/site~1');
    expect([engine.host.exists(actor), engine.host.stoppedActors]).toEqual([false, []]);
    await engine.host.create(actor);
    expect(await engine.host.query(actor, { type: 'ReadAll' }, caller)).toEqual({});
  });

  it('is kept once of what is damaged again and again', async () => {
    const root = join(folder, 'copies');
    const store = new ActorStore(root, [noteActor], clock, { keepMs: removedKeepMs, isPressed: () => false });
    for (let round = 0; round < 3; round += 1) {
      await store.create(actor, 1);
      clock.advance(1000);
      await store.clear();
      expect(store.exists(actor)).toBe(false);
      expect(readdirSync(join(root, '.removed'))).toHaveLength(1);
    }
    clock.advance(removedKeepMs);
    await store.purge();
    expect(readdirSync(join(root, '.removed'))).toEqual([]);
  });
});

describe('an actor whose creation waits until the remains of its name are set aside', () => {
  it('is refused when its owner is removed meanwhile, and the log has nothing of it behind the removal', async () => {
    const other = actorId('acme', 'site~2', 'b', 'notes');
    const place = join(folder, 'actors', ...other.split('/'));
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'data.mdb'), 'of an earlier one');
    const { putAwayLeft } = ActorStore.prototype;
    const isRemoved = Promise.withResolvers<void>();
    const held = vi.spyOn(ActorStore.prototype, 'putAwayLeft');
    held.mockImplementationOnce(async function (this: ActorStore, left) {
      await putAwayLeft.call(this, left);
      await isRemoved.promise;
    });
    try {
      const made = engine.host.create(other);
      const refused = expect(made).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(held).toHaveBeenCalledOnce();
      await engine.host.destroyUnder('acme/site~2');
      const last = engine.journal.lastSequence;
      isRemoved.resolve();
      await refused;
      expect([engine.journal.lastSequence, engine.host.exists(other)]).toEqual([last, false]);
    } finally {
      held.mockRestore();
    }
    await engine.host.create(other);
    expect(await engine.host.query(other, { type: 'ReadAll' }, caller)).toEqual({});
  });
});

describe('damaged shards that are set aside', () => {
  let isPressed: boolean;
  let root: string;
  let folders: ActorFolders;
  const removed = (): string[] =>
    existsSync(join(root, '.removed')) ? readdirSync(join(root, '.removed')) : [];

  beforeEach(async () => {
    isPressed = false;
    root = join(folder, 'copies');
    folders = new ActorFolders(root, clock, { keepMs: removedKeepMs, isPressed: () => isPressed });
    await folders.create(actor);
    writeFileSync(join(folders.of(actor), 'data.mdb'), 'all there is');
  });

  it('stay while the volume is short of room, and go when their time is over [DUR-024]', async () => {
    await folders.removeDamaged(['acme']);
    const [name = ''] = removed();
    expect(readFileSync(join(root, '.removed', name, 'damaged/site~1/a/notes/data.mdb'), 'utf8')).toBe(
      'all there is',
    );
    isPressed = true;
    await folders.purge();
    await folders.sweep();
    expect(removed()).toEqual([name]);
    clock.advance(removedKeepMs);
    await folders.purge();
    expect(removed()).toEqual([]);
  });

  it('remain in place when the volume is short of room at that moment', async () => {
    isPressed = true;
    expect(folders.canKeepDamaged).toBe(false);
    await expect(folders.removeDamaged(['acme'])).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect([folders.exists(actor), removed()]).toEqual([true, []]);
  });

  it('all remain in place when one of them cannot be set aside', async () => {
    const other = actorId('beta', 'site~1', 'a', 'notes');
    await folders.create(other);
    const place = folders.of('beta');
    expect(spawnSync('mount', ['--bind', place, place]).status).toBe(0);
    try {
      await expect(folders.removeDamaged(['acme', 'beta'])).rejects.toMatchObject({ code: 'EBUSY' });
    } finally {
      spawnSync('umount', [place]);
    }
    expect([folders.exists(actor), folders.exists(other), removed()]).toEqual([true, true, []]);
  });

  it('are moved back when the process died before it had moved all of them, and remain set aside otherwise', async () => {
    const other = actorId('beta', 'site~1', 'a', 'notes');
    await folders.create(other);
    const [moving, moved] = ['moving', 'moved'].map((name) => join(root, '.removed', name)) as [
      string,
      string,
    ];
    mkdirSync(moving, { recursive: true });
    renameSync(folders.of('acme'), join(moving, 'acme'));
    await folders.sweep();
    expect([folders.exists(actor), folders.exists(other), removed()]).toEqual([true, true, []]);
    mkdirSync(moved, { recursive: true });
    for (const name of ['acme', 'beta']) renameSync(folders.of(name), join(moved, name));
    await folders.sweep();
    expect([folders.exists(actor), folders.exists(other)]).toEqual([false, false]);
    const sets = removed().map((name) => readdirSync(join(root, '.removed', name)).sort());
    expect(sets).toEqual([
      ['damaged', 'owner'],
      ['damaged', 'owner'],
    ]);
  });

  it('of earlier versions, which lie where what was removed lies, stay while the volume is short of room', async () => {
    // As those versions put them away: of a member of a cluster, where no tenant is ever removed.
    await folders.remove('acme');
    await folders.create(actor);
    await folders.remove('acme/site~1');
    expect(removed()).toHaveLength(2);
    isPressed = true;
    await folders.purge();
    const [name = '', ...others] = removed();
    expect([readFileSync(join(root, '.removed', name, 'owner'), 'utf8'), others]).toEqual(['acme\n', []]);
    clock.advance(removedKeepMs);
    await folders.purge();
    expect(removed()).toEqual([]);
  });

  it('are kept also where something of that name was removed before', async () => {
    await folders.remove('acme');
    clock.advance(1);
    await folders.create(actor);
    await folders.removeDamaged(['acme']);
    expect(removed()).toHaveLength(2);
  });
});

describe('a removal on a volume without any room', () => {
  const other = actorId('acme', 'site~1', 'b', 'notes');
  let volume: SmallVolume;
  let full: Engine | undefined;

  async function openFull(): Promise<Engine> {
    full = await Engine.open(join(volume.path, 'data'), { ...setup(), clock: new TestClock() });
    return full;
  }

  async function filled(): Promise<Engine> {
    const made = await openFull();
    for (const id of [actor, other]) {
      await made.host.create(id);
      await made.host.command(id, { type: 'Write', key: 'k', text: '1' }, { caller });
    }
    await made.close();
    const again = await openFull();
    // Begins the segment of the journal.
    await again.host.create(actorId('acme', 'site~2', 'a', 'notes'));
    await until(() => again.journal.pending().size === 0, 'all of it is in the files');
    return again;
  }

  beforeEach(() => {
    volume = new SmallVolume(24 * 1024 * 1024);
  });

  afterEach(async () => {
    volume.free();
    await full?.close();
    volume.close();
  });

  it('is done, and the next start finds nothing to do [DUR-024]', async () => {
    const made = await filled();
    volume.fill(100);
    await made.host.destroyUnder('acme/site~1/a');
    expect([made.host.exists(actor), existsSync(join(made.folder, 'actors/acme/site~1/a'))]).toEqual([
      false,
      false,
    ]);
    await made.close();
    volume.fill(100);
    const again = await openFull();
    expect([again.host.exists(actor), again.host.stoppedActors]).toEqual([false, []]);
    expect(await again.host.query(other, { type: 'ReadAll' }, caller)).toEqual({ k: '1' });
    volume.free();
    await again.host.create(actor);
    expect(await again.host.query(actor, { type: 'ReadAll' }, caller)).toEqual({});
  });

  it('is done also of an actor that is refused for a damaged journal, whose note needs room', async () => {
    const limits = { idleCloseMs: 1000, apply: { applyBytes: 1 << 30, applyDelayMs: 3_600_000 } };
    const running = await Engine.open(join(volume.path, 'running'), { ...setup(), limits });
    await running.host.create(actor);
    for (const text of ['one', 'two'])
      await running.host.command(actor, { type: 'Write', key: 'k', text: `text ${text}` }, { caller });
    cpSync(running.folder, join(volume.path, 'data'), { recursive: true });
    await running.close();
    rmSync(running.folder, { recursive: true });
    const [segment = ''] = readdirSync(join(volume.path, 'data/journal'));
    const path = join(volume.path, 'data/journal', segment);
    const bytes = readFileSync(path);
    bytes[bytes.indexOf('text one')] = 0;
    writeFileSync(path, bytes);
    const damaged = { ...setup(), clock, containsDamage: true };
    full = await Engine.open(join(volume.path, 'data'), damaged);
    expect(full.host.stoppedActors).toMatchObject([{ actor, reason: 'damage' }]);
    // Begins the segment of the journal.
    await full.host.create(actorId('acme', 'site~2', 'a', 'notes'));
    volume.fill(100);
    await full.host.destroyUnder('acme/site~1/a');
    expect([full.host.stoppedActors, full.host.exists(actor)]).toEqual([[], false]);
    volume.free();
    await until(() => {
      clock.advance(300);
      return !readFileSync(join(volume.path, 'data/journal/damage.json'), 'utf8').includes(actor);
    }, 'the note is written again');
    await full.close();
    full = await Engine.open(join(volume.path, 'data'), damaged);
    expect([full.host.stoppedActors, full.host.exists(actor)]).toEqual([[], false]);
  });

  it('keeps nothing where there is not even room for a folder', async () => {
    const made = await filled();
    volume.takeInodes();
    await made.host.destroyUnder('acme/site~1/a');
    expect(existsSync(join(made.folder, 'actors/acme/site~1/a'))).toBe(false);
    expect(existsSync(join(made.folder, 'actors/.removed'))).toBe(false);
  });

  it('leaves damaged shards in place', async () => {
    const root = join(volume.path, 'copies');
    const folders = new ActorFolders(root, clock, { keepMs: removedKeepMs, isPressed: () => false });
    await folders.create(actor);
    volume.takeInodes();
    await expect(folders.removeDamaged(['acme'])).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(folders.exists(actor)).toBe(true);
  });

  it.each(['made', 'forked'])(
    'that failed leaves nothing to one of that name that is %s then [DUR-024]',
    async (how) => {
      const made = await filled();
      const make = (): Promise<void> =>
        how === 'made' ? made.host.create(actor) : made.host.fork(other, actor);
      const place = join(made.folder, 'actors', ...actor.split('/'));
      expect(spawnSync('mount', ['--bind', place, place]).status).toBe(0);
      try {
        await made.host.destroyUnder(actor);
        expect(made.applyFailures).toMatchObject([{ code: 'EBUSY' }]);
        const last = made.journal.lastSequence;
        await expect(make()).rejects.toMatchObject({
          code: 'WRITES_STOPPED',
          message: expect.stringContaining(`${place} cannot be used (EBUSY)`),
        });
        expect([made.journal.lastSequence, made.host.exists(actor)]).toEqual([last, false]);
      } finally {
        spawnSync('umount', ['-l', place]);
      }
      await make();
      await made.host.command(actor, { type: 'Write', key: 'new', text: '2' }, { caller });
      const all = how === 'made' ? { new: '2' } : { k: '1', new: '2' };
      expect(await made.host.query(actor, { type: 'ReadAll' }, caller)).toEqual(all);
      await made.close();
      const again = await openFull();
      expect(await again.host.query(actor, { type: 'ReadAll' }, caller)).toEqual(all);
      expect(again.host.stoppedActors).toEqual([]);
    },
  );

  it('that fails is left to a later start, which continues without it', async () => {
    const made = await filled();
    const place = join(made.folder, 'actors/acme/site~1/a');
    // A folder that is mounted cannot be renamed.
    expect(spawnSync('mount', ['--bind', place, place]).status).toBe(0);
    try {
      await made.host.destroyUnder('acme/site~1/a');
      expect(made.host.exists(actor)).toBe(false);
      // It is told of, and the record stays in the log.
      expect(made.applyFailures).toMatchObject([{ code: 'EBUSY' }]);
      expect([...made.journal.pending().keys()]).toContain('acme/site~1/a');
      await made.close();
      const again = await openFull();
      expect([again.host.exists(actor), existsSync(place)]).toEqual([false, true]);
      expect(await again.host.query(other, { type: 'ReadAll' }, caller)).toEqual({ k: '1' });
      await again.close();
    } finally {
      spawnSync('umount', ['-l', place]);
    }
    const last = await openFull();
    expect([last.host.exists(actor), existsSync(place), last.journal.pending().size]).toEqual([
      false,
      false,
      0,
    ]);
  });
});

describe('an actor whose folder cannot be made', () => {
  const other = actorId('acme', 'site~2', 'b', 'notes');

  it('is refused with the folder and the reason, is not in the log, and can be made when that is over', async () => {
    const actors = join(folder, 'actors');
    spawnSync('mount', ['--bind', actors, actors]);
    try {
      expect(spawnSync('mount', ['-o', 'remount,ro,bind', actors]).status).toBe(0);
      const place = join(actors, ...other.split('/'));
      const refused = {
        code: 'WRITES_STOPPED',
        message: expect.stringContaining(`${place} cannot be used (EROFS)`),
      };
      await expect(engine.host.create(other)).rejects.toMatchObject(refused);
      await expect(engine.host.fork(actor, other)).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
      expect(engine.applyFailures).toMatchObject([refused]);
    } finally {
      spawnSync('umount', ['-l', actors]);
    }
    await engine.close();
    engine = await Engine.open(folder, setup());
    expect([engine.host.exists(other), engine.host.stoppedActors]).toEqual([false, []]);
    await engine.host.create(other);
    expect(await engine.host.query(other, { type: 'ReadAll' }, caller)).toEqual({});
  });

  it('is refused for want of room where there is not even an inode', async () => {
    const volume = new SmallVolume(1024 * 1024);
    try {
      const folders = new ActorFolders(join(volume.path, 'actors'), clock);
      volume.takeInodes();
      expect(() => folders.create(other)).toThrow(expect.objectContaining({ code: 'STORAGE_FULL' }));
    } finally {
      volume.close();
    }
  });
});
