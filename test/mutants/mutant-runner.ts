import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { inTime } from '#runtime/base/time/within.ts';
import type { MutantAnswer, MutantOutcome, MutantRun } from './mutant-run.ts';

/** A run takes seconds; on a machine that does much else, some tens of them. */
const RUN_MS_MAX = 200_000;

/** Runs tests with changed sources, one run after another, in a process that all runs share. */
export class MutantRunner {
  readonly #msMax: number;
  #child: ChildProcess | undefined;

  /** @param msMax how long a run may take before it is ended as one that hangs, in milliseconds */
  constructor(msMax = RUN_MS_MAX) {
    this.#msMax = msMax;
  }

  /**
   * Runs tests, up to the first that fails.
   *
   * @throws {Error} when the text to replace is not in its file exactly once, when what it makes of it is no code, when
   * a test file cannot be loaded, or when the run hangs; the runner can be used again
   */
  async run(run: MutantRun): Promise<MutantOutcome> {
    const child = this.#started();
    const answers = new AbortController();
    try {
      const answered = Promise.race([
        once(child, 'message', { signal: answers.signal }).then(([answer]) => answer as MutantAnswer),
        once(child, 'exit', { signal: answers.signal }).then(() => ({ error: 'the process ended' })),
      ]);
      child.send(run);
      const answer = await inTime(systemClock, this.#msMax, answered);
      if (answer === undefined) await this.end();
      assert(answer !== undefined, `the run hangs: no answer within ${this.#msMax} ms`);
      if ('error' in answer) throw new Error(answer.error);
      return answer;
    } finally {
      answers.abort();
    }
  }

  /** Ends the process of the runs, with those that run tests. */
  async end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    process.kill(-child.pid, 'SIGKILL');
    await ended;
  }

  #started(): ChildProcess {
    if (this.#child?.connected) return this.#child;
    // A group of its own, so that it can be ended with the processes it starts.
    this.#child = fork(join(import.meta.dirname, 'run-mutants.ts'), { detached: true, execArgv: [] });
    return this.#child;
  }
}
