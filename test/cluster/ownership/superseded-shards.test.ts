import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeVoters } from '#cluster/replica-durability/voters.ts';
import type { ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { PositionFile } from '#cluster/ownership/position-file.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem as files } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import {
  fillJournal,
  NAMES,
  openLog,
  PARTITION,
  silentFlush,
  statusIn,
} from '#test/support/superseded-log.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const actor = actorId('acme', 'site~1', 'a', 'notes');

/** The opening, who keeps the log, and one more. */
const COMMON = 3;

let folder: string;
let stream: MemoryStream;
let clock: TestClock;
let told: ReplicaStatus[];
/** What the stream had before others wrote over it. */
let own: readonly StoredMessage[];
let roles: PartitionRole[];
let member: PartitionMember;
let isOffered: boolean | Promise<boolean>;
let asked: number;
/** Whether a snapshot was not taken whole. */
let tidying: Promise<boolean>;
/** Whether the volume is short of room, look after look; at last it is not. */
let pressures: boolean[];

/** The shards of `m1` and its journal end with records of which the stream has others, as `m2` and `m3` have. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'superseded-'));
  stream = new MemoryStream();
  clock = new TestClock();
  [isOffered, asked, pressures, roles, tidying] = [false, 0, [], [], Promise.resolve(false)];
  const log = await openLog(stream, 'm1');
  await log.state(encodeVoters({ old: NAMES, new: NAMES }));
  for (let count = 0; count < 3; count += 1) await log.barrier();
  await fillJournal(files, join(folder, 'flush-journal'), stream);
  const { chain, epoch } = statusIn(stream, 'm1');
  const store = new ActorStore(join(folder, 'actors'), [noteActor], systemClock, {
    keepMs: 3_600_000,
    isPressed: () => pressures.shift() ?? false,
  });
  await store.create(actor, 1);
  const position = {
    identity: 'memory',
    sequence: stream.messages.length,
    epoch,
    chain: Buffer.from(chain, 'hex'),
  };
  await new PositionFile(files, folder).write(position, undefined, 1);
  own = [...stream.messages];
  stream.messages.length = COMMON;
  const other = await openLog(stream, 'm2');
  for (let count = 0; count < 5; count += 1) await other.barrier();
  told = ['m2', 'm3'].map((name) => statusIn(stream, name));
  member = new PartitionMember({
    partition: PARTITION,
    member: 'm1',
    folder,
    stream: stream.link(),
    store,
    leaseMs: 50,
    files,
    clock,
    random: systemRandom,
    openHost: () => Promise.reject(new Error('it is not opened')),
    coldStart: {
      run: () => Promise.resolve(undefined),
      bring: () => Promise.resolve(false),
      replace: () => Promise.resolve(undefined),
      isOffered: () => {
        asked += 1;
        return Promise.resolve(isOffered);
      },
      isUnfinished: () => tidying,
      finish: () => Promise.resolve(undefined),
      done: () => Promise.resolve(),
    },
    replicas: {
      statuses: {
        ask: async (_, hear) => {
          for (const each of told) hear(each);
        },
      },
      others: () => told.length,
      flush: silentFlush,
    },
    report: () => {},
    onRole: (role) => roles.push(role),
  });
});

afterEach(async () => {
  const left = member.leave();
  clock.advance(20_000);
  await left;
  rmSync(folder, { recursive: true, force: true });
});

/** What was put away. */
const putAway = (): readonly string[] => {
  const removed = join(folder, 'actors/.removed');
  return existsSync(removed) ? readdirSync(removed) : [];
};

async function quarantined(): Promise<void> {
  const following = member.follow();
  await until(() => {
    clock.advance(50);
    return member.role === 'quarantined';
  }, 'it is in quarantine');
  await following;
}

async function whileTimeGoes(isSo: () => boolean, what: string): Promise<void> {
  await until(() => {
    clock.advance(2_000);
    return isSo();
  }, what);
}

it('are set aside when the log has every record [CLU-046]', async () => {
  await quarantined();
  await whileTimeGoes(() => putAway().length === 1, 'they are put away');
});

it('stay where the log was cut and no snapshot is there, until one is [CLU-046]', async () => {
  await stream.link().truncate(2);
  await quarantined();
  await whileTimeGoes(() => asked > 2, 'it looks for one again and again');
  expect([member.role, putAway()]).toEqual(['quarantined', []]);
  expect(member.trouble).toMatch(
    /its records from log record 4 on were overwritten in the log, and neither its log nor/,
  );
  isOffered = true;
  await whileTimeGoes(() => putAway().length === 1, 'they are put away');
});

it('are kept while the volume is short of room to set them aside [CLU-046]', async () => {
  pressures = [false, true];
  await quarantined();
  await whileTimeGoes(() => pressures.length === 0, 'it is short of room');
  await until(() => member.trouble?.includes('disk is full') === true, 'it says so');
  expect([member.role, putAway(), member.storedSequence > 0]).toEqual(['quarantined', [], true]);
  await whileTimeGoes(() => putAway().length === 1, 'they are put away');
});

it('are set aside when a failure of the disk has passed [CLU-046]', async () => {
  const inTheWay = join(folder, 'superseded');
  writeFileSync(inTheWay, '');
  await quarantined();
  await whileTimeGoes(() => member.trouble?.includes('EEXIST') === true, 'it says so');
  expect([member.role, putAway()]).toEqual(['quarantined', []]);
  rmSync(inTheWay);
  await whileTimeGoes(() => putAway().length === 1, 'they are put away');
});

it('stay where the partition was left while a snapshot was looked for', async () => {
  await stream.link().truncate(2);
  const answer = Promise.withResolvers<boolean>();
  isOffered = answer.promise;
  await quarantined();
  await whileTimeGoes(() => asked === 1, 'it looks for one');
  const left = member.leave();
  answer.resolve(true);
  await whileTimeGoes(() => member.role === 'idle', 'it is left');
  await left;
  expect(putAway()).toEqual([]);
});

it('are followed again when the disk failed as the stream got their records back', async () => {
  const others = [...stream.messages];
  stream.messages.splice(0, stream.messages.length, ...others.slice(0, own.length - 1));
  told = ['m2', 'm3'].map((name) => statusIn(stream, name, COMMON));
  const following = member.follow();
  await whileTimeGoes(() => member.role === 'quarantined', 'it is in quarantine');
  await following;
  tidying = Promise.reject(Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }));
  tidying.catch(() => undefined);
  stream.messages.splice(0, stream.messages.length, ...own);
  await whileTimeGoes(() => member.trouble?.includes('EMFILE') === true, 'it says so');
  expect(member.role).toBe('quarantined');
  tidying = Promise.resolve(false);
  await whileTimeGoes(() => member.role === 'following', 'it follows again');
});

it('stay while they are followed again because the stream got their records back [CLU-046]', async () => {
  const others = [...stream.messages];
  const have = (messages: readonly StoredMessage[]): void => {
    stream.messages.splice(0, stream.messages.length, ...messages);
  };
  const since = told;
  // For a while the servers show the beginning of the other records, and nobody who has them answers.
  have(others.slice(0, own.length - 1));
  told = ['m2', 'm3'].map((name) => statusIn(stream, name, COMMON));
  const following = member.follow();
  await whileTimeGoes(() => member.role === 'quarantined', 'it is in quarantine');
  await following;
  await whileTimeGoes(() => member.trouble?.includes('differs') === true, 'it knows that it has others');
  have(own);
  await whileTimeGoes(() => member.role === 'following', 'it follows again');
  // Otherwise it would read one of the others first, and be in quarantine again.
  await until(() => stream.waiting > 0, 'it has read everything');
  have(others);
  told = since;
  const untilMs = clock.monotonicMs() + 40_000;
  await whileTimeGoes(() => clock.monotonicMs() > untilMs, 'time goes on');
  // It finds out only when it opens the log; nobody else had to check it any more.
  expect([member.role, putAway()]).toEqual(['following', []]);
  const opening = member.own();
  await whileTimeGoes(() => putAway().length === 1, 'they are put away');
  expect(await opening).toBe(false);
  expect(roles.slice(0, 5)).toEqual(['following', 'quarantined', 'following', 'opening', 'quarantined']);
});
