import type { ActorHost } from '#runtime/actor/actor-host.ts';
import type { ActorId, ActorLifecycle, Delivery, Router } from '#runtime/actor/ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { backoffMs } from '#runtime/base/backoff.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { partitionOf } from '#runtime/directory/partition.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { type Call, CALL_VERSION, type CallKind } from './call-frames.ts';
import type { RemoteCalls } from './remote-calls.ts';

/** Time somebody waits who says nothing about it, in milliseconds. */
const WAIT_MS = 30_000;

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
  /** Where the owner of a partition takes calls; undefined while none is known or heard of. */
  readonly subjectOf: (partition: number) => string | undefined;
  readonly calls: RemoteCalls;
  readonly clock: Clock;
  readonly random: Random;
}

/** Whether something can be done once more without doing it twice. */
type Repeatable = 'always' | 'unless-lost';

/**
 * Sends messages to actors wherever they live: straight to the host when this member owns their partition, else to
 * whoever does. While nobody owns it, or the owner changes, it waits and tries again within the caller's time, as
 * far as that is safe: what was certainly not done, queries, and commands with an idempotency key.
 *
 * Reads are answered under the read lease; where there is none the log is asked first that nobody else owns the
 * partition, and an answer that took longer than the lease is asked for anew.
 *
 * @see Reliability: G4, G5, R7, R11
 */
export class ClusterRouter implements Router, ActorLifecycle {
  readonly #options: ClusterRouterOptions;

  constructor(options: ClusterRouterOptions) {
    this.#options = options;
  }

  command(actor: ActorId, command: unknown, delivery: Delivery): Promise<unknown> {
    const { caller, idempotency } = delivery;
    const repeatable = idempotency === undefined ? 'unless-lost' : 'always';
    const here = (local: LocalPartition): Promise<unknown> => local.host.command(actor, command, delivery);
    const call = { kind: 'command', actor, message: command } as const;
    return this.#send(
      { ...call, ...(idempotency === undefined ? {} : { idempotency }) },
      caller,
      repeatable,
      here,
    );
  }

  query(actor: ActorId, query: unknown, caller: Caller): unknown {
    const local = this.#options.local(partitionOf(actor, this.#options.partitions));
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

  async exists(actor: ActorId): Promise<boolean> {
    return (await this.#lifecycle('exists', actor, undefined, (host) => host.exists(actor))) as boolean;
  }

  /** @param owner a repository or something of one: the parts of a tenant are in many partitions */
  async namesUnder(owner: string): Promise<readonly string[]> {
    return (await this.#lifecycle('names', owner, undefined, (host) => host.namesUnder(owner))) as string[];
  }

  async create(actor: ActorId): Promise<void> {
    await this.#lifecycle('create', actor, undefined, (host) => host.create(actor));
  }

  /** Source and target are of one repository, hence of one partition. */
  async fork(source: ActorId, target: ActorId): Promise<void> {
    await this.#lifecycle('fork', target, source, (host) => host.fork(source, target));
  }

  async destroyUnder(owner: string): Promise<void> {
    await this.#lifecycle('destroy', owner, undefined, (host) => host.destroyUnder(owner));
  }

  /**
   * Does what another member asks for.
   *
   * @throws {ServiceError} `NOT_OWNER` when the partition is not this member's, and nothing was done
   */
  handle(call: Call, caller: Caller): unknown {
    const { actor, message } = call;
    const local = this.#options.local(partitionOfOwner(actor, this.#options.partitions));
    if (local === undefined) throw new ServiceError('NOT_OWNER');
    const { host } = local;
    switch (call.kind) {
      case 'command': {
        const { idempotency } = call;
        return host.command(actor, message, idempotency === undefined ? { caller } : { caller, idempotency });
      }
      case 'query':
        return this.#queryHere(local, actor, message, caller);
      case 'create':
        return host.create(actor);
      case 'fork':
        return host.fork(message as ActorId, actor);
      case 'destroy':
        return host.destroyUnder(actor);
      case 'exists':
        return host.exists(actor);
      case 'names':
        return host.namesUnder(actor);
    }
  }

  #lifecycle(
    kind: CallKind,
    actor: string,
    message: unknown,
    here: (host: ActorHost) => unknown,
  ): Promise<unknown> {
    const caller = engineCaller(actor.split('/')[0] as string);
    // Making what is there and removing what is gone changes nothing; a fork that is there is refused.
    const repeatable = kind === 'fork' ? 'unless-lost' : 'always';
    return this.#send({ kind, actor, message }, caller, repeatable, (local) => here(local.host));
  }

  #askAgain(actor: ActorId, query: unknown, caller: Caller): Promise<unknown> {
    const call = { kind: 'query', actor, message: query } as const;
    return this.#send(call, caller, 'always', (local) => this.#queryHere(local, actor, query, caller));
  }

  #queryHere(local: LocalPartition, actor: ActorId, query: unknown, caller: Caller): unknown {
    const ask = (): unknown => local.host.query(actor, query, caller);
    const again = async (): Promise<unknown> => {
      await local.log.barrier();
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
      if (local.log.lease.isValid() || isStreamed(settled)) return settled;
      return again();
    });
  }

  async #send(
    what: Omit<Call, 'version' | 'principal' | 'waitMs'>,
    caller: Caller,
    repeatable: Repeatable,
    here: (local: LocalPartition) => unknown,
  ): Promise<unknown> {
    const { partitions, local: localOf, subjectOf, calls, clock, random } = this.#options;
    const partition = partitionOfOwner(what.actor, partitions);
    const deadlineMs = caller.deadlineMs ?? clock.monotonicMs() + WAIT_MS;
    for (let retries = 0; ; retries++) {
      const local = localOf(partition);
      try {
        if (local !== undefined) return await here(local);
        const subject = subjectOf(partition);
        if (subject !== undefined) {
          const waitMs = Math.max(0, deadlineMs - clock.monotonicMs());
          const { principal, signal } = caller;
          const call: Call = { version: CALL_VERSION, ...what, principal, waitMs };
          const outcome = await calls.call(subject, call, deadlineMs, signal);
          if (outcome.kind === 'answered') return outcome.answer;
          if (outcome.kind === 'lost' && repeatable !== 'always') throw lost();
        }
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      if (caller.signal?.aborted === true) throw caller.signal.reason;
      const wait = backoffMs(retry, retries, random);
      if (clock.monotonicMs() + wait > deadlineMs) throw new ServiceError('NOT_OWNER');
      await sleep(clock, wait);
    }
  }
}

/** Also of `{tenant}/{repository}`, which is no actor and owns some. */
function partitionOfOwner(actor: string, partitions: number): number {
  const isRepository = actor.indexOf('/') === actor.lastIndexOf('/') && actor.includes('~');
  return partitionOf(isRepository ? `${actor}/` : actor, partitions);
}

/** Refusals after which nothing was done and another try may meet the new owner, or the log again. */
const passing: ReadonlySet<string> = new Set(['NOT_OWNER', 'SHUTTING_DOWN', 'LOG_UNAVAILABLE']);

function isPassing(error: unknown): boolean {
  return error instanceof ServiceError && passing.has(error.code);
}

function isStreamed(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'chunks' in answer;
}

function lost(): ServiceError {
  return new ServiceError(
    'DEADLINE_EXCEEDED',
    'The owner of this fell silent: whether it was done is not known. Look, or repeat it with the same Idempotency-Key.',
  );
}
