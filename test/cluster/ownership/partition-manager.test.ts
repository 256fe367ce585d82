import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PartitionManager } from '#cluster/ownership/partition-manager.ts';
import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import type { ShardDamage } from '#cluster/ownership/shard-damage.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { HeardMembers } from '#test/support/heard-members.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { openNoteHost } from '#test/support/note-host.ts';

/** The lease a slow candidate waits for: longer than the test looks. */
const LONG_LEASE_MS = 20_000;

let root: string;
let stream: MemoryStream;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'manager-'));
  stream = new MemoryStream();
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function memberOf(
  name: string,
  leaseMs: number,
  onRole: (role: PartitionRole) => void = () => {},
  report: (event: LogEvent) => void = () => {},
): PartitionMember {
  const folder = join(root, name, 'actors');
  const store = new ActorStore(folder, [noteActor], systemClock);
  return new PartitionMember({
    partition: 0,
    member: name,
    folder: join(root, name),
    stream: stream.link(),
    store,
    leaseMs,
    files: realFileSystem,
    clock: systemClock,
    random: systemRandom,
    openHost: async (log) => {
      const observer = { batchDurable() {}, events() {}, stopped() {}, applyFailed() {} };
      return await openNoteHost({ folder, store, log, observer });
    },
    report,
    onRole,
  });
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let round = 0; !isTrue(); round++) {
    if (round > 1000) throw new Error('it never came true');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

it('leaves a partition that it waits for to an owner it hears of late, though that one writes nothing', async () => {
  const fast = memberOf('fast', 10);
  expect(await fast.own()).toBe(true);
  const heard = new HeardMembers(1, 'slow');
  // Alone, and sure of it.
  heard.pass(4);
  const roles: PartitionRole[] = [];
  const slow = new PartitionManager({
    directory: heard.directory('slow'),
    registry: heard.registry('slow'),
    streamOf: () => stream.link(),
    makeMember: (_partition, { onRole, report }) =>
      memberOf(
        'slow',
        LONG_LEASE_MS,
        (role) => {
          roles.push(role);
          onRole(role);
        },
        report,
      ),
    clock: systemClock,
    onFailure: (_partition, cause) => {
      throw cause;
    },
  });
  slow.start();
  await until(() => roles.at(-1) === 'opening');
  // It says so only now.
  heard.add('fast');
  heard.registry('fast').claim(0, fast.epoch);
  heard.pass(1);
  await until(() => roles.at(-1) === 'following');
  // Nobody has taken it from its owner.
  await fast.owned?.log.barrier();
  expect(roles).not.toContain('owning');
  await slow.close();
  await fast.leave();
});

it('rebuilds shards when reads find damage, and does not repeat it at once: damage found then is in the log', async () => {
  const heard = new HeardMembers(1, 'lone');
  heard.pass(4);
  const events: LogEvent[] = [];
  const manager = new PartitionManager({
    directory: heard.directory('lone'),
    registry: heard.registry('lone'),
    streamOf: () => stream.link(),
    makeMember: (_partition, { onRole, report }) =>
      memberOf('lone', 10, onRole, (event) => {
        events.push(event);
        report(event);
      }),
    clock: systemClock,
    onFailure: (_partition, cause) => {
      throw cause;
    },
  });
  const failures = () => events.filter(({ kind }) => kind === 'shards-failed');
  const owned = () => manager.members.get(0)?.owned;
  const damage = new ServiceError('DATA_CORRUPTED');
  manager.start();
  const told = manager.members.get(0)?.damage as ShardDamage;
  await until(() => owned() !== undefined && !told.isReading);
  const first = owned();
  // A later record may remove what is met.
  told.beginReading();
  manager.metDamage(0, damage);
  await first?.log.barrier();
  expect([failures().length, owned()]).toEqual([0, first]);
  await told.endReading();
  manager.metDamage(0, damage);
  await until(() => {
    heard.pass(1);
    return owned() !== undefined && owned() !== first;
  });
  expect(failures()).toHaveLength(1);
  const second = owned();
  manager.metDamage(0, damage);
  await second?.log.barrier();
  expect([failures().length, owned()]).toEqual([1, second]);
  // A disk that fails is another matter.
  manager.stepDown(0, new ServiceError('WRITES_STOPPED'));
  await until(() => failures().length === 2);
  await manager.close();
});

it('announces that it cannot take a partition with a damaged local position, so that another member takes it', async () => {
  const before = memberOf('sick', 10);
  expect(await before.own()).toBe(true);
  await before.leave();
  writeFileSync(join(root, 'sick', 'position.json'), '{"format":1,"sequ');
  const heard = new HeardMembers(1, 'sick');
  heard.pass(4);
  const causes: unknown[] = [];
  const manager = new PartitionManager({
    directory: heard.directory('sick'),
    registry: heard.registry('sick'),
    streamOf: () => stream.link(),
    makeMember: (_partition, { onRole, report }) => memberOf('sick', 10, onRole, report),
    clock: systemClock,
    onFailure: (_partition, cause) => causes.push(cause),
  });
  expect(heard.directory('sick').vacancies).toEqual([0]);
  manager.start();
  await until(() => causes.length > 0);
  heard.add('well');
  heard.pass(8);
  expect(heard.registry('well').restingOf('sick')).toEqual(new Set([0]));
  expect(heard.directory('well').vacancies).toEqual([0]);
  expect(heard.directory('sick').vacancies).toEqual([]);
  // It is left alone for a while, and not asked again with every look.
  expect(causes).toMatchObject([{ code: 'DATA_CORRUPTED' }]);
  await manager.close();
});

it('announces that it cannot take a partition in local quarantine', async () => {
  const fast = memberOf('fast', 10);
  expect(await fast.own()).toBe(true);
  const heard = new HeardMembers(1, 'sick', 'fast');
  heard.pass(4);
  heard.registry('fast').claim(0, fast.epoch);
  heard.pass(1);
  const manager = new PartitionManager({
    directory: heard.directory('sick'),
    registry: heard.registry('sick'),
    streamOf: () => stream.link(),
    makeMember: (_partition, { onRole, report }) => memberOf('sick', 10, onRole, report),
    clock: systemClock,
    onFailure: (_partition, cause) => {
      throw cause;
    },
  });
  manager.start();
  const role = (): PartitionRole | undefined => manager.members.get(0)?.role;
  await until(() => role() === 'following');
  // A record of a version that this one cannot read.
  const newer = Buffer.from(stream.at(stream.messages.length)?.bytes as Uint8Array);
  newer[4] = 99;
  stream.append(stream.messages.length, newer);
  await until(() => role() === 'quarantined');
  heard.pass(1);
  expect(heard.registry('fast').restingOf('sick')).toEqual(new Set([0]));
  await manager.close();
  await fast.leave();
});
