import type { BranchState, InstallBuiltIns, ReadBranchState } from '#actors/branch/messages.ts';
import type {
  BuiltInUpdate,
  InstallBuiltInWorkspaces,
  ListBuiltInUpdates,
} from '#actors/repository/messages.ts';
import type { BuiltInUpgrades } from '#protocols/rest/ports.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';

/** Time after which an upgrade that failed is tried again, in milliseconds. */
const RETRY_MS = 60_000;

/** Actors remembered as checked; above it all are forgotten and checked once more. */
const CHECKED_MAX = 100_000;

/**
 * Checks each repository and branch once in the life of the process, when it is first used, and installs what
 * this build ships beyond what it has. Checking costs one read. An upgrade that fails is logged and tried again
 * later: nobody is refused service for want of a newer built-in.
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

  branch(repository: ActorId, branch: ActorId): Promise<void> | undefined {
    return this.#once(branch, async () => {
      // New types may be named by new workspaces and the other way round: the repository goes first.
      await this.repository(repository);
      await this.#upgradeBranch(branch);
    });
  }

  #once(actor: ActorId, upgrade: () => Promise<void>): Promise<void> | undefined {
    if (this.#checked.has(actor)) return undefined;
    const running = this.#running.get(actor);
    if (running !== undefined) return running;
    const started = this.#guarded(actor, upgrade).finally(() => this.#running.delete(actor));
    this.#running.set(actor, started);
    return started;
  }

  async #guarded(actor: ActorId, upgrade: () => Promise<void>): Promise<void> {
    try {
      await upgrade();
    } catch (error) {
      this.#log.warn('built-ins could not be brought up to date', { actor, error });
      this.#clock.after(RETRY_MS, () => this.#checked.delete(actor));
    }
    if (this.#checked.size >= CHECKED_MAX) this.#checked.clear();
    this.#checked.add(actor);
  }

  async #upgradeRepository(repository: ActorId): Promise<void> {
    const query: ListBuiltInUpdates = { type: 'ListBuiltInUpdates' };
    const updates = (await this.#router.query(repository, query, this.#engine)) as readonly BuiltInUpdate[];
    if (updates.every((update) => update.isChanged)) return;
    const command: InstallBuiltInWorkspaces = { type: 'InstallBuiltInWorkspaces' };
    await this.#router.command(repository, command, { caller: this.#engine });
    this.#log.info('built-in workspaces installed', { actor: repository });
  }

  async #upgradeBranch(branch: ActorId): Promise<void> {
    const query: ReadBranchState = { type: 'ReadBranchState' };
    const { builtInsPending } = (await this.#router.query(branch, query, this.#engine)) as BranchState;
    if (!builtInsPending) return;
    const command: InstallBuiltIns = { type: 'InstallBuiltIns' };
    await this.#router.command(branch, command, { caller: this.#engine });
    this.#log.info('built-in types installed', { actor: branch });
  }
}
