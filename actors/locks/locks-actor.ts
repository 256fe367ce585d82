import { CallerPolicies } from '#runtime/actor/caller-policies.ts';
import type { ReadTokenFloor, ReopenTokens, RetireTokens, TokenQuery } from '#actors/repository/messages.ts';
import { type Policy, requireAdministrator, requireLocks } from '#runtime/access/policy.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { unknownMessage } from '#runtime/actor/unknown-message.ts';
import type { Timer } from '#runtime/base/time/clock.ts';
import type {
  ActorBehaviour,
  ActorContext,
  ActorKind,
  Caller,
  QueryContext,
  Turn,
} from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { spaceUseByType } from '#runtime/space/space-use.ts';
import { listLocks, listPools, type Moment, readLock, readOnePool } from './list-locks.ts';
import type { Waiter } from './lock-waits.ts';
import { Locks } from './locks.ts';
import { locksTableNames } from './locks-tables.ts';
import type { LocksCommand, LocksQuery } from './messages.ts';
import { Pools } from './pools.ts';

/** Commands the actor sends to itself. */
type OwnCommand =
  /** Removes ended leases. Result: whether more may have ended. */
  | { readonly type: 'ExpireLeases' }
  /** Loads leases of an earlier process, so that they expire. Result: where to continue; undefined at the end. */
  | { readonly type: 'AdoptLeases'; readonly after?: string }
  /** The wait time of these waiters has ended. */
  | { readonly type: 'EndWaits'; readonly waiters: readonly Waiter[] }
  /** The outcome of a write that delayed releases is known. */
  | { readonly type: 'FinishReleases' };

type Command = LocksCommand | OwnCommand;

/** Waiters answered by one command when their wait time has ended. */
const WAITS_ENDED_AT_ONCE = 256;

/** Delay before a command the mailbox refused is sent again, in milliseconds. */
const RETRY_MS = 500;

/**
 * The locks and pools of one branch, apart from its content.
 *
 * Invariants: invariants.md in this folder.
 */
class LocksBehaviour implements ActorBehaviour {
  readonly #context: ActorContext;
  readonly #policies: CallerPolicies;
  readonly #locks: Locks;
  readonly #pools = new Pools();
  /** Whether the command that threw an error changed nothing. */
  #isHarmless = false;
  #timer: { readonly atMs: number; readonly timer: Timer } | undefined;
  #isExpiring = false;
  /** Waiters whose wait time has ended and that have no answer yet. */
  readonly #ended: Waiter[] = [];
  #isEnding = false;
  /** State of loading the stored leases; `again` when loading has to restart. */
  #adoption: 'needed' | 'running' | 'again' | 'done' = 'needed';
  #isClosed = false;

  constructor(context: ActorContext) {
    this.#context = context;
    this.#policies = new CallerPolicies(context);
    this.#locks = new Locks({
      clock: context.clock,
      servingSinceMs: context.servingSinceMs,
      tokenFloor: () => tokenFloorOf(context),
      waits: {
        timeUp: (waiter) => this.#endWait(waiter),
        grantUnsent: (waiter) => this.#giveBack(waiter),
      },
    });
  }

  get mustStayOpen(): boolean {
    return this.#locks.isBusy;
  }

  execute(command: Command, turn: Turn): unknown {
    const found = this.#policies.find(turn.caller.principal);
    if (found === undefined) return this.#handle(command, turn);
    if ('next' in found) return this.#handleAfter(found, command, turn);
    turn.usePolicy(found);
    return this.#handle(command, turn);
  }

  *#handleAfter(
    finding: Generator<undefined, Policy>,
    command: Command,
    turn: Turn,
  ): Generator<undefined, unknown> {
    turn.usePolicy(yield* finding);
    return this.#handle(command, turn);
  }

  #handle(command: Command, turn: Turn): unknown {
    const before = this.#locks.changes + this.#pools.changes;
    this.#locks.begin();
    try {
      return this.#apply(command, turn);
    } catch (error) {
      this.#isHarmless = this.#locks.changes + this.#pools.changes === before && !this.#locks.hasAnswered;
      throw error;
    }
  }

  #apply(command: Command, turn: Turn): unknown {
    const { policy, principal } = turn.caller;
    requireLocks(policy, principal);
    switch (command.type) {
      case 'AcquireLock':
        return this.#locks.acquire(command, turn);
      case 'ReleaseLock':
        return this.#locks.release(command, turn);
      case 'RenewLock':
        return this.#locks.renew(command, turn);
      case 'ClaimUnits':
        return this.#pools.claim(command, turn);
      case 'ReleaseUnits':
        return this.#pools.release(command, turn);
      default:
        requireEngine(turn.caller);
        return this.#applyOwn(command, turn);
    }
  }

  #applyOwn(command: OwnCommand, turn: Turn): unknown {
    switch (command.type) {
      case 'ExpireLeases':
        return this.#locks.expire(turn);
      case 'AdoptLeases':
        return this.#locks.adopt(turn, command.after);
      case 'EndWaits':
        for (const waiter of command.waiters) this.#locks.endWait(waiter, turn);
        return undefined;
      case 'FinishReleases':
        return this.#locks.finishReleases(turn);
      default:
        return unknownMessage(command);
    }
  }

  query(query: LocksQuery | TokenQuery, { caller, view }: QueryContext): unknown {
    switch (query.type) {
      case 'ListLocks':
        requireAdministrator(caller.policy, caller.principal);
        return listLocks(query, view, this.#locks, this.#now());
      case 'ReadLock':
        requireAdministrator(caller.policy, caller.principal);
        return readLock(query, view, this.#locks, this.#now());
      case 'ListPools':
        requireAdministrator(caller.policy, caller.principal);
        return listPools(query, view);
      case 'ReadPool':
        requireAdministrator(caller.policy, caller.principal);
        return readOnePool(query, view);
      case 'GuardLock':
        requireEngine(caller);
        return this.#locks.guard(query, view);
      case 'SettleGuards':
        requireEngine(caller);
        return this.#settleGuards();
      case 'RetireTokens':
        requireEngine(caller);
        return this.#locks.seal((query satisfies RetireTokens).seal, view);
      case 'ReopenTokens':
        requireEngine(caller);
        return this.#locks.unseal((query satisfies ReopenTokens).seal);
      default:
        return unknownMessage(query);
    }
  }

  forget(): void {
    if (!this.#isHarmless) {
      this.#locks.forget();
      this.#pools.forget();
    }
    this.#isHarmless = false;
  }

  batchEnded(): void {
    if (this.#locks.batchEnded()) this.#adoption = this.#adoption === 'running' ? 'again' : 'needed';
    if (this.#adoption === 'needed') void this.#adopt();
    this.#arm();
  }

  endWaits(reason: ServiceError): void {
    this.#locks.endWaits(reason);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
  }

  #now(): Moment {
    const { clock } = this.#context;
    return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
  }

  #submit(command: Command): Promise<unknown> {
    return this.#context.submit(command);
  }

  #settleGuards(): void {
    const hasReleases = this.#locks.settleGuards();
    if (hasReleases) {
      this.#submit({ type: 'FinishReleases' }).catch((error) => this.#locks.failReleases(error));
    }
    this.#arm();
  }

  /** Many waits may end at the same moment. One command for each would fill the mailbox. */
  #endWait(waiter: Waiter): void {
    this.#ended.push(waiter);
    if (!this.#isEnding) void this.#endWaits();
  }

  async #endWaits(): Promise<void> {
    this.#isEnding = true;
    while (this.#ended.length > 0) {
      const waiters = this.#ended.splice(0, WAITS_ENDED_AT_ONCE);
      await this.#submit({ type: 'EndWaits', waiters }).catch((error) => {
        for (const waiter of waiters) this.#locks.failWait(waiter, error);
      });
    }
    this.#isEnding = false;
  }

  /** The caller did not receive the grant, so the lock is released. If that fails, the lease expires as usual. */
  #giveBack({ key, token }: Waiter): void {
    if (token !== undefined) this.#submit({ type: 'ReleaseLock', key, token }).catch(() => {});
  }

  /** Sets a timer so that leases expire without a request. An earlier timer is kept: it checks again when it fires. */
  #arm(): void {
    const deadline = this.#locks.nextDeadline;
    if (deadline === undefined || this.#isExpiring || this.#isClosed) return;
    if (this.#timer !== undefined && this.#timer.atMs <= deadline) return;
    this.#setTimer(Math.max(0, deadline - this.#context.clock.monotonicMs()));
  }

  #setTimer(delayMs: number): void {
    this.#timer?.timer.cancel();
    const { clock } = this.#context;
    const timer = clock.after(delayMs, () => {
      this.#timer = undefined;
      const deadline = this.#locks.nextDeadline;
      if (deadline !== undefined && deadline <= clock.monotonicMs()) void this.#expire();
      else this.#arm();
    });
    this.#timer = { atMs: clock.monotonicMs() + delayMs, timer };
  }

  async #expire(): Promise<void> {
    this.#isExpiring = true;
    let retryMs: number | undefined;
    try {
      // Stops when no further lease is due.
      while ((await this.#submit({ type: 'ExpireLeases' })) === true);
    } catch {
      // The mailbox or the disk is full. A lease that lasts longer is harmless.
      retryMs = RETRY_MS;
    }
    this.#isExpiring = false;
    if (this.#isClosed) return;
    if (retryMs === undefined) this.#arm();
    else this.#setTimer(retryMs);
  }

  /** Loads the stored leases in batches. */
  async #adopt(): Promise<void> {
    this.#adoption = 'running';
    try {
      let after: string | undefined;
      do {
        if (this.#isToAdoptAgain) after = undefined;
        this.#adoption = 'running';
        const command = after === undefined ? {} : { after };
        after = (await this.#submit({ type: 'AdoptLeases', ...command })) as string | undefined;
      } while (after !== undefined || this.#isToAdoptAgain);
      this.#adoption = 'done';
    } catch {
      // The next batch tries again. Until then a lease is loaded when its lock is used.
      this.#adoption = 'needed';
    }
  }

  /** An accessor, because the value changes during an `await`, which the compiler does not consider. */
  get #isToAdoptAgain(): boolean {
    return this.#adoption === 'again';
  }
}

function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}

/** The newest fence token of all earlier branches of this name in the repository. */
function tokenFloorOf({ ask, id }: ActorContext): number {
  const [tenant, repository, branch] = id.split('/').map(decodeURIComponent) as [string, string, string];
  const at = branch.lastIndexOf('~');
  const query: ReadTokenFloor = {
    type: 'ReadTokenFloor',
    branch: { name: branch.slice(0, at), uid: branch.slice(at + 1) },
  };
  return ask(actorId(tenant, repository, 'repository'), query) as number;
}

/** The kind `locks`: one actor for each branch, id `{tenant}/{repository}~{uid}/{branch}~{uid}/locks`. */
export const locksActor: ActorKind = Object.freeze({
  kind: 'locks',
  tables: locksTableNames,
  // Without space a lease must still be renewed, or it ends early, and a lock must still be released, or it stays held.
  spaceUse: spaceUseByType<Command['type']>([
    'ReleaseLock',
    'RenewLock',
    'ReleaseUnits',
    'ExpireLeases',
    'AdoptLeases',
    'EndWaits',
    'FinishReleases',
  ]),
  // Leases end by the clock of the owner.
  isOwnerOnly: true,
  create: (context: ActorContext) => new LocksBehaviour(context),
});
