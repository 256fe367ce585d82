import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { LocalQueue } from '#actors/jobs/local-queue.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { ActorKind, Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JobRecord, JobRequest, NewJob } from '#runtime/jobs/job.ts';
import { mayBeJobOf } from '#runtime/jobs/job-id.ts';
import { enqueueJob, forgetOutbox, withOutbox } from '#runtime/jobs/outbox.ts';
import { OutboxRelay } from '#runtime/jobs/outbox-relay.ts';
import type { Queue } from '#runtime/jobs/ports.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { Engine, engineUser } from '#test/support/engine.ts';
import { callers } from '#test/support/host-fixture.ts';
import { JOB_SCOPE, jobsLimits } from '#test/support/job-fixtures.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

/** A command of the actor under test. */
interface Order {
  readonly type: 'Order';
  readonly jobs: readonly JobRequest[];
  readonly fails?: boolean;
  readonly forgets?: boolean;
}

/** A kind whose commands enqueue what they are told to. */
const ordering: ActorKind = withOutbox({
  kind: 'orders',
  tables: ['orders'],
  create: ({ id }) => ({
    execute({ fails, forgets, jobs }: Order, turn: Turn) {
      if (forgets === true) forgetOutbox(turn);
      const ids = jobs.map((job) => enqueueJob(turn, id, job));
      if (fails === true) throw new ServiceError('CONFLICT');
      return ids;
    },
    query: () => 'inner',
  }),
});

const actor = `${JOB_SCOPE}/orders`;
const job: JobRequest = { type: 'Test', about: 'x', payload: 1 };

let folder: string;
let engine: Engine;
let local: LocalQueue;
let relay: OutboxRelay;
let clock: TestClock;
/** How the next enqueues fail. */
let refusal: ServiceError | undefined;

async function open(): Promise<void> {
  engine = await Engine.open(folder, { kinds: [ordering, jobsActor(jobsLimits)], clock });
  local = new LocalQueue({
    router: engine.host,
    lifecycle: engine.host,
    clock,
    random: systemRandom,
    onFailure: () => undefined,
  });
  const queue = new Proxy<Queue>(local, {
    get(target, name) {
      if (name === 'enqueue' && refusal !== undefined) return () => Promise.reject(refusal);
      const value = target[name as keyof Queue];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  relay = new OutboxRelay({ router: engine.host, queue, clock, random: systemRandom, log: silentLog });
}

async function close(): Promise<void> {
  await relay.close();
  local.close();
  await engine.close();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  clock = new TestClock();
  refusal = undefined;
  await open();
  await engine.host.create(actor);
  await allow();
});

function allow(): Promise<unknown> {
  return engine.host.command(actor, { type: 'AllowJobs' }, { caller: engineUser });
}

afterEach(async () => {
  await close();
  rmSync(folder, { recursive: true, force: true });
});

function order(more: Partial<Order>): Promise<string[]> {
  const command: Order = { type: 'Order', jobs: [job], ...more };
  return engine.host.command(actor, command, { caller: engineUser }) as Promise<string[]>;
}

function waiting(): NewJob[] {
  return engine.host.query(actor, { type: 'ReadOutbox' }, engineUser) as NewJob[];
}

async function enqueued(): Promise<readonly JobRecord[]> {
  return local.list(JOB_SCOPE, { limit: 1_000, offset: 0 }, engineUser);
}

describe('an outbox', () => {
  it('has the job exactly if the command that enqueued it is committed [JOB-005]', async () => {
    await expect(order({ fails: true })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(waiting()).toEqual([]);
    await relay.deliver(actor);
    expect(await enqueued()).toEqual([]);
    const [id] = await order({});
    expect(mayBeJobOf(id as string, JOB_SCOPE.split('/')[1] as string)).toBe(true);
    expect(waiting()).toEqual([{ ...job, id }]);
    await relay.deliver(actor);
    expect(await enqueued()).toMatchObject([{ id, type: 'Test', payload: 1, state: 'scheduled' }]);
    expect(waiting()).toEqual([]);
  });

  it('survives a restart, and what was relayed without being taken out is the same job', async () => {
    const [id] = await order({});
    const [found] = waiting();
    await local.prepare(JOB_SCOPE);
    await local.enqueue(JOB_SCOPE, found as NewJob);
    await close();
    await open();
    expect(waiting()).toHaveLength(1);
    await relay.deliver(actor);
    expect((await enqueued()).map((one) => one.id)).toEqual([id]);
    expect(waiting()).toEqual([]);
  });

  it('delivers many jobs, in the order they were committed, page by page', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const jobs = Array.from({ length: 9 }, (_, index) => ({ ...job, payload: [n, index] }));
      ids.push(...(await order({ jobs })));
      clock.advance(1);
    }
    await relay.deliver(actor);
    const found = await enqueued();
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set(ids));
    expect(waiting()).toEqual([]);
  });

  it('delivers what is committed while it is being emptied, too', async () => {
    await order({});
    const first = relay.deliver(actor);
    await order({});
    await Promise.all([first, relay.deliver(actor), relay.deliver(actor)]);
    expect(await enqueued()).toHaveLength(2);
    expect(waiting()).toEqual([]);
  });

  it('keeps what the queue does not take and tries again later', async () => {
    refusal = new ServiceError('OVERLOADED');
    await order({});
    await relay.deliver(actor);
    expect(waiting()).toHaveLength(1);
    clock.advance(400);
    await settle(10);
    expect(waiting()).toHaveLength(1);
    refusal = undefined;
    while (waiting().length > 0) {
      clock.advance(1_000);
      await order({ jobs: [] });
    }
    expect(await enqueued()).toHaveLength(1);
  });

  it('is dropped with its actor', async () => {
    refusal = new ServiceError('OVERLOADED');
    await order({});
    await relay.deliver(actor);
    await engine.host.destroyUnder(JOB_SCOPE);
    refusal = undefined;
    await relay.deliver(actor);
    expect(engine.host.namesUnder(JOB_SCOPE)).toEqual([]);
  });

  it('refuses a job no queue would take, with its command', async () => {
    const large = { ...job, payload: 'x'.repeat(70_000) };
    await expect(order({ jobs: [job, large] })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    const long = { ...job, about: 'x'.repeat(501) };
    await expect(order({ jobs: [long] })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(waiting()).toEqual([]);
  });

  it('can be forgotten, for a copy of an actor', async () => {
    await order({});
    await order({ jobs: [], forgets: true });
    expect(waiting()).toEqual([]);
  });

  it('is read and emptied by the engine only, and leaves the messages of its kind alone', async () => {
    await order({});
    const { host } = engine;
    expect(() => host.query(actor, { type: 'ReadOutbox' }, callers.admin)).toThrow();
    const empty = { type: 'EmptyOutbox', ids: waiting().map(({ id }) => id) };
    await expect(host.command(actor, empty, { caller: callers.admin })).rejects.toThrow();
    expect(waiting()).toHaveLength(1);
    expect(host.query(actor, { type: 'Anything' }, engineUser)).toBe('inner');
  });
});
