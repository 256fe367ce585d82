import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import { OperatorError } from '#operator/operator-error.ts';
import { type Exit, exitText, LocalProcess } from './local-process.ts';
import { type PlannedProcess, type ProcessType, processTypes } from './plan.ts';

/** Time a type of process has to get ready, in milliseconds: three members make 32 streams at their first start. */
const READY_MS_MAX = 180_000;

/** Time between two looks whether a process is ready, in milliseconds, and time one look may take. */
const POLL_MS = 200;
const POLL_MS_MAX = 2_000;

/** Time until a process that died is started again, in milliseconds: long enough to see what its death does. */
const RESTART_MS = 2_000;

/** A process that dies sooner than this after its start, so often in a row, is not started again. */
const SHORT_LIFE_MS = 10_000;
const SHORT_LIVES_MAX = 3;

/** Lines of a log that are shown of a process that died. */
const TAIL_LINES = 12;

/** How a type is asked to end, and after how many milliseconds it is killed. */
const stopping: Readonly<Record<ProcessType, { readonly signal: NodeJS.Signals; readonly graceMs: number }>> =
  {
    // It takes no more connections, and lets what is under way end.
    balancer: { signal: 'SIGUSR1', graceMs: 5_000 },
    member: { signal: 'SIGTERM', graceMs: 30_000 },
    nats: { signal: 'SIGTERM', graceMs: 10_000 },
  };

/** What a person calls them. */
export const typeTitles: Readonly<Record<ProcessType, string>> = {
  nats: 'NATS servers',
  member: 'members',
  balancer: 'load balancer',
};

/** What a cluster on this machine works with. */
export interface LocalClusterOptions {
  readonly processes: readonly PlannedProcess[];
  /** Command of each process type. */
  readonly commands: ReadonlyMap<string, string>;
  /** Folder the commands run in. */
  readonly folder: string;
  readonly logFolder: string;
  /** What all of them have in their environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Put before each command; see {@link LocalProcess}. */
  readonly prefix: readonly string[];
  /** Whether one that dies is started again. */
  readonly restarts: boolean;
  readonly clock: Clock;
  /** Takes lines for the person at the terminal. */
  readonly tell: (line: string) => void;
}

interface Running {
  readonly plan: PlannedProcess;
  readonly process: LocalProcess;
  shortLives: number;
}

/** The start was ended by {@link LocalCluster.stop}. */
export class StartStoppedSignal extends Error {
  override readonly name = 'StartStoppedSignal';
}

/**
 * Runs the processes of a cluster on this machine: starts them type by type, each when the one before does its work,
 * tells of one that dies and starts it again, and stops them in the opposite order.
 */
export class LocalCluster {
  readonly #options: LocalClusterOptions;
  readonly #running: readonly Running[];
  #state: 'new' | 'starting' | 'running' | 'stopping' = 'new';
  /** What died while it all started. */
  #failure: OperatorError | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: LocalClusterOptions) {
    this.#options = options;
    const { clock, commands, env, folder, logFolder, prefix } = options;
    this.#running = options.processes.map((plan) => {
      const command = commands.get(plan.type);
      if (command === undefined) throw new OperatorError(`The Procfile has no process type ${plan.type}.`);
      const process = new LocalProcess({
        name: plan.name,
        command,
        folder,
        env: { ...env, ...plan.env },
        logFile: join(logFolder, `${plan.name}.log`),
        prefix,
        clock,
      });
      return { plan, process, shortLives: 0 };
    });
  }

  /** Process id by name, of those that run. */
  get pids(): ReadonlyMap<string, number> {
    return new Map(
      this.#running.flatMap(({ plan, process }) =>
        process.pid === undefined ? [] : [[plan.name, process.pid]],
      ),
    );
  }

  /**
   * Starts everything.
   *
   * @throws {OperatorError} when one of them dies or does not get ready, with the end of its log
   * @throws {StartStoppedSignal} when it was stopped meanwhile
   */
  async start(): Promise<void> {
    assert(this.#state === 'new', 'a cluster is started once');
    this.#state = 'starting';
    for (const type of processTypes) {
      const some = this.#of(type);
      this.#options.tell(`Starting the ${typeTitles[type]} …`);
      const deadlineMs = this.#options.clock.monotonicMs() + READY_MS_MAX;
      await Promise.all(some.map((each) => this.#launch(each, deadlineMs)));
      this.#requireStarting();
    }
    this.#state = 'running';
  }

  /** Stops everything in order. Calling it again waits for the first call. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  /** Ends everything at once. */
  kill(): void {
    this.#state = 'stopping';
    for (const { process } of this.#running) process.kill();
  }

  async #stopAll(): Promise<void> {
    this.#state = 'stopping';
    for (const type of processTypes.toReversed()) {
      const some = this.#of(type).filter(({ process }) => process.isRunning);
      if (some.length === 0) continue;
      this.#options.tell(`Stopping the ${typeTitles[type]} …`);
      const { graceMs, signal } = stopping[type];
      await Promise.all(
        some.map(async ({ process, plan }) => {
          const exit = await process.stop(signal, graceMs);
          if (exit?.signal === 'SIGKILL')
            this.#options.tell(`${plan.name} did not stop within ${graceMs / 1000} s and was killed.`);
          else if (type === 'member' && exit !== undefined && exit.code !== 0 && exit.code !== null)
            this.#options.tell(`${plan.name} ${exitText(exit)}; its log is ${process.logFile}`);
        }),
      );
    }
  }

  #of(type: ProcessType): Running[] {
    return this.#running.filter(({ plan }) => plan.type === type);
  }

  #requireStarting(): void {
    if (this.#state === 'stopping') throw new StartStoppedSignal();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #launch(running: Running, deadlineMs: number): Promise<void> {
    const { plan, process } = running;
    this.#run(running);
    for (;;) {
      const { isReady, said } = await look(plan.readyUrl);
      this.#requireStarting();
      if (isReady) return;
      if (this.#options.clock.monotonicMs() > deadlineMs) {
        throw new OperatorError(
          `${plan.name} did not get ready within ${READY_MS_MAX / 1000} s; ${plan.readyUrl} says: ${said}\n${tailText(process)}`,
        );
      }
      await sleep(this.#options.clock, POLL_MS);
    }
  }

  #run(running: Running): void {
    void running.process.start().then((exit) => this.#onExit(running, exit));
  }

  #onExit(running: Running, exit: Exit): void {
    if (this.#state === 'starting') this.#failure ??= new OperatorError(deathText(running, exit));
    if (this.#state !== 'running') return;
    const { clock, restarts, tell } = this.#options;
    running.shortLives = exit.ranMs < SHORT_LIFE_MS ? running.shortLives + 1 : 1;
    const isHopeless = running.shortLives >= SHORT_LIVES_MAX;
    tell(deathText(running, exit));
    if (!restarts) tell(`The others go on without ${running.plan.name}.`);
    else if (isHopeless)
      tell(`It died ${SHORT_LIVES_MAX} times soon after its start; it is not started again.`);
    else {
      tell(`The others go on; it is started again in ${RESTART_MS / 1000} s.`);
      clock.after(RESTART_MS, () => void this.#restart(running));
    }
  }

  async #restart(running: Running): Promise<void> {
    if (this.#state !== 'running') return;
    const { plan, process } = running;
    this.#run(running);
    const { pid } = process;
    while (this.#state === 'running' && process.pid === pid) {
      if ((await look(plan.readyUrl)).isReady) {
        this.#options.tell(`${plan.name} is ready again (process ${pid}).`);
        return;
      }
      await sleep(this.#options.clock, POLL_MS);
    }
  }
}

function deathText({ plan, process }: Running, exit: Exit): string {
  const what = `${plan.name} ${exitText(exit)}.`;
  // One that somebody killed has not written why.
  return exit.signal === 'SIGKILL' ? what : `${what} ${tailText(process)}`;
}

function tailText(process: LocalProcess): string {
  return [`The end of ${process.logFile}:`, ...process.tail(TAIL_LINES).map((line) => `  | ${line}`)].join(
    '\n',
  );
}

/** Asks a page whether a process does its work. */
async function look(url: string): Promise<{ readonly isReady: boolean; readonly said: string }> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(POLL_MS_MAX) });
    const text = await answer.text();
    return { isReady: answer.status === 200, said: `${answer.status} ${text.slice(0, 500)}` };
  } catch {
    return { isReady: false, said: 'no answer' };
  }
}
