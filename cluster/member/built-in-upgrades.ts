import type { BranchState, InstallBuiltIns, ReadBranchState } from '#actors/branch/messages.ts';
import type {
  BuiltInUpdate,
  InstallBuiltInWorkspaces,
  ListBuiltInUpdates,
} from '#actors/repository/messages.ts';
import type { BranchUse, BuiltInUpgrades } from '#protocols/rest/ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/clock.ts';
import { formatRevision, revisionZero } from '#runtime/content/revision.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';

/** Time after which an upgrade that failed is tried again, in milliseconds. */
const RETRY_MS = 60_000;

/** Actors remembered as checked; above it all are forgotten and checked once more. */
const CHECKED_MAX = 100_000;

/** Where a branch without any revision stands. */
const emptyHead = formatRevision(revisionZero);

/**
 * Checks each repository and branch once in the life of the process, when it is first used, and installs what
 * this build ships beyond what it has. Checking costs one read. An upgrade that fails is logged and tried again
 * later: nobody is refused service for want of a newer built-in.
 *
 * A branch that was made empty stays empty, head `0-0`, however often it is read: the first write brings the
 * built-ins as a revision of their own before it.
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
      // New types may be named by new workspaces and the other way round: the repository goes first.
      await this.repository(repository);
      return await this.#upgradeBranch(branch, use);
    };
    if (use === 'read') return this.#once(branch, upgrade);
    // What is under way may be for a reader, who leaves an empty branch as it is.
    const running = this.#running.get(branch);
    return running === undefined
      ? this.#once(branch, upgrade)
      : running.then(() => this.branch(repository, branch, use));
  }

  isCurrent(branch: ActorId): boolean {
    return this.#checked.has(branch);
  }

  /** Looks at a branch again when it is next used: its head was moved, maybe to before the built-ins came. */
  forget(branch: ActorId): void {
    this.#checked.delete(branch);
  }

  /** @param upgrade answers whether there is nothing left to do */
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
      this.#log.warn('built-ins could not be brought up to date', { actor, error });
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
