import type { ActorHost } from '#runtime/actor/host/actor-host.ts';
import type {
  ActorId,
  ActorLifecycle,
  Delivery,
  LocalReads,
  ReplicaSource,
  Router,
} from '#runtime/actor/ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { PreconditionRefuted, requirePrecondition } from '#runtime/actor/precondition.ts';
import { assert } from '#runtime/base/assert.ts';
import { backoffMs } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Caller, CallId, Precondition } from '#runtime/commit/behaviour.ts';
import { undated } from '#runtime/content/dated-answer.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { partitionOf } from '#runtime/directory/partition.ts';
import type { MemberAddress } from '#runtime/directory/ports.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { type Call, type CallKind, PRECONDITION_CALL_VERSION } from './call-frames.ts';
import { CallIds } from './call-ids.ts';
import { ConsistentReads } from './consistent-reads.ts';
import type { RemoteCalls } from './remote-calls.ts';
import { type Asked, Sending } from './sending.ts';

/** Default time for which a caller waits, in milliseconds. */
const WAIT_MS = 30_000;

/**
 * Time without a connection after which callers get an error, in milliseconds: connecting to another server is faster.
 */
const LINK_PATIENCE_MS = 1_500;

/**
 * Time for which a connected log may refuse before callers get an error, in milliseconds: its servers may be electing.
 */
const LOG_PATIENCE_MS = 5_000;

/** Delays while a partition has no owner: a hand-over takes less than a second, a failover some seconds. */
const retry = { firstMs: 20, factor: 1.6, mostMs: 400 } as const;

/** A partition this member owns. */
export interface LocalPartition {
  readonly host: ActorHost;
  readonly log: PartitionLog;
}

/** Dependencies of the router. */
export interface ClusterRouterOptions {
  /** Number of partitions. */
  readonly partitions: number;
  /** Returns a partition while this member owns it. */
  readonly local: (partition: number) => LocalPartition | undefined;
  /** Returns this member's data of a partition, owned or not; `changing` while its role changes. */
  readonly replica: (partition: number) => ReplicaSource | 'changing' | undefined;
  /** Whether other members can be called at present. */
  readonly isConnected: () => boolean;
  /** Returns the call subject of a partition's owner; undefined while no owner is known or present. */
  readonly subjectOf: (partition: number) => string | undefined;
  /** Returns the address of a partition's owner for clients, if it is known. */
  readonly ownerOf: (partition: number) => MemberAddress | undefined;
  readonly calls: RemoteCalls;
  /** Version of the calls that all members accept. */
  readonly callVersion: () => number;
  readonly clock: Clock;
  readonly random: Random;
}

/** Executes a call at this member. `repeated` is set when another member may have executed it under that id. */
type Here = (local: LocalPartition, repeated: CallId | undefined) => unknown;

/**
 * Sends messages to actors on any member: directly to the host when this member owns their partition, else to the
 * owner. While there is no owner, or the owner changes, or a reply is lost, it waits and retries within the
 * caller's time. A call that may have an effect has an id of its own, under which owners execute it once.
 *
 * Reads are answered under the read lease. Without a lease the log first confirms that no other member owns the
 * partition, and a read that took longer than the lease is repeated. Callers may ask for stronger or weaker
 * consistency, see {@link ConsistentReads}.
 *
 * @see docs/interface/guarantees.md#unknown-outcomes; docs/decisions/0019-ownership-and-calls.md
 * @see docs/decisions/0019-ownership-and-calls.md, for what cannot be repeated
 */
export class ClusterRouter implements Router, ActorLifecycle, LocalReads {
  readonly #options: ClusterRouterOptions;
  readonly #reads: ConsistentReads;
  readonly #ids: CallIds;
  #endMs = Number.POSITIVE_INFINITY;
  /** The last argument of {@link ownerConfirms}. */
  #lastAsked = { actor: '' as ActorId, partition: 0 };

  constructor(options: ClusterRouterOptions) {
    this.#options = options;
    this.#reads = new ConsistentReads({
      replica: options.replica,
      askOwner: (actor, query, caller) => this.#askAgain(actor, query, caller),
      clock: options.clock,
    });
    this.#ids = new CallIds(options.random);
  }

  /** Announces that this member stops at a monotonic time: callers that would wait longer get an error then. */
  endAt(endMs: number): void {
    this.#endMs = Math.min(this.#endMs, endMs);
    this.#options.calls.endAt(endMs);
  }

  command(actor: ActorId, command: unknown, delivery: Delivery): Promise<unknown> {
    const { caller, idempotency } = delivery;
    const here: Here = (local, call) =>
      this.#commandHere(local, actor, command, call === undefined ? delivery : { ...delivery, call });
    const call = { kind: 'command', actor, message: command } as const;
    return this.#send({ ...call, ...(idempotency === undefined ? {} : { idempotency }) }, caller, here);
  }

  query(actor: ActorId, query: unknown, caller: Caller): unknown {
    if (caller.precondition !== undefined) {
      assert(
        caller.consistency === undefined,
        'a precondition is confirmed for reads of the default consistency',
      );
      return this.#askAgain(actor, query, caller);
    }
    const partition = partitionOf(actor, this.#options.partitions);
    if (caller.consistency !== undefined) {
      return caller.consistency.kind === 'local'
        ? this.#reads.local(partition, actor, query, caller)
        : this.#askStrictly(actor, query, caller);
    }
    const local = this.#options.local(partition);
    // The hot path: a reply within this turn, under a valid lease.
    if (local?.log.lease.isValid() === true) {
      // A closing host refuses; the next owner answers.
      const orAgain = (error: unknown): unknown => {
        if (!isPassing(error)) throw error;
        return this.#askAgain(actor, query, caller);
      };
      try {
        const answer = local.host.query(actor, query, caller);
        if (!(answer instanceof Promise)) return answer;
        const again = (): unknown => this.#askAgain(actor, query, caller);
        return (this.#underLease(local, () => answer, again) as Promise<unknown>).catch(orAgain);
      } catch (error) {
        return orAgain(error);
      }
    }
    return this.#askAgain(actor, query, caller);
  }

  tryLocal(actor: ActorId, query: unknown, caller: Caller): unknown {
    return this.#reads.tryLocal(partitionOf(actor, this.#options.partitions), actor, query, caller);
  }

  ownerConfirms(actor: ActorId): boolean {
    const { callVersion, local, partitions } = this.#options;
    // Called with every request: mostly for one repository, whose id is the same text each time.
    if (this.#lastAsked.actor !== actor)
      this.#lastAsked = { actor, partition: partitionOf(actor, partitions) };
    return local(this.#lastAsked.partition) === undefined && callVersion() >= PRECONDITION_CALL_VERSION;
  }

  async exists(actor: ActorId): Promise<boolean> {
    return (await this.#lifecycle('exists', actor, undefined, (host) => host.exists(actor))) as boolean;
  }

  /** @param owner a repository or an actor of one: the actors of a tenant are in many partitions */
  async namesUnder(owner: string): Promise<readonly string[]> {
    return (await this.#lifecycle('names', owner, undefined, (host) => host.namesUnder(owner))) as string[];
  }

  async create(actor: ActorId, precondition?: Precondition): Promise<void> {
    const caller = engineCallerOf(actor);
    const asking = precondition === undefined ? caller : { ...caller, precondition };
    await this.#send({ kind: 'create', actor, message: undefined }, asking, (local) =>
      this.#createHere(local, actor, precondition),
    );
  }

  /** Source and target belong to one repository, hence to one partition. */
  async fork(source: ActorId, target: ActorId): Promise<void> {
    await this.#lifecycle('fork', target, source, (host, isRepeated) =>
      forkAt(host, source, target, isRepeated),
    );
  }

  async destroyUnder(owner: string): Promise<void> {
    await this.#lifecycle('destroy', owner, undefined, (host) => host.destroyUnder(owner));
  }

  /**
   * Executes a call of another member.
   *
   * @throws {ServiceError} `NOT_OWNER` when this member does not own the partition, and nothing was done
   * @throws {PreconditionRefuted} nothing was done either
   */
  handle(call: Call, caller: Caller): unknown {
    const { actor, id, message } = call;
    const local = this.#options.local(partitionOfOwner(actor, this.#options.partitions));
    if (local === undefined) throw new ServiceError('NOT_OWNER');
    const { host } = local;
    switch (call.kind) {
      case 'command': {
        const { idempotency } = call;
        return this.#commandHere(local, actor, message, {
          caller,
          ...(idempotency === undefined ? {} : { idempotency }),
          ...(id === undefined ? {} : { call: id }),
        });
      }
      case 'query':
        return this.#queryHere(local, actor, message, caller);
      case 'strict-query':
        return this.#queryStrictly(local, actor, message, caller);
      case 'create':
        return this.#createHere(local, actor, caller.precondition);
      case 'fork':
        return forkAt(host, message as ActorId, actor, call.isRepeated === true);
      case 'destroy':
        return host.destroyUnder(actor);
      case 'exists':
        return host.exists(actor);
      case 'names':
        return host.namesUnder(actor);
    }
  }

  #commandHere(
    local: LocalPartition,
    actor: ActorId,
    command: unknown,
    delivery: Delivery,
  ): Promise<unknown> {
    const { precondition } = delivery.caller;
    if (precondition === undefined) return local.host.command(actor, command, delivery);
    return this.#commandOnPrecondition(local, precondition, actor, command, delivery);
  }

  async #commandOnPrecondition(
    local: LocalPartition,
    precondition: Precondition,
    actor: ActorId,
    command: unknown,
    delivery: Delivery,
  ): Promise<unknown> {
    await this.#confirmOwnership(local);
    requirePrecondition(local.host, precondition);
    return await local.host.command(actor, command, delivery);
  }

  async #createHere(
    local: LocalPartition,
    actor: ActorId,
    precondition: Precondition | undefined,
  ): Promise<void> {
    if (precondition !== undefined) await this.#confirmOwnership(local);
    await local.host.create(actor, precondition);
  }

  /** A member that may no longer be the owner must not confirm a precondition either. */
  async #confirmOwnership({ log }: LocalPartition): Promise<void> {
    while (!log.lease.isValid()) await this.#reads.barrier(log);
  }

  #lifecycle(
    kind: CallKind,
    actor: string,
    message: unknown,
    here: (host: ActorHost, isRepeated: boolean) => unknown,
  ): Promise<unknown> {
    return this.#send({ kind, actor, message }, engineCallerOf(actor), ({ host }, repeated) =>
      here(host, repeated !== undefined),
    );
  }

  #askAgain(actor: ActorId, query: unknown, caller: Caller): Promise<unknown> {
    const call = { kind: 'query', actor, message: query } as const;
    return this.#send(call, caller, (local) => this.#queryHere(local, actor, query, caller));
  }

  #askStrictly(actor: ActorId, query: unknown, caller: Caller): Promise<unknown> {
    const call = { kind: 'strict-query', actor, message: query } as const;
    return this.#send(call, caller, (local) => this.#queryStrictly(local, actor, query, caller));
  }

  async #queryStrictly(
    local: LocalPartition,
    actor: ActorId,
    query: unknown,
    caller: Caller,
  ): Promise<unknown> {
    await this.#reads.confirm(local.log, caller.consistency);
    return local.host.query(actor, query, caller);
  }

  #queryHere(local: LocalPartition, actor: ActorId, query: unknown, caller: Caller): unknown {
    const ask = (): unknown => {
      if (caller.precondition !== undefined) requirePrecondition(local.host, caller.precondition);
      return local.host.query(actor, query, caller);
    };
    const again = async (): Promise<unknown> => {
      await this.#reads.barrier(local.log);
      return this.#queryHere(local, actor, query, caller);
    };
    return local.log.lease.isValid() ? this.#underLease(local, ask, again) : again();
  }

  /** Returns a reply if the lease still holds when it is complete; else the result of `again`. */
  #underLease(local: LocalPartition, ask: () => unknown, again: () => unknown): unknown {
    const answer = ask();
    if (!(answer instanceof Promise)) return answer;
    return answer.then((settled) => {
      // A stream was pinned at its beginning, when the lease held.
      if (local.log.lease.isValid() || isStreamed(undated(settled))) return settled;
      return again();
    });
  }

  async #send(what: Asked, caller: Caller, here: Here): Promise<unknown> {
    const { partitions, local: localOf, subjectOf, isConnected, clock, random } = this.#options;
    const partition = partitionOfOwner(what.actor, partitions);
    const deadlineMs = caller.deadlineMs ?? clock.monotonicMs() + WAIT_MS;
    const sending = new Sending(what, caller, deadlineMs, this.#options, this.#ids);
    let unreachableSinceMs: number | undefined;
    try {
      for (let retries = 0; ; retries++) {
        const local = localOf(partition);
        try {
          if (local !== undefined) return await here(local, sending.sent);
          // A message sent now would arrive when its caller no longer waits.
          if (!isConnected()) throw new ServiceError('LOG_UNAVAILABLE', unreachable);
          const subject = subjectOf(partition);
          if (subject !== undefined) {
            const outcome = await sending.send(subject);
            if (outcome.kind === 'answered') return outcome.answer;
          }
        } catch (error) {
          if (isRefuted(error, caller))
            throw sending.doubtful === undefined ? new PreconditionRefuted() : lost();
          // An earlier attempt without a reply may be running at the member that now refuses further ones.
          const isUndecided = sending.doubtful !== undefined && isTurnedAway(error);
          if (!isUndecided && !isPassing(error)) throw error;
          if ((error as ServiceError).code === 'LOG_UNAVAILABLE') {
            const nowMs = clock.monotonicMs();
            unreachableSinceMs ??= nowMs;
            const patienceMs = isConnected() ? LOG_PATIENCE_MS : LINK_PATIENCE_MS;
            if (nowMs - unreachableSinceMs >= patienceMs)
              throw sending.doubtful === undefined ? error : lost();
          } else unreachableSinceMs = undefined;
        }
        if (caller.signal?.aborted === true) throw caller.signal.reason;
        const wait = backoffMs(retry, retries, random);
        if (clock.monotonicMs() + wait > Math.min(sending.untilMs, this.#endMs))
          throw this.#unanswered(partition, sending);
        await sleep(clock, wait);
      }
    } finally {
      sending.end();
    }
  }

  #unanswered(partition: number, { doubtful }: Sending): ServiceError {
    if (doubtful !== undefined) return lost();
    const owner = this.#options.ownerOf(partition);
    if (owner === undefined) return new ServiceError('NOT_OWNER', 'This has no owner at present; try again.');
    const { id: member, url } = owner;
    return new ServiceError('NOT_OWNER', `Member ${member} owns this now; try again.`, {
      details: { member, url },
    });
  }
}

function engineCallerOf(actor: ActorId): Caller {
  return engineCaller(actor.split('/')[0] as string);
}

/** Makes a fork at its owner; one that an earlier attempt may have made exists, because its name is unique. */
async function forkAt(host: ActorHost, source: ActorId, target: ActorId, isRepeated: boolean): Promise<void> {
  if (isRepeated && host.exists(target)) return;
  await host.fork(source, target);
}

/** Also for `{tenant}/{repository}`, which is not an actor but owns actors. */
function partitionOfOwner(actor: string, partitions: number): number {
  const isRepository = actor.indexOf('/') === actor.lastIndexOf('/') && actor.includes('~');
  return partitionOf(isRepository ? `${actor}/` : actor, partitions);
}

/** Refusals after which nothing was done and a retry may reach the new owner, or the log again. */
const passing: ReadonlySet<string> = new Set(['NOT_OWNER', 'SHUTTING_DOWN', 'LOG_UNAVAILABLE']);

const unreachable = 'This member has no connection to the others; nothing was done, try again.';

function isPassing(error: unknown): boolean {
  return error instanceof ServiceError && passing.has(error.code);
}

/** Replies of an owner that has not processed the call: they prove nothing about an earlier attempt. */
const turnedAway: ReadonlySet<string> = new Set(['IDEMPOTENCY_IN_PROGRESS', 'OVERLOADED', 'STORAGE_FULL']);

function isTurnedAway(error: unknown): boolean {
  return error instanceof ServiceError && turnedAway.has(error.code);
}

/**
 * Returns whether the called member did nothing because of the precondition. A member that was restarted with an older
 * version cannot check it, and must be called without it.
 */
function isRefuted(error: unknown, { precondition }: Caller): boolean {
  if (precondition === undefined || !(error instanceof ServiceError)) return false;
  return error instanceof PreconditionRefuted || error.code === 'MEMBER_VERSIONS_DIFFER';
}

function isStreamed(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'chunks' in answer;
}

function lost(): ServiceError {
  return new ServiceError(
    'DEADLINE_EXCEEDED',
    'The owner did not answer: the outcome is unknown. Check it, or send an Idempotency-Key and repeat the request.',
  );
}
