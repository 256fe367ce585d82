import { afterEach, beforeEach, expect, it } from 'vitest';
import type { BranchState } from '#actors/branch/messages.ts';
import type { BranchEntry } from '#actors/repository/messages.ts';
import { MemberBranches } from '#server/provisioning/branch-provisioning.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import type { Call } from '#cluster/router/call-frames.ts';
import { ClusterRouter } from '#cluster/router/cluster-router.ts';
import type { RemoteCalls } from '#cluster/router/remote-calls.ts';
import type { RepositoryAddress } from '#protocols/rest/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';
import { jobsOn } from '#test/support/member-jobs-fixture.ts';
import { until } from '#test/support/until.ts';

let owner: HostFixture;
let branches: MemberBranches;
let repository: RepositoryAddress;
/** What entries of the repository wait for in the log. */
let gate: Promise<void>;
let openGate: () => void;
/** Attempts at the registration of a branch. */
let attempts: number;
/** What an attempt that the owner does not look at is refused with; undefined: what the owner itself says. */
let refusal: ServiceError | undefined;

function gated(log: Log): Log {
  return new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'append') return value.bind(target);
      return async (entry: LogEntry) => {
        if (entry.actor === repository?.actor) await gate;
        return await target.append(entry);
      };
    },
  });
}

/** Brings calls to the owner. Nothing is heard of the first attempt at a registration, which goes on there. */
async function call(_subject: string, { actor, id, idempotency, kind, message }: Call): Promise<unknown> {
  if (kind === 'query')
    return { kind: 'answered', answer: await owner.host.query(actor, message, callers.engine) };
  const delivery = {
    caller: callers.admin,
    ...(idempotency === undefined ? {} : { idempotency }),
    ...(id === undefined ? {} : { call: id }),
  };
  const isRegistration = (message as { readonly type: string }).type === 'RegisterBranch';
  if (isRegistration) attempts += 1;
  if (isRegistration && attempts > 1 && attempts < 4 && refusal !== undefined) throw refusal;
  const answer = owner.host.command(actor, message, delivery);
  if (!isRegistration || attempts > 1) return { kind: 'answered', answer: await answer };
  answer.catch(() => undefined);
  return { kind: 'lost' };
}

beforeEach(async () => {
  attempts = 0;
  refusal = undefined;
  gate = Promise.resolve();
  owner = await HostFixture.open(undefined, gated);
  const provisioning = new MemberProvisioning(owner.host, owner.host, systemRandom);
  await provisioning.bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
  const blog = {
    repositoryId: 'blog',
    description: null,
    defaultBranch: 'main',
    defaultLanguage: 'en',
    supportedLanguages: [],
  };
  const { uid } = await provisioning.createRepository('default', blog, { caller: callers.admin });
  repository = { tenant: 'default', part: `blog~${uid}`, actor: `default/blog~${uid}/repository` };
  const router = new ClusterRouter({
    partitions: 1,
    local: () => undefined,
    replica: () => undefined,
    isConnected: () => true,
    subjectOf: () => 'owner',
    ownerOf: () => undefined,
    calls: { call } as unknown as RemoteCalls,
    callVersion: () => 1,
    clock: systemClock,
    random: systemRandom,
  });
  branches = new MemberBranches(router, owner.host, systemRandom, jobsOn(owner, 0));
});

afterEach(() => owner.close());

/** Whoever is listed is there. */
async function expectWhole(name: string): Promise<void> {
  const listed = (): BranchEntry | undefined =>
    owner
      .query<readonly BranchEntry[]>(repository.actor, { type: 'ListBranches' })
      .find((entry) => entry.name === name);
  await until(() => listed() !== undefined, 'it is listed');
  const actor = repository.actor.replace(/repository$/, `${name}~${listed()?.uid}/branch`);
  expect(owner.query<BranchState>(actor, { type: 'ReadBranchState' }).head).toBeDefined();
}

it.each([
  ['still runs', undefined],
  ['has no room for another command', new ServiceError('OVERLOADED')],
  ['has no space by then', new ServiceError('STORAGE_FULL')],
])('a branch stays whose registration is asked for again where the first attempt %s', async (_, refused) => {
  refusal = refused;
  gate = new Promise((resolve) => {
    openGate = resolve;
  });
  const branch = { name: 'dev', createdBy: 'admin', protected: false, description: null };
  const idempotency = { key: 'once', requestHash: 'h' };
  const made = branches.createBranch(repository, branch, { caller: callers.admin, idempotency });
  made.catch(() => undefined);
  await until(() => attempts > 1, 'it is asked for again');
  // Whatever follows from a second answer has time to.
  await Promise.race([made.catch(() => undefined), until(() => attempts > 3, 'and again')]);
  openGate();
  await expectWhole('dev');
  expect(await made).toMatchObject({ name: 'dev' });
});
