import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { requiredProgram } from './programs.ts';

/** Core of every server that is measured. All of its threads and processes stay there. */
export const SERVER_CORE = 0;

/** Core of whatever makes the load, so that it takes nothing from the server. */
export const GENERATOR_CORE = 1;

/** What a table has to say about where and when it was measured. */
export interface Machine {
  readonly text: string;
  readonly loadAverage: string;
}

/**
 * Describes this machine and its load right now.
 *
 * @throws {Error} with fewer than two cores: server and generator would measure each other
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

/** Takes this process off the server's core, with all of its threads: it loads stores and times single requests. */
export function leaveServerCore(): void {
  const taskset = requiredProgram('taskset', 'util-linux');
  execFileSync(taskset, ['-acp', String(GENERATOR_CORE), String(process.pid)], { stdio: 'pipe' });
}
