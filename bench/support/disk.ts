import { execFileSync } from 'node:child_process';

/** Bytes a folder takes on its disk, in blocks and with everything below it. */
export function diskBytesOf(folder: string): number {
  const said = execFileSync('du', ['-s', '--block-size=1', folder], { encoding: 'utf8' });
  return Number(said.split('\t')[0]);
}

/**
 * Waits until the disk has everything that was written to the file system of a folder, and has taken note of what
 * became free there: else it would do so while something is measured.
 */
export function settleDisk(folder: string): void {
  execFileSync('sync', ['--file-system', folder]);
}
