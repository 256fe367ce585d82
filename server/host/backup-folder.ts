import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { OptionError } from '#runtime/config/option.ts';
import type { Options } from '#runtime/config/options.ts';

/** Folders of a data directory with the server's own files. */
const OWN_FOLDERS = ['actors', 'blobs', 'check', 'journal', 'partitions', 'secrets', 'unsettled'] as const;

/**
 * Returns the folder of a member's backups: the configured one, else one beside its data.
 *
 * @throws {OptionError} when that is the data directory, or in a folder of it with other files: backups would be
 *   mistaken for those, or those for backups
 */
export function backupFolder({ backupDir, dataDir }: Options['server']): string {
  if (backupDir === undefined) return join(dataDir, 'backups');
  const place = realPathOf(resolve(backupDir));
  const inside = OWN_FOLDERS.map((name) => join(dataDir, name)).find((folder) =>
    isWithin(place, realPathOf(resolve(folder))),
  );
  const clash = place === realPathOf(resolve(dataDir)) ? dataDir : inside;
  if (clash === undefined) return backupDir;
  const where =
    clash === dataDir ? 'is the data directory itself' : `is in ${clash}, which is for other files`;
  throw new OptionError([
    `SVC_BACKUP_DIR ${backupDir} ${where}: set it to a folder of its own, best on another disk, or leave it unset for ${join(dataDir, 'backups')}`,
  ]);
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}

/** Resolves the existing part of an absolute path, including links in it. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realPathOf(above), basename(path));
  }
}
