import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PartitionMember, type PartitionRole } from '#cluster/lease/partition-member.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { ActorHost } from '#runtime/actor/actor-host.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
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
  readonly member: PartitionMember;
  readonly roles: PartitionRole[] = [];
  readonly events: LogEvent[] = [];

  constructor(name: string) {
    this.link = stream.link();
    this.member = new PartitionMember({
      partition: 3,
      member: name,
      folder: join(root, name),
      stream: this.link,
      kinds: [noteActor],
      leaseMs,
      files: realFileSystem,
      clock: systemClock,
      random: systemRandom,
      openHost: async (folder, log) => {
        const host = new ActorHost({
          folder,
          log,
          clock: systemClock,
          random: systemRandom,
          kinds: [noteActor],
          limits: engineLimits,
          observer: { batchDurable: () => {}, events: () => {}, stopped: () => {}, applyFailed: () => {} },
        });
        await host.recover();
        return host;
      },
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

  it('has what was acknowledged after its member starts anew, from disk and from the log', async () => {
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

  it('lets only one of many own it who try at once', async () => {
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

  it('refuses a damaged position and says what to do', async () => {
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
