import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { CALL_VERSION } from '#cluster/router/call-frames.ts';
import { ClusterRouter } from '#cluster/router/cluster-router.ts';
import type { CallOutcome, RemoteCalls } from '#cluster/router/remote-calls.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const LEASE_MS = 4000;

const actor = actorId('acme', 'site~1', 'a', 'notes');
const fork = actorId('acme', 'site~1', 'b', 'notes');
const read = { type: 'Read', key: 'k' };

let root: string;
let owner: Engine;
let clock: TestClock;
let stream: MemoryStream;
let log: PartitionLog;
/** What becomes of calls to other members, one after another. */
let outcomes: (() => CallOutcome)[];
let isLocal: boolean;
let router: ClusterRouter;

const openLog = (member: string): Promise<PartitionLog> =>
  openPartition({
    stream: stream.link(),
    partition: 0,
    member,
    position: undefined,
    leaseMs: LEASE_MS,
    clock,
    random: systemRandom,
    report: () => {},
  });

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'leased-reads-'));
  owner = await Engine.open(root, { kinds: [noteActor] });
  await owner.host.create(actor);
  await owner.host.command(actor, { type: 'Write', key: 'k', text: 'one' }, { caller });
  clock = new TestClock();
  stream = new MemoryStream();
  log = await openLog('m1');
  [outcomes, isLocal] = [[], true];
  router = new ClusterRouter({
    partitions: 1,
    local: () => (isLocal ? { host: owner.host, log } : undefined),
    replica: () => undefined,
    isConnected: () => true,
    subjectOf: () => 'owner',
    ownerOf: () => undefined,
    calls: {
      call: async () => outcomes.shift()?.() ?? { kind: 'elsewhere' },
    } as unknown as RemoteCalls,
    callVersion: () => CALL_VERSION,
    clock: systemClock,
    random: systemRandom,
  });
});

afterEach(async () => {
  await owner.close();
  rmSync(root, { recursive: true, force: true });
});

/** The call of another member. */
const called = (message: unknown): unknown =>
  router.handle(
    { version: CALL_VERSION, kind: 'query', actor, message, principal: caller.principal },
    caller,
  );

const here = (message: unknown): unknown => router.query(actor, message, caller);

describe('a read at the owner', () => {
  it('needs nothing of the log under its lease, and a record of it without', async () => {
    for (const ask of [here, called]) {
      const { length } = stream.messages;
      const before = await ask(read);
      expect(stream.messages).toHaveLength(length);
      clock.advance(LEASE_MS);
      expect(await ask(read)).toEqual(before);
      expect(stream.messages).toHaveLength(length + 1);
    }
  });

  it('is repeated when it took longer than the lease', async () => {
    for (const ask of [here, called]) {
      const { length } = stream.messages;
      const hold = Promise.withResolvers<void>();
      const answer = ask({ type: 'ReadAll', until: hold.promise });
      clock.advance(LEASE_MS);
      await owner.host.command(actor, { type: 'Write', key: `k${length}`, text: 'later' }, { caller });
      hold.resolve();
      expect(await answer).toMatchObject({ [`k${length}`]: 'later' });
      expect(stream.messages).toHaveLength(length + 1);
    }
  });

  it('is not answered when another member has opened the log', async () => {
    const opening = openLog('m2');
    for (let passed = 0; passed < 2 * LEASE_MS; passed += 250) {
      await settle();
      clock.advance(250);
    }
    await opening;
    const soon = { ...caller, deadlineMs: systemClock.monotonicMs() };
    await expect(async () => router.query(actor, read, soon)).rejects.toMatchObject({ code: 'NOT_OWNER' });
    await expect(async () => called(read)).rejects.toMatchObject({ code: 'NOT_OWNER' });
  });
});

describe('a command whose answer is lost', () => {
  const write = { type: 'Write', key: 'k', text: 'two' };

  it('has an unknown outcome when its caller waits no longer', async () => {
    isLocal = false;
    outcomes = [() => ({ kind: 'lost' })];
    const soon = { ...caller, deadlineMs: systemClock.monotonicMs() };
    await expect(router.command(actor, write, { caller: soon })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
  });

  it('has an unknown outcome also when its precondition does not hold any more', async () => {
    isLocal = false;
    const refuted = (): never => {
      throw new PreconditionRefuted();
    };
    const precondition = { actor, query: read, uid: 'u' };
    const delivery = { caller: { ...caller, precondition } };
    outcomes = [refuted];
    await expect(router.command(actor, write, delivery)).rejects.toThrow(PreconditionRefuted);
    outcomes = [() => ({ kind: 'lost' }), refuted];
    await expect(router.command(actor, write, delivery)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  it('has made a fork that is there when it is sent again, and only then', async () => {
    const call = { version: CALL_VERSION, kind: 'fork', actor: fork, message: actor } as const;
    const sent = { ...call, principal: caller.principal };
    await router.handle(sent, caller);
    await router.handle({ ...sent, isRepeated: true }, caller);
    await expect(async () => router.handle(sent, caller)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  });
});
