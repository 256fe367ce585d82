import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BranchState } from '#actors/branch/messages.ts';
import type { BranchEntry } from '#actors/repository/messages.ts';
import { MemberBranches } from '#server/provisioning/branch-provisioning.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { UnknownRemovals } from '#server/provisioning/unknown-removals.ts';
import type { NewBranch, RepositoryAddress } from '#protocols/rest/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { noOwnerIntents, OwnerIntentFiles, type OwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { farRouter, losingAnswers } from '#test/support/answer-losing-router.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';
import { jobsOn } from '#test/support/member-jobs-fixture.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

let fixture: HostFixture;
let unsettled: OwnerIntents;
let provisioning: MemberProvisioning;
let branches: MemberBranches;
let repository: RepositoryAddress;
/** Actors that wrote something, in order. */
const writers: string[] = [];

/** A log that notes whose effects it is given. */
function noting(log: Log): Log {
  return new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name === 'append') writers.push((given[0] as LogEntry).actor);
        return Reflect.apply(value, target, given);
      };
    },
  });
}

beforeEach(async () => {
  fixture = await HostFixture.open(undefined, noting);
  unsettled = new OwnerIntentFiles(join(fixture.folder, 'unsettled'));
  provisioning = new MemberProvisioning(fixture.host, fixture.host, systemRandom, unsettled);
  branches = new MemberBranches(fixture.host, fixture.host, systemRandom, jobsOn(fixture, 0), unsettled);
  await provisioning.bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
  const { uid } = await provisioning.createRepository(
    'default',
    {
      repositoryId: 'blog',
      description: null,
      defaultBranch: 'main',
      defaultLanguage: 'en',
      supportedLanguages: [],
    },
    { caller: callers.admin },
  );
  const part = `blog~${uid}`;
  repository = { tenant: 'default', part, actor: `default/${part}/repository` };
});

afterEach(() => fixture.close());

function create(name: string, more: Partial<NewBranch> = {}, caller: Caller = callers.admin) {
  const branch = { name, createdBy: 'system', protected: false, description: null, ...more };
  return branches.createBranch(repository, branch, { caller });
}

function parts(): string[] {
  return fixture.host
    .namesUnder(`default/${repository.part}`)
    .filter((name) => name.includes('~'))
    .sort();
}

function actorOf({ name, uid }: Pick<BranchEntry, 'name' | 'uid'>): string {
  return `default/${repository.part}/${encodeURIComponent(`${name}~${uid}`)}/branch`;
}

function status(entry: BranchEntry): BranchState {
  return fixture.query<BranchState>(actorOf(entry), { type: 'ReadBranchState' });
}

describe('MemberBranches', () => {
  it('leaves nothing of a creation that is refused, for any reason', async () => {
    await create('dev', { upstreamBranch: 'main' });
    const before = parts();
    for (const [name, more, code] of [
      ['dev', {}, 'BRANCH_ALREADY_EXISTS'],
      ['a b', {}, 'INVALID_BRANCH_NAME'],
      ['x', { upstreamBranch: 'nope' }, 'BRANCH_NOT_FOUND'],
      ['x', { fromRevision: parseRevision('5-5') }, 'REVISION_NOT_FOUND'],
      ['x', { upstreamBranch: 'main', createdBy: 'x'.repeat(1_001) }, 'VALIDATION_FAILED'],
    ] as const) {
      await expect(create(name, more)).rejects.toMatchObject({ code });
    }
    for (const caller of [callers.anonymous, callers.otherTenant]) {
      await expect(create('x', {}, caller)).rejects.toThrow();
    }
    expect(parts()).toEqual(before);
  });

  it('sweeps away what is not listed and keeps what is, retired branches included', async () => {
    await create('dev', { upstreamBranch: 'main' });
    const gone = await create('gone', { upstreamBranch: 'main' });
    await fixture.command(actorOf(gone), {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: 'own:Type' },
    } as never);
    const { head } = status(gone);
    const delivery = { caller: callers.admin };
    const tag = {
      name: 'v1',
      revision: parseRevision(head),
      createdBy: 'ann',
      message: null,
      protected: false,
    };
    await branches.createTag(repository, tag, delivery);
    await branches.removeBranch(repository, 'gone', delivery);
    const before = parts();
    expect(before).toContain(`gone~${gone.uid}`);
    const folder = join(fixture.folder, 'actors/default', repository.part);
    mkdirSync(join(folder, encodeURIComponent('half~0000000000'), 'branch'), { recursive: true });
    for (const part of before)
      await unsettled.begin(`default/${repository.part}/${encodeURIComponent(part)}`);
    const half = `default/${repository.part}/half~0000000000`;
    await unsettled.begin(half);
    expect(await provisioning.sweep(() => {})).toEqual([half]);
    expect(parts()).toEqual(before);
    expect(await provisioning.sweep(() => {})).toEqual([]);
    await branches.removeTag(repository, 'v1', delivery);
    expect(parts()).toHaveLength(before.length - 1);
    await fixture.reopen();
    expect(parts()).toHaveLength(before.length - 1);
  });
});

describe('a fork', () => {
  it('enqueues what remains to be done with its registration; an empty branch and a refused one nothing', async () => {
    const jobs = jobsOn(fixture, 0);
    const list = () => jobs.queue.list(`default/${repository.part}`, { limit: 10, offset: 0 }, callers.admin);
    await create('blank');
    expect(fixture.host.exists(`default/${repository.part}/jobs`)).toBe(false);
    const fork = await create('dev', { upstreamBranch: 'main' });
    expect(await list()).toMatchObject([
      {
        type: 'RevisionHistoryCopy',
        about: 'blog/dev',
        state: 'scheduled',
        priority: 'low',
        payload: { branch: actorOf(fork) },
      },
    ]);
    await expect(create('dev', { upstreamBranch: 'main' })).rejects.toMatchObject({
      code: 'BRANCH_ALREADY_EXISTS',
    });
    await expect(create('x', { upstreamBranch: 'main', createdBy: 'x'.repeat(1_001) })).rejects.toMatchObject(
      { code: 'VALIDATION_FAILED' },
    );
    expect(await list()).toHaveLength(1);
    await jobs.drain(0);
  });

  it('moves its head by writing to its own branch alone: locks, pools, jobs and identities stay [BR-018]', async () => {
    const fork = await create('dev', { upstreamBranch: 'main' });
    const { head } = status(fork);
    await fixture.command(actorOf(fork), {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: 'own:Type' },
    } as never);
    writers.length = 0;
    await fixture.command(actorOf(fork), { type: 'MoveHead', revision: head } as never);
    expect(writers).toEqual([actorOf(fork)]);
    expect(status(fork).head).toBe(head);
  });
});

describe('an empty branch', () => {
  it('receives built-ins with its first write, also during a read [BR-005]', async () => {
    const entry = await create('blank');
    const actor = actorOf(entry);
    const upgrades = new LazyUpgrades(fixture.host, systemClock, silentLog);
    await upgrades.branch(repository.actor, actor, 'read');
    await upgrades.branch(repository.actor, actor, 'read');
    expect(status(entry)).toMatchObject({ head: '0-0', builtInsPending: true });
    const reading = upgrades.branch(repository.actor, actor, 'read');
    await upgrades.branch(repository.actor, actor, 'write');
    await reading;
    expect(status(entry).builtInsPending).toBe(false);
    const { head } = status(entry);
    expect(head).not.toBe('0-0');
    expect(upgrades.branch(repository.actor, actor, 'write')).toBeUndefined();
    expect(upgrades.branch(repository.actor, actor, 'read')).toBeUndefined();
    expect(status(entry).head).toBe(head);
  });
});

describe('a branch whose registration is not answered', () => {
  const dev: NewBranch = {
    name: 'dev',
    createdBy: 'system',
    protected: false,
    description: null,
    upstreamBranch: 'main',
  };

  function branchesOver(router: Router): MemberBranches {
    return new MemberBranches(router, fixture.host, systemRandom, jobsOn(fixture, 0), unsettled);
  }

  function found(name: string): BranchEntry | undefined {
    return fixture.query<BranchEntry | undefined>(repository.actor, { type: 'FindBranch', name } as never);
  }

  it('is completed when its creator disconnects meanwhile [DUR-028]', async () => {
    const leaving = new AbortController();
    const router = farRouter(fixture.host, (type) => {
      if (type === 'RegisterBranch') leaving.abort();
    });
    const caller = { ...callers.admin, signal: leaving.signal, deadlineMs: 0 };
    const entry = await branchesOver(router).createBranch(repository, dev, { caller });
    expect(status(entry).head).not.toBe('0-0');
    expect(await unsettled.all()).toEqual([]);
  });

  it('keeps what is written to it when it is registered, with any answer [DUR-028]', async () => {
    for (const told of [
      new ServiceError('REQUEST_CANCELLED'),
      new ServiceError('DEADLINE_EXCEEDED'),
      new ServiceError('OVERLOADED'),
      new TypeError('lost'),
    ]) {
      const router = losingAnswers(fixture.host, () => ({ type: 'RegisterBranch', told, isDone: true }));
      const creating = branchesOver(router).createBranch(repository, dev, { caller: callers.admin });
      await expect(creating).rejects.toBe(told);
      const entry = found('dev') as BranchEntry;
      await fixture.command(actorOf(entry), {
        type: 'PutDefinition',
        kind: 'node_type',
        definition: { name: 'own:Type' },
      } as never);
      expect(await provisioning.sweep(() => {})).toEqual([]);
      expect(status(entry).head).not.toBe('0-0');
      await branches.removeBranch(repository, 'dev', { caller: callers.admin });
    }
  });

  it('remains recorded while that is unknown, and leaves nothing when it is certainly not registered', async () => {
    const before = parts();
    const losing = (code: 'DEADLINE_EXCEEDED' | 'OVERLOADED') =>
      branchesOver(
        losingAnswers(fixture.host, () => ({
          type: 'RegisterBranch',
          told: new ServiceError(code),
          isDone: false,
        })),
      ).createBranch(repository, dev, { caller: callers.admin });
    await expect(losing('OVERLOADED')).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect([parts(), await unsettled.all()]).toEqual([before, []]);
    await expect(losing('DEADLINE_EXCEEDED')).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(parts()).toHaveLength(before.length + 1);
    expect(await unsettled.all()).toHaveLength(1);
    expect(await provisioning.sweep(() => {})).toHaveLength(1);
    expect(parts()).toEqual(before);
  });

  it('is removed with its last tag, or by its removal, even if the caller disconnects meanwhile', async () => {
    const leaving = new AbortController();
    const removing = branchesOver(farRouter(fixture.host, () => leaving.abort()));
    const before = parts();
    const gone = await create('gone', { upstreamBranch: 'main' });
    await fixture.command(actorOf(gone), {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: 'own:Type' },
    } as never);
    const tag = {
      name: 'v1',
      revision: parseRevision(status(gone).head),
      createdBy: 'ann',
      message: null,
      protected: false,
    };
    await branches.createTag(repository, tag, { caller: callers.admin });
    const delivery = { caller: { ...callers.admin, signal: leaving.signal } };
    await removing.removeBranch(repository, 'gone', delivery);
    await removing.removeTag(repository, 'v1', delivery);
    await create('dev', { upstreamBranch: 'main' });
    await removing.removeBranch(repository, 'dev', delivery);
    expect([parts(), await unsettled.all()]).toEqual([before, []]);
  });
});

describe('a removal whose answer is lost', () => {
  const told = new ServiceError('DEADLINE_EXCEEDED');

  /** Removes a branch, and waits until nobody asks about it any more. @returns what was thrown away */
  async function lost(isDone: boolean, meanwhile: () => Promise<unknown> = () => Promise.resolve()) {
    const clock = new TestClock();
    const removals = new UnknownRemovals(fixture.host, clock, systemRandom);
    const router = losingAnswers(fixture.host, () => ({ type: 'UnregisterBranch', told, isDone }));
    const jobs = jobsOn(fixture, 0);
    // Of a member of a cluster, which notes nothing.
    const member = new MemberBranches(router, fixture.host, systemRandom, jobs, noOwnerIntents, removals);
    await create('dev', { upstreamBranch: 'main' });
    const before = parts();
    await expect(member.removeBranch(repository, 'dev', { caller: callers.admin })).rejects.toBe(told);
    expect([removals.size, parts()]).toEqual([1, before]);
    for (let asks = 0; asks < 3; asks += 1) {
      clock.advance(120_000);
      await settle(50);
    }
    await meanwhile();
    await until(() => {
      clock.advance(120_000);
      return removals.size === 0;
    }, 'nobody asks any more');
    return before.filter((name) => !parts().includes(name));
  }

  it('has the actors of the branch go once the repository does not list it any more [DUR-024]', async () => {
    expect(await lost(true)).toEqual([expect.stringMatching(/^dev~/)]);
  });

  it('removes them when the removal takes effect later', async () => {
    const remove = () =>
      fixture.command(repository.actor, { type: 'UnregisterBranch', name: 'dev', seal: 'late' } as never);
    expect(await lost(false, remove)).toEqual([expect.stringMatching(/^dev~/)]);
  });

  it('leaves those of a branch that stays', async () => {
    expect(await lost(false)).toEqual([]);
  });

  it.each([true, false])('has what was kept for a tag go only when that is removed (%s)', async (isDone) => {
    const gone = await create('gone', { upstreamBranch: 'main' });
    const definition = { type: 'PutDefinition', kind: 'node_type', definition: { name: 'own:Type' } };
    await fixture.command(actorOf(gone), definition as never);
    const revision = parseRevision(status(gone).head);
    const tag = { name: 'v1', revision, createdBy: 'ann', message: null, protected: false };
    const delivery = { caller: callers.admin };
    await branches.createTag(repository, tag, delivery);
    await branches.removeBranch(repository, 'gone', delivery);
    const clock = new TestClock();
    const removals = new UnknownRemovals(fixture.host, clock, systemRandom);
    const router = losingAnswers(fixture.host, () => ({ type: 'RemoveTag', told, isDone }));
    const jobs = jobsOn(fixture, 0);
    const member = new MemberBranches(router, fixture.host, systemRandom, jobs, noOwnerIntents, removals);
    await expect(member.removeTag(repository, 'v1', delivery)).rejects.toBe(told);
    expect([removals.size, parts().includes(`gone~${gone.uid}`)]).toEqual([1, true]);
    await until(() => {
      clock.advance(120_000);
      return removals.size === 0;
    }, 'nobody asks any more');
    expect(parts().includes(`gone~${gone.uid}`)).toBe(!isDone);
  });
});
