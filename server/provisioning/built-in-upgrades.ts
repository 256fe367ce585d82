import type { BranchState, InstallBuiltIns, ReadBranchState } from '#actors/branch/messages.ts';
import type {
  BuiltInUpdate,
  InstallBuiltInWorkspaces,
  ListBuiltInUpdates,
} from '#actors/repository/messages.ts';
import type { BuiltInUpgrades } from '#protocols/rest/ports.ts';
import type { BranchUse } from '#protocols/rest/access/found-branch.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { formatRevision, revisionZero } from '#runtime/content/revision.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';

/** Time after which a failed upgrade is tried again, in milliseconds. */
const RETRY_MS = 60_000;

/** Maximum number of actors remembered as checked; above it all are forgotten and checked again. */
const CHECKED_MAX = 100_000;

/** Head of a branch without revisions. */
const emptyHead = formatRevision(revisionZero);

/**
 * Checks each repository and branch once per process, at its first use, and installs the built-in types of this build
 * that it lacks. A check costs one read. A failed upgrade is logged and tried again later: a missing newer built-in
 * does not prevent service.
 *
 * A branch that was created empty stays empty, head `0-0`, however often it is read: the first write installs the
 * built-ins as a separate revision before it.
 */
export class LazyUpgrades implements BuiltInUpgrades {
  readonly #router: Router;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #checked = new Set<ActorId>();
  readonly #running = new Map<ActorId, Promise<void>>();
  readonly #engine = engineCaller('');

  constructor(router: Router, clock: Clock, log: Log) {
    this.#router = router;
    this.#clock = clock;
    this.#log = log;
  }

  repository(repository: ActorId): Promise<void> | undefined {
    return this.#once(repository, () => this.#upgradeRepository(repository));
  }

  branch(repository: ActorId, branch: ActorId, use: BranchUse): Promise<void> | undefined {
    const upgrade = async (): Promise<boolean> => {
      // New types may be named by new workspaces and the other way round: the repository comes first.
      await this.repository(repository);
      return await this.#upgradeBranch(branch, use);
    };
    if (use === 'read') return this.#once(branch, upgrade);
    // The running check may be for a reader, which leaves an empty branch unchanged.
    const running = this.#running.get(branch);
    return running === undefined
      ? this.#once(branch, upgrade)
      : running.then(() => this.branch(repository, branch, use));
  }

  isCurrent(branch: ActorId): boolean {
    return this.#checked.has(branch);
  }

  /** Checks a branch again at its next use: its head was moved, possibly to before the built-ins. */
  forget(branch: ActorId): void {
    this.#checked.delete(branch);
  }

  /** @param upgrade resolves with whether nothing is left to do */
  #once(actor: ActorId, upgrade: () => Promise<boolean>): Promise<void> | undefined {
    if (this.#checked.has(actor)) return undefined;
    const running = this.#running.get(actor);
    if (running !== undefined) return running;
    const started = this.#guarded(actor, upgrade).finally(() => this.#running.delete(actor));
    this.#running.set(actor, started);
    return started;
  }

  async #guarded(actor: ActorId, upgrade: () => Promise<boolean>): Promise<void> {
    try {
      if (!(await upgrade())) return;
    } catch (error) {
      this.#log.warn('built-ins could not be upgraded', { actor, error });
      this.#clock.after(RETRY_MS, () => this.#checked.delete(actor));
    }
    if (this.#checked.size >= CHECKED_MAX) this.#checked.clear();
    this.#checked.add(actor);
  }

  async #upgradeRepository(repository: ActorId): Promise<boolean> {
    const query: ListBuiltInUpdates = { type: 'ListBuiltInUpdates' };
    const updates = (await this.#router.query(repository, query, this.#engine)) as readonly BuiltInUpdate[];
    if (updates.every((update) => update.isChanged)) return true;
    const command: InstallBuiltInWorkspaces = { type: 'InstallBuiltInWorkspaces' };
    await this.#router.command(repository, command, { caller: this.#engine });
    this.#log.info('built-in workspaces installed', { actor: repository });
    return true;
  }

  async #upgradeBranch(branch: ActorId, use: BranchUse): Promise<boolean> {
    const query: ReadBranchState = { type: 'ReadBranchState' };
    const state = (await this.#router.query(branch, query, this.#engine)) as BranchState;
    if (!state.builtInsPending) return true;
    if (use === 'read' && state.head === emptyHead) return false;
    const command: InstallBuiltIns = { type: 'InstallBuiltIns' };
    await this.#router.command(branch, command, { caller: this.#engine });
    this.#log.info('built-in types installed', { actor: branch });
    return true;
  }
}
