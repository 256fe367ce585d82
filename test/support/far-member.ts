import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BranchEntry } from '#actors/repository/messages.ts';
import { MemberBranches } from '#server/provisioning/branch-provisioning.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { type Call, CALL_VERSION, decodeCall } from '#cluster/router/call-frames.ts';
import { ClusterRouter, type LocalPartition } from '#cluster/router/cluster-router.ts';
import { ConsistentReads } from '#cluster/router/consistent-reads.ts';
import type { RemoteCalls } from '#cluster/router/remote-calls.ts';
import type { NewBranch } from '#protocols/rest/ports.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import type { FoundRepository } from '#protocols/rest/access/found-branch.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { LocalReads, ReplicaSource, Router } from '#runtime/actor/ports.ts';
import { ReplicaReads } from '#runtime/actor/reads/replica-reads.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { Replica } from '#runtime/commit/replica.ts';
import type { Log } from '#runtime/log/ports.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { callers, HostFixture, productKinds } from './host-fixture.ts';
import { jobsOn } from './member-jobs-fixture.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { callBytes } from './call-bytes.ts';

/** Where the owner's log stands to its lease. */
interface Lease {
  /** Whether it holds; confirming it by the log makes it hold again. */
  isValid: boolean;
  /** How often the log was asked. */
  barriers: number;
}

/**
 * A member whose actors are owned by another one, and which reads the log of that one when it is told to. What it sends
 * there is encoded and decoded on its way.
 */
export class FarMember {
  readonly owner: HostFixture;
  /** What the owner does with calls of others. */
  readonly ownerRouter: ClusterRouter;
  readonly lease: Lease;
  /** What the member sends everything through. */
  readonly router: Router;
  readonly directory: RepositoryDirectory;
  readonly provisioning: MemberProvisioning;
  readonly branches: MemberBranches;
  /** What the member has; may be taken from it. */
  source: ReplicaSource | 'changing' | undefined;
  /** Whether the owner is another process that confirms preconditions. */
  isConfirming = true;
  /** Messages the owner was sent, by type. */
  asked: string[] = [];
  readonly #folder: string;
  readonly #journal: Log;
  readonly #replica: Replica;
  readonly #reads: ReplicaReads;
  #followed = 0;

  private constructor(owner: HostFixture, journal: Log) {
    this.owner = owner;
    this.#journal = journal;
    this.#folder = mkdtempSync(join(tmpdir(), 'far-member-'));
    const store = new ActorStore(join(this.#folder, 'follower'), productKinds, systemClock);
    this.#replica = new Replica(store, systemClock, () => {});
    this.#reads = new ReplicaReads({
      replica: this.#replica,
      kindOf: (actor) => store.kindOf(actor),
      clock: systemClock,
      slices: new SliceScheduler(systemClock),
    });
    this.source = this.#reads;
    const lease: Lease = { isValid: true, barriers: 0 };
    this.lease = lease;
    const log = {
      lease: { isValid: () => lease.isValid },
      barrier: () => {
        lease.barriers += 1;
        lease.isValid = true;
        return Promise.resolve(0n);
      },
    } as unknown as PartitionLog;
    const local = (): LocalPartition => ({ host: owner.host, log });
    this.ownerRouter = new ClusterRouter({
      partitions: 1,
      local,
      replica: () => undefined,
      isConnected: () => true,
      subjectOf: () => undefined,
      ownerOf: () => undefined,
      calls: {} as RemoteCalls,
      callVersion: () => CALL_VERSION,
      clock: systemClock,
      random: systemRandom,
    });
    this.router = {
      command: async (actor, message, { caller, idempotency }) =>
        this.#send({ kind: 'command', actor, message, ...(idempotency && { idempotency }) }, caller),
      query: (actor, message, caller) => this.#send({ kind: 'query', actor, message }, caller),
    };
    const consistent = new ConsistentReads({
      replica: () => this.source,
      askOwner: this.router.query,
      clock: systemClock,
    });
    const nearby: LocalReads = {
      tryLocal: (actor, query, caller) => consistent.tryLocal(0, actor, query, caller),
      ownerConfirms: () => this.isConfirming,
    };
    const upgrades = new LazyUpgrades(this.router, systemClock, silentLog);
    this.directory = new RepositoryDirectory(this.router, upgrades, nearby);
    this.provisioning = new MemberProvisioning(owner.host, owner.host, systemRandom);
    this.branches = new MemberBranches(owner.host, owner.host, systemRandom, jobsOn(owner, 0));
  }

  static async open(): Promise<FarMember> {
    let journal: Log | undefined;
    const owner = await HostFixture.open(undefined, (log) => {
      journal = log;
      return log;
    });
    const member = new FarMember(owner, journal as Log);
    await member.provisioning.bootstrap(() =>
      Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
    );
    return member;
  }

  /** Lets the member read the log to its end. */
  async follow(): Promise<void> {
    for await (const record of this.#journal.read(this.#followed)) {
      await this.#replica.take(record);
      this.#followed = record.sequence;
    }
  }

  /** Makes repository `blog`. @returns what tells it from others of its name */
  async create(repositoryId = 'blog'): Promise<string> {
    const repository = {
      repositoryId,
      description: null,
      defaultBranch: 'main',
      defaultLanguage: 'en',
      supportedLanguages: [],
    };
    const made = await this.provisioning.createRepository('default', repository, { caller: callers.admin });
    return made.uid;
  }

  /** Removes repository `blog`. */
  remove(): Promise<void> {
    return this.provisioning.removeRepository('default', 'blog', { caller: callers.admin });
  }

  /** The repository as its owner has it. */
  async found(): Promise<FoundRepository> {
    return await this.directory.repository('default', 'blog');
  }

  /** Makes a fork of `main`. */
  async fork(name: string, more: Partial<NewBranch> = {}): Promise<BranchEntry> {
    const branch = { name, createdBy: 'system', protected: false, description: null, upstreamBranch: 'main' };
    return await this.branches.createBranch(
      await this.found(),
      { ...branch, ...more },
      { caller: callers.admin },
    );
  }

  async removeBranch(name: string): Promise<void> {
    await this.branches.removeBranch(await this.found(), name, { caller: callers.admin });
  }

  async close(): Promise<void> {
    await this.#reads.close();
    await this.#replica.abandon();
    await this.owner.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #send(what: Pick<Call, 'kind' | 'actor' | 'message' | 'idempotency'>, caller: Caller): unknown {
    this.asked.push((what.message as { readonly type: string }).type);
    const { precondition, principal } = caller;
    const call = atOnce(
      decodeCall(
        callBytes({ version: CALL_VERSION, ...what, principal, ...(precondition && { precondition }) }),
      ),
    );
    return this.ownerRouter.handle(call, {
      ...callers.engine,
      principal,
      policy: caller.policy,
      ...(call.precondition && { precondition: call.precondition }),
    });
  }
}
