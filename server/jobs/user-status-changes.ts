import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import type {
  EndStatusChange,
  ListStatusChanges,
  NoteStatusChange,
  StatusChange,
} from '#actors/identities/people-messages.ts';
import type { ListRepositories, RepositoryEntry } from '#actors/tenant/messages.ts';
import type { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import { patchUserNodes, statusPatch } from '#protocols/rest/people/user-nodes.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import { type Backoff, Retries } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { partOf } from '#server/registry/part-names.ts';
import { registeredTenants } from '#server/registry/registered-repositories.ts';

/** Repositories between two records of how far a change has come: each record is a commit. */
const REPOSITORIES_PER_NOTE = 32;

/** Waits after a failure. A repository that cannot be written is tried again until it can be. */
const RETRIES: Backoff = { firstMs: 500, factor: 2, mostMs: 10 * 60_000 };

/** Errors that say that a repository has no such branch, or has been removed. */
const isGone: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'REPOSITORY_NOT_FOUND',
  'BRANCH_NOT_FOUND',
  'READ_ONLY_REVISION',
]);

/** Dependencies of {@link UserStatusChanges}. */
export interface UserStatusChangesEnvironment {
  readonly router: Router;
  readonly directory: Pick<RepositoryDirectory, 'besideContent'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Repositories between two records of how far a change has come. Default: {@link REPOSITORIES_PER_NOTE}. */
  readonly repositoriesPerNote?: number;
}

/**
 * Carries the status of an identity to its user nodes in every repository of the tenant, of which there may be thousands:
 * in the background, with pauses for other work. The change is stored with its cause by the actor of the identities, and so
 * is how far it has come: the member that owns the actor goes on after a crash.
 *
 * It is no job of a queue, because queues belong to repositories.
 *
 * Invariants:
 * 1. A change ends only after every repository that existed when it began was reached, or removed.
 * 2. A repository that cannot be reached holds up no other one.
 * 3. Doing a part of it again changes nothing.
 *
 * @see docs/decisions/0074-people.md
 */
export class UserStatusChanges {
  readonly #environment: UserStatusChangesEnvironment;
  /** Tenants whose changes are being carried out here. */
  readonly #running = new Map<string, Promise<void>>();
  /** Of these, the ones with a change that came later. */
  readonly #again = new Set<string>();
  #isClosed = false;

  constructor(environment: UserStatusChangesEnvironment) {
    this.#environment = environment;
  }

  /** The identities of a tenant, which this member owns, have a change. */
  notice(actor: ActorId): void {
    const tenant = decodeURIComponent(actor.slice(0, actor.indexOf('/')));
    if (this.#isClosed) return;
    if (this.#running.has(tenant)) {
      this.#again.add(tenant);
      return;
    }
    const run = this.#run(tenant).finally(() => {
      this.#running.delete(tenant);
      if (this.#again.delete(tenant)) this.notice(actor);
    });
    this.#running.set(tenant, run);
  }

  /** Goes on with the changes of tenants whose identities this member took over. */
  async takeUp(isMine: (actor: ActorId) => boolean): Promise<void> {
    const { clock, log, random, router } = this.#environment;
    const retries = new Retries(clock, random, RETRIES);
    while (!this.#isClosed) {
      try {
        for (const tenant of await registeredTenants(router)) {
          const actor = actorId(tenant, 'identities');
          if (isMine(actor) && (await this.#changesOf(tenant)).length > 0) this.notice(actor);
        }
        return;
      } catch (error) {
        // Before the first start of a cluster is complete there is no tenant yet.
        if (error instanceof ServiceError && error.code === 'NOT_FOUND') return;
        log.warn('changes of the status of users could not be listed; it is tried again', { error });
      }
      await retries.wait();
    }
  }

  /** Resolves when every change that was noticed is carried out, or the member stops. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  /** Begins nothing more. What is under way ends with its next step. */
  close(): void {
    this.#isClosed = true;
  }

  /** Never rejects. */
  async #run(tenant: string): Promise<void> {
    const { clock, log, random } = this.#environment;
    const retries = new Retries(clock, random, RETRIES);
    while (!this.#isClosed) {
      try {
        const changes = await this.#changesOf(tenant);
        if (changes.length === 0) return;
        let isComplete = true;
        for (const change of changes) isComplete = (await this.#carry(tenant, change)) && isComplete;
        if (isComplete) {
          retries.reset();
          continue;
        }
      } catch (error) {
        if (this.#isClosed) return;
        log.warn('changes of the status of users could not be carried out; it is tried again', {
          tenant,
          error,
        });
      }
      if (!this.#isClosed) await retries.wait();
    }
  }

  async #changesOf(tenant: string): Promise<readonly StatusChange[]> {
    const query: ListStatusChanges = { type: 'ListStatusChanges' };
    try {
      const changes = await this.#environment.router.query(
        actorId(tenant, 'identities'),
        query,
        engineCaller(tenant),
      );
      return changes as readonly StatusChange[];
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return [];
      throw error;
    }
  }

  /** @returns whether nothing is left of it */
  async #carry(tenant: string, change: StatusChange): Promise<boolean> {
    const { clock, log, repositoriesPerNote = REPOSITORIES_PER_NOTE } = this.#environment;
    const { changeId, identityId } = change;
    let { after, done } = change;
    /** Whether a repository could not be reached: what follows it is not recorded. */
    let hasFailed = false;
    let unnoted = 0;
    for (const { name, part } of await this.#repositoriesOf(tenant, after)) {
      if (this.#isClosed) return false;
      const startedMs = clock.monotonicMs();
      try {
        await this.#reach(tenant, name, change);
      } catch (error) {
        hasFailed = true;
        log.warn('the status of a user could not be set in a repository; it is tried again', {
          tenant,
          repository: name,
          error,
        });
      }
      if (!hasFailed) {
        after = part;
        done += 1;
        unnoted += 1;
      }
      if (unnoted === repositoriesPerNote) {
        unnoted = 0;
        const note = { identityId, changeId, after: after as string, done };
        if (!(await this.#tell(tenant, { type: 'NoteStatusChange', ...note }))) return true;
        crashPoint('mid-job');
      }
      await sleep(clock, clock.monotonicMs() - startedMs);
    }
    if (hasFailed) {
      if (unnoted > 0)
        await this.#tell(tenant, {
          type: 'NoteStatusChange',
          identityId,
          changeId,
          after: after as string,
          done,
        });
      return false;
    }
    await this.#tell(tenant, { type: 'EndStatusChange', identityId, changeId });
    return true;
  }

  /** The repositories of a tenant that are not reached yet, in an order that stays. */
  async #repositoriesOf(
    tenant: string,
    after: string | null,
  ): Promise<readonly { readonly name: string; readonly part: string }[]> {
    const list: ListRepositories = { type: 'ListRepositories' };
    const entries = (await this.#environment.router.query(
      actorId(tenant, 'tenant'),
      list,
      engineCaller(tenant),
    )) as readonly RepositoryEntry[];
    return entries
      .map(({ repositoryId: name, uid }) => ({ name, part: partOf(name, uid) }))
      .filter(({ part }) => after === null || part > after)
      .sort((a, b) => (a.part < b.part ? -1 : 1));
  }

  async #reach(tenant: string, repository: string, { identityId, status }: StatusChange): Promise<void> {
    const { directory, router } = this.#environment;
    try {
      const { actor } = await directory.besideContent(tenant, repository, DECIDING_BRANCH);
      await patchUserNodes(
        router,
        { actor, tenant },
        identityId,
        (node) => statusPatch(status, node.status),
        { message: 'Status of the account' },
      );
    } catch (error) {
      if (!(error instanceof ServiceError) || !isGone.has(error.code)) throw error;
    }
  }

  async #tell(tenant: string, command: NoteStatusChange | EndStatusChange): Promise<boolean> {
    const delivery = { caller: engineCaller(tenant) };
    return (await this.#environment.router.command(
      actorId(tenant, 'identities'),
      command,
      delivery,
    )) as boolean;
  }
}
