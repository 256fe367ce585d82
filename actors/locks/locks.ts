import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { DeferredReply } from '#runtime/commit/deferred-reply.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type Lease, LeaseTable } from './lease-table.ts';
import { requireLockName, requireOwner, requireTtl, requireWait } from './lock-values.ts';
import { LockWaits, refusedLock, type WaitEvents, type Waiter } from './lock-waits.ts';
import {
  insertLease,
  type LeaseRow,
  leasesAfter,
  type NamedRow,
  readLease,
  readToken,
  removeLease,
  replaceLease,
  writeToken,
} from './locks-tables.ts';
import type {
  AcquireLock,
  HeldLock,
  LockGrant,
  LockRefused,
  LockReleased,
  LockRenewed,
  ReleaseLock,
  RenewLock,
} from './messages.ts';

/** Leases of one branch that may be held at a time. */
const LEASES_MAX = 100_000;

/** Leases that one command takes away or reads in, so that none holds the event loop for long. */
const LEASES_PER_COMMAND = 500;

/** What the locks of a branch work with. */
export interface LocksEnvironment {
  readonly clock: Clock;
  /** @see ActorContext.servingSinceMs */
  readonly servingSinceMs: number;
  /**
   * The token that every new one must be above, whatever the shard says.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND` when the branch is not there any more
   */
  tokenFloor(): number;
  readonly waits: WaitEvents;
}

/** A release that waits until the outcome of a write under its lock is known. */
interface DeferredRelease extends HeldLock {
  readonly reply: DeferredReply;
}

/**
 * The leases of a branch: who holds which lock, with which token, until when, and who waits for it.
 *
 * Memory is ahead of the shard by the running batch. A lease that was stored before this process began to serve is
 * read in when its key is used, at the latest when {@link Locks.adopt} comes to it, and lasts its whole time
 * from then on that this process serves. When `adopt` has come to the end memory knows every lease there is.
 */
export class Locks {
  readonly #environment: LocksEnvironment;
  readonly #waits: LockWaits;
  #leases = new LeaseTable();
  /** Leases as they were before writes were thrown away: their ends, which the shard does not know. */
  #former: LeaseTable | undefined;
  /** Whether nothing has been forgotten since `adopt` last began. */
  #isAdoptionWhole = false;
  /** Whether every stored lease is in memory, so that the shard need not be asked. */
  #knowsAll = false;
  /** The newest token there ever was. It never goes back, also when a grant is taken back. */
  #token: number | undefined;
  /** Locks under which a write of the branch is under way. */
  readonly #guarded = new Set<string>();
  #deferred: DeferredRelease[] = [];
  /** Whether the running batch holds changes that memory has forgotten. */
  #isUncertain = false;
  /** Deletions of the branch under way. */
  readonly #seals = new Set<string>();
  /** Why nobody may wait any more. */
  #endReason: unknown;
  #changes = 0;

  constructor(environment: LocksEnvironment) {
    this.#environment = environment;
    this.#waits = new LockWaits(environment.clock, environment.waits);
  }

  /** Whether something would be lost or late if the actor were closed. */
  get isBusy(): boolean {
    return (
      this.#leases.size > 0 ||
      // The ends of leases that are not read in again yet.
      this.#former !== undefined ||
      this.#waits.size > 0 ||
      this.#guarded.size > 0 ||
      this.#deferred.length > 0 ||
      this.#seals.size > 0
    );
  }

  /** When the first lease ends, on the monotonic clock; undefined without leases. */
  get nextDeadline(): number | undefined {
    return this.#leases.nextDeadline();
  }

  /** Differs from an earlier value when anything has changed since. */
  get changes(): number {
    return this.#changes;
  }

  /** Whether the running command has answered anybody who waited. */
  get hasAnswered(): boolean {
    return this.#waits.hasAnswered;
  }

  /** How many wait for a lock. */
  waitingFor(key: string): number {
    return this.#waits.waitingFor(key);
  }

  /** A command begins. */
  begin(): void {
    this.#waits.begin();
  }

  /** @see messages.ts, AcquireLock */
  acquire(command: AcquireLock, turn: Turn): LockGrant | LockRefused | DeferredReply {
    const { key, owner, ttlMs, waitMs } = command;
    requireLockName(key, 'key');
    requireTtl(ttlMs);
    requireOwner(owner);
    requireWait(waitMs);
    this.#requireNoSeal();
    this.#token ??= Math.max(readToken(turn), this.#environment.tokenFloor());
    const held = this.#held(key, turn);
    if (held !== undefined) {
      if (waitMs === 0) return refusedLock;
      if (this.#endReason !== undefined) throw this.#endReason;
      return this.#waits.join(command, turn.caller);
    }
    if (this.#leases.size >= LEASES_MAX) {
      throw new ServiceError('RATE_LIMITED', `At most ${LEASES_MAX} locks of a branch can be held at a time`);
    }
    const grant = this.#newGrant(key, ttlMs, turn);
    const row = this.#granted(grant, ttlMs, owner, turn);
    insertLease(turn, key, row);
    this.#hold(key, row);
    return grant;
  }

  /** @see messages.ts, ReleaseLock */
  release({ key, token }: ReleaseLock, turn: Turn): LockReleased | DeferredReply {
    requireLockName(key, 'key');
    if (this.#held(key, turn)?.token !== token || this.#isReleasing(key)) return { released: false };
    if (this.#guarded.has(key)) {
      const reply = new DeferredReply();
      this.#deferred.push({ key, token, reply });
      return reply;
    }
    this.#passOn(key, turn);
    return { released: true };
  }

  /** @see messages.ts, RenewLock */
  renew({ key, token, ttlMs }: RenewLock, turn: Turn): LockRenewed {
    requireLockName(key, 'key');
    requireTtl(ttlMs);
    const lease = this.#held(key, turn);
    if (lease?.token !== token || this.#hasEnded(lease) || this.#isReleasing(key)) return { renewed: false };
    const row: LeaseRow = {
      token,
      ttlMs,
      acquiredAtMs: lease.acquiredAtMs,
      expiresAtMs: turn.wallMs + ttlMs,
      owner: lease.owner,
    };
    replaceLease(turn, key, row);
    this.#hold(key, row);
    return { renewed: true };
  }

  /**
   * Takes away leases that have ended, and grants their locks to who waits for them.
   *
   * @returns whether there may be more
   */
  expire(turn: Turn): boolean {
    const nowMs = this.#environment.clock.monotonicMs();
    for (let count = 0; count < LEASES_PER_COMMAND; count += 1) {
      const key = this.#leases.takeDue(nowMs);
      if (key === undefined) return false;
      // One with a write under way is looked at again when the write has its outcome.
      if (!this.#guarded.has(key)) this.#passOn(key, turn);
    }
    return true;
  }

  /**
   * Reads in leases that were stored before, so that they end by themselves.
   *
   * @param after where to go on
   * @returns where to go on; undefined at the end
   */
  adopt(turn: TableReader, after: string | undefined): string | undefined {
    if (after === undefined) this.#isAdoptionWhole = true;
    let count = 0;
    for (const { name, row } of leasesAfter(turn, after)) {
      if (this.#leases.get(name) === undefined) this.#adoptRow(name, row);
      count += 1;
      if (count === LEASES_PER_COMMAND) return name;
    }
    // Else it begins anew.
    if (this.#isAdoptionWhole) {
      this.#former = undefined;
      this.#knowsAll = true;
    }
    return undefined;
  }

  /** The time of a waiter is up. */
  endWait(waiter: Waiter, turn: Turn): void {
    this.#waits.end(waiter, turn);
  }

  /** The time of a waiter is up, and it could not be told in a turn. */
  failWait(waiter: Waiter, error: unknown): void {
    this.#waits.fail(waiter, error);
  }

  /** @see messages.ts, GuardLock */
  guard({ key, token }: HeldLock, view: TableReader): boolean {
    const lease = this.#leases.get(key) ?? (this.#isUncertain ? undefined : this.#storedLease(key, view));
    if (lease?.token !== token || this.#hasEnded(lease) || this.#isReleasing(key)) return false;
    this.#guarded.add(key);
    return true;
  }

  /** @returns whether releases have waited for this */
  settleGuards(): boolean {
    for (const key of this.#guarded) {
      const lease = this.#leases.get(key);
      // Its alarm may have been handed out in vain.
      if (lease !== undefined && this.#hasEnded(lease)) this.#leases.set(key, lease);
    }
    this.#guarded.clear();
    return this.#deferred.length > 0;
  }

  /** Does what was put off while a write was under way. */
  finishReleases(turn: Turn): void {
    for (const { key, reply, token } of this.#deferred.splice(0)) {
      this.#changes += 1;
      const isHeld = this.#held(key, turn)?.token === token;
      if (reply.answer(turn, { released: isHeld }) && isHeld) this.#passOn(key, turn);
    }
  }

  /** Gives up the releases that were put off. */
  failReleases(error: unknown): void {
    for (const { reply } of this.#deferred.splice(0)) reply.fail(error);
  }

  /** Grants nothing from now on, to nobody who waits either. @returns the newest token there ever was */
  seal(name: string, view: TableReader): number {
    this.#seals.add(name);
    this.#waits.failAll(beingDeleted());
    return Math.max(readToken(view), this.#token ?? 0);
  }

  /** Undoes a {@link Locks.seal}. */
  unseal(name: string): void {
    this.#seals.delete(name);
  }

  /** A lease as stored, for those who look: undefined when it has ended, though that may not be stored yet. */
  inForce({ name, row }: NamedRow<LeaseRow>): Lease | undefined {
    const known = this.#leases.get(name);
    const lease = known?.token === row.token ? known : this.#withDeadline(name, row);
    return this.#hasEnded(lease) ? undefined : lease;
  }

  /** Writes were thrown away: everything is read in again, except who waits. */
  forget(): void {
    // Of those that are not read in again yet, the ends are known of an earlier time only.
    if (this.#former === undefined) this.#former = this.#leases;
    else this.#former.setAll(this.#leases);
    this.#leases = new LeaseTable();
    this.#isAdoptionWhole = false;
    this.#knowsAll = false;
    this.#isUncertain = true;
    this.#waits.forget();
  }

  /** @returns whether leases have to be read in again */
  batchEnded(): boolean {
    this.#waits.batchEnded();
    const hasForgotten = this.#isUncertain;
    this.#isUncertain = false;
    return hasForgotten;
  }

  /** Gives up everything that waits, and whoever wants to wait from now on. */
  endWaits(reason: unknown): void {
    this.#endReason = reason;
    this.#waits.failAll(reason);
    this.failReleases(reason);
  }

  /** The lease that keeps others from a lock. One that has ended is taken away, unless a write needs it. */
  #held(key: string, turn: Turn): Lease | undefined {
    const lease = this.#leases.get(key) ?? this.#adoptStored(key, turn);
    if (lease === undefined || !this.#hasEnded(lease) || this.#guarded.has(key)) return lease;
    this.#passOn(key, turn);
    return this.#leases.get(key);
  }

  /** Nobody holds a lock any more: who has waited longest gets it, within the same turn. */
  #passOn(key: string, turn: Turn): void {
    this.#changes += 1;
    if (this.#waits.size > 0 && this.#grantNext(key, turn)) return;
    this.#leases.delete(key);
    removeLease(turn, key);
  }

  /** @returns whether somebody waited */
  #grantNext(key: string, turn: Turn): boolean {
    let grant: LockGrant | undefined;
    const waiter = this.#waits.grantNext(key, turn, ({ ttlMs }) => {
      grant = this.#newGrant(key, ttlMs, turn);
      return grant;
    });
    if (waiter === undefined || grant === undefined) return false;
    const row = this.#granted(grant, waiter.ttlMs, waiter.owner, turn);
    replaceLease(turn, key, row);
    this.#hold(key, row);
    return true;
  }

  #newGrant(key: string, ttlMs: number, turn: Turn): LockGrant {
    assert(this.#token !== undefined, 'the newest token is known before anybody asks for one');
    const token = this.#token + 1;
    assert(Number.isSafeInteger(token), 'tokens stay below 2^53');
    return { acquired: true, key, token, expires_at_ms: turn.wallMs + ttlMs };
  }

  /** Takes note of a grant. @returns the lease to be stored */
  #granted({ expires_at_ms, token }: LockGrant, ttlMs: number, owner: string | null, turn: Turn): LeaseRow {
    this.#token = token;
    writeToken(turn, token);
    return { token, ttlMs, acquiredAtMs: turn.wallMs, expiresAtMs: expires_at_ms, owner };
  }

  /** A lease begins, or begins anew. */
  #hold(key: string, row: LeaseRow): void {
    this.#changes += 1;
    this.#leases.set(key, leaseOf(row, this.#environment.clock.monotonicMs() + row.ttlMs));
  }

  #adoptStored(key: string, turn: TableReader): Lease | undefined {
    if (this.#knowsAll) return undefined;
    const row = readLease(turn, key);
    return row === undefined ? undefined : this.#adoptRow(key, row);
  }

  #adoptRow(key: string, row: LeaseRow): Lease {
    const lease = this.#withDeadline(key, row);
    this.#leases.set(key, lease);
    return lease;
  }

  #storedLease(key: string, view: TableReader): Lease | undefined {
    const row = readLease(view, key);
    return row === undefined ? undefined : this.#withDeadline(key, row);
  }

  /**
   * A stored lease of an earlier process had at most its whole time left when this one began to serve. One that
   * was granted here keeps its end, unless the end is of a renewal that was taken back: then it lasts its whole time
   * from now on. Never is it cut short.
   */
  #withDeadline(key: string, row: LeaseRow): Lease {
    const { clock, servingSinceMs } = this.#environment;
    if (this.#former === undefined) return leaseOf(row, servingSinceMs + row.ttlMs);
    const former = this.#former.get(key);
    const isSame = former?.token === row.token && former.expiresAtMs === row.expiresAtMs;
    return leaseOf(row, isSame ? former.deadlineMs : clock.monotonicMs() + row.ttlMs);
  }

  #hasEnded({ deadlineMs }: Lease): boolean {
    return this.#environment.clock.monotonicMs() >= deadlineMs;
  }

  #isReleasing(key: string): boolean {
    return this.#deferred.length > 0 && this.#deferred.some((release) => release.key === key);
  }

  #requireNoSeal(): void {
    if (this.#seals.size > 0) throw beingDeleted();
  }
}

/** Spelt out, because copying an object of unknown shape takes ten times as long. */
function leaseOf({ token, ttlMs, acquiredAtMs, expiresAtMs, owner }: LeaseRow, deadlineMs: number): Lease {
  return { token, ttlMs, acquiredAtMs, expiresAtMs, owner, deadlineMs };
}

function beingDeleted(): ServiceError {
  return new ServiceError('BRANCH_NOT_FOUND', 'The branch is being deleted');
}
