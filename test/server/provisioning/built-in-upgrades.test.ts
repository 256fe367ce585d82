import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { BranchState } from '#actors/branch/messages.ts';
import type { BuiltInUpdate } from '#actors/repository/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { RepositoryTable, type WorkspaceRow } from '#actors/repository/repository-tables.ts';
import { tenantActor } from '#actors/tenant/tenant-actor.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { type ActorKind, CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { readRecord, writeRecord } from '#runtime/commit/record-store.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

/** What the actors were told, and how many installations shall fail before one succeeds. */
let told: string[];
let failures: number;

/** A kind of the product that can be made to look as an older build left it. */
function aging(kind: ActorKind, age: (turn: Turn) => void): ActorKind {
  return {
    ...kind,
    create(context) {
      const inner = kind.create(context);
      return {
        execute(command, turn) {
          const { type } = command as { readonly type: string };
          if (type === 'Age') return age(turn);
          told.push(`${kind.kind} ${type}`);
          if (failures > 0) {
            failures -= 1;
            throw new ServiceError('STORAGE_FULL');
          }
          return inner.execute(command, turn);
        },
        query: (query, queryContext) => inner.query(query, queryContext),
        forget: () => inner.forget?.(),
      };
    },
  };
}

function ageRepository(turn: Turn): void {
  const row = readRecord<WorkspaceRow>(turn, RepositoryTable.workspaces, 'mcp') as WorkspaceRow;
  writeRecord(turn, RepositoryTable.workspaces, { ...row, builtIn: { version: 0, isChanged: false } }, 'mcp');
}

function ageBranch(turn: Turn): void {
  turn.remove(CommonTable.meta, 'built_ins');
}

let fixture: HostFixture;
let repository: string;
let branch: string;

beforeEach(async () => {
  told = [];
  failures = 0;
  fixture = await HostFixture.open([
    tenantActor,
    aging(repositoryActor, ageRepository),
    aging(branchActor({ commitNodesMax: 1_000 }), ageBranch),
  ]);
  const provisioning = new MemberProvisioning(fixture.host, fixture.host, systemRandom);
  await provisioning.bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
  const { uid } = await provisioning.createRepository(
    'default',
    {
      repositoryId: 'old',
      description: null,
      defaultBranch: 'main',
      defaultLanguage: 'en',
      supportedLanguages: [],
    },
    { caller: callers.admin },
  );
  const owner = `default/old~${uid}`;
  repository = `${owner}/repository`;
  const part = fixture.host.namesUnder(owner).find((name) => name.startsWith('main~')) as string;
  branch = `${owner}/${part}/branch`;
  await fixture.command(repository, { type: 'Age' });
  await fixture.command(branch, { type: 'Age' });
  told = [];
});

afterEach(() => fixture.close());

function pendingInRepository(): number {
  return fixture.query<BuiltInUpdate[]>(repository, { type: 'ListBuiltInUpdates' }).length;
}

function pendingInBranch(): boolean {
  return fixture.query<BranchState>(branch, { type: 'ReadBranchState' }).builtInsPending;
}

describe('LazyUpgrades', () => {
  it('updates a repository and then its branch once, for any number of callers [BUILT-013, EASY-013]', async () => {
    expect([pendingInRepository(), pendingInBranch()]).toEqual([1, true]);
    const upgrades = new LazyUpgrades(fixture.host, systemClock, silentLog);
    await Promise.all([
      upgrades.branch(repository, branch, 'read'),
      upgrades.branch(repository, branch, 'read'),
    ]);
    expect(told).toEqual(['repository InstallBuiltInWorkspaces', 'branch InstallBuiltIns']);
    expect([pendingInRepository(), pendingInBranch()]).toEqual([0, false]);
    expect(upgrades.repository(repository)).toBeUndefined();
    expect(upgrades.branch(repository, branch, 'read')).toBeUndefined();
  });

  it('writes nothing where nothing is newer [BUILT-014]', async () => {
    await new LazyUpgrades(fixture.host, systemClock, silentLog).branch(repository, branch, 'read');
    told = [];
    await new LazyUpgrades(fixture.host, systemClock, silentLog).branch(repository, branch, 'read');
    expect(told).toEqual([]);
  });

  it('serves what could not be upgraded, and tries again later', async () => {
    failures = 1;
    const later: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      after: (_delayMs, callback) => {
        later.push(callback);
        return { cancel: () => undefined };
      },
    };
    const upgrades = new LazyUpgrades(fixture.host, clock, silentLog);
    await upgrades.repository(repository);
    expect(pendingInRepository()).toBe(1);
    expect(upgrades.repository(repository)).toBeUndefined();
    for (const callback of later) callback();
    await upgrades.repository(repository);
    expect(pendingInRepository()).toBe(0);
  });
});
