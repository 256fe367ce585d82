import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LazyUpgrades } from '#cluster/member/built-in-upgrades.ts';
import { MemberProvisioning } from '#cluster/member/provisioning.ts';
import { ConsistentReads } from '#cluster/router/consistent-reads.ts';
import { RepositoryDirectory } from '#protocols/rest/repository-directory.ts';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import type { NearbyReads, ReplicaSource, Router } from '#runtime/actor/ports.ts';
import { ReplicaReads } from '#runtime/actor/replica-reads.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Replica } from '#runtime/commit/replica.ts';
import type { Log } from '#runtime/log/ports.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { callers, HostFixture, productKinds } from '#test/support/host-fixture.ts';

/** A member whose actors are owned by another one, and which reads the log of that one when it is told to. */
describe('RepositoryDirectory on a member that owns nothing', () => {
  let folder: string;
  let owner: HostFixture;
  let journal: Log;
  let provisioning: MemberProvisioning;
  let replica: Replica;
  let reads: ReplicaReads;
  let source: ReplicaSource | 'changing' | undefined;
  let followed: number;
  let directory: RepositoryDirectory;
  /** Queries the owner was asked, by type. */
  let asked: string[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'repository-directory-'));
    owner = await HostFixture.open(undefined, (log) => {
      journal = log;
      return log;
    });
    provisioning = new MemberProvisioning(owner.host, owner.host, systemRandom);
    await provisioning.bootstrap(() =>
      Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
    );
    const store = new ActorStore(join(folder, 'follower'), productKinds, systemClock);
    replica = new Replica(store, systemClock, () => {});
    reads = new ReplicaReads({ replica, kindOf: (actor) => store.kindOf(actor), clock: systemClock });
    source = reads;
    followed = 0;
    asked = [];
    const router: Router = {
      command: (actor, command, delivery) => owner.host.command(actor, command, delivery),
      query: (actor, query, caller) => {
        asked.push((query as { readonly type: string }).type);
        return owner.host.query(actor, query, caller);
      },
    };
    const consistent = new ConsistentReads({
      replica: () => source,
      askOwner: router.query,
      clock: systemClock,
    });
    const nearby: NearbyReads = {
      atHand: (actor, query, caller) => consistent.atHand(0, actor, query, caller),
      ownerConfirms: () => false,
    };
    directory = new RepositoryDirectory(router, new LazyUpgrades(router, systemClock, silentLog), nearby);
  });

  afterEach(async () => {
    await reads.close();
    await replica.abandon();
    await owner.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function follow(): Promise<void> {
    for await (const record of journal.read(followed)) {
      await replica.take(record);
      followed = record.sequence;
    }
  }

  /** @returns what tells it from others of its name */
  async function create(repositoryId = 'blog'): Promise<string> {
    const repository = {
      repositoryId,
      description: null,
      defaultBranch: 'main',
      defaultLanguage: 'en',
      supportedLanguages: [],
    };
    return (await provisioning.createRepository('default', repository, { caller: callers.admin })).uid;
  }

  const remove = (): Promise<void> =>
    provisioning.removeRepository('default', 'blog', { caller: callers.admin });

  const find = async (branch = 'main'): Promise<string> =>
    (await directory.branch('default', 'blog', branch, 'read')).actor;

  const actorOf = (uid: string): unknown => expect.stringContaining(`default/blog~${uid}/main~`);

  it('asks no owner of a registry for a repository it has read of', async () => {
    const uid = await create();
    expect(await find()).toEqual(actorOf(uid));
    expect(asked).toContain('FindRepository');
    await follow();
    asked = [];
    expect(await find()).toEqual(actorOf(uid));
    expect((await directory.besideContent('default', 'blog', 'main')).actor).toEqual(actorOf(uid));
    expect(asked).toEqual(['FindBranch', 'FindBranch']);
  });

  it('finds the repository that was made anew, whatever it has read', async () => {
    const old = await create();
    await follow();
    await remove();
    await expect(find()).rejects.toMatchObject({ code: 'REPOSITORY_NOT_FOUND' });
    await expect(async () => directory.besideContent('default', 'blog', 'main')).rejects.toMatchObject({
      code: 'REPOSITORY_NOT_FOUND',
    });
    const uid = await create();
    expect(uid).not.toBe(old);
    expect(await find()).toEqual(actorOf(uid));
    await follow();
    expect(await find()).toEqual(actorOf(uid));
  });

  it('says that a branch is missing without looking for it twice', async () => {
    await create();
    await follow();
    await find();
    asked = [];
    await expect(find('draft')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    expect(asked).toEqual(['FindBranch', 'FindTag', 'FindRepository']);
  });

  it('asks the owner where it has nothing, and for a strict read', async () => {
    const uid = await create();
    await follow();
    for (const nothing of ['changing', undefined] as const) {
      source = nothing;
      asked = [];
      expect(await find()).toEqual(actorOf(uid));
      expect(asked).toContain('FindRepository');
    }
    source = reads;
    asked = [];
    await directory.branch('default', 'blog', 'main', 'read', { kind: 'strict' });
    expect(asked).toContain('FindRepository');
  });
});
