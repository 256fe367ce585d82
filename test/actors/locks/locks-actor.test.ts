import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InstallBuiltIns } from '#actors/branch/messages.ts';
import type { LockInfo, LockPage, LockPrecondition, PoolPage } from '#actors/locks/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callers } from '#test/support/host-fixture.ts';
import {
  branchOfLocks,
  LocksFixture,
  locksOfBranch,
  repositoryOfLocks,
} from '#test/support/locks-fixture.ts';
import { settle } from '#test/support/test-clock.ts';

let locks: LocksFixture;

beforeEach(async () => {
  locks = await LocksFixture.open();
});

afterEach(() => locks.close());

const full = (): ServiceError => new ServiceError('STORAGE_FULL');

function info(key: string): LockInfo | undefined {
  return locks.ask({ type: 'ReadLock', key });
}

/** Keys of the leases that are stored, as administrators see them. */
function held(): string[] {
  return locks.ask<LockPage>({ type: 'ListLocks', limit: 100 }).items.map(({ key }) => key);
}

describe('a lease', () => {
  it('ends by itself, as a committed record, by the monotonic clock [LOCK-008]', async () => {
    const token = await locks.taken('a', 1000);
    await locks.pass(999);
    expect(held()).toEqual(['a']);
    expect((await locks.acquire('a')).acquired).toBe(false);
    await locks.pass(1);
    await locks.host.reopen();
    expect(held()).toEqual([]);
    expect(await locks.taken('a')).toBe(token + 1);
  });

  it('does not end when the wall clock jumps ahead, and ends when the wall clock stops', async () => {
    await locks.taken('a', 1000);
    locks.clock.setWall(locks.clock.wallMs() + 3_600_000);
    expect((await locks.acquire('a')).acquired).toBe(false);
    locks.clock.setWall(0);
    await locks.pass(1000);
    expect((await locks.acquire('a')).acquired).toBe(true);
  });

  it('is removed by a later acquire of the lock, in the same batch, if its timer has not fired yet', async () => {
    const token = await locks.taken('a', 50);
    const go = locks.hold();
    locks.clock.advance(50);
    const acquired = locks.acquire('a');
    go();
    expect(await acquired).toMatchObject({ acquired: true, token: token + 1 });
    expect(await locks.release('a', token)).toBe(false);
  });

  it('is renewed from now on, longer or shorter [LOCK-006]', async () => {
    const token = await locks.taken('a', 1000);
    await locks.pass(900);
    expect(await locks.renew('a', token, 1000)).toBe(true);
    await locks.pass(900);
    expect(held()).toEqual(['a']);
    expect(await locks.renew('a', token, 10)).toBe(true);
    await locks.pass(10);
    expect(held()).toEqual([]);
    expect(await locks.renew('a', token, 1000)).toBe(false);
  });

  it('lasts its whole time again after a restart, and not longer [LOCK-013]', async () => {
    const token = await locks.taken('a', 1000);
    await locks.pass(900);
    await locks.host.reopen();
    await locks.pass(500);
    expect((await locks.acquire('a')).acquired).toBe(false);
    expect(await locks.renew('a', token, 1000)).toBe(true);
    await locks.host.reopen();
    // Nobody touches it for a while: its time counts from the restart, not from the first touch.
    await locks.pass(1000);
    expect(await locks.renew('a', token)).toBe(false);
    expect(await locks.taken('a')).toBe(token + 1);
  });

  it('of before a restart ends by itself once the locks are in use again', async () => {
    await locks.taken('old', 1000);
    await locks.host.reopen();
    await locks.taken('new', 10_000);
    await locks.quiet();
    await locks.pass(1000);
    await locks.host.reopen();
    expect(held()).toEqual(['new']);
  });

  it('keeps its actor open, and nothing else does', async () => {
    const openActors = async (count: number): Promise<void> => {
      // The disk takes its own time, some rounds long.
      const untilMs = performance.now() + 20_000;
      while (locks.host.host.openActors !== count && performance.now() < untilMs) await locks.pass(10_000);
      expect(locks.host.host.openActors).toBe(count);
    };
    const token = await locks.taken('a', 86_400_000);
    await openActors(1);
    expect(await locks.renew('a', token, 86_400_000)).toBe(true);
    expect(await locks.release('a', token)).toBe(true);
    await locks.claim('p', 1, 2);
    await openActors(0);
    expect(await locks.releaseUnits('p', 1)).toBe(2);
  });

  it('leaves no timer behind when everything is closed', async () => {
    await locks.taken('a', 1000);
    void locks.acquire('a', 1000, 1000).catch(() => {});
    await settle();
    await locks.host.host.close();
    const { alarms } = locks.clock;
    locks.clock.advance(100_000);
    await settle();
    expect(alarms).toBeLessThanOrEqual(1);
    await locks.host.reopen();
  });

  it('is not cut short when writes are discarded, nor granted twice [LOCK-003]', async () => {
    const token = await locks.taken('a', 10_000);
    await locks.pass(1000);
    await locks.refusing(full(), async () => {
      await expect(locks.renew('a', token, 20)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
      await expect(locks.acquire('b')).rejects.toMatchObject({ code: 'STORAGE_FULL' });
      await expect(locks.release('a', token)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    });
    await locks.pass(5000);
    expect((await locks.acquire('a')).acquired).toBe(false);
    expect(await locks.taken('b')).toBeGreaterThan(token);
    await locks.pass(10_000);
    expect((await locks.acquire('a')).acquired).toBe(true);
  });

  it('ends at its time although other writes were thrown away', async () => {
    await locks.taken('a', 1000);
    await locks.refusing(full(), () => expect(locks.claim('p', 1, 1)).rejects.toThrow());
    await locks.pass(1000);
    expect((await locks.acquire('a')).acquired).toBe(true);
  });

  it('ends at its time when writes are thrown away again before it is read in', async () => {
    await locks.taken('a', 1000);
    await locks.pass(400);
    await locks.refusing(full(), async () => {
      for (let count = 0; count < 5; count += 1) await expect(locks.claim('p', 1, 1)).rejects.toThrow();
    });
    await locks.quiet();
    await locks.pass(600);
    expect((await locks.acquire('a')).acquired).toBe(true);
  });
});

describe('a pool', () => {
  it('is as it was when writes are thrown away', async () => {
    await locks.claim('p', 1, 5);
    await locks.refusing(full(), async () => {
      await expect(locks.claim('p', 2, 5)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
      await expect(locks.claim('q', 2, 5)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    });
    expect(await locks.releaseUnits('p', 0 + 1)).toBe(5);
    await expect(locks.releaseUnits('q', 1)).rejects.toMatchObject({ code: 'POOL_NOT_FOUND' });
  });

  it('outlives restarts', async () => {
    await locks.claim('p', 3, 5);
    await locks.host.reopen();
    expect(await locks.claim('p', 3, 50)).toEqual({ claimed: false });
    expect(await locks.claim('p', 2, 50)).toEqual({ claimed: true, remaining: 0 });
  });
});

describe('a waiting acquire', () => {
  it('is granted the lock when the lease ends, in order of arrival', async () => {
    await locks.taken('a', 1000);
    const heard: string[] = [];
    for (const name of ['first', 'second']) {
      void locks.acquire('a', 500, 10_000).then(({ acquired }) => heard.push(`${name} ${acquired}`));
      await settle();
    }
    expect(info('a')?.waiting).toBe(2);
    await locks.pass(1000);
    expect(heard).toEqual(['first true']);
    await locks.pass(500);
    expect(heard).toEqual(['first true', 'second true']);
  });

  it('is refused at its deadline, also when it is granted at the same moment', async () => {
    const token = await locks.taken('a', 60_000);
    const waiting = locks.acquire('a', 1000, 200);
    await settle();
    const go = locks.hold();
    locks.clock.advance(200);
    const released = locks.release('a', token);
    await settle();
    go();
    expect(await waiting).toEqual({ acquired: false });
    expect(await released).toBe(true);
    expect((await locks.acquire('a')).acquired).toBe(true);
  });

  it('leaves the queue when the caller disconnects', async () => {
    const token = await locks.taken('a', 60_000);
    const leaving = new AbortController();
    const caller: Caller = { ...callers.admin, signal: leaving.signal };
    const gone = expect(locks.acquire('a', 1000, 10_000, caller)).rejects.toMatchObject({
      code: 'REQUEST_CANCELLED',
    });
    await settle();
    const staying = locks.acquire('a', 1000, 10_000);
    await settle();
    leaving.abort();
    await gone;
    await locks.release('a', token);
    expect((await staying).acquired).toBe(true);
  });

  it('passes the lock on when the caller disconnects while the grant becomes durable', async () => {
    const token = await locks.taken('a', 60_000);
    const leaving = new AbortController();
    const unheard = locks.acquire('a', 60_000, 10_000, { ...callers.admin, signal: leaving.signal });
    await settle();
    const next = locks.acquire('a', 60_000, 10_000);
    await settle();
    const go = locks.hold();
    const released = locks.release('a', token);
    await settle();
    leaving.abort();
    go();
    await released;
    await unheard.catch(() => undefined);
    expect(await next).toMatchObject({ acquired: true, token: token + 2 });
  });

  it('keeps the lock when its member stops while the grant becomes durable, for it is answered still', async () => {
    const token = await locks.taken('a', 60_000);
    const stopping = new AbortController();
    const heard = locks.acquire('a', 60_000, 10_000, { ...callers.admin, signal: stopping.signal });
    await settle();
    const go = locks.hold();
    const released = locks.release('a', token);
    await settle();
    stopping.abort(new ServiceError('SHUTTING_DOWN'));
    go();
    await released;
    expect(await heard).toMatchObject({ acquired: true, token: token + 1 });
    expect((await locks.acquire('a')).acquired).toBe(false);
    expect(await locks.release('a', token + 1)).toBe(true);
  });

  it('keeps the lock of a keyed request, whose repetition hears of it', async () => {
    const token = await locks.taken('a', 60_000);
    const leaving = new AbortController();
    const key = { key: 'k', requestHash: 'h' };
    const acquire = { type: 'AcquireLock', key: 'a', ttlMs: 60_000, owner: null, waitMs: 10_000 } as const;
    const unheard = locks.send(acquire, { ...callers.admin, signal: leaving.signal }, key);
    await settle();
    const go = locks.hold();
    const released = locks.release('a', token);
    await settle();
    leaving.abort();
    go();
    await released;
    await unheard;
    expect(await locks.send(acquire, callers.admin, key)).toMatchObject({ acquired: true, token: token + 1 });
    expect((await locks.acquire('a')).acquired).toBe(false);
  });

  it('is notified when the grant is discarded, as is the releasing caller', async () => {
    const token = await locks.taken('a', 60_000);
    const waiting = locks.acquire('a', 1000, 10_000);
    await settle();
    await locks.refusing(full(), async () => {
      await expect(locks.release('a', token)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
      await expect(waiting).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    });
    expect(await locks.renew('a', token, 60_000)).toBe(true);
  });

  it('hears when the process stops', async () => {
    await locks.taken('a', 60_000);
    const waiting = expect(locks.acquire('a', 1000, 10_000)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await settle();
    locks.host.host.endWaits();
    await waiting;
    await expect(locks.acquire('a', 1000, 10_000)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect((await locks.acquire('a')).acquired).toBe(false);
  });
});

describe('a write under a lock', () => {
  const guard = (key: string, token: number): unknown => locks.ask({ type: 'GuardLock', key, token });
  const settled = (): unknown => locks.ask({ type: 'SettleGuards' });

  it('is let through for the token in force only [LOCK-014]', async () => {
    expect(guard('a', 1)).toBe(false);
    const token = await locks.taken('a', 1000);
    expect(guard('a', token + 1)).toBe(false);
    expect(guard('b', token)).toBe(false);
    expect(guard('a', token)).toBe(true);
    settled();
    await locks.pass(1000);
    expect(guard('a', token)).toBe(false);
    const next = await locks.taken('a', 1000);
    expect(guard('a', token)).toBe(false);
    expect(guard('a', next)).toBe(true);
  });

  it('knows the leases of before a restart', async () => {
    const token = await locks.taken('a', 1000);
    await locks.host.reopen();
    expect(guard('a', token)).toBe(true);
    settled();
    await locks.host.reopen();
    await locks.pass(1000);
    expect(guard('a', token)).toBe(false);
  });

  it('keeps a lease that ends from being granted to others until its outcome is known', async () => {
    const token = await locks.taken('a', 1000);
    expect(guard('a', token)).toBe(true);
    await locks.pass(1000);
    expect((await locks.acquire('a')).acquired).toBe(false);
    const waiting = locks.acquire('a', 1000, 10_000);
    await locks.pass(1);
    expect(guard('a', token)).toBe(false);
    settled();
    await locks.pass(1);
    expect(await waiting).toMatchObject({ acquired: true, token: token + 1 });
  });

  it('holds a release up until its outcome is known', async () => {
    const token = await locks.taken('a', 60_000);
    expect(guard('a', token)).toBe(true);
    let isReleased: boolean | undefined;
    const released = locks.release('a', token).then((answer) => {
      isReleased = answer;
    });
    await settle();
    expect(isReleased).toBe(undefined);
    expect((await locks.acquire('a')).acquired).toBe(false);
    expect(guard('a', token)).toBe(false);
    expect(await locks.release('a', token)).toBe(false);
    settled();
    await released;
    expect(isReleased).toBe(true);
    expect(await locks.taken('a')).toBe(token + 1);
  });

  it('takes nothing from the next holder when the lease ended while its release was delayed', async () => {
    const token = await locks.taken('a', 1000);
    expect(guard('a', token)).toBe(true);
    const released = locks.release('a', token);
    const [next, last] = [locks.acquire('a', 60_000, 10_000), locks.acquire('a', 60_000, 10_000)];
    await locks.pass(1000);
    settled();
    expect(await released).toBe(false);
    expect(await next).toMatchObject({ acquired: true, token: token + 1 });
    await locks.pass(1);
    expect(guard('a', token + 1)).toBe(true);
    settled();
    await locks.pass(10_000);
    expect(await last).toMatchObject({ acquired: false });
  });

  it('refuses to renew a lease that has ended or is being released', async () => {
    const ended = await locks.taken('a', 1000);
    const releasing = await locks.taken('b', 60_000);
    expect([guard('a', ended), guard('b', releasing)]).toEqual([true, true]);
    await locks.pass(1000);
    expect(await locks.renew('a', ended)).toBe(false);
    const released = locks.release('b', releasing);
    await settle();
    expect(await locks.renew('b', releasing)).toBe(false);
    settled();
    expect(await released).toBe(true);
    await locks.pass(1);
    expect([await locks.taken('a'), await locks.taken('b')]).toEqual([releasing + 1, releasing + 2]);
  });
});

describe('the token', () => {
  const unregister = { type: 'UnregisterBranch', name: 'dev', seal: 's1' } as const;

  it('is above that of every earlier branch of the name [LOCK-012]', async () => {
    const owner = locksOfBranch.replace('/main~1/locks', '');
    const make = async (uid: string): Promise<string> => {
      const actor = `${owner}/dev~${uid}/locks`;
      await locks.host.host.create(actor);
      const branch = {
        name: 'dev',
        uid,
        createdBy: 'me',
        createdFrom: null,
        upstreamBranch: null,
        protected: false,
        description: null,
      };
      await locks.host.command(repositoryOfLocks, {
        type: 'RegisterBranch',
        branch,
        requiresUpstream: false,
      } as never);
      return actor;
    };
    const grant = async (actor: string, key: string): Promise<number> => {
      const command = { type: 'AcquireLock', key, ttlMs: 1000, owner: null, waitMs: 0 } as const;
      return (await locks.host.command<{ token: number }>(actor, command)).token;
    };
    const first = await make('1');
    for (const key of ['a', 'b', 'c']) await grant(first, key);
    await locks.host.command(repositoryOfLocks, unregister);
    await expect(grant(first, 'd')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    await locks.host.reopen();
    await expect(grant(first, 'd')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    const second = await make('2');
    expect(await grant(second, 'a')).toBe(4);
    await locks.host.reopen();
    expect(await grant(second, 'b')).toBe(5);
    await locks.host.command(repositoryOfLocks, unregister);
    expect(await grant(await make('3'), 'a')).toBe(6);
  });

  it('is granted again when the branch stays after all, by the one who kept it only', async () => {
    locks.ask({ type: 'RetireTokens', seal: 'one' } as never);
    locks.ask({ type: 'RetireTokens', seal: 'two' } as never);
    await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    locks.ask({ type: 'ReopenTokens', seal: 'one' } as never);
    await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    locks.ask({ type: 'ReopenTokens', seal: 'two' } as never);
    expect((await locks.acquire('a')).acquired).toBe(true);
  });

  it('counts grants that are being flushed when a caller seals it', async () => {
    await locks.taken('a');
    const go = locks.hold();
    const granted = locks.acquire('b');
    await settle();
    expect(locks.ask({ type: 'RetireTokens', seal: 's' } as never)).toBe(2);
    go();
    expect(await granted).toMatchObject({ token: 2 });
  });

  it('rises over restarts, released or not', async () => {
    const tokens: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const token = await locks.taken('a');
      tokens.push(token);
      await locks.release('a', token);
      await locks.host.reopen();
    }
    expect(tokens).toEqual([1, 2, 3]);
  });
});

describe('access', () => {
  it('is for those who are logged in; looking is for administrators, the rest for the engine', async () => {
    await expect(locks.acquire('a', 1000, 0, callers.anonymous)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
    await expect(locks.acquire('a', 1000, 0, callers.otherTenant)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    await expect(locks.send({ type: 'ExpireLeases' } as never)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(() => locks.ask({ type: 'ListLocks', limit: 1 }, callers.anonymous)).toThrow();
    expect(() => locks.ask({ type: 'ReadPool', pool: 'p' }, callers.otherTenant)).toThrow();
    for (const type of ['SettleGuards', 'GuardLock', 'RetireTokens', 'ReopenTokens']) {
      expect(() => locks.ask({ type } as never, callers.admin)).toThrow();
    }
  });
});

describe('a list', () => {
  it('pages through locks and pools in byte order', async () => {
    const keys = ['b', 'a', 'ü', 'a/b', 'z'];
    for (const key of keys) {
      await locks.taken(key);
      await locks.claim(key, 1, 2);
    }
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = locks.ask<LockPage>({
        type: 'ListLocks',
        limit: 2,
        ...(after === undefined ? {} : { after }),
      });
      seen.push(...page.items.map(({ key }) => key));
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual(['a', 'a/b', 'b', 'z', 'ü']);
    const pools = locks.ask<PoolPage>({ type: 'ListPools', limit: 4, after: 'a' });
    expect(pools.items.map(({ pool }) => pool)).toEqual(['a/b', 'b', 'z', 'ü']);
    expect(pools.next).toBe(null);
    expect(() => locks.ask({ type: 'ListLocks', limit: 1, after: 'x'.repeat(5000) })).toThrow();
  });

  it('shows durable locks only, and when they end', async () => {
    const go = locks.hold();
    const acquired = locks.acquire('a', 1000);
    await settle();
    expect(held()).toEqual([]);
    go();
    await acquired;
    await locks.pass(400);
    expect(info('a')).toMatchObject({ expires_at_ms: locks.clock.wallMs() + 600, ttl_ms: 1000, waiting: 0 });
  });
});

it('has its branch ask for the lock a write names, in the turn of the write', async () => {
  const token = await locks.taken('a', 60_000);
  const install = (named: number): Promise<unknown> => {
    const command: InstallBuiltIns & LockPrecondition = {
      type: 'InstallBuiltIns',
      lock: { key: 'a', token: named },
    };
    return locks.host.command(branchOfLocks, command);
  };
  await expect(install(token + 1)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
  await install(token);
  expect(await locks.release('a', token)).toBe(true);
});
