import { readdirSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';

/** Ticks of processor time per second, as the kernel counts them for programs. */
export const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Resident memory of a process, in bytes. */
export interface Memory {
  /** Its own pages. */
  readonly anonymous: number;
  /** Pages of mapped files, which the kernel may drop at any time. For Grove they are mostly of LMDB. */
  readonly mapped: number;
}

/** Memory of one process as the kernel counts it. */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024;
  return { anonymous: read('RssAnon'), mapped: read('RssFile') + read('RssShmem') };
}

/** Bytes written to the disk so far by a process and its descendants, including ended children. */
export function writtenBytesOf(pid: number): number {
  return familyOf(pid).reduce((sum, stat) => sum + writtenBytesAlone(stat.pid), 0);
}

function writtenBytesAlone(pid: number): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
  } catch {
    // The process ended after the listing; its bytes are now counted for its parent.
    return 0;
  }
}

/**
 * Processor seconds of a process and its descendants, including ended children. A PostgreSQL server has many processes;
 * its postmaster collects the time of ended ones.
 */
export function processorSecondsOf(pid: number): number {
  return familyOf(pid).reduce((sum, stat) => sum + stat.ticks, 0) / ticksPerSecond;
}

/** A process and its running descendants. */
function familyOf(pid: number): readonly Stat[] {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(Number(name)));
  const wanted = new Set([pid]);
  // Children usually but not always follow their parents in the list, so repeat until nothing is added.
  for (let size = 0; size !== wanted.size; ) {
    size = wanted.size;
    for (const stat of stats) if (wanted.has(stat.parent)) wanted.add(stat.pid);
  }
  return stats.filter((stat) => wanted.has(stat.pid));
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

function readStat(pid: number): Stat[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain any character, so fields are counted after it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [{ pid, parent: Number(fields[1]), ticks }];
  } catch {
    // The process ended after the listing.
    return [];
  }
}
