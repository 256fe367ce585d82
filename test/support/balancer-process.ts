import { type ChildProcess, spawn } from 'node:child_process';

/** A running load balancer with the configuration of the project. */
export interface TestBalancer {
  readonly port: number;
  readonly url: string;
  /** What it wrote so far. */
  readonly log: string;
  close(): Promise<void>;
}

/** A load balancer to start. */
export interface BalancerProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** Default: as of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where it listens, on 127.0.0.1. */
  readonly port: number;
  /** What ends it with all its processes. */
  readonly signal: NodeJS.Signals;
  /** Called when it has ended. */
  readonly ended?: () => void;
}

/** Starts a load balancer and keeps what it writes; it may not listen yet. */
export function startBalancerProcess(balancer: BalancerProgram): TestBalancer {
  const { args, ended, env, port, program, signal } = balancer;
  const child: ChildProcess = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(env === undefined ? {} : { env }),
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get log() {
      return log;
    },
    async close() {
      child.kill(signal);
      await closed;
      ended?.();
    },
  };
}
