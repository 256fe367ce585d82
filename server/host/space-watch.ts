import { dirname, join } from 'node:path';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { FileSystem, VolumeSpace } from '#runtime/base/files/file-system.ts';
import type { Options } from '#runtime/config/options.ts';
import { type SpaceChange, SpaceGate } from '#runtime/space/space-gate.ts';
import { spaceLevels } from '#runtime/space/space-level.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';

/** Interval of the checks of the volumes, in milliseconds. Writes in between must fit above the marks. */
const CHECK_MS = 1_000;

/** Folders below the data folder that may be separate volumes. */
const PARTS = ['journal', 'actors', 'partitions'] as const;

/** Dependencies of the watch. */
export interface SpaceWatchEnvironment {
  readonly gate: SpaceGate;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly backupDir: string;
}

/** Opens the gate of a member, with the configured marks; changes are logged, numbers exported as metrics. */
export function openSpaceGate({ limits }: Options, log: Log, metrics: Metrics): SpaceGate {
  const refusals = metrics.counter('svc_space_refusals_total', 'Writes refused because space ran short.');
  const gate = new SpaceGate(
    {
      alarmPercent: limits.spaceAlarmPercent,
      refusePercent: limits.spaceRefusePercent,
      readOnlyPercent: limits.spaceReadOnlyPercent,
    },
    (change) => tell(change, log),
    () => refusals.add(),
  );
  metrics.gauge(
    'svc_space_used_ratio',
    'How full the fullest place is, 0 to 1.',
    () => gate.usedPercent / 100,
  );
  metrics.gauge('svc_space_level', '0 enough, 1 alarm, 2 writes are refused, 3 read only.', () =>
    spaceLevels.indexOf(gate.level),
  );
  return gate;
}

function tell({ place, level, before, usedPercent }: SpaceChange, log: Log): void {
  const facts = { place, level, before, usedPercent };
  if (spaceLevels.indexOf(level) < spaceLevels.indexOf(before))
    log.info('space: volume has space again', facts);
  else if (level === 'low') log.warn('space: volume is almost full', facts);
  else log.error('space: volume is full; writes are refused until there is space', facts);
}

/**
 * Measures once a second how full the volumes of the data and of the backups are, so that no request must.
 *
 * @see docs/decisions/0023-disk-space-limits.md
 */
export class SpaceWatch {
  readonly #environment: SpaceWatchEnvironment;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(environment: SpaceWatchEnvironment) {
    this.#environment = environment;
  }

  /** Checks now, and periodically from now on. */
  async start(): Promise<void> {
    await this.#check();
    this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = this.#environment.clock.after(CHECK_MS, () => {
      void this.#check().finally(() => this.#schedule());
    });
  }

  /** Never rejects: a volume that cannot be measured now keeps its level. */
  async #check(): Promise<void> {
    const { backupDir, dataDir, gate } = this.#environment;
    const data = await this.#measure(dataDir);
    const backups = await this.#measureOrAbove(backupDir);
    // A folder on the same volume would only duplicate the findings.
    const hasBackups = isSame(backups, data);
    if (data !== undefined) gate.note(placeOf(dataDir), hasBackups ? 'everything' : 'member', data);
    if (hasBackups) gate.forget(placeOf(backupDir));
    else if (backups !== undefined) gate.note(placeOf(backupDir), 'backups', backups);
    for (const part of PARTS) {
      const path = join(dataDir, part);
      const space = await this.#measure(path);
      // The total of a volume may change between two measurements (space reserved for root that root begins to use);
      // then it looks like two volumes for a moment.
      // makes it two for a moment.
      if (isSame(space, data)) gate.forget(placeOf(path));
      else if (space !== undefined) gate.note(placeOf(path), 'member', space);
    }
  }

  async #measure(path: string): Promise<VolumeSpace | undefined> {
    return await this.#environment.files.statfs(path).catch(() => undefined);
  }

  /** A missing folder is on the volume of the one above it until it is created. */
  async #measureOrAbove(path: string): Promise<VolumeSpace | undefined> {
    const space = await this.#measure(path);
    const above = dirname(path);
    return space === undefined && above !== path ? await this.#measureOrAbove(above) : space;
  }
}

function placeOf(path: string): string {
  return `the volume of ${path}`;
}

/** Compares the total size: writes between two measurements do not change it. */
function isSame(one: VolumeSpace | undefined, other: VolumeSpace | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.usedBytes + one.freeBytes === other.usedBytes + other.freeBytes;
}
