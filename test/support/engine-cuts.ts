import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { copyOf, standsStill } from './cuts.ts';
import { until } from './until.ts';

/** What is left of a child of `engine-child.ts` that dies at a pass of a crash point. */
export interface EngineCut {
  /** A copy of the folder, which belongs to whoever asked for it. */
  readonly dataDir: string;
  /** What the child had said. */
  readonly lines: readonly string[];
}

/** For a child that hangs, in milliseconds: on a busy machine a flush takes seconds. */
const WAIT_MS_MAX = 300_000;

/**
 * Runs one child until it has passed all of some crash points, and copies its folder at each while it stands still, with all
 * its threads. Then it is killed.
 *
 * @param stops crash points with a pass, `mid-apply:4`; those of one point in ascending order
 * @returns by crash point and pass; at `killed` what is left in the end, which is no copy
 */
export async function cutEngine(
  folder: string,
  round: number,
  stops: readonly string[],
): Promise<ReadonlyMap<string, EngineCut>> {
  const script = join(import.meta.dirname, 'engine-child.ts');
  const child = spawn(process.execPath, [script, folder, `${round}`, ...stops], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let isEnded = false;
  void exited.then(() => {
    isEnded = true;
  });
  const lines: string[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = `${rest}${chunk}`.split('\n');
    // A last line that was cut off was never said.
    rest = parts.pop() as string;
    lines.push(...parts);
  });
  const cuts = new Map<string, EngineCut>();
  try {
    while (cuts.size < stops.length) {
      await until(() => isEnded || (lines.at(-1)?.startsWith('at ') ?? false), 'the next stop', WAIT_MS_MAX);
      if (isEnded)
        throw new Error(`the child ended before ${stops.filter((stop) => !cuts.has(stop)).join(', ')}`);
      await until(() => standsStill(child.pid as number), 'the child stands still', WAIT_MS_MAX);
      const stop = (lines.pop() as string).slice('at '.length);
      const dataDir = copyOf(folder);
      // Some lines name folders.
      cuts.set(stop, { dataDir, lines: lines.map((line) => line.replaceAll(folder, dataDir)) });
      child.kill('SIGCONT');
    }
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
  return cuts.set('killed', { dataDir: folder, lines });
}
