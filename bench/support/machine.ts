import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { requiredProgram } from './programs.ts';

/** Core of every measured server, with all of its threads and processes. */
export const SERVER_CORE = 0;

/** Core of the load generator, so that it takes no time from the server. */
export const GENERATOR_CORE = 1;

/** Description of the machine and the time of a measurement. */
export interface Machine {
  readonly text: string;
  readonly loadAverage: string;
}

/**
 * Describes this machine and its present load.
 *
 * @throws {Error} with fewer than two cores, because the server and the load generator would disturb each other
 */
export function describeMachine(): Machine {
  const cores = cpus();
  if (cores.length < 2) {
    throw new Error('the benchmark needs two cores: one for the server, one for the load generator');
  }
  const memory = `${(totalmem() / 2 ** 30).toFixed(1)} GiB`;
  const model = (cores[0] as { model: string }).model.trim();
  return {
    text: `${model}, ${cores.length} cores, ${memory} memory, ${type()} ${release()}, Node ${process.versions.node}`,
    loadAverage: loadavg()
      .map((value) => value.toFixed(2))
      .join(' '),
  };
}

/**
 * Moves this process with all of its threads off the core of the server, because it loads stores and times single
 * requests.
 */
export function leaveServerCore(): void {
  const taskset = requiredProgram('taskset', 'util-linux');
  execFileSync(taskset, ['-acp', String(GENERATOR_CORE), String(process.pid)], { stdio: 'pipe' });
}
