import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FlushJournal } from '#cluster/flush-journal/flush-journal.ts';
import { encodeKeepers } from '#cluster/flush-journal/keepers.ts';
import type { Standing } from '#cluster/flush-journal/standing.ts';
import { PartitionMember } from '#cluster/lease/partition-member.ts';
import { PositionFile } from '#cluster/lease/position-file.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { realFileSystem as files } from '#runtime/base/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const PARTITION = 1;
const NAMES = ['m1', 'm2', 'm3'];
const actor = actorId('acme', 'site~1', 'a', 'notes');

/** The opening, who keeps the log, and one more. */
const COMMON = 3;

let folder: string;
let stream: MemoryStream;
let clock: TestClock;
let told: Standing[];
let member: PartitionMember;
let isOffered: boolean;
let asked: number;
/** Whether the volume is short of room, look after look; at last it is not. */
let pressures: boolean[];

function openLog(name: string): Promise<PartitionLog> {
  return openPartition({
    position: undefined,
    leaseMs: 1,
    clock: systemClock,
    random: systemRandom,
    stream: stream.link(),
    partition: PARTITION,
    member: name,
    report: () => {},
  });
}

/** The shards of `m1` and its journal end with records of which the stream has others, as `m2` and `m3` have. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'superseded-'));
  stream = new MemoryStream();
  clock = new TestClock();
  [isOffered, asked, pressures] = [false, 0, []];
  const log = await openLog('m1');
  await log.state(encodeKeepers({ old: NAMES, new: NAMES }));
  for (let count = 0; count < 3; count += 1) await log.barrier();
  const journalFolder = join(folder, 'flush-journal');
  const journal = await FlushJournal.open({
    files,
    folder: journalFolder,
    clock: systemClock,
    random: systemRandom,
  });
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) {
    decoder.take(message);
    journal.add('memory', message, decoder.fold.state);
  }
  await journal.close();
  const { chain, epoch } = decoder.fold.state;
  const store = new ActorStore(join(folder, 'actors'), [noteActor], systemClock, {
    keepMs: 3_600_000,
    isPressed: () => pressures.shift() ?? false,
  });
  await store.create(actor, 1);
  const position = { identity: 'memory', sequence: stream.messages.length, epoch, chain: Buffer.from(chain) };
  await new PositionFile(files, folder).write(position, undefined, 1);
  stream.messages.length = COMMON;
  const other = await openLog('m2');
  for (let count = 0; count < 5; count += 1) await other.barrier();
  const theirs = new BatchDecoder(PARTITION);
  for (const message of stream.messages) theirs.take(message);
  const { state } = theirs.fold;
  const standing = {
    identity: 'memory',
    epoch: state.epoch,
    sequence: stream.messages.length,
    chain: Buffer.from(state.chain).toString('hex'),
    keepers: undefined,
  };
  told = ['m2', 'm3'].map((name) => ({ member: name, ...standing }));
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
      done: () => Promise.resolve(),
    },
    replicas: {
      standings: {
        ask: async (_, hear) => {
          for (const each of told) hear(each);
        },
      },
      others: () => told.length,
      flush: {
        channel: { tell: () => {}, ask: () => {}, onTold: () => () => {}, onAsked: () => () => {} },
        keepersWanted: () => NAMES,
      },
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
  expect(member.trouble).toMatch(/wrote over what it has from log record 4 on, and neither its log nor/);
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
