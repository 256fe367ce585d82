import { execFileSync } from 'node:child_process';

/** Disk space used by a folder and everything below it, in bytes of allocated blocks. */
export function diskBytesOf(folder: string): number {
  const said = execFileSync('du', ['-s', '--block-size=1', folder], { encoding: 'utf8' });
  return Number(said.split('\t')[0]);
}

/**
 * Flushes the file system of a folder, so that outstanding writes and freed blocks are not processed during a
 * measurement.
 */
export function settleDisk(folder: string): void {
  execFileSync('sync', ['--file-system', folder]);
}
