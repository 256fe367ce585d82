import { lstatSync, mkdirSync, realpathSync, rmdirSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { UsageError } from './operator-error.ts';

/** A folder named on the command line. */
export interface GivenFolder {
  /** The option that named it, such as `--into`. */
  readonly option: string;
  readonly path: string;
}

/**
 * The folder an option names.
 *
 * @throws {UsageError} for an empty value, which would mean the current folder
 */
export function givenFolder(option: string, text: string): GivenFolder {
  if (text === '') throw new UsageError(`${option} is empty; it names a folder.`);
  return { option, path: resolve(text) };
}

/** @throws {UsageError} when it does not exist or is no folder */
export function requireFolder({ option, path }: GivenFolder): void {
  const stats = statsOf(path);
  if (stats === undefined) throw new UsageError(`There is no directory ${path} (${option}).`);
  if (!stats.isDirectory()) throw new UsageError(`${path} (${option}) is no directory.`);
}

/**
 * Checks that a folder exists or can be created, and leaves nothing behind. Call it before a recursive `mkdir` of Node,
 * which does not terminate when creating a folder fails with `ENOENT`, as below `/proc`.
 *
 * @throws {UsageError}
 */
export function requireMakeable(folder: GivenFolder): void {
  const { option, path } = folder;
  const missing: string[] = [];
  let ancestor = path;
  while (!isThere(ancestor)) {
    missing.unshift(ancestor);
    ancestor = dirname(ancestor);
  }
  requireFolder({ option, path: ancestor });
  const made: string[] = [];
  try {
    for (const each of missing) {
      mkdirSync(each);
      made.unshift(each);
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new UsageError(`${path} (${option}) cannot be made (${code}).`, { cause });
  } finally {
    for (const each of made) rmdirSync(each);
  }
}

/** @throws {UsageError} when a folder is the other one or is inside of it, also through links */
export function requireOutside(inner: GivenFolder, outer: GivenFolder): void {
  const way = relative(realPath(outer.path), realPath(inner.path));
  if (way === '..' || way.startsWith(`..${sep}`)) return;
  const where = way === '' ? 'is the folder of' : 'is inside of';
  throw new UsageError(
    `${inner.path} (${inner.option}) ${where} ${outer.option}, which is not to be changed; name a folder outside of it.`,
  );
}

/** The path with all links resolved. The end of the path need not exist. */
function realPath(path: string): string {
  return isThere(path) ? realpathSync(path) : join(realPath(dirname(path)), basename(path));
}

function isThere(path: string): boolean {
  return statsOf(path) !== undefined;
}

/** @throws {UsageError} for a dangling link, or a path that cannot be read */
function statsOf(path: string): Stats | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw new UsageError(`${path} is a link that leads nowhere.`);
    return stats;
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    // A parent of the path is a file. The caller finds it when it checks the parents.
    if (code === 'ENOTDIR') return undefined;
    throw new UsageError(`${path} cannot be looked at (${code}).`, { cause });
  }
}
