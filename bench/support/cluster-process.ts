import type { ChildProcess } from 'node:child_process';
import type { PlannedProcess, ProcessType } from '#operator/local-cluster/plan.ts';
import { endChild, keepOutput, type Output, spawnPinned } from './child.ts';

/** Between two looks whether it is ready, and longest time of one, in milliseconds. */
const POLL_MS = 50;
const LOOK_MS_MAX = 2_000;

/** What a process of a cluster is started with. */
export interface ClusterProcessOptions {
  readonly plan: PlannedProcess;
  /** For the shell; `exec` in it makes the program the process that is signalled. */
  readonly command: string;
  readonly folder: string;
  readonly core: number;
  /** Whether it exchanges messages with this process. */
  readonly isTalkative: boolean;
}

/** One process of a cluster; it keeps its name, ports and store over restarts. */
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

  /** Where it is reached. */
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

  /** @throws {Error} when it does not run */
  get child(): ChildProcess {
    if (this.#child === undefined) throw new Error(`${this.name} does not run`);
    return this.#child;
  }

  /** What it wrote last in its present or last life. */
  get log(): string {
    return this.#output.text;
  }

  /** Starts it and waits until it does its work. @throws {Error} with its log when it takes longer */
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
