import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';

/**
 * Makes an open return at once. Without it, opening a pipe waits for the other end, in a thread that cannot be
 * interrupted. It has no effect on files; Windows has no such pipes.
 */
export const NEVER_WAIT: number = constants.O_NONBLOCK ?? 0;

/**
 * Refuses anything but a regular file: in a folder that others may write to, a pipe or a device instead of a file could
 * block its reader forever.
 *
 * @param stats of an open file
 * @throws {Error} as Node throws it, with the code `EISDIR` or `EFTYPE`
 */
export function requireRegular(stats: Stats, path: string): void {
  if (stats.isFile()) return;
  const code = stats.isDirectory() ? 'EISDIR' : 'EFTYPE';
  const what = stats.isDirectory() ? 'it is a folder' : 'it is a pipe, a socket or a device';
  throw Object.assign(new TypeError(`${code}: ${path} is no file: ${what}`), { code, path });
}

/**
 * Opens a regular file.
 *
 * @param flags as `O_RDWR`; default: read only
 * @param mode permissions of a new file
 * @returns the descriptor, which the caller closes
 * @throws {Error} of Node, with its `code`; {@link requireRegular}
 */
export function openRegularSync(path: string, flags: number = constants.O_RDONLY, mode?: number): number {
  const descriptor = openSync(path, flags | NEVER_WAIT, mode);
  try {
    requireRegular(fstatSync(descriptor), path);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** The content of a file. @throws {Error} as {@link openRegularSync} */
export function readRegularSync(path: string): string {
  const descriptor = openRegularSync(path);
  try {
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}
