import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeTicket } from '#cluster/jobs/ticket-format.ts';
import { NatsTickets } from '#cluster/jobs/nats-tickets.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { JobTicket } from '#runtime/jobs/tickets.ts';
import { JOB_SCOPE, newJob, OTHER_JOB_SCOPE } from '#test/support/job-fixtures.ts';
import { engineUser } from '#test/support/engine.ts';
import { testLink } from '#test/support/member-seals.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { SharedQueueHarness } from '#test/support/shared-queue-harness.ts';

/** Long enough for a process that stalls on a busy machine. */
const LEASE_MS = 1_000;

const nats = sharedNatsCluster(1);
const closers: (() => Promise<unknown>)[] = [];
const forEver = new AbortController().signal;

let made = 0;

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Tickets of several members of one cluster. */
async function open(members: number) {
  made += 1;
  const subjects = new Subjects(`tickets-${made}`);
  const problems: string[] = [];
  const opened = [];
  for (let member = 0; member < members; member++) {
    const connection = await connectToNats({ urls: nats().urls, name: 'tickets' });
    const tickets = await NatsTickets.open({
      sealed: testLink(connection),
      subjects,
      settings: { replicas: 1, leaseMs: LEASE_MS },
      clock: systemClock,
      report: (problem) => void problems.push(problem),
    });
    closers.push(async () => {
      tickets.close();
      await connection.close();
    });
    opened.push({ connection, tickets });
  }
  const manager = await jetstreamManager(opened[0]?.connection as never);
  const left = async (): Promise<number> => (await manager.streams.info(subjects.jobStream)).state.messages;
  return { subjects, problems, members: opened, tickets: opened.map(({ tickets }) => tickets), left };
}

async function take(tickets: NatsTickets | undefined): Promise<JobTicket> {
  return (await (tickets as NatsTickets).take(forEver)) as JobTicket;
}

/** Whether nothing is handed out for a while. */
async function isQuiet(tickets: NatsTickets | undefined, ms: number): Promise<boolean> {
  return (await (tickets as NatsTickets).take(AbortSignal.timeout(ms))) === undefined;
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('tickets in JetStream', () => {
  it('have their consumer asked for once, however many members begin at the same time', async () => {
    made += 1;
    const subjects = new Subjects(`tickets-${made}`);
    const connections = await Promise.all(
      Array.from({ length: 4 }, () => connectToNats({ urls: nats().urls, name: 'tickets' })),
    );
    closers.push(...connections.map((connection) => () => connection.close()));
    const [observer, ...members] = connections as [NatsConnection, ...NatsConnection[]];
    const asked: string[] = [];
    for (const verb of ['CREATE', 'DURABLE.CREATE'])
      observer.subscribe(`$JS.API.CONSUMER.${verb}.>`, {
        callback: (_, { subject }) => void (subject.includes(subjects.jobStream) && asked.push(subject)),
      });
    await observer.flush();
    const opened = async (connection: NatsConnection): Promise<void> => {
      const settings = { replicas: 1, leaseMs: LEASE_MS };
      const sealed = testLink(connection);
      const environment = { sealed, subjects, settings, clock: systemClock, report: () => {} };
      const tickets = await NatsTickets.open(environment);
      closers.push(async () => tickets.close());
    };
    await Promise.all(members.map(opened));
    await opened(observer);
    await observer.flush();
    expect(asked).toHaveLength(1);
  });

  it('delivers each once, to any waiting member, and keeps none that is used up', async () => {
    const { left, tickets } = await open(3);
    const waiting = tickets.map((each) => take(each));
    const ids = [newJob(), newJob(), newJob()].map(({ id }) => id);
    for (const id of ids) await tickets[0]?.issue(JOB_SCOPE, id);
    for (const ticket of await Promise.all(waiting)) {
      expect(ticket).toMatchObject({ scope: JOB_SCOPE, deliveries: 1 });
      ticket.used();
    }
    await until(async () => (await left()) === 0);
  });

  it('takes an id that is issued again after a crash for the same ticket', async () => {
    const { left, tickets } = await open(2);
    const { id } = newJob();
    for (const each of [tickets[0], tickets[1], tickets[0]]) await each?.issue(JOB_SCOPE, id);
    expect(await left()).toBe(1);
  });

  it('delivers again what its holder did not renew for a lease, and not before', async () => {
    const { tickets } = await open(2);
    await tickets[0]?.issue(JOB_SCOPE, newJob().id);
    const first = await take(tickets[0]);
    const second = take(tickets[1]);
    for (let beat = 0; beat < 5; beat++) {
      await new Promise((resolve) => setTimeout(resolve, LEASE_MS / 4));
      first.working();
    }
    const startedMs = performance.now();
    expect((await second).deliveries).toBe(2);
    // The last sign of life was sent just before.
    expect(performance.now() - startedMs).toBeGreaterThan(LEASE_MS / 2);
  });

  it('hands out what is given back when it was asked to, on the oldest servers too', async () => {
    const { tickets } = await open(2);
    await tickets[0]?.issue(JOB_SCOPE, newJob().id);
    // Longer than a lease: the servers keep the delay, not the holder.
    (await take(tickets[0])).again(3 * LEASE_MS);
    expect(await isQuiet(tickets[1], 1.4 * LEASE_MS)).toBe(true);
    const again = await take(tickets[1]);
    expect(again.deliveries).toBe(2);
    again.again(0);
    expect((await take(tickets[0])).deliveries).toBe(3);
  });

  it('delivers to other members what arrives for a caller that stopped waiting', async () => {
    const { tickets } = await open(2);
    expect(await isQuiet(tickets[0], 20)).toBe(true);
    await tickets[0]?.issue(JOB_SCOPE, newJob().id);
    expect((await take(tickets[1])).scope).toBe(JOB_SCOPE);
  });

  it('leaves tickets of a newer version to newer members and removes what is none', async () => {
    const { left, members, problems, subjects, tickets } = await open(1);
    const client = jetstream(members[0]?.connection as never);
    const { id } = newJob();
    const newer = {
      ...JSON.parse(Buffer.from(encodeTicket({ scope: JOB_SCOPE, id })).toString()),
      format: 2,
    };
    for (const text of ['', 'null', '{"format":1,"scope":"a/b/c","id":"x"}', 'x'.repeat(5_000)])
      await client.publish(subjects.jobTickets, text);
    await client.publish(subjects.jobTickets, JSON.stringify(newer));
    await tickets[0]?.issue(OTHER_JOB_SCOPE, id);
    const ticket = await take(tickets[0]);
    expect(ticket.scope).toBe(OTHER_JOB_SCOPE);
    ticket.used();
    await until(async () => (await left()) === 1);
    expect(problems).toHaveLength(4);
  });

  it('takes tickets again when the servers were away', async () => {
    const [server] = nats().servers;
    const { problems, tickets } = await open(1);
    const waiting = take(tickets[0]);
    await tickets[0]?.take(AbortSignal.timeout(20));
    await server?.kill();
    server?.start();
    await nats().ready();
    await until(() =>
      (tickets[0] as NatsTickets).issue(JOB_SCOPE, newJob().id).then(
        () => true,
        () => false,
      ),
    );
    expect((await waiting).scope).toBe(JOB_SCOPE);
    // Once, however often it was tried.
    expect(problems.length).toBeLessThanOrEqual(1);
  });
});

describe('jobs of several members', () => {
  const started = async (): Promise<SharedQueueHarness> => {
    const harness = await SharedQueueHarness.open(nats().urls);
    closers.push(() => harness.dispose());
    await harness.queue.prepare(JOB_SCOPE);
    return harness;
  };

  it('are run by any free member, and finished by another one when that one is gone [CLU-040]', async () => {
    const harness = await started();
    const [lost, other] = [await harness.join(), await harness.join()];
    const job = newJob();
    const claimed = lost.queue.claim(['Test'], forEver);
    await harness.queue.enqueue(JOB_SCOPE, job);
    expect((await claimed)?.job.id).toBe(job.id);
    lost.queue.close();
    await lost.connection.close();
    const taken = other.queue.claim(['Test'], forEver);
    await harness.pass(harness.leaseMs);
    const again = await taken;
    expect(again?.job).toMatchObject({ id: job.id, retries: 1 });
    expect(other.counts.redelivered).toBeGreaterThan(0);
    expect(await other.queue.complete(again as never, 'done')).toBe(true);
    expect(await harness.queue.find(JOB_SCOPE, job.id, engineUser)).toMatchObject({ state: 'completed' });
  });

  it('notify their workers on other members that they are cancelled', async () => {
    const harness = await started();
    const worker = await harness.join();
    const claimed = worker.queue.claim(['Test'], forEver);
    const job = newJob();
    await harness.queue.enqueue(JOB_SCOPE, job);
    const claim = await claimed;
    await harness.queue.cancel(JOB_SCOPE, job.id, { caller: engineUser });
    await until(() => claim?.signal.aborted === true);
    expect(await worker.queue.complete(claim as never, 'late')).toBe(false);
  });

  it('wait for a member that knows their type, while others are done', async () => {
    const harness = await started();
    const [old, upgraded] = [await harness.join(), await harness.join()];
    const [strange, known] = [newJob({ type: 'New' }), newJob()];
    await harness.queue.enqueue(JOB_SCOPE, strange);
    await harness.queue.enqueue(JOB_SCOPE, known);
    expect((await old.queue.claim(['Test'], forEver))?.job.id).toBe(known.id);
    const giveUp = new AbortController();
    const idle = old.queue.claim(['Test'], giveUp.signal);
    expect((await upgraded.queue.claim(['Test', 'New'], forEver))?.job.id).toBe(strange.id);
    giveUp.abort();
    expect(await idle).toBeUndefined();
  });

  it('are announced when the servers are back, and again by the next owner [CLU-041]', async () => {
    const harness = await started();
    const [server] = nats().servers;
    await server?.kill();
    const jobs = [newJob(), newJob()];
    for (const job of jobs) await harness.queue.enqueue(JOB_SCOPE, job);
    expect(harness.owner.counts.issued).toBe(0);
    // One owner dies with what it has not issued; the next one finds the jobs where they are kept.
    server?.start();
    await nats().ready();
    await harness.restart();
    const worker = await harness.join();
    const ids: (string | undefined)[] = [];
    for (const _ of jobs) ids.push((await worker.queue.claim(['Test'], forEver))?.job.id);
    expect(ids.sort()).toEqual(jobs.map(({ id }) => id).sort());
  });

  it('leave no ticket behind when they are done, cancelled, or removed with their repository', async () => {
    const harness = await started();
    const worker = await harness.join();
    const jobs = [newJob(), newJob(), newJob()];
    for (const job of jobs) await harness.queue.enqueue(JOB_SCOPE, job);
    await harness.queue.prepare(OTHER_JOB_SCOPE);
    await harness.queue.enqueue(OTHER_JOB_SCOPE, newJob({ type: 'Later' }, OTHER_JOB_SCOPE));
    await harness.queue.cancel(JOB_SCOPE, (jobs[0] as { id: string }).id, { caller: engineUser });
    for (let n = 0; n < 2; n++) {
      const claim = await worker.queue.claim(['Test'], forEver);
      await worker.queue.complete(claim as never, null);
    }
    await until(() => harness.queue.unissued === 0);
    await harness.engine.host.destroyUnder(OTHER_JOB_SCOPE);
    const giveUp = new AbortController();
    const idle = worker.queue.claim(['Test'], giveUp.signal);
    const manager = await jetstreamManager(worker.connection);
    const { jobStream } = harness.subjects;
    await until(async () => (await manager.streams.info(jobStream)).state.messages === 0);
    giveUp.abort();
    await idle;
  });
});
