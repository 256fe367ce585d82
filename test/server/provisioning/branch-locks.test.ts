import { afterEach, expect, it } from 'vitest';
import { MemberLocks } from '#server/provisioning/branch-locks.ts';
import { MemberBranches } from '#server/provisioning/branch-provisioning.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import type { FoundBranch } from '#protocols/rest/access/found-branch.ts';
import type { ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { PreconditionRefuted } from '#runtime/actor/precondition.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { until as untilSo } from '#test/support/until.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { callers, HostFixture, productKinds } from '#test/support/host-fixture.ts';
import { jobsOn } from '#test/support/member-jobs-fixture.ts';

let fixture: HostFixture;

afterEach(() => fixture.close());

/** Repository `site` with a branch `dev`, on a host whose log may be held up. */
async function openBranch(
  logOver?: (journal: Log) => Log,
  files?: FileSystem,
): Promise<{
  readonly branch: FoundBranch;
  readonly branches: MemberBranches;
}> {
  fixture = await HostFixture.open(productKinds, logOver, systemClock, files);
  const { host } = fixture;
  const provisioning = new MemberProvisioning(host, host, systemRandom);
  await provisioning.bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
  const repository = {
    repositoryId: 'site',
    description: null,
    defaultBranch: 'main',
    defaultLanguage: 'en',
    supportedLanguages: [],
  };
  await provisioning.createRepository('default', repository, { caller: callers.admin });
  const directory = new RepositoryDirectory(host, new LazyUpgrades(host, systemClock, silentLog));
  const branches = new MemberBranches(host, host, systemRandom, jobsOn(fixture, 0));
  const dev = {
    name: 'dev',
    createdBy: 'system',
    protected: false,
    description: null,
    upstreamBranch: 'main',
  };
  await branches.createBranch(await directory.repository('default', 'site'), dev, { caller: callers.admin });
  return { branch: await directory.branch('default', 'site', 'dev', 'write'), branches };
}

function acquire(branch: FoundBranch): Promise<{ readonly acquired: boolean; readonly token?: number }> {
  const command = { type: 'AcquireLock', key: 'deploy', ttlMs: 60_000, owner: null, waitMs: 0 };
  return fixture.command(branch.locks, command, callers.admin);
}

it('keeps the locks another request was granted from when the registry cannot be asked any more', async () => {
  const { branch } = await openBranch();
  const { host } = fixture;
  let isSilent = false;
  const router: Router = {
    command: (actor, command, delivery) => host.command(actor, command, delivery),
    query: (actor, query, caller) => {
      if (isSilent) throw new ServiceError('NOT_OWNER');
      return host.query(actor, query, caller);
    },
  };
  const lifecycle: Pick<ActorLifecycle, 'create' | 'destroyUnder'> = {
    destroyUnder: (owner) => host.destroyUnder(owner),
    async create(actor, precondition) {
      await host.create(actor, precondition);
      // Somebody else is granted the lock before this request goes on, and then nobody answers it.
      expect(await acquire(branch)).toMatchObject({ acquired: true, token: 1 });
      isSilent = true;
    },
  };
  await new MemberLocks(router, lifecycle as ActorLifecycle, true).createLocks(branch).catch(() => {});
  expect(await acquire(branch)).toEqual({ acquired: false });
});

it('makes them once for requests that come together', async () => {
  const { branch } = await openBranch();
  const locks = new MemberLocks(fixture.host, fixture.host, true);
  const first = async () => {
    await locks.createLocks(branch);
    return acquire(branch);
  };
  const answers = await Promise.all([first(), first(), first(), first()]);
  expect(answers.filter(({ acquired }) => acquired)).toHaveLength(1);
});

it('creates none for a deleted branch, and undoes a creation when the branch is deleted meanwhile', async () => {
  let hold: { readonly until: Promise<void>; readonly began: () => void } | undefined;
  const { branch, branches } = await openBranch((journal) => {
    const append = async (entry: LogEntry): Promise<number> => {
      const sequence = await journal.append(entry);
      const held = entry.actor.endsWith('/locks') ? hold : undefined;
      if (held === undefined) return sequence;
      hold = undefined;
      held.began();
      await held.until;
      return sequence;
    };
    return new Proxy(journal, {
      get(target, key) {
        if (key === 'append') return append;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  });
  const { host } = fixture;
  const locks = new MemberLocks(host, host, true);
  let goOn = (): void => {};
  const until = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const appended = new Promise<void>((began) => {
    hold = { until, began };
  });
  const making = locks.createLocks(branch);
  await appended;
  await branches.removeBranch(branch.repository, 'dev', { caller: callers.admin });
  goOn();
  await expect(making).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
  await expect(locks.createLocks(branch)).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
  expect(host.exists(branch.locks)).toBe(false);
  // The log says so too.
  await fixture.reopen();
  expect(fixture.host.exists(branch.locks)).toBe(false);
});

it('grant nothing while the outcome of the deletion of their branch is unknown', async () => {
  const appended = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const { branch } = await openBranch((journal) => {
    const append = async (entry: LogEntry): Promise<number> => {
      if (isHeld && entry.actor.endsWith('/repository')) {
        appended.resolve();
        await gate.promise;
      }
      return await journal.append(entry);
    };
    return new Proxy(journal, {
      get(target, key) {
        if (key === 'append') return append;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  });
  const { host } = fixture;
  await new MemberLocks(host, host, true).createLocks(branch);
  let deleted: Promise<unknown> | undefined;
  // The answer is lost while the owner carries the deletion out.
  const router: Router = {
    query: (actor, query, caller) => host.query(actor, query, caller),
    async command(actor, command, delivery) {
      deleted = host.command(actor, command, delivery);
      await appended.promise;
      throw new ServiceError('DEADLINE_EXCEEDED');
    },
  };
  const branches = new MemberBranches(router, host, systemRandom, jobsOn(fixture, 0));
  isHeld = true;
  const delivery = { caller: callers.admin };
  await expect(branches.removeBranch(branch.repository, 'dev', delivery)).rejects.toMatchObject({
    code: 'DEADLINE_EXCEEDED',
  });
  const refused = await acquire(branch).catch((error: unknown) => error);
  gate.resolve();
  expect(refused).toBeInstanceOf(ServiceError);
  await deleted;
  await expect(acquire(branch)).rejects.toThrow(/delet/);
});

it('grant again once a deletion whose answer was lost is refused, for any sender', async () => {
  const appended = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const { branch } = await openBranch((journal) => {
    const append = async (entry: LogEntry): Promise<number> => {
      if (!isHeld || !entry.actor.endsWith('/repository')) return await journal.append(entry);
      isHeld = false;
      appended.resolve();
      await gate.promise;
      throw new ServiceError('LOG_UNAVAILABLE');
    };
    return new Proxy(journal, {
      get(target, key) {
        if (key === 'append') return append;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  });
  const { host } = fixture;
  await new MemberLocks(host, host, true).createLocks(branch);
  let deleted: Promise<unknown> | undefined;
  // The member that was asked for the deletion falls silent.
  const router: Router = {
    query: (actor, query, caller) => host.query(actor, query, caller),
    async command(actor, command, delivery) {
      deleted = host.command(actor, command, delivery);
      await appended.promise;
      throw new ServiceError('DEADLINE_EXCEEDED');
    },
  };
  const branches = new MemberBranches(router, host, systemRandom, jobsOn(fixture, 0));
  isHeld = true;
  const delivery = { caller: callers.admin };
  await expect(branches.removeBranch(branch.repository, 'dev', delivery)).rejects.toMatchObject({
    code: 'DEADLINE_EXCEEDED',
  });
  await expect(acquire(branch)).rejects.toThrow(/delet/);
  gate.resolve();
  await expect(deleted).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
  expect(await acquire(branch)).toMatchObject({ acquired: true });
});

it('are opened again once, by the batch that closed them: a later one may have closed them under that name', async () => {
  let isRefused = false;
  const { branch } = await openBranch((journal) => {
    const append = async (entry: LogEntry): Promise<number> => {
      if (!isRefused || !entry.actor.endsWith('/repository')) return await journal.append(entry);
      isRefused = false;
      throw new ServiceError('LOG_UNAVAILABLE');
    };
    return new Proxy(journal, {
      get(target, key) {
        if (key === 'append') return append;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  });
  const { host } = fixture;
  await new MemberLocks(host, host, true).createLocks(branch);
  const send = (command: object): Promise<unknown> =>
    host.command(branch.repository.actor, command, { caller: callers.admin });
  isRefused = true;
  await expect(send({ type: 'UnregisterBranch', name: 'dev', seal: 'first' })).rejects.toMatchObject({
    code: 'LOG_UNAVAILABLE',
  });
  expect(await acquire(branch)).toMatchObject({ acquired: true });
  fixture.query(branch.locks, { type: 'RetireTokens', seal: 'first' } as never);
  await send({ type: 'UpdateRepository', patch: { description: 'another' } });
  await expect(acquire(branch)).rejects.toThrow(/delet/);
});

it('grant nothing of a branch that was deleted and asked to be deleted again in the same batch', async () => {
  const { branch } = await openBranch();
  const { host } = fixture;
  await new MemberLocks(host, host, true).createLocks(branch);
  const remove = (seal: string): Promise<unknown> =>
    host.command(
      branch.repository.actor,
      { type: 'UnregisterBranch', name: 'dev', seal },
      { caller: callers.admin },
    );
  const outcomes = await Promise.allSettled([remove('first'), remove('second')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  await expect(acquire(branch)).rejects.toThrow(/delet/);
});

it('grant nothing of a branch that was deleted when one of its name is made in the same batch', async () => {
  const { branch } = await openBranch();
  const { host } = fixture;
  await new MemberLocks(host, host, true).createLocks(branch);
  expect(await acquire(branch)).toMatchObject({ acquired: true });
  const send = (command: object): Promise<unknown> =>
    host.command(branch.repository.actor, command, { caller: callers.admin });
  const dev = { name: 'dev', uid: 'another', createdBy: 'system', createdFrom: null, upstreamBranch: 'main' };
  await Promise.all([
    send({ type: 'UnregisterBranch', name: 'dev', seal: 'first' }),
    send({
      type: 'RegisterBranch',
      branch: { ...dev, protected: false, description: null },
      requiresUpstream: false,
    }),
  ]);
  await expect(acquire(branch)).rejects.toThrow(/delet/);
});

it('makes them at an owner that cannot confirm anything', async () => {
  const { branch } = await openBranch();
  const { host } = fixture;
  const lifecycle: Pick<ActorLifecycle, 'create'> = {
    create: (actor, precondition) =>
      precondition === undefined ? host.create(actor) : Promise.reject(new PreconditionRefuted()),
  };
  await new MemberLocks(host, lifecycle, true).createLocks(branch);
  expect(await acquire(branch)).toMatchObject({ acquired: true });
  await expect(
    new MemberLocks(host, lifecycle, true).createLocks({ ...branch, uid: 'other' }),
  ).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
});

it('grant again when a deletion failed because writes had stopped, once these resume', async () => {
  const files = new FaultyFileSystem();
  const { branch, branches } = await openBranch(undefined, files);
  await new MemberLocks(fixture.host, fixture.host, true).createLocks(branch);
  expect(await acquire(branch)).toMatchObject({ acquired: true });
  files.fail('datasync', 'EIO');
  await expect(
    branches.removeBranch(branch.repository, 'dev', { caller: callers.admin }),
  ).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
  await untilSo(() => fixture.journal.trouble === undefined, 'writes go on');
  // Somebody has the lock still; that it can be asked for is what counts.
  await untilSo(
    () =>
      acquire(branch).then(
        ({ acquired }) => !acquired,
        () => false,
      ),
    'the locks answer',
  );
});
