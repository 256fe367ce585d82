import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeVoters } from '#cluster/replica-durability/voters.ts';
import type { ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { PositionFile } from '#cluster/ownership/position-file.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { realFileSystem as files } from '#runtime/base/file-system.ts';
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
let member: PartitionMember;
let isOffered: boolean;
let asked: number;
/** Whether the volume is short of room, look after look; at last it is not. */
let pressures: boolean[];

/** The shards of `m1` and its journal end with records of which the stream has others, as `m2` and `m3` have. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'superseded-'));
  stream = new MemoryStream();
  clock = new TestClock();
  [isOffered, asked, pressures] = [false, 0, []];
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
      isUnfinished: () => Promise.resolve(false),
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
    onRole: () => {},
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

it('are put away when the log has every record [CLU-046]', async () => {
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

it('stay when the volume becomes short of room while they are put away, until it is not [CLU-046]', async () => {
  pressures = [false, true];
  await quarantined();
  await whileTimeGoes(() => pressures.length === 0, 'it is short of room');
  await until(() => member.trouble?.includes('disk is full') === true, 'it says so');
  expect([member.role, putAway(), member.storedSequence > 0]).toEqual(['quarantined', [], true]);
  await whileTimeGoes(() => putAway().length === 1, 'they are put away');
});
