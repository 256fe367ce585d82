import { readFileSync } from 'node:fs';

/** Open files reserved for other uses than planned here: journal, lock, event loops, connections to NATS, backups. */
const RESERVED_FILES = 64;

/** Open files of one open actor: LMDB has the data twice and the table of readers. */
const FILES_PER_ACTOR = 3;

/** Minimum number of open files with which a member works. */
const FILES_MIN = 96;

/** Maximum number of each that a process opens. */
export interface DescriptorPlan {
  readonly connectionsMax: number;
  readonly openActorsMax: number;
}

/** Minimum number of each with which a member works. */
const planMin: DescriptorPlan = { connectionsMax: 4, openActorsMax: 4 };

/**
 * Divides the open files that the system allows, so that connections never take those that writes need. The configured
 * numbers apply where there are enough; otherwise clients get half of the files beyond the reserve, shards the rest.
 *
 * @param filesMax undefined when it is unknown: then everything is as configured
 */
export function planDescriptors(filesMax: number | undefined, wanted: DescriptorPlan): DescriptorPlan {
  if (filesMax === undefined) return wanted;
  const { connectionsMax, openActorsMax } = wanted;
  const free = Math.max(0, filesMax - RESERVED_FILES);
  const actorFiles = openActorsMax * FILES_PER_ACTOR;
  if (connectionsMax + actorFiles <= free) return wanted;
  const connections = Math.min(connectionsMax, Math.max(Math.floor(free / 2), free - actorFiles));
  const actors = Math.min(openActorsMax, Math.floor((free - connections) / FILES_PER_ACTOR));
  return {
    connectionsMax: Math.max(connections, planMin.connectionsMax),
    openActorsMax: Math.max(actors, planMin.openActorsMax),
  };
}

/** Returns the maximum number of open files of this process; undefined when it is unknown or unlimited. */
export function openFilesMax(): number | undefined {
  try {
    // Node raised the soft limit to the hard one when it started.
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
    return line === null ? undefined : Number(line[1]);
  } catch {
    return undefined;
  }
}

/** @returns the remedy when the system allows too few open files for a start; undefined otherwise */
export function tooFewFiles(filesMax: number | undefined): string | undefined {
  if (filesMax === undefined || filesMax >= FILES_MIN) return undefined;
  return `the system allows this process ${filesMax} open files, and it needs ${FILES_MIN} at the very least: raise the limit (ulimit -n, or LimitNOFILE of systemd), best to 65536`;
}
