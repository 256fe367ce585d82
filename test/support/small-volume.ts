import { spawnSync } from 'node:child_process';
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Written at once while a volume is filled, in bytes. */
const CHUNK_BYTES = 64 * 1024;

/** Whether this process may mount volumes: as root, in a container that allows it. */
export const canMount =
  process.platform === 'linux' && process.getuid?.() === 0 && spawnSync('mount', ['--version']).status === 0
    ? tryMount()
    : false;

function tryMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'grove-volume-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', path]).status === 0;
  if (isMounted) spawnSync('umount', [path]);
  rmSync(path, { recursive: true, force: true });
  return isMounted;
}

/** A volume of its own in memory, so small that a test can fill it; what happens on it happens nowhere else. */
export class SmallVolume {
  readonly path: string;
  readonly #ballast: string;

  /** @param bytes its size */
  constructor(bytes: number) {
    this.path = mkdtempSync(join(tmpdir(), 'grove-volume-'));
    this.#ballast = join(this.path, 'ballast');
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'none', this.path]);
    if (mounted.status !== 0) throw new Error(`cannot mount a volume: ${mounted.stderr}`);
  }

  /** How full it is, in percent. */
  get usedPercent(): number {
    const { bfree, blocks } = statfsSync(this.path);
    return (100 * (blocks - bfree)) / blocks;
  }

  /** Puts something on it that fills it up to a share in percent; 100 leaves nothing. */
  fill(percent: number): void {
    this.free();
    const file = openSync(this.#ballast, 'w');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    try {
      while (this.usedPercent < percent) if (writeSync(file, chunk) === 0) break;
      fsyncSync(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  /** From now on nothing new can be made on it, neither a file nor a folder, as on one with no inodes left. */
  takeInodes(): void {
    // Linux tells of a volume in memory how many there are and how many are free.
    const { ffree, files } = statfsSync(this.path);
    const options = `remount,nr_inodes=${files - ffree}`;
    const mounted = spawnSync('mount', ['-o', options, this.path]);
    if (mounted.status !== 0) throw new Error(`cannot limit a volume: ${mounted.stderr}`);
  }

  /** Takes away what {@link SmallVolume.fill} put there. */
  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  /** Unmounts it; nobody may use it any more. */
  close(): void {
    // Lazily: a process that was killed may not have let go of its files yet.
    spawnSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }
}
