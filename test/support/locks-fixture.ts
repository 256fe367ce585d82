import { branchActor } from '#actors/branch/branch-actor.ts';
import { locksActor } from '#actors/locks/locks-actor.ts';
import type {
  LockGrant,
  LockRefused,
  LockReleased,
  LockRenewed,
  LocksCommand,
  LocksQuery,
  PoolClaim,
  PoolRelease,
} from '#actors/locks/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { callers, HostFixture } from './host-fixture.ts';
import { settle, TestClock } from './test-clock.ts';

const owner = actorId('default', 'site~1');

/** Actors of the fixture. */
export const repositoryOfLocks: string = `${owner}/repository`;
export const branchOfLocks: string = `${owner}/main~1/branch`;
export const locksOfBranch: string = `${owner}/main~1/locks`;

/** A log whose appends a test may refuse, or hold back. */
class TestLog {
  refusal: ServiceError | undefined;
  /** Resolves when what is appended may go on. */
  gate: Promise<void> = Promise.resolve();
  /** Appends under way. */
  pending = 0;
  /** Appends that ever began. */
  begun = 0;

  over(journal: Log): Log {
    const append = async (entry: LogEntry): Promise<number> => {
      this.pending += 1;
      this.begun += 1;
      try {
        await this.gate;
        if (this.refusal !== undefined) throw this.refusal;
        return await journal.append(entry);
      } finally {
        this.pending -= 1;
      }
    };
    return new Proxy(journal, {
      get: (target, name) => {
        if (name === 'append') return append;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

/** The locks of branch `main` of one repository, in a real host over a real journal, with a clock the test moves. */
export class LocksFixture {
  readonly clock: TestClock;
  readonly host: HostFixture;
  readonly #log: TestLog;

  private constructor(host: HostFixture, clock: TestClock, log: TestLog) {
    this.host = host;
    this.clock = clock;
    this.#log = log;
  }

  static async open(): Promise<LocksFixture> {
    const clock = new TestClock();
    const log = new TestLog();
    const kinds = [
      repositoryActor,
      branchActor({ commitNodesMax: defaultLimits.commitNodesMax }),
      locksActor,
    ];
    const host = await HostFixture.open(kinds, (journal) => log.over(journal), clock);
    const fixture = new LocksFixture(host, clock, log);
    for (const actor of [repositoryOfLocks, branchOfLocks, locksOfBranch]) await host.host.create(actor);
    await host.command(repositoryOfLocks, {
      type: 'InitializeRepository',
      repositoryId: 'site',
      description: null,
      defaultBranch: 'main',
      defaultBranchUid: '1',
      defaultLanguage: 'en',
      supportedLanguages: ['en'],
    } as never);
    return fixture;
  }

  send<Result>(
    command: LocksCommand,
    caller: Caller = callers.admin,
    idempotency?: IdempotencyKey,
  ): Promise<Result> {
    return this.host.command(locksOfBranch, command, caller, idempotency);
  }

  ask<Answer>(query: LocksQuery, caller: Caller = callers.engine): Answer {
    return this.host.query(locksOfBranch, query, caller);
  }

  acquire(key: string, ttlMs = 1000, waitMs = 0, caller?: Caller): Promise<LockGrant | LockRefused> {
    return this.send({ type: 'AcquireLock', key, ttlMs, owner: null, waitMs }, caller);
  }

  /** Takes a lock that must be free. @returns its token */
  async taken(key: string, ttlMs = 1000): Promise<number> {
    const answer = await this.acquire(key, ttlMs);
    if (!answer.acquired) throw new Error(`expected ${key} to be free`);
    return answer.token;
  }

  async release(key: string, token: number): Promise<boolean> {
    return (await this.send<LockReleased>({ type: 'ReleaseLock', key, token })).released;
  }

  async renew(key: string, token: number, ttlMs = 1000): Promise<boolean> {
    return (await this.send<LockRenewed>({ type: 'RenewLock', key, token, ttlMs })).renewed;
  }

  claim(pool: string, n: number, capacity: number): Promise<PoolClaim> {
    return this.send({ type: 'ClaimUnits', pool, n, capacity });
  }

  async releaseUnits(pool: string, n: number): Promise<number> {
    return (await this.send<PoolRelease>({ type: 'ReleaseUnits', pool, n })).remaining;
  }

  /** Lets time pass, and what it sets off happen. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.quiet();
  }

  /** Waits until everything that was set off has happened and is durable. Not while appends are held back. */
  async quiet(): Promise<void> {
    for (;;) {
      const { begun, pending } = this.#log;
      await settle();
      // One that ended meanwhile may still set something off.
      if (pending === 0 && this.#log.begun === begun) return;
    }
  }

  /** Has every append refused for as long as something goes on. */
  async refusing<T>(error: ServiceError, during: () => Promise<T>): Promise<T> {
    this.#log.refusal = error;
    try {
      return await during();
    } finally {
      this.#log.refusal = undefined;
    }
  }

  /** Holds every append back. @returns lets them go on */
  hold(): () => void {
    let open = (): void => {};
    this.#log.gate = new Promise((resolve) => {
      open = resolve;
    });
    return () => open();
  }

  close(): Promise<void> {
    return this.host.close();
  }
}
