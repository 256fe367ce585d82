import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Call, CALL_VERSION } from '#cluster/router/call-frames.ts';
import { CallServer } from '#cluster/router/call-server.ts';
import { ClusterRouter, type LocalPartition } from '#cluster/router/cluster-router.ts';
import { RemoteCalls, SILENCE_MS } from '#cluster/router/remote-calls.ts';
import type { MemberSeal } from '#cluster/seal/member-seal.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { policyFor } from '#runtime/access/policy.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { Caller, CallId } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { adminOf, HostFixture } from '#test/support/host-fixture.ts';
import { hearPulse, testSeal } from '#test/support/member-seals.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';

const nats = sharedNatsCluster(1);
const ACTOR = 'acme/site~1/main~1/locks';
const url = 'http://m2.example:7380';
const subjectOf = (member: string): string => `test.route.${member}`;

let connection: NatsConnection;
let calls: RemoteCalls;
let seal: MemberSeal;
let router: ClusterRouter;
/** Who is believed to own everything. */
let owner: string | undefined;
/** What all members take. */
let callVersion: number;
/** What this member owns itself. */
let own: LocalPartition | undefined;
const servers: CallServer[] = [];

beforeAll(async () => {
  connection = await connect({ servers: nats().urls });
});

afterAll(() => connection.close());

beforeEach(() => {
  owner = 'm2';
  own = undefined;
  own = undefined;
  callVersion = CALL_VERSION;
  // Where nobody is known to seal, tests listen themselves.
  ({ seal } = testSeal('test.caller', { acceptsUnsigned: true }));
  calls = new RemoteCalls(connection, systemClock, new SliceScheduler(systemClock), seal);
  router = new ClusterRouter({
    partitions: 4,
    local: () => own,
    replica: () => undefined,
    isConnected: () => true,
    subjectOf: () => (owner === undefined ? undefined : subjectOf(owner)),
    ownerOf: () => (owner === undefined ? undefined : { id: owner, url }),
    calls,
    callVersion: () => callVersion,
    clock: systemClock,
    random: systemRandom,
  });
});

afterEach(() => {
  calls.close();
  for (const server of servers.splice(0)) server.close();
});

/** A member that takes calls and does with them what is given. @returns the calls it got */
function member(id: string, handle: (call: Call) => unknown): Call[] {
  const seen: Call[] = [];
  const take = (call: Call): unknown => {
    seen.push(call);
    return handle(call);
  };
  const { seal: theirs } = testSeal(subjectOf(id));
  hearPulse(seal, theirs);
  servers.push(
    new CallServer(
      connection,
      `test.inbox.${id}`,
      subjectOf(id),
      systemClock,
      new SliceScheduler(systemClock),
      theirs,
      take,
      () => undefined,
    ),
  );
  return seen;
}

function callerFor(ms: number): Caller {
  const principal = adminOf('acme');
  return { principal, policy: policyFor(principal, 'acme'), deadlineMs: systemClock.monotonicMs() + ms };
}

function send(ms = 20_000): Promise<unknown> {
  return router.command(ACTOR, { type: 'AcquireLock' }, { caller: callerFor(ms) });
}

/** A host with one actor for notes. */
async function noteHost() {
  const fixture = await HostFixture.open([noteActor]);
  const actor = 'acme/site~1/a/notes';
  await fixture.host.create(actor);
  return { actor, host: fixture.host, close: () => fixture.close() };
}

describe('a command that is sent to the owner of its actor', () => {
  it(
    'is sent to the next owner under the same id when the first one falls silent',
    async () => {
      const first: Call[] = [];
      const silent = connection.subscribe(subjectOf('m2'), {
        callback: () => {
          first.push({} as Call);
          owner = 'm3';
        },
      });
      const next = member('m3', () => ({ token: 7 }));
      expect(await send()).toEqual({ token: 7 });
      silent.unsubscribe();
      expect([first.length, next.length]).toEqual([1, 1]);
      expect(next[0]).toMatchObject({ isRepeated: true, id: { slot: 0, number: 1 } });
    },
    SILENCE_MS * 5,
  );

  it('is sent to the next owner when the writes of the first one have stopped', async () => {
    const first = member('m2', () => {
      owner = 'm3';
      throw new ServiceError('WRITES_STOPPED');
    });
    const next = member('m3', () => ({ token: 8 }));
    expect(await send()).toEqual({ token: 8 });
    expect(first[0]).not.toHaveProperty('isRepeated');
    expect(next[0]?.id).toEqual(first[0]?.id);
    // Its slot is free again.
    expect(await send()).toEqual({ token: 8 });
    expect(next[1]?.id).toMatchObject({ slot: 0, number: 2 });
  });

  it('is answered 503 with the owner to ask when no member takes it in time', async () => {
    member('m2', () => {
      throw new ServiceError('NOT_OWNER');
    });
    await expect(send(300)).rejects.toMatchObject({
      code: 'NOT_OWNER',
      details: { member: 'm2', url },
    });
    owner = undefined;
    await expect(send(300)).rejects.toMatchObject({ code: 'NOT_OWNER', details: undefined });
  });

  it(
    'has an unknown outcome when an owner fell silent and no other member took it in time',
    async () => {
      const silent = connection.subscribe(subjectOf('m2'), {
        callback: () => {
          owner = undefined;
        },
      });
      await connection.flush();
      await expect(send(SILENCE_MS + 1000)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
      silent.unsubscribe();
    },
    SILENCE_MS * 5,
  );
});

describe('a command that was sent, with a forged no-responders reply', () => {
  it('is done once, also when this member has become the owner, because any client can send such a reply', async () => {
    const { actor, host, close } = await noteHost();
    const revisions: unknown[] = [];
    const done = Promise.withResolvers<void>();
    const waiting = Promise.withResolvers<never>();
    member('m2', async ({ id, message }) => {
      revisions.push(await host.command(actor, message, { caller: callerFor(20_000), call: id as CallId }));
      done.resolve();
      // Its answer is still on its way.
      return waiting.promise;
    });
    const forging = connection.subscribe(subjectOf('m2'), {
      callback: (_error, { reply }) =>
        void done.promise.then(() => {
          own = { host, log: { lease: { isValid: () => true } } as PartitionLog };
          connection.publish(reply as string, '', { headers: headers(503, 'No Responders') });
        }),
    });
    const write = { type: 'Write', key: 'a', text: 'once' };
    const answer = await router.command(actor, write, { caller: callerFor(20_000) });
    expect(revisions).toEqual([answer]);
    forging.unsubscribe();
    waiting.reject(new ServiceError('SHUTTING_DOWN'));
    await close();
  });
});

describe('a message with a precondition', () => {
  const precondition = {
    actor: 'acme/site~1/repository',
    query: { type: 'FindBranch', name: 'main' },
    uid: '1',
  };
  const sendOn = (ms = 20_000) =>
    router.command(ACTOR, { type: 'AcquireLock' }, { caller: { ...callerFor(ms), precondition } });
  const askOn = async () =>
    router.query(ACTOR, { type: 'ListLocks' }, { ...callerFor(20_000), precondition });

  it('takes it along in a call that older members refuse; all others are made in the old version [CLU-043]', async () => {
    const seen = member('m2', () => 'done');
    expect([await sendOn(), await askOn(), await send()]).toEqual(['done', 'done', 'done']);
    expect(seen.map((call) => [call.version, call.precondition])).toEqual([
      [2, precondition],
      [2, precondition],
      [1, undefined],
    ]);
    expect(router.ownerConfirms(ACTOR)).toBe(true);
    callVersion = 1;
    expect(router.ownerConfirms(ACTOR)).toBe(false);
  });

  it('is refuted by an owner for which it does not hold, and by one of an older version [CLU-043]', async () => {
    for (const refusal of [new PreconditionRefuted(), new ServiceError('MEMBER_VERSIONS_DIFFER')]) {
      const seen = member('m2', () => {
        throw refusal;
      });
      await expect(sendOn()).rejects.toThrow(PreconditionRefuted);
      await expect(askOn()).rejects.toThrow(PreconditionRefuted);
      expect(seen).toHaveLength(2);
      for (const server of servers.splice(0)) server.close();
    }
    // Without a precondition it is the error it was.
    member('m2', () => {
      throw new ServiceError('MEMBER_VERSIONS_DIFFER');
    });
    await expect(send()).rejects.toMatchObject({ code: 'MEMBER_VERSIONS_DIFFER' });
  });

  it('is not said to be refuted when an owner may have carried it out before', async () => {
    member('m2', () => {
      owner = 'm3';
      throw new ServiceError('WRITES_STOPPED');
    });
    const next = member('m3', () => {
      throw new PreconditionRefuted();
    });
    await expect(sendOn()).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(next[0]).toMatchObject({ precondition, isRepeated: true });
  });
});
