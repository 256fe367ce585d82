import { lstatSync, mkdirSync, realpathSync, rmdirSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { UsageError } from './operator-error.ts';

/** A folder that was named at the command line. */
export interface GivenFolder {
  /** How it was named, as `--into`. */
  readonly option: string;
  readonly path: string;
}

/**
 * A folder by what an option says.
 *
 * @throws {UsageError} for an empty text, which would be the current folder
 */
export function givenFolder(option: string, text: string): GivenFolder {
  if (text === '') throw new UsageError(`${option} is empty; it names a folder.`);
  return { option, path: resolve(text) };
}

/** @throws {UsageError} when it is not there, or is no folder */
export function requireFolder({ option, path }: GivenFolder): void {
  const stats = statsOf(path);
  if (stats === undefined) throw new UsageError(`There is no directory ${path} (${option}).`);
  if (!stats.isDirectory()) throw new UsageError(`${path} (${option}) is no directory.`);
}

/**
 * Makes sure that a folder is there or can be made; it leaves nothing behind. To be asked before a recursive
 * `mkdir` of Node, which never ends where a folder refuses what is in it with `ENOENT`, as `/proc` does.
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

/** @throws {UsageError} when a folder is another one or is in it, whatever path leads there */
export function requireOutside(inner: GivenFolder, outer: GivenFolder): void {
  const way = relative(realPath(outer.path), realPath(inner.path));
  if (way === '..' || way.startsWith(`..${sep}`)) return;
  const where = way === '' ? 'is the folder of' : 'is inside of';
  throw new UsageError(
    `${inner.path} (${inner.option}) ${where} ${outer.option}, which is not to be changed; name a folder outside of it.`,
  );
}

/** Without links, also where the end of it is not there yet. */
function realPath(path: string): string {
  return isThere(path) ? realpathSync(path) : join(realPath(dirname(path)), basename(path));
}

function isThere(path: string): boolean {
  return statsOf(path) !== undefined;
}

/** @throws {UsageError} for a link that leads nowhere, or what may not be looked at */
function statsOf(path: string): Stats | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw new UsageError(`${path} is a link that leads nowhere.`);
    return stats;
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    // Something in the middle of the path is a file: whoever goes up meets it.
    if (code === 'ENOTDIR') return undefined;
    throw new UsageError(`${path} cannot be looked at (${code}).`, { cause });
  }
}
