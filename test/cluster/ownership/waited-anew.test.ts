import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import { logUnavailable } from '#cluster/replication/log-errors.ts';
import type { StreamState } from '#cluster/replication/log-stream.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const PARTITION = 3;
const LEASE_MS = 4_000;

/** A stream of which some looks see less: the server that answers lost its end, and another one leads then. */
class ShorterLink extends MemoryLink {
  /** Looks that see less. */
  shorter = 0;
  /** Looks that nobody answers. */
  unanswered = 0;

  override async state(): Promise<StreamState> {
    const state = await super.state();
    if (this.unanswered > 0) {
      this.unanswered -= 1;
      throw logUnavailable('nobody answers');
    }
    if (this.shorter === 0) return state;
    this.shorter -= 1;
    return { ...state, lastSequence: state.lastSequence - 1 };
  }
}

let root: string;
/** On the disk that the shards are on. */
let pace: FileHandle;
/** How long the disk of the flush journal takes. */
let disk: Promise<void>;
let clock: TestClock;
let stream: MemoryStream;
let link: ShorterLink;
/** Of the owner before, who may have a lease still. */
let log: PartitionLog;
/** When the member opened the partition, on its clock. */
let openedMs: number | undefined;
/** What answers an owner that asks what is on this disk. */
let answering: Set<() => void>;
/** In class `replica-disk`, with two others that have all of the log. */
let member: PartitionMember;

function end() {
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages) decoder.take(message);
  const { chain, epoch } = decoder.fold.state;
  return { identity: 'memory', epoch, sequence: stream.messages.length, chain: chain.toString('hex') };
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'waited-'));
  pace = await open(join(root, 'pace'), 'a');
  disk = Promise.resolve();
  clock = new TestClock();
  stream = new MemoryStream();
  link = new ShorterLink(stream);
  openedMs = undefined;
  answering = new Set();
  const owner = { member: 'm2', position: undefined, leaseMs: 1, clock: systemClock, random: systemRandom };
  log = await openPartition({ ...owner, stream: stream.link(), partition: PARTITION, report: () => {} });
  await log.barrier();
  member = new PartitionMember({
    partition: PARTITION,
    member: 'm1',
    folder: '/partition',
    stream: link,
    store: new ActorStore(join(root, 'actors'), [noteActor], clock),
    leaseMs: LEASE_MS,
    files: new FaultyFileSystem(() => disk),
    clock,
    random: systemRandom,
    openHost: () => Promise.reject(new Error('it is not opened')),
    replicas: {
      statuses: {
        ask: async (_, hear) => {
          for (const name of ['m2', 'm3']) hear({ member: name, ...end(), voters: undefined });
        },
      },
      others: () => 2,
      flush: {
        channel: {
          tell: () => {},
          ask: () => {},
          onConfirmation: () => () => {},
          onRequest: (_, listener) => {
            answering.add(listener);
            return () => answering.delete(listener);
          },
        },
        votersWanted: () => ['m1', 'm2', 'm3'],
      },
    },
    report: ({ kind }) => {
      if (kind === 'opened') openedMs = clock.monotonicMs();
    },
    onRole: () => {},
  });
  await follow();
});

afterEach(async () => {
  await within(member.leave());
  await pace.close();
  rmSync(root, { recursive: true, force: true });
});

/** Follows the log to its end; no time passes. */
async function follow(): Promise<void> {
  await member.follow();
  await until(() => member.sequence === stream.messages.length, 'it has read all');
}

/** Lets time pass in small steps until something has happened, no faster than the disk of the shards answers. */
async function within(work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  while (!isOver) await step();
  await over;
}

async function step(): Promise<void> {
  clock.advance(LEASE_MS / 64);
  await settle();
  await pace.write('x');
  await pace.datasync();
}

/** @returns how long the member waits before it opens the partition, in milliseconds */
async function waited(): Promise<number> {
  const fromMs = clock.monotonicMs();
  const owning = member.own();
  while (openedMs === undefined) await step();
  // Nobody confirms it.
  member.giveWay();
  await within(owning);
  return openedMs - fromMs;
}

it('a candidate has waited already while it followed', async () => {
  clock.advance(LEASE_MS);
  expect(await waited()).toBeLessThan(LEASE_MS / 2);
});

it('a candidate waits again when the stream was shorter at first: it may have lost what renewed a lease', async () => {
  clock.advance(LEASE_MS);
  link.shorter = 1;
  expect(await waited()).toBeGreaterThanOrEqual(LEASE_MS);
});

it('a candidate waits again when no server answered at first: the servers may have lost what renewed a lease', async () => {
  clock.advance(LEASE_MS);
  link.unanswered = 1;
  expect(await waited()).toBeGreaterThanOrEqual(LEASE_MS);
});

it('time in which the log was not followed does not count: what was stored meanwhile may be lost', async () => {
  await within(member.leave());
  clock.advance(LEASE_MS);
  await follow();
  expect(await waited()).toBeGreaterThanOrEqual(LEASE_MS);
});

it('a follower reports nothing that is not in its flush journal on the disk', async () => {
  await within(member.leave());
  await follow();
  const before = (await member.status())?.sequence;
  expect(before).toBe(end().sequence);
  const held = Promise.withResolvers<void>();
  disk = held.promise;
  await log.barrier();
  await until(() => member.sequence === stream.messages.length, 'it has read the new record');
  expect((await member.status())?.sequence).toBe(before);
  held.resolve();
  await until(async () => (await member.status())?.sequence === end().sequence, 'it is on the disk');
});

it('a follower that cannot continue the log no longer confirms any of it', async () => {
  expect(answering.size).toBe(1);
  stream.append(stream.messages.length, Buffer.from('no record'));
  await until(() => member.role === 'quarantined', 'it is in quarantine');
  expect(answering.size).toBe(0);
});
