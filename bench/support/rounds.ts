import { type Disturbance, look } from './disturbance.ts';
import { processorSecondsOf } from './process-stat.ts';

/** What a load generator saw. */
export interface Load {
  readonly requests: number;
  readonly perSecond: number;
  /** Absent where the generator does not tell. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** One measurement. */
export interface Sample extends Load {
  /** Processor time of the server for one request, microseconds. */
  readonly cpuUs: number;
  /** The same, told apart by {@link Parts}; empty for a server that is one process. */
  readonly partsUs: Readonly<Record<string, number>>;
}

/** Processes that serve together, by what they do there. */
export type Parts = Readonly<Record<string, readonly number[]>>;

/** One of those that are compared. */
export interface Contender {
  readonly name: string;
  /** Process whose processor time is counted, with all of its children; or several. */
  readonly pid: number | Parts;
  run(seconds: number): Promise<Load>;
}

/** How long and how often. */
export interface Effort {
  readonly rounds: number;
  readonly seconds: number;
  readonly disturbance: Disturbance;
}

/**
 * Measures the contenders in turn, round by round, each round beginning with another one: what disturbs the
 * machine for a while disturbs all of them. What others disturbed is measured again.
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

/** Measures when nobody else works, and again when others worked meanwhile, as long as there is patience. */
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
  // A backend of PostgreSQL has to be gone and collected before its time counts.
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

/** The middle value; of an even number the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] as number)) / 2;
}

/** The median of one figure over samples; not a number when they lack it. */
export function medianOf(samples: readonly Sample[], figure: Exclude<keyof Sample, 'partsUs'>): number {
  return median(samples.map((one) => one[figure] ?? Number.NaN));
}
