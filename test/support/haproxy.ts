import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '#test/tidy/source-file.ts';
import { freePorts } from './free-ports.ts';
import { requiredProgram } from './required-program.ts';

/** A running HAProxy with the configuration of the project. */
export interface TestBalancer {
  readonly port: number;
  readonly url: string;
  /** What it wrote so far. */
  readonly log: string;
  close(): Promise<void>;
}

/** Starts HAProxy in front of three addresses; where it stands says nothing of whether they answer. */
export async function startBalancer(members: readonly [string, string, string]): Promise<TestBalancer> {
  const port = await freePorts([0]);
  const child: ChildProcess = spawn(
    process.env.HAPROXY_BIN ?? requiredProgram('haproxy'),
    ['-db', '-f', join(projectRoot, 'cluster/local/haproxy.cfg')],
    {
      env: {
        BALANCER_HOST: '127.0.0.1',
        BALANCER_PORT: String(port),
        MEMBER_1: members[0],
        MEMBER_2: members[1],
        MEMBER_3: members[2],
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get log() {
      return log;
    },
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
