import { type Disturbance, look } from './disturbance.ts';
import { processorSecondsOf } from './process-stat.ts';

/** Result of a load generator. */
export interface Load {
  readonly requests: number;
  readonly perSecond: number;
  /** Absent when the generator does not report it. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** One measurement. */
export interface Sample extends Load {
  /** Processor time of the server for one request, in microseconds. */
  readonly cpuUs: number;
  /** The same for each of {@link Parts}; empty for a server with one process. */
  readonly partsUs: Readonly<Record<string, number>>;
}

/** Processes of one system, by role. */
export type Parts = Readonly<Record<string, readonly number[]>>;

/** One of the compared systems. */
export interface Contender {
  readonly name: string;
  /** Processes whose processor time is counted, with all of their children. */
  readonly pid: number | Parts;
  run(seconds: number): Promise<Load>;
}

/** Duration and number of measurements. */
export interface Effort {
  readonly rounds: number;
  readonly seconds: number;
  readonly disturbance: Disturbance;
}

/**
 * Measures the contenders in turn, in rounds that each begin with another contender. A temporary disturbance of the
 * machine thus affects all of them. Disturbed measurements are repeated.
 *
 * @returns the samples of each, in the order of the contenders
 */
export async function alternate(effort: Effort, contenders: readonly Contender[]): Promise<Sample[][]> {
  const samples: Sample[][] = contenders.map(() => []);
  for (let round = 0; round < effort.rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const number = (round + turn) % contenders.length;
      const contender = contenders[number] as Contender;
      (samples[number] as Sample[]).push(
        await undisturbed(effort.disturbance, () => sample(contender, effort.seconds)),
      );
    }
  }
  return samples;
}

const SETTLE_MS = 100;

/** Measures when no other program uses the processor. Repeats a disturbed measurement while time to wait is left. */
export async function undisturbed<T>(disturbance: Disturbance, measure: () => Promise<T>): Promise<T> {
  for (;;) {
    await disturbance.quiet();
    const before = look();
    const taken = await measure();
    const isDisturbed = disturbance.since(before);
    if (isDisturbed && disturbance.isPatient) {
      disturbance.discard(before);
      continue;
    }
    disturbance.keep(isDisturbed);
    return taken;
  }
}

async function sample({ pid, run }: Contender, seconds: number): Promise<Sample> {
  const parts = typeof pid === 'number' ? { '': [pid] } : pid;
  const before = secondsOf(parts);
  const load = await run(seconds);
  // A backend of PostgreSQL must have ended and been collected before its time is counted.
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const after = secondsOf(parts);
  const used = Object.keys(parts).map((part): [string, number] => [
    part,
    (((after[part] as number) - (before[part] as number)) / load.requests) * 1e6,
  ]);
  return {
    ...load,
    cpuUs: used.reduce((sum, [, us]) => sum + us, 0),
    partsUs: typeof pid === 'number' ? {} : Object.fromEntries(used),
  };
}

function secondsOf(parts: Parts): Record<string, number> {
  return Object.fromEntries(
    Object.entries(parts).map(([part, pids]) => [
      part,
      pids.reduce((sum, each) => sum + processorSecondsOf(each), 0),
    ]),
  );
}

/** The median: the middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] as number)) / 2;
}

/** The median of one figure over samples; NaN when they lack it. */
export function medianOf(samples: readonly Sample[], figure: Exclude<keyof Sample, 'partsUs'>): number {
  return median(samples.map((one) => one[figure] ?? Number.NaN));
}
