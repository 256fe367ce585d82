import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { OperatorError } from '#operator/operator-error.ts';
import { type Exit, exitText, LocalProcess } from './local-process.ts';
import { type PlannedProcess, type ProcessType, processTypes } from './plan.ts';

/**
 * Time until all processes of a type must be ready, in milliseconds. At their first start three members create 32
 * streams.
 */
const READY_MS_MAX = 180_000;

/** Interval of readiness checks of a process, in milliseconds, and the timeout of one check. */
const POLL_MS = 200;
const POLL_MS_MAX = 2_000;

/**
 * Delay before a process that died is restarted, in milliseconds. It is long enough to observe the effect of the death.
 */
const RESTART_MS = 2_000;

/** A process that dies within this time after its start, this many times in a row, is not restarted. */
const SHORT_LIFE_MS = 10_000;
const SHORT_LIVES_MAX = 3;

/** Lines of the log shown for a process that died. */
const TAIL_LINES = 12;

/** The signal that asks each type of process to end, and the time until it is killed, in milliseconds. */
const stopping: Readonly<Record<ProcessType, { readonly signal: NodeJS.Signals; readonly graceMs: number }>> =
  {
    // Accepts no more connections and finishes open requests.
    balancer: { signal: 'SIGUSR1', graceMs: 5_000 },
    member: { signal: 'SIGTERM', graceMs: 30_000 },
    nats: { signal: 'SIGTERM', graceMs: 10_000 },
  };

/** Names of the types in messages to people. */
export const typeTitles: Readonly<Record<ProcessType, string>> = {
  nats: 'NATS servers',
  member: 'members',
  balancer: 'load balancer',
};

/** Options of a cluster on this machine. */
export interface LocalClusterOptions {
  readonly processes: readonly PlannedProcess[];
  /** Command of each process type. */
  readonly commands: ReadonlyMap<string, string>;
  /** Folder the commands run in. */
  readonly folder: string;
  readonly logFolder: string;
  /** Environment variables of all processes. */
  readonly env: NodeJS.ProcessEnv;
  /** Prepended to each command; see {@link LocalProcess}. */
  readonly prefix: readonly string[];
  /** Whether a process that dies is restarted. */
  readonly restarts: boolean;
  readonly clock: Clock;
  /** Receives lines for the terminal. */
  readonly tell: (line: string) => void;
}

interface Running {
  readonly plan: PlannedProcess;
  readonly process: LocalProcess;
  shortLives: number;
}

/** The start was aborted by {@link LocalCluster.stop}. */
export class StartStoppedSignal extends Error {
  override readonly name = 'StartStoppedSignal';
}

/**
 * Runs the processes of a cluster on this machine. It starts them type by type, each when the previous one is ready,
 * reports and restarts processes that die, and stops them in the reverse order.
 */
export class LocalCluster {
  readonly #options: LocalClusterOptions;
  readonly #running: readonly Running[];
  #state: 'new' | 'starting' | 'running' | 'stopping' = 'new';
  /** The first process that died during the start. */
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

  /** Process ids of the running processes, by name. */
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
   * @throws {OperatorError} when a process dies or does not become ready, with the end of its log
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

  /** Kills all processes. */
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
  // The log of a killed process does not have the reason.
  return exit.signal === 'SIGKILL' ? what : `${what} ${tailText(process)}`;
}

function tailText(process: LocalProcess): string {
  return [`The end of ${process.logFile}:`, ...process.tail(TAIL_LINES).map((line) => `  | ${line}`)].join(
    '\n',
  );
}

/** Requests the readiness page of a process. */
async function look(url: string): Promise<{ readonly isReady: boolean; readonly said: string }> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(POLL_MS_MAX) });
    const text = await answer.text();
    return { isReady: answer.status === 200, said: `${answer.status} ${text.slice(0, 500)}` };
  } catch {
    return { isReady: false, said: 'no answer' };
  }
}
