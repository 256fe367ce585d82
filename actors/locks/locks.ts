import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
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

/** Most leases of one branch at a time. */
const LEASES_MAX = 100_000;

/** Most leases one command removes or loads, so that no command blocks the event loop for long. */
const LEASES_PER_COMMAND = 500;

/** Dependencies of the locks of a branch. */
export interface LocksEnvironment {
  readonly clock: Clock;
  /** @see ActorContext.servingSinceMs */
  readonly servingSinceMs: number;
  /**
   * Every new token must be above this one, in addition to the newest token of the shard.
   *
   * @throws {ServiceError} `BRANCH_NOT_FOUND` when the branch no longer exists
   */
  tokenFloor(): number;
  readonly waits: WaitEvents;
}

/** A release that waits until the outcome of a write under its lock is known. */
interface DeferredRelease extends HeldLock {
  readonly reply: DeferredReply;
}

/**
 * The leases of a branch: the holder, token and end of each lock, and its waiters.
 *
 * Memory is ahead of the shard by the running batch. A lease that was stored before this process began to serve is
 * loaded when its key is used, at the latest by {@link Locks.adopt}. Its whole time to live then counts from the moment
 * this process began to serve. When `adopt` has finished, memory holds every lease.
 */
export class Locks {
  readonly #environment: LocksEnvironment;
  readonly #waits: LockWaits;
  #leases = new LeaseTable();
  /** Leases in memory before writes were discarded. They keep the deadlines, which are not in the shard. */
  #former: LeaseTable | undefined;
  /** Whether no write was discarded since `adopt` last began. */
  #isAdoptionWhole = false;
  /** Whether every stored lease is in memory, so that the shard need not be read. */
  #knowsAll = false;
  /** The newest token ever issued. It never decreases, even when a grant is rolled back. */
  #token: number | undefined;
  /** Locks that guard a write of the branch in progress. */
  readonly #guarded = new Set<string>();
  #deferred: DeferredRelease[] = [];
  /** Whether the running batch has changes that memory has discarded. */
  #isUncertain = false;
  /** Seals of the deletions of the branch in progress. */
  readonly #seals = new Set<string>();
  /** Error for further waits, once waiting has been stopped. */
  #endReason: unknown;
  #changes = 0;

  constructor(environment: LocksEnvironment) {
    this.#environment = environment;
    this.#waits = new LockWaits(environment.clock, environment.waits);
  }

  /** Whether closing the actor would lose or delay something. */
  get isBusy(): boolean {
    return (
      this.#leases.size > 0 ||
      // The deadlines of leases that are not loaded again yet.
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

  /** A counter of changes. */
  get changes(): number {
    return this.#changes;
  }

  /** Whether the running command has answered a waiter. */
  get hasAnswered(): boolean {
    return this.#waits.hasAnswered;
  }

  /** Number of waiters for a lock. */
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
   * Removes ended leases and grants their locks to the next waiters.
   *
   * @returns whether more leases may have ended
   */
  expire(turn: Turn): boolean {
    const nowMs = this.#environment.clock.monotonicMs();
    for (let count = 0; count < LEASES_PER_COMMAND; count += 1) {
      const key = this.#leases.takeDue(nowMs);
      if (key === undefined) return false;
      // A guarded lease is checked again when the outcome of the write is known.
      if (!this.#guarded.has(key)) this.#passOn(key, turn);
    }
    return true;
  }

  /**
   * Loads stored leases, so that they expire.
   *
   * @param after the last name of the previous call
   * @returns where to continue; undefined at the end
   */
  adopt(turn: TableReader, after: string | undefined): string | undefined {
    if (after === undefined) this.#isAdoptionWhole = true;
    let count = 0;
    for (const { name, row } of leasesAfter(turn, after)) {
      if (this.#leases.get(name) === undefined) this.#adoptRow(name, row);
      count += 1;
      if (count === LEASES_PER_COMMAND) return name;
    }
    // Otherwise loading restarts.
    if (this.#isAdoptionWhole) {
      this.#former = undefined;
      this.#knowsAll = true;
    }
    return undefined;
  }

  /** Ends the wait of a waiter whose time has passed. */
  endWait(waiter: Waiter, turn: Turn): void {
    this.#waits.end(waiter, turn);
  }

  /** Ends a wait with an error when no turn could answer it. */
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

  /** @returns whether releases were deferred */
  settleGuards(): boolean {
    for (const key of this.#guarded) {
      const lease = this.#leases.get(key);
      // `takeDue` may have removed its alarm while it was guarded.
      if (lease !== undefined && this.#hasEnded(lease)) this.#leases.set(key, lease);
    }
    this.#guarded.clear();
    return this.#deferred.length > 0;
  }

  /** Performs the releases that were deferred during a write. */
  finishReleases(turn: Turn): void {
    for (const { key, reply, token } of this.#deferred.splice(0)) {
      this.#changes += 1;
      const isHeld = this.#held(key, turn)?.token === token;
      if (reply.answer(turn, { released: isHeld }) && isHeld) this.#passOn(key, turn);
    }
  }

  /** Fails the deferred releases. */
  failReleases(error: unknown): void {
    for (const { reply } of this.#deferred.splice(0)) reply.fail(error);
  }

  /** Stops granting locks and fails every waiter. @returns the newest token ever issued */
  seal(name: string, view: TableReader): number {
    this.#seals.add(name);
    this.#waits.failAll(beingDeleted());
    return Math.max(readToken(view), this.#token ?? 0);
  }

  /** Undoes a {@link Locks.seal}. */
  unseal(name: string): void {
    this.#seals.delete(name);
  }

  /** A stored lease, for queries: undefined when it has ended, even if its removal is not stored yet. */
  inForce({ name, row }: NamedRow<LeaseRow>): Lease | undefined {
    const known = this.#leases.get(name);
    const lease = known?.token === row.token ? known : this.#withDeadline(name, row);
    return this.#hasEnded(lease) ? undefined : lease;
  }

  /** Discards the leases in memory after writes were discarded. They are loaded again; waiters are kept. */
  forget(): void {
    // Leases that are not loaded again yet keep the deadlines known from before.
    if (this.#former === undefined) this.#former = this.#leases;
    else this.#former.setAll(this.#leases);
    this.#leases = new LeaseTable();
    this.#isAdoptionWhole = false;
    this.#knowsAll = false;
    this.#isUncertain = true;
    this.#waits.forget();
  }

  /** @returns whether leases have to be loaded again */
  batchEnded(): boolean {
    this.#waits.batchEnded();
    const hasForgotten = this.#isUncertain;
    this.#isUncertain = false;
    return hasForgotten;
  }

  /** Fails everything that waits, and refuses further waits. */
  endWaits(reason: unknown): void {
    this.#endReason = reason;
    this.#waits.failAll(reason);
    this.failReleases(reason);
  }

  /** The lease that blocks a lock. An ended lease is removed unless it guards a write. */
  #held(key: string, turn: Turn): Lease | undefined {
    const lease = this.#leases.get(key) ?? this.#adoptStored(key, turn);
    if (lease === undefined || !this.#hasEnded(lease) || this.#guarded.has(key)) return lease;
    this.#passOn(key, turn);
    return this.#leases.get(key);
  }

  /** Grants a free lock to its first waiter, within the same turn. Without a waiter the lease is removed. */
  #passOn(key: string, turn: Turn): void {
    this.#changes += 1;
    if (this.#waits.size > 0 && this.#grantNext(key, turn)) return;
    this.#leases.delete(key);
    removeLease(turn, key);
  }

  /** @returns whether a waiter was granted the lock */
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

  /** Stores the token of a grant. @returns the lease to store */
  #granted({ expires_at_ms, token }: LockGrant, ttlMs: number, owner: string | null, turn: Turn): LeaseRow {
    this.#token = token;
    writeToken(turn, token);
    return { token, ttlMs, acquiredAtMs: turn.wallMs, expiresAtMs: expires_at_ms, owner };
  }

  /** Starts or restarts a lease in memory. */
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
   * A stored lease of an earlier process had at most its whole time left when this process began to serve. A lease
   * granted by this process keeps its deadline. If that deadline comes from a renewal that was rolled back, the whole
   * time to live counts from now. A lease is never shortened.
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

/** Fields are listed, because copying an object of unknown shape takes ten times as long. */
function leaseOf({ token, ttlMs, acquiredAtMs, expiresAtMs, owner }: LeaseRow, deadlineMs: number): Lease {
  return { token, ttlMs, acquiredAtMs, expiresAtMs, owner, deadlineMs };
}

function beingDeleted(): ServiceError {
  return new ServiceError('BRANCH_NOT_FOUND', 'The branch is being deleted');
}
