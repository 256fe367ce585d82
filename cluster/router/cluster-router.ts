import type { ActorHost } from '#runtime/actor/actor-host.ts';
import type {
  ActorId,
  ActorLifecycle,
  Delivery,
  NearbyReads,
  ReplicaSource,
  Router,
} from '#runtime/actor/ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { PremiseRefuted, requirePremise } from '#runtime/actor/premise.ts';
import { assert } from '#runtime/base/assert.ts';
import { backoffMs } from '#runtime/base/backoff.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Caller, CallId, Premise } from '#runtime/commit/behaviour.ts';
import { undated } from '#runtime/content/dated-answer.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { partitionOf } from '#runtime/directory/partition.ts';
import type { MemberAddress } from '#runtime/directory/ports.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { type Call, type CallKind, PREMISE_CALL_VERSION } from './call-frames.ts';
import { CallIds } from './call-ids.ts';
import { ConsistentReads } from './consistent-reads.ts';
import type { RemoteCalls } from './remote-calls.ts';
import { type Asked, Sending } from './sending.ts';

/** Time somebody waits who says nothing about it, in milliseconds. */
const WAIT_MS = 30_000;

/** Time without a connection before who asks is told, in milliseconds: the way to another server takes less. */
const LINK_PATIENCE_MS = 1_500;

/** Time a log that is connected may go on refusing before who asks is told, in milliseconds: its servers may be electing. */
const LOG_PATIENCE_MS = 5_000;

/** Waits while nobody owns a partition: a hand-over takes less than a second, a failover some. */
const retry = { firstMs: 20, factor: 1.6, mostMs: 400 } as const;

/** A partition this member owns. */
export interface LocalPartition {
  readonly host: ActorHost;
  readonly log: PartitionLog;
}

/** What the router works with. */
export interface ClusterRouterOptions {
  /** Number of partitions. */
  readonly partitions: number;
  /** A partition while it is this member's. */
  readonly local: (partition: number) => LocalPartition | undefined;
  /** What this member has of a partition, owned or not; `changing` when it is about to have something else. */
  readonly replica: (partition: number) => ReplicaSource | 'changing' | undefined;
  /** Whether other members can be asked at present. */
  readonly isConnected: () => boolean;
  /** Where the owner of a partition takes calls; undefined while none is known or heard of. */
  readonly subjectOf: (partition: number) => string | undefined;
  /** The owner of a partition for clients, as far as one is known. */
  readonly ownerOf: (partition: number) => MemberAddress | undefined;
  readonly calls: RemoteCalls;
  /** Version of the calls that all members take. */
  readonly callVersion: () => number;
  readonly clock: Clock;
  readonly random: Random;
}

/** Does a call at this member. `repeated` is set when another member may have done it under that id. */
type Here = (local: LocalPartition, repeated: CallId | undefined) => unknown;

/**
 * Sends messages to actors wherever they live: straight to the host when this member owns their partition, else to
 * whoever does. While nobody owns it, or the owner changes, or an answer is lost, it waits and tries again within the
 * caller's time. What may have an effect goes out under an id of its own, under which owners do it once.
 *
 * Reads are answered under the read lease; where there is none the log is asked first that nobody else owns the
 * partition, and an answer that took longer than the lease is asked for anew. Callers may ask for more or for less, see
 * {@link ConsistentReads}.
 *
 * @see Reliability: G4, G5, R7, R11
 * @see docs/decisions/0019-ownership-and-calls.md, for what cannot be repeated
 */
export class ClusterRouter implements Router, ActorLifecycle, NearbyReads {
  readonly #options: ClusterRouterOptions;
  readonly #reads: ConsistentReads;
  readonly #ids: CallIds;
  #endMs = Number.POSITIVE_INFINITY;
  /** What {@link ownerConfirms} was asked for last. */
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

  /** This member stops: callers are told then, on the monotonic clock, what they would have waited for longer. */
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
    if (caller.premise !== undefined) {
      assert(caller.consistency === undefined, 'a premise is confirmed for reads of the default consistency');
      return this.#askAgain(actor, query, caller);
    }
    const partition = partitionOf(actor, this.#options.partitions);
    if (caller.consistency !== undefined) {
      return caller.consistency.kind === 'local'
        ? this.#reads.local(partition, actor, query, caller)
        : this.#askStrictly(actor, query, caller);
    }
    const local = this.#options.local(partition);
    // The hot path: an answer within this turn, under a lease that holds.
    if (local?.log.lease.isValid() === true) {
      // A host that is being closed refuses; the next owner answers.
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

  atHand(actor: ActorId, query: unknown, caller: Caller): unknown {
    return this.#reads.atHand(partitionOf(actor, this.#options.partitions), actor, query, caller);
  }

  ownerConfirms(actor: ActorId): boolean {
    const { callVersion, local, partitions } = this.#options;
    // Asked with every request: of one repository mostly, whose id is the same text each time.
    if (this.#lastAsked.actor !== actor)
      this.#lastAsked = { actor, partition: partitionOf(actor, partitions) };
    return local(this.#lastAsked.partition) === undefined && callVersion() >= PREMISE_CALL_VERSION;
  }

  async exists(actor: ActorId): Promise<boolean> {
    return (await this.#lifecycle('exists', actor, undefined, (host) => host.exists(actor))) as boolean;
  }

  /** @param owner a repository or something of one: the parts of a tenant are in many partitions */
  async namesUnder(owner: string): Promise<readonly string[]> {
    return (await this.#lifecycle('names', owner, undefined, (host) => host.namesUnder(owner))) as string[];
  }

  async create(actor: ActorId, premise?: Premise): Promise<void> {
    const caller = engineCallerOf(actor);
    const asking = premise === undefined ? caller : { ...caller, premise };
    await this.#send({ kind: 'create', actor, message: undefined }, asking, (local) =>
      this.#createHere(local, actor, premise),
    );
  }

  /** Source and target are of one repository, hence of one partition. */
  async fork(source: ActorId, target: ActorId): Promise<void> {
    await this.#lifecycle('fork', target, source, (host, isRepeated) =>
      forkAt(host, source, target, isRepeated),
    );
  }

  async destroyUnder(owner: string): Promise<void> {
    await this.#lifecycle('destroy', owner, undefined, (host) => host.destroyUnder(owner));
  }

  /**
   * Does what another member asks for.
   *
   * @throws {ServiceError} `NOT_OWNER` when the partition is not this member's, and nothing was done
   * @throws {PremiseRefuted} nothing was done either
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
        return this.#createHere(local, actor, caller.premise);
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
    const { premise } = delivery.caller;
    if (premise === undefined) return local.host.command(actor, command, delivery);
    return this.#commandOnPremise(local, premise, actor, command, delivery);
  }

  async #commandOnPremise(
    local: LocalPartition,
    premise: Premise,
    actor: ActorId,
    command: unknown,
    delivery: Delivery,
  ): Promise<unknown> {
    await this.#confirmOwnership(local);
    requirePremise(local.host, premise);
    return await local.host.command(actor, command, delivery);
  }

  async #createHere(local: LocalPartition, actor: ActorId, premise: Premise | undefined): Promise<void> {
    if (premise !== undefined) await this.#confirmOwnership(local);
    await local.host.create(actor, premise);
  }

  /** Who may not be the owner any more must not say what holds either. */
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
      if (caller.premise !== undefined) requirePremise(local.host, caller.premise);
      return local.host.query(actor, query, caller);
    };
    const again = async (): Promise<unknown> => {
      await this.#reads.barrier(local.log);
      return this.#queryHere(local, actor, query, caller);
    };
    return local.log.lease.isValid() ? this.#underLease(local, ask, again) : again();
  }

  /** An answer that is there when the lease still holds; else `again` says. */
  #underLease(local: LocalPartition, ask: () => unknown, again: () => unknown): unknown {
    const answer = ask();
    if (!(answer instanceof Promise)) return answer;
    return answer.then((settled) => {
      // A stream has been pinned at its beginning, when the lease held.
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
          // What is sent now would arrive when nobody waits for it any more.
          if (!isConnected()) throw new ServiceError('LOG_UNAVAILABLE', unreachable);
          const subject = subjectOf(partition);
          if (subject !== undefined) {
            const outcome = await sending.send(subject);
            if (outcome.kind === 'answered') return outcome.answer;
          }
        } catch (error) {
          if (isRefuted(error, caller)) throw sending.doubtful === undefined ? new PremiseRefuted() : lost();
          if (!isPassing(error)) throw error;
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
    if (owner === undefined) return new ServiceError('NOT_OWNER', 'Nobody owns this at present; try again.');
    const { id: member, url } = owner;
    return new ServiceError('NOT_OWNER', `Member ${member} owns this now; try again.`, {
      details: { member, url },
    });
  }
}

function engineCallerOf(actor: ActorId): Caller {
  return engineCaller(actor.split('/')[0] as string);
}

/** Makes a fork at its owner; one that may have been made before is there, as its name is made for it. */
async function forkAt(host: ActorHost, source: ActorId, target: ActorId, isRepeated: boolean): Promise<void> {
  if (isRepeated && host.exists(target)) return;
  await host.fork(source, target);
}

/** Also of `{tenant}/{repository}`, which is no actor and owns some. */
function partitionOfOwner(actor: string, partitions: number): number {
  const isRepository = actor.indexOf('/') === actor.lastIndexOf('/') && actor.includes('~');
  return partitionOf(isRepository ? `${actor}/` : actor, partitions);
}

/** Refusals after which nothing was done and another try may meet the new owner, or the log again. */
const passing: ReadonlySet<string> = new Set(['NOT_OWNER', 'SHUTTING_DOWN', 'LOG_UNAVAILABLE']);

const unreachable = 'This member has no connection to the others; nothing was done, try again.';

function isPassing(error: unknown): boolean {
  return error instanceof ServiceError && passing.has(error.code);
}

/**
 * Whether the member that was asked did nothing because of the premise. One that was started in an older version
 * cannot confirm it, and is to be asked without.
 */
function isRefuted(error: unknown, { premise }: Caller): boolean {
  if (premise === undefined || !(error instanceof ServiceError)) return false;
  return error instanceof PremiseRefuted || error.code === 'MEMBER_VERSIONS_DIFFER';
}

function isStreamed(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'chunks' in answer;
}

function lost(): ServiceError {
  return new ServiceError(
    'DEADLINE_EXCEEDED',
    'The owner of this fell silent: whether it was done is not known. Look, or send an Idempotency-Key and repeat it.',
  );
}
