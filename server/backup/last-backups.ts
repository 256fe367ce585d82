import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupInfo } from '#protocols/rest/management/backup-ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';

/** Scope of a backup. */
export type BackupScope = 'everything' | 'repository';

/** Minimum time between two checks of the folder, in milliseconds. */
const CHECK_MS = 30_000;

/** Maximum number of backups opened by one check: each has a manifest that lists every file. */
const OPENED_MAX = 16;

/** Dependencies of {@link LastBackups}. */
export interface LastBackupsEnvironment {
  /** Folder of the backups. */
  readonly folder: string;
  /** Opens the backup of a name. */
  readonly find: (name: string) => Promise<BackupInfo | undefined>;
  readonly clock: Clock;
}

/**
 * Tracks when the newest backups in a folder were finished, by any process. It checks the folder in the
 * background, when it is asked and at limited intervals, and opens only backups that it has not seen before.
 */
export class LastBackups {
  readonly #environment: LastBackupsEnvironment;
  readonly #finishedMs = new Map<BackupScope, number>([
    ['everything', 0],
    ['repository', 0],
  ]);
  /** Names that were opened, with the last change of their folder. */
  #seen = new Map<string, number>();
  #checkedMs = Number.NEGATIVE_INFINITY;
  #isKnown = false;

  constructor(environment: LastBackupsEnvironment) {
    this.#environment = environment;
  }

  /**
   * Time at which the newest backup of each scope was finished, in milliseconds since the Unix epoch; 0 when there is
   * none.
   *
   * @returns undefined before the first check is complete
   */
  get finishedMs(): ReadonlyMap<BackupScope, number> | undefined {
    const nowMs = this.#environment.clock.monotonicMs();
    if (nowMs - this.#checkedMs >= CHECK_MS) {
      this.#checkedMs = nowMs;
      void this.check();
    }
    return this.#isKnown ? this.#finishedMs : undefined;
  }

  /** Checks the folder. Never rejects: unreadable backups are skipped. */
  async check(): Promise<void> {
    const changes = await this.#changes();
    const unseen = changes.filter(([name, changedMs]) => this.#seen.get(name) !== changedMs);
    this.#seen = new Map(changes);
    // The newest first: older backups of the same scope add no information.
    for (const [name, changedMs] of unseen.slice(0, OPENED_MAX)) {
      if (changedMs < Math.min(...this.#finishedMs.values())) break;
      await this.#open(name);
    }
    this.#isKnown = true;
  }

  /** Returns the names in the folder with the last change of each, the newest first. */
  async #changes(): Promise<readonly (readonly [name: string, changedMs: number])[]> {
    const { folder } = this.#environment;
    const names = await readdir(folder).catch(() => []);
    const changes = await Promise.all(
      names.map(async (name): Promise<readonly [string, number]> => {
        const found = await stat(join(folder, name)).catch(() => undefined);
        return [name, found?.mtimeMs ?? 0];
      }),
    );
    return changes.sort(([, one], [, other]) => other - one);
  }

  async #open(name: string): Promise<void> {
    const backup = await this.#environment.find(name).catch(() => undefined);
    // A backup in progress gets its name, and another time, when it is finished.
    if (backup?.state !== 'done' || backup.signedBy !== 'own') return;
    const scope: BackupScope = backup.repository === undefined ? 'everything' : 'repository';
    const finishedMs = Date.parse(backup.finishedAt ?? '');
    if (finishedMs > (this.#finishedMs.get(scope) as number)) this.#finishedMs.set(scope, finishedMs);
  }
}
