import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BranchState } from '#actors/branch/messages.ts';
import type { BranchEntry } from '#actors/repository/messages.ts';
import { MemberBranches } from '#cluster/member/branch-provisioning.ts';
import { LazyUpgrades } from '#cluster/member/built-in-upgrades.ts';
import { MemberProvisioning } from '#cluster/member/provisioning.ts';
import type { NewBranch, RepositoryAddress } from '#protocols/rest/ports.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { UnsettledFiles, type UnsettledOwners } from '#runtime/actor/unsettled-owners.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';
import { jobsOn } from '#test/support/member-jobs-fixture.ts';

let fixture: HostFixture;
let unsettled: UnsettledOwners;
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
  unsettled = new UnsettledFiles(join(fixture.folder, 'unsettled'));
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

function standing(entry: BranchEntry): BranchState {
  return fixture.query<BranchState>(actorOf(entry), { type: 'ReadBranchState' });
}

describe('MemberBranches', () => {
  it('leaves nothing of a creation that is refused, whatever refuses it', async () => {
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
    const { head } = standing(gone);
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
    const { head } = standing(fork);
    await fixture.command(actorOf(fork), {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: 'own:Type' },
    } as never);
    writers.length = 0;
    await fixture.command(actorOf(fork), { type: 'MoveHead', revision: head } as never);
    expect(writers).toEqual([actorOf(fork)]);
    expect(standing(fork).head).toBe(head);
  });
});

describe('an empty branch', () => {
  it('receives built-ins by its first writer, also one who comes while somebody reads [BR-005]', async () => {
    const entry = await create('blank');
    const actor = actorOf(entry);
    const upgrades = new LazyUpgrades(fixture.host, systemClock, silentLog);
    await upgrades.branch(repository.actor, actor, 'read');
    await upgrades.branch(repository.actor, actor, 'read');
    expect(standing(entry)).toMatchObject({ head: '0-0', builtInsPending: true });
    const reading = upgrades.branch(repository.actor, actor, 'read');
    await upgrades.branch(repository.actor, actor, 'write');
    await reading;
    expect(standing(entry).builtInsPending).toBe(false);
    const { head } = standing(entry);
    expect(head).not.toBe('0-0');
    expect(upgrades.branch(repository.actor, actor, 'write')).toBeUndefined();
    expect(upgrades.branch(repository.actor, actor, 'read')).toBeUndefined();
    expect(standing(entry).head).toBe(head);
  });
});
