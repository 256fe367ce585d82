import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { ConsistentReads } from '#cluster/router/consistent-reads.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { ReplicaSource } from '#runtime/actor/ports.ts';
import { ReplicaReads } from '#runtime/actor/reads/replica-reads.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { Caller, ReadConsistency } from '#runtime/commit/behaviour.ts';
import { Replica } from '#runtime/commit/replica.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { Engine, engineUser } from '#test/support/engine.ts';
import { type MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';

const actor = actorId('acme', 'site~1', 'a', 'notes');
const partition = 3;
const read = { type: 'Read', key: 'k' };

let root: string;
let owner: Engine;
let replica: Replica;
let replicaReads: ReplicaReads;
let source: ReplicaSource | 'changing' | undefined;
let askedOwner: number;
let reads: ConsistentReads;
let followed: number;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'consistent-reads-'));
  owner = await Engine.open(join(root, 'owner'), { kinds: [noteActor] });
  await owner.host.create(actor);
  const store = new ActorStore(join(root, 'follower'), [noteActor], systemClock);
  replica = new Replica(store, systemClock, () => {});
  replicaReads = new ReplicaReads({
    replica,
    kindOf: () => noteActor,
    clock: systemClock,
    slices: new SliceScheduler(systemClock),
  });
  source = replicaReads;
  askedOwner = 0;
  followed = 0;
  reads = new ConsistentReads({
    replica: () => source,
    askOwner: (asked, query, caller) => {
      askedOwner += 1;
      return owner.host.query(asked, query, caller);
    },
    clock: systemClock,
  });
});

afterEach(async () => {
  await replicaReads.close();
  await replica.abandon();
  await owner.close();
  rmSync(root, { recursive: true, force: true });
});

const write = (text: string): Promise<string> =>
  owner.host.command(actor, { type: 'Write', key: 'k', text }, { caller: engineUser }) as Promise<string>;

async function follow(): Promise<void> {
  for await (const record of owner.journal.read(followed)) {
    await replica.take(record);
    followed = record.sequence;
  }
}

const local = (more: Partial<Caller> = {}): Caller => ({
  ...engineUser,
  consistency: { kind: 'local' },
  ...more,
});

describe('a local read', () => {
  it('is answered at once from what is here, though it is old', async () => {
    await write('old');
    await follow();
    await write('new');
    expect(reads.local(partition, actor, read, local())).toBe('old');
    expect(askedOwner).toBe(0);
  });

  it('waits for the revision its caller has seen, and does not ask the owner when it arrives', async () => {
    await write('old');
    await follow();
    const seen = parseRevision(await write('new'));
    const answer = reads.local(partition, actor, read, local({ minRevision: seen }));
    await follow();
    expect(await answer).toBe('new');
    expect(askedOwner).toBe(0);
  });

  it('asks the owner when what its caller has seen does not come, and from then on for that request', async () => {
    await write('old');
    await follow();
    const seen = parseRevision(await write('new'));
    const caller = local({ minRevision: seen });
    expect(await reads.local(partition, actor, read, caller)).toBe('new');
    // Its next query may not see an earlier state than this one, although it says nothing of what it has seen.
    const { minRevision: _seen, ...next } = caller;
    expect(await reads.local(partition, actor, read, next)).toBe('new');
    expect(askedOwner).toBe(2);
    // Another partition is another matter, and so is another request.
    expect(reads.local(partition + 1, actor, read, next)).toBe('old');
    expect(reads.local(partition, actor, read, local())).toBe('old');
  });

  it('asks the owner for an actor that is not here, and where there is nothing of the partition', async () => {
    await write('new');
    expect(await reads.local(partition, actor, read, local())).toBe('new');
    source = undefined;
    expect(await reads.local(partition, actor, read, local())).toBe('new');
    expect(askedOwner).toBe(2);
  });

  it('outlives a change of the role of its partition', async () => {
    await write('here');
    await follow();
    source = 'changing';
    const answer = reads.local(partition, actor, read, local()) as Promise<unknown>;
    setTimeout(() => {
      source = owner.host;
    }, 30);
    expect(await answer).toBe('here');
    expect(askedOwner).toBe(0);
    // One that is under way when its replica is let go of is asked again.
    source = replicaReads;
    let open: () => void = () => {};
    const until = new Promise<void>((resolve) => {
      open = resolve;
    });
    const long = reads.local(partition, actor, { type: 'ReadAll', until }, local()) as Promise<unknown>;
    source = owner.host;
    await replica.abandon();
    open();
    expect(await long).toEqual({ k: 'here' });
  });

  it('ends when its caller disconnects', async () => {
    source = 'changing';
    const controller = new AbortController();
    const answer = reads.local(
      partition,
      actor,
      read,
      local({ signal: controller.signal }),
    ) as Promise<unknown>;
    controller.abort(new Error('gone'));
    await expect(answer).rejects.toThrow('gone');
  });
});

describe('a strict read', () => {
  let link: MemoryLink;
  let stream: MemoryStream;
  let log: PartitionLog;

  const open = (member: string, through: MemoryLink): Promise<PartitionLog> =>
    openPartition({
      stream: through,
      partition,
      member,
      position: undefined,
      leaseMs: 100,
      clock: systemClock,
      random: systemRandom,
      report: () => {},
      signal: new AbortController().signal,
      take: () => Promise.resolve(),
    });

  beforeEach(async () => {
    stream = new MemoryStream();
    link = stream.link();
    log = await open('a', link);
  });

  afterEach(() => log.close());

  it('waits for the log to confirm the owner, once for a request', async () => {
    const before = stream.messages.length;
    const consistency: ReadConsistency = { kind: 'strict' };
    await reads.confirm(log, consistency);
    await reads.confirm(log, consistency);
    expect(stream.messages.length).toBe(before + 1);
    await reads.confirm(log, { kind: 'strict' });
    // A call of another member is a request of its own.
    await reads.confirm(log, undefined);
    await reads.confirm(log, undefined);
    expect(stream.messages.length).toBe(before + 4);
  });

  it('is refused by a member that is cut off, and by one that another has followed', async () => {
    link.isConnected = false;
    await expect(reads.confirm(log, { kind: 'strict' })).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
    const other = await open('b', stream.link());
    link.isConnected = true;
    await expect(reads.confirm(log, { kind: 'strict' })).rejects.toMatchObject({ code: 'NOT_OWNER' });
    await other.close();
  });
});
