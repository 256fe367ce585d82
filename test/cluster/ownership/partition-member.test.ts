import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { RECORD_FORMAT } from '#cluster/replication/record-format.ts';
import { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { ReplicaReads } from '#runtime/actor/reads/replica-reads.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { engineLimits, engineUser as caller } from '#test/support/engine.ts';
import { type MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';

const leaseMs = 300;
const actor = actorId('acme', 'site~1', 'a', 'notes');

let root: string;
let stream: MemoryStream;
let sides: Side[];

/** One member's side of the partition. */
class Side {
  readonly link: MemoryLink;
  readonly store: ActorStore;
  readonly member: PartitionMember;
  readonly roles: PartitionRole[] = [];
  readonly events: LogEvent[] = [];

  constructor(name: string) {
    this.link = stream.link();
    const folder = join(root, name, 'actors');
    this.store = new ActorStore(folder, [noteActor], systemClock);
    this.member = new PartitionMember({
      partition: 3,
      member: name,
      folder: join(root, name),
      stream: this.link,
      store: this.store,
      leaseMs,
      files: realFileSystem,
      clock: systemClock,
      random: systemRandom,
      openHost: async (log) => {
        const host = new ActorHost({
          folder,
          store: this.store,
          log,
          clock: systemClock,
          random: systemRandom,
          kinds: [noteActor],
          slices: new SliceScheduler(systemClock),
          limits: engineLimits,
          observer: { batchDurable: () => {}, events: () => {}, stopped: () => {}, applyFailed: () => {} },
        });
        await host.recover();
        return host;
      },
      openReads: (replica) =>
        new ReplicaReads({
          replica,
          kindOf: () => noteActor,
          clock: systemClock,
          slices: new SliceScheduler(systemClock),
        }),
      report: (event) => this.events.push(event),
      onRole: (role) => this.roles.push(role),
    });
    sides.push(this);
  }

  write(key: string, text = key): Promise<unknown> {
    const { owned } = this.member;
    if (owned === undefined) throw new Error('it is not owned');
    return owned.host.command(actor, { type: 'Write', key, text }, { caller });
  }

  notes(): Promise<Record<string, string>> {
    const { owned } = this.member;
    if (owned === undefined) throw new Error('it is not owned');
    return owned.host.query(actor, { type: 'ReadAll' }, caller) as Promise<Record<string, string>>;
  }

  async caughtUp(): Promise<void> {
    await until(() => this.member.sequence >= stream.messages.length);
  }
}

/** Sequence of the record an error is about. */
function quarantinedAt(error: Error & { details?: Record<string, unknown> }): unknown {
  return error.details?.sequence;
}

/** What a question fails with, at once or later. */
async function failureOf(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    await ask();
    return undefined;
  } catch (error) {
    return error;
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let round = 0; !isTrue(); round++) {
    if (round > 1000) throw new Error('it never came true');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'partition-'));
  stream = new MemoryStream();
  sides = [];
});

afterEach(async () => {
  for (const side of sides) {
    side.link.isConnected = true;
    await side.member.leave();
  }
  rmSync(root, { recursive: true, force: true });
});

describe('a partition on several members', () => {
  it('is handed over with everything, without waiting for a lease', async () => {
    const [a, b] = [new Side('a'), new Side('b')];
    expect(await a.member.own()).toBe(true);
    await b.member.follow();
    await a.member.owned?.host.create(actor);
    for (let number = 0; number < 20; number++) await a.write(`k${number}`);
    await a.member.follow();
    await b.caughtUp();
    expect([a.member.owned, b.member.isGivenUp]).toEqual([undefined, true]);
    expect(await b.member.own()).toBe(true);
    expect(Object.keys(await b.notes())).toHaveLength(20);
    const opened = b.events.find((event) => event.kind === 'opened');
    expect(opened).toMatchObject({ waitedMs: 0 });
    await b.write('more');
    await a.caughtUp();
    await b.member.follow();
    expect(await a.member.own()).toBe(true);
    expect(await a.notes()).toMatchObject({ k19: 'k19', more: 'more' });
    expect(a.roles).toEqual(['following', 'opening', 'owning', 'following', 'opening', 'owning']);
  });

  it('has no role when following fails to start, reports the reason, and is followed on the next request', async () => {
    const [a, b] = [new Side('a'), new Side('b')];
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await b.member.follow();
    const sweep = vi.spyOn(a.store, 'sweep').mockRejectedValue(new Error('EIO: i/o error'));
    // Another member opens it: this one learns of that with its next write, on its own.
    a.link.isConnected = false;
    expect(await b.member.own()).toBe(true);
    a.link.isConnected = true;
    await expect(a.write('late')).rejects.toThrow();
    await until(() => a.member.role === 'idle');
    expect(a.events).toContainEqual(expect.objectContaining({ kind: 'shards-failed', isDamaged: false }));
    await expect(a.member.follow()).rejects.toThrow('EIO');
    expect(a.member.role).toBe('idle');
    sweep.mockRestore();
    await b.write('k');
    await a.member.follow();
    expect(a.member.role).toBe('following');
    await a.caughtUp();
  });

  it('has no role when it cannot be closed, and is followed on the next request', async () => {
    const a = new Side('a');
    await a.member.own();
    const host = a.member.owned?.host as ActorHost;
    vi.spyOn(host, 'close').mockRejectedValueOnce(new Error('EIO: i/o error'));
    await expect(a.member.follow()).rejects.toThrow('EIO');
    expect(a.member.role).toBe('idle');
    await a.member.follow();
    expect(a.member.role).toBe('following');
    await a.caughtUp();
  });

  it('is taken over from a member that is cut off, once its lease has run out, and that one finds out', async () => {
    const [a, b] = [new Side('a'), new Side('b')];
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.write('k', 'acknowledged');
    await b.member.follow();
    a.link.isConnected = false;
    const doubtful = a.write('k', 'doubtful').then(
      () => 'done',
      (error: { code: string }) => error.code,
    );
    expect(await b.member.own()).toBe(true);
    expect((b.events.find(({ kind }) => kind === 'opened') as { waitedMs: number }).waitedMs).toBeGreaterThan(
      0,
    );
    expect(await b.notes()).toEqual({ k: 'acknowledged' });
    await b.write('k', 'new owner');
    a.link.isConnected = true;
    // It went out to nobody, or into an epoch that is over; either way it is in no log.
    expect(['NOT_OWNER', 'LOG_UNAVAILABLE']).toContain(await doubtful);
    await expect(a.member.owned?.log.barrier()).rejects.toMatchObject({ code: 'NOT_OWNER' });
    await until(() => a.member.role === 'following');
    expect(a.member.owned).toBeUndefined();
    await a.caughtUp();
    await b.member.leave();
    expect(await a.member.own()).toBe(true);
    expect(await a.notes()).toEqual({ k: 'new owner' });
  });

  it('moves to another member when its shards cannot be written, and is followed again after a delay', async () => {
    const [a, b] = [new Side('a'), new Side('b')];
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.write('k', 'acknowledged');
    await b.member.follow();
    await b.caughtUp();
    await a.member.startOver(new ServiceError('WRITES_STOPPED'));
    expect([a.member.role, a.member.owned]).toEqual(['idle', undefined]);
    expect(a.events).toContainEqual(expect.objectContaining({ kind: 'shards-failed', isDamaged: false }));
    await until(() => b.member.isGivenUp);
    expect(await b.member.own()).toBe(true);
    expect(await b.notes()).toEqual({ k: 'acknowledged' });
    await a.member.follow();
    expect([a.member.role, await a.member.own()]).toEqual(['idle', false]);
  });

  it('is no longer opened by a member that had to release it', async () => {
    const a = new Side('a');
    await a.member.follow();
    a.link.isConnected = false;
    const owning = a.member.own();
    await a.member.leave();
    expect([await owning, a.member.role]).toEqual([false, 'idle']);
    a.link.isConnected = true;
    expect(await a.member.own()).toBe(true);
    // A member that opens it nevertheless tries for ever.
  }, 8_000);

  it('throws damaged shards away and has everything from the log again', async () => {
    const [a, b] = [new Side('a'), new Side('b')];
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.write('k', 'acknowledged');
    await b.member.follow();
    await b.caughtUp();
    await a.member.startOver(new ServiceError('DATA_CORRUPTED'));
    await until(() => b.member.isGivenUp);
    expect(await b.member.own()).toBe(true);
    await b.write('l', 'later');
    await a.caughtUp();
    await b.member.leave();
    expect(await a.member.own()).toBe(true);
    expect(await a.notes()).toEqual({ k: 'acknowledged', l: 'later' });
    expect(a.events).toContainEqual(expect.objectContaining({ kind: 'shards-failed', isDamaged: true }));
  });

  it.each([
    ['missing', (file: string) => rmSync(file)],
    ['empty', (file: string) => truncateSync(file, 0)],
    ['cut', (file: string) => truncateSync(file, 8192)],
    ['of another actor', (file: string, other: string) => copyFileSync(other, file)],
  ] as const)('rebuilds a shard that is %s, as a follower and as an owner', async (_how, damage) => {
    const other = actorId('acme', 'site~1', 'other', 'notes');
    const [a, b] = [new Side('a'), new Side('b')];
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.member.owned?.host.create(other);
    await a.write('k', 'acknowledged');
    await b.member.follow();
    await b.caughtUp();
    await b.member.leave();
    await a.member.leave();
    const fileOf = (side: string, id: string): string =>
      join(root, side, 'actors', ...id.split('/'), 'data.mdb');
    for (const side of ['a', 'b']) damage(fileOf(side, actor), fileOf(side, other));
    const [owner, follower] = [new Side('a'), new Side('b')];
    expect(await owner.member.own()).toBe(true);
    const met = await failureOf(() => owner.notes());
    expect(met).toMatchObject({ code: 'DATA_CORRUPTED' });
    await owner.member.startOver(met);
    expect(await follower.member.own()).toBe(true);
    const again = await failureOf(() => follower.notes());
    expect(again).toMatchObject({ code: 'DATA_CORRUPTED' });
    await follower.member.startOver(again);
    await owner.caughtUp();
    expect(await owner.member.own()).toBe(true);
    expect(await owner.notes()).toEqual({ k: 'acknowledged' });
    await owner.write('l', 'later');
    await follower.caughtUp();
    await owner.member.leave();
    expect(await follower.member.own()).toBe(true);
    expect(await follower.notes()).toEqual({ k: 'acknowledged', l: 'later' });
  });

  it('throws damaged shards away once, however many reads met the damage', async () => {
    const a = new Side('a');
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.write('k', 'acknowledged');
    const damage = new ServiceError('DATA_CORRUPTED');
    await Promise.all([a.member.startOver(damage), a.member.startOver(damage), a.member.startOver(damage)]);
    const made = (): number => a.events.filter(({ kind }) => kind === 'shards-failed').length;
    expect([made(), a.member.damage.contained]).toEqual([1, undefined]);
    await a.caughtUp();
    // What is met again soon is served as far as it goes: the disk may damage whatever is made anew.
    await a.member.startOver(damage);
    expect([made(), a.member.damage.contained]).toEqual([1, damage.message]);
    await a.caughtUp();
    expect(await a.member.own()).toBe(true);
    expect(await a.notes()).toEqual({ k: 'acknowledged' });
  });

  it('rests when damaged shards cannot be thrown away', async () => {
    const a = new Side('a');
    await a.member.own();
    const cause = Object.assign(new Error('i/o error'), { code: 'EIO' });
    a.store.clear = () => Promise.reject(cause);
    await a.member.startOver(new ServiceError('DATA_CORRUPTED'));
    expect([a.member.role, a.member.isResting]).toEqual(['idle', true]);
    expect(a.events).toContainEqual({ kind: 'shards-failed', isDamaged: false, cause });
  });

  it('throws nothing away when the log and not the shard is in doubt', async () => {
    const a = new Side('a');
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.write('k', 'acknowledged');
    const ahead = new ServiceError('DATA_CORRUPTED', 'ahead', { details: { sequence: 9, lastSequence: 3 } });
    await a.member.startOver(ahead);
    expect(a.events).toContainEqual(expect.objectContaining({ kind: 'shards-failed', isDamaged: false }));
    expect(existsSync(join(root, 'a', 'actors', 'acme'))).toBe(true);
  });

  it('is read from its followers while its owner is gone and another member waits to own it', async () => {
    const [a, b] = [new Side('a'), new Side('b')];
    expect(b.member.reads).toBeUndefined();
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.write('k', 'acknowledged');
    await b.member.follow();
    await b.caughtUp();
    const here = (): unknown => {
      const { reads } = b.member;
      return reads === undefined || reads === 'changing'
        ? reads
        : reads.query(actor, { type: 'Read', key: 'k' }, caller);
    };
    await until(() => here() === 'acknowledged');
    a.link.isConnected = false;
    expect(here()).toBe('acknowledged');
    const opened = b.member.own();
    const seen = new Set<unknown>();
    const roles = new Set<PartitionRole>();
    while (b.member.role !== 'owning') {
      const answer = here();
      seen.add(answer);
      if (answer === 'acknowledged') roles.add(b.member.role);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await opened).toBe(true);
    expect([...roles].sort()).toEqual(['following', 'opening']);
    expect([...seen].every((answer) => answer === 'acknowledged' || answer === 'changing')).toBe(true);
    expect(await b.notes()).toEqual({ k: 'acknowledged' });
    expect(here()).toBe('changing');
    await b.member.leave();
    expect(b.member.reads).toBeUndefined();
  });

  it('has what was acknowledged after its member restarts, from disk and from the log', async () => {
    const first = new Side('a');
    await first.member.own();
    await first.member.owned?.host.create(actor);
    for (let number = 0; number < 30; number++) await first.write(`k${number}`);
    // As if it were killed: nothing is settled, nothing is told to the log.
    first.link.isConnected = false;
    const again = new Side('b');
    await again.member.own();
    expect(Object.keys(await again.notes())).toHaveLength(30);
    await again.member.leave();
    const position = JSON.parse(readFileSync(join(root, 'b', 'position.json'), 'utf8')) as {
      sequence: number;
    };
    // All but the record that says good-bye.
    expect(position.sequence).toBe(stream.messages.length - 1);
    const third = new Side('b');
    await third.member.own();
    expect(Object.keys(await third.notes())).toHaveLength(30);
  });

  it('has only one owner when many members try to open it at once', async () => {
    const all = ['a', 'b', 'c', 'd'].map((name) => new Side(name));
    for (let round = 0; round < 5; round++) {
      const won = await Promise.all(all.map(({ member }) => member.own()));
      expect(won.filter(Boolean).length).toBeGreaterThanOrEqual(1);
      // One that is quiet may have been taken for dead; the log tells it when it asks.
      await Promise.allSettled(all.map(({ member }) => member.owned?.log.barrier()));
      const owners = all.filter(({ member }) => member.owned !== undefined);
      expect([round, owners.length]).toEqual([round, 1]);
      await owners[0]?.member.follow();
    }
  });

  it('is released in time while the servers do not answer, with calls waiting for them', async () => {
    const a = new Side('a');
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.write('k', 'kept');
    a.link.answers = false;
    const asked = a.member.owned?.log.barrier().catch(({ code }: { code: string }) => code);
    // It is being given up already, no command waits, and its log waits for what is under way.
    const following = a.member.follow();
    await a.member.leave(50);
    await following;
    expect(await asked).toBe('WRITES_STOPPED');
    expect(a.member.role).toBe('idle');
    a.link.answers = true;
    // Less than a log that closes waits for its servers when nobody hurries it.
  }, 8_000);

  it('is left to newer members when a record of their format is found, with the remedy [CLU-043]', async () => {
    const [a, b] = [new Side('a'), new Side('b')];
    await a.member.own();
    await a.member.owned?.host.create(actor);
    await a.write('k', 'older');
    await b.member.follow();
    await b.caughtUp();
    // An upgraded owner takes over and, against the rule, writes what these two cannot read.
    const newer = Buffer.from(stream.at(stream.messages.length)?.bytes as Uint8Array);
    newer[4] = RECORD_FORMAT + 1;
    stream.append(stream.messages.length, newer);
    await until(() => b.member.role === 'quarantined');
    const quarantined = b.events.find(({ kind }) => kind === 'quarantined') as { cause: Error };
    expect(quarantined.cause.message).toMatch(/has format 2, and this version reads 1. Upgrade this member/);
    expect(await b.member.own()).toBe(false);
    const outcome = await a.write('k', 'lost').then(
      () => 'done',
      ({ code }: { code: string }) => code,
    );
    expect(outcome).not.toBe('done');
    await until(() => a.member.role === 'quarantined');
    expect(a.member.owned).toBeUndefined();
    // What is there is read by the version that knows the format.
    expect(stream.messages).toHaveLength((quarantinedAt(quarantined.cause) ?? 0) as number);
  });

  it('refuses a damaged position and names the remedy', async () => {
    const side = new Side('a');
    await side.member.own();
    await side.member.leave();
    writeFileSync(join(root, 'a', 'position.json'), '{"format":1,"sequ');
    await expect(new Side('a').member.follow()).rejects.toMatchObject({
      code: 'DATA_CORRUPTED',
      message: expect.stringContaining('remove the folder'),
    });
  });
});
