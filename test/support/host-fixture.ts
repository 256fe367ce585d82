import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { identitiesActor } from '#actors/identities/identities-actor.ts';
import { locksActor } from '#actors/locks/locks-actor.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { tenantActor } from '#actors/tenant/tenant-actor.ts';
import { hostLimits, jobsLimits } from '#server/host/host-limits.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { AdminPrincipal, Principal } from '#runtime/access/principal.ts';
import { ActorHost, type HostLimits } from '#runtime/actor/host/actor-host.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { WallSteps } from '#runtime/base/time/wall-steps.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { ActorEvent, ActorKind, Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import type { Log } from '#runtime/log/ports.ts';

/** Callers a test may send as. */
export const callers = Object.freeze({
  engine: engineCaller('default'),
  admin: callerAs(adminOf('default')),
  otherTenant: callerAs(adminOf('other')),
  anonymous: callerAs({ kind: 'anonymous', tenant: 'default', isEnabled: true }),
});

/** An administrator of a tenant. */
export function adminOf(tenant: string, userId = 'admin-id'): AdminPrincipal {
  return {
    kind: 'admin',
    tenant,
    userId,
    username: 'admin',
    accessFlags: {
      console_login: true,
      cli_access: true,
      api_access: true,
      pgwire_access: false,
      can_impersonate: false,
    },
  };
}

/** A principal as a caller of actors of tenant `default`. */
export function callerAs(principal: Principal): Caller {
  return { principal, policy: policyFor(principal, 'default') };
}

/** The kinds of the product. */
export const productKinds: readonly ActorKind[] = [
  tenantActor,
  identitiesActor,
  repositoryActor,
  branchActor({ commitNodesMax: defaultLimits.commitNodesMax }),
  locksActor,
  jobsActor(jobsLimits(defaultLimits)),
];

/** A real journal and a real host with the kinds of the product, in a folder of their own. */
export class HostFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  /** What was told to subscribers. */
  readonly events: ActorEvent[] = [];
  /** Told the events of each actor as well. */
  onEvents: ((actor: string, events: readonly ActorEvent[]) => void) | undefined;
  /** Actors that were told to be damaged. */
  readonly damaged: string[] = [];
  /** What the process has seen of its wall clock; undefined: each host sees for itself. */
  steps: WallSteps | undefined;
  /** Limits of the host that is opened next. */
  limits: HostLimits = hostLimits(defaultLimits);
  #slices: SliceScheduler;
  readonly #kinds: readonly ActorKind[];
  readonly #logOver: (journal: Log) => Log;
  readonly #clock: Clock;
  readonly #files: FileSystem;
  #journal: Journal | undefined;
  #host: ActorHost | undefined;

  private constructor(
    kinds: readonly ActorKind[],
    logOver: (journal: Log) => Log,
    clock: Clock,
    files: FileSystem,
  ) {
    this.#kinds = kinds;
    this.#logOver = logOver;
    this.#clock = clock;
    this.#files = files;
    this.#slices = new SliceScheduler(clock);
  }

  /**
   * @param kinds default: all of the product
   * @param logOver what the actors append to, made of the journal; default: the journal itself
   * @param files where the journal is
   */
  static async open(
    kinds: readonly ActorKind[] = productKinds,
    logOver: (journal: Log) => Log = (journal) => journal,
    clock: Clock = systemClock,
    files: FileSystem = realFileSystem,
  ): Promise<HostFixture> {
    const fixture = new HostFixture(kinds, logOver, clock, files);
    await fixture.#start();
    return fixture;
  }

  /** The scheduler of the open host. */
  get slices(): SliceScheduler {
    return this.#slices;
  }

  get host(): ActorHost {
    if (this.#host === undefined) throw new Error('the host is closed');
    return this.#host;
  }

  get journal(): Journal {
    if (this.#journal === undefined) throw new Error('the journal is closed');
    return this.#journal;
  }

  /** Sends a command; as the engine unless told otherwise. */
  command<Result>(
    actor: string,
    command: { readonly type: string },
    caller: Caller = callers.engine,
    idempotency?: IdempotencyKey,
  ): Promise<Result> {
    const delivery = idempotency === undefined ? { caller } : { caller, idempotency };
    return this.host.command(actor, command, delivery) as Promise<Result>;
  }

  /** Asks; as the engine unless told otherwise. The answer comes at once. */
  query<Answer>(actor: string, query: { readonly type: string }, caller: Caller = callers.engine): Answer {
    return this.host.query(actor, query, caller) as Answer;
  }

  /** Closes everything in order and opens it again. @param between done while nothing is open */
  async reopen(between: () => void | Promise<void> = () => {}): Promise<void> {
    await this.#stop();
    await between();
    await this.#start();
  }

  async close(): Promise<void> {
    await this.#stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    this.#journal = await Journal.open({
      folder: join(this.folder, 'journal'),
      durability: 'local',
      files: this.#files,
      clock: this.#clock,
      random: systemRandom,
      report: () => undefined,
    });
    this.#slices = new SliceScheduler(this.#clock);
    this.#host = new ActorHost({
      folder: join(this.folder, 'actors'),
      log: this.#logOver(this.#journal),
      clock: this.#clock,
      ...(this.steps === undefined ? {} : { steps: this.steps }),
      random: systemRandom,
      kinds: this.#kinds,
      limits: this.limits,
      observer: {
        batchDurable: () => undefined,
        events: (actor, events) => {
          this.events.push(...events);
          this.onEvents?.(actor, events);
        },
        stopped: (_actor, cause) => {
          throw cause;
        },
        applyFailed: (_actor, cause) => {
          throw cause;
        },
        damaged: (actor) => void this.damaged.push(actor),
      },
      slices: this.#slices,
    });
    await this.#host.recover();
  }

  async #stop(): Promise<void> {
    await this.#host?.close();
    await this.#journal?.close();
    this.#host = undefined;
    this.#journal = undefined;
  }
}
