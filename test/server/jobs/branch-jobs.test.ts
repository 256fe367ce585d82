import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { tenantActor } from '#actors/tenant/tenant-actor.ts';
import { OwnerIntentFiles } from '#runtime/actor/store/owner-intents.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import type { JobRecord } from '#runtime/jobs/job.ts';
import { enqueueJob, withOutbox } from '#runtime/jobs/outbox.ts';
import { jobsLimits } from '#server/host/host-limits.ts';
import type { MemberJobs } from '#server/jobs/member-jobs.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';
import { jobsOn } from '#test/support/member-jobs-fixture.ts';
import { until } from '#test/support/until.ts';

/** The branch of the product, with one command more, which enqueues a job with the write it makes. */
const ordering: ActorKind = withOutbox({
  ...branchActor({ commitNodesMax: 100 }),
  create: (context) => {
    const inner = branchActor({ commitNodesMax: 100 }).create(context);
    return {
      execute(command: { readonly type: string; readonly about: string }, turn) {
        if (command.type !== 'Order') return inner.execute(command as never, turn);
        return enqueueJob(turn, context.id, { type: 'Test', about: command.about, payload: 1 });
      },
      query: (query, asked) => inner.query(query, asked),
    };
  },
});

const kinds = [tenantActor, repositoryActor, ordering, jobsActor(jobsLimits(defaultLimits))];
const admin = { username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false };
const site = {
  repositoryId: 'site',
  description: null,
  defaultBranch: 'main',
  defaultLanguage: 'en',
  supportedLanguages: [],
};

describe('the jobs of a branch', () => {
  let fixture: HostFixture;
  let jobs: MemberJobs;
  let scope: string;

  const branch = (name: string): string => `${scope}/${encodeURIComponent(`${name}~1`)}/branch`;

  beforeEach(async () => {
    fixture = await HostFixture.open(kinds);
    const unsettled = new OwnerIntentFiles(join(fixture.folder, 'unsettled'));
    const provisioning = new MemberProvisioning(fixture.host, fixture.host, systemRandom, unsettled);
    await provisioning.bootstrap(() => Promise.resolve(admin));
    const { uid } = await provisioning.createRepository('default', site, { caller: callers.admin });
    scope = actorId('default', `site~${uid}`);
    for (const name of ['one', 'two']) await fixture.host.create(branch(name));
    jobs = jobsOn(fixture, 0);
  });
  afterEach(async () => {
    await jobs.drain(0);
    await fixture.close();
  });

  const order = (name: string, about = name): Promise<string> =>
    fixture.command(branch(name), { type: 'Order', about } as { type: string });
  const enqueued = async (): Promise<readonly JobRecord[]> =>
    jobs.queue.list(scope, { limit: 100, offset: 0 }, callers.engine);

  /** Closes everything and starts again, as after a crash. */
  async function restart(): Promise<void> {
    await jobs.drain(0);
    await fixture.reopen();
    jobs = jobsOn(fixture, 0);
  }

  it('are refused while a start would not find them', async () => {
    await expect(order('one')).rejects.toThrow();
    expect(fixture.query(branch('one'), { type: 'ReadOutbox' })).toEqual([]);
    await jobs.prepareSource(branch('one'));
    await order('one');
    await expect(order('two')).rejects.toThrow();
  });

  it('are found after a restart in the branches that may have some, and enqueued once', async () => {
    await jobs.prepareSource(branch('one'));
    await jobs.prepareSource(branch('one'));
    const id = await order('one');
    await restart();
    jobs.takeUp(() => true);
    await until(async () => (await enqueued()).length > 0, 'the job is in the queue');
    await jobs.deliver(branch('one'));
    expect((await enqueued()).map((job) => [job.id, job.about])).toEqual([[id, 'one']]);
    expect(await jobs.queue.sources(scope)).toEqual([branch('one')]);
  });

  it('end with the branch, which is then no longer asked', async () => {
    for (const name of ['one', 'two']) await jobs.prepareSource(branch(name));
    await order('two');
    await fixture.host.destroyUnder(branch('two').replace(/\/branch$/, ''));
    await restart();
    jobs.takeUp(() => true);
    await until(async () => (await jobs.queue.sources(scope)).length === 1, 'the branch is forgotten');
    expect(await jobs.queue.sources(scope)).toEqual([branch('one')]);
    expect(await enqueued()).toEqual([]);
  });

  it('are allowed by the engine alone', async () => {
    const allowing = fixture.command(branch('one'), { type: 'AllowJobs' }, callers.admin);
    await expect(allowing).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await jobs.queue.prepare(scope);
    for (const type of ['NoteSource', 'ForgetSource'])
      await expect(
        fixture.command(`${scope}/jobs`, { type, actor: branch('one') } as never, callers.admin),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(() => fixture.query(`${scope}/jobs`, { type: 'ListSources' }, callers.admin)).toThrow();
  });
});
