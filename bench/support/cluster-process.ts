import type { ChildProcess } from 'node:child_process';
import type { PlannedProcess, ProcessType } from '#operator/local-cluster/plan.ts';
import { endChild, keepOutput, type Output, spawnPinned } from './child.ts';

/** Interval of readiness checks and timeout of one check, in milliseconds. */
const POLL_MS = 50;
const LOOK_MS_MAX = 2_000;

/** Options of a process of a cluster. */
export interface ClusterProcessOptions {
  readonly plan: PlannedProcess;
  /** Shell command. With `exec` in it signals reach the program itself. */
  readonly command: string;
  readonly folder: string;
  readonly core: number;
  /** Whether it exchanges messages with this process. */
  readonly isTalkative: boolean;
}

/** A process of a cluster. It keeps its name, ports and store across restarts. */
export class ClusterProcess {
  readonly #options: ClusterProcessOptions;
  #child: ChildProcess | undefined;
  #output: Output = { text: '' };

  constructor(options: ClusterProcessOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.plan.name;
  }

  get type(): ProcessType {
    return this.#options.plan.type;
  }

  /** Its address. */
  get url(): string {
    return this.#options.plan.url;
  }

  /** The port of {@link ClusterProcess.url}. */
  get port(): number {
    return this.#options.plan.ports[0]?.port as number;
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** @throws {Error} when it is not running */
  get child(): ChildProcess {
    if (this.#child === undefined) throw new Error(`${this.name} does not run`);
    return this.#child;
  }

  /** The end of the output of its present or last run. */
  get log(): string {
    return this.#output.text;
  }

  /** Starts the process and waits until it is ready. @throws {Error} with its log after a timeout */
  async start(readyMsMax: number): Promise<void> {
    const { command, core, folder, isTalkative, plan } = this.#options;
    const child = spawnPinned(core, 'sh', ['-c', command], {
      cwd: folder,
      env: { ...process.env, ...plan.env },
      stdio: ['ignore', 'pipe', 'pipe', ...(isTalkative ? (['ipc'] as const) : [])],
    });
    this.#child = child;
    this.#output = keepOutput(child);
    const endMs = performance.now() + readyMsMax;
    while (!(await isReady(plan.readyUrl))) {
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > endMs)
        throw new Error(`${this.name} did not get ready:\n${this.log}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Sends a signal and waits for the end. @returns exit code, null when a signal ended it */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const { child } = this;
    const code = await endChild(child, signal);
    this.#child = undefined;
    return code;
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(LOOK_MS_MAX) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}
