import { join } from 'node:path';
import { projectRoot } from '#test/tidy/source-file.ts';
import { startBalancerProcess, type TestBalancer } from './balancer-process.ts';
import { freePorts } from './free-ports.ts';
import { requiredProgram } from './required-program.ts';

/** Starts HAProxy in front of three addresses; where it stands says nothing of whether they answer. */
export async function startBalancer(members: readonly [string, string, string]): Promise<TestBalancer> {
  const port = await freePorts([0]);
  return startBalancerProcess({
    program: process.env.HAPROXY_BIN ?? requiredProgram('haproxy'),
    args: ['-db', '-f', join(projectRoot, 'operator/local-cluster/haproxy.cfg')],
    env: {
      BALANCER_HOST: '127.0.0.1',
      BALANCER_PORT: String(port),
      MEMBER_1: members[0],
      MEMBER_2: members[1],
      MEMBER_3: members[2],
    },
    port,
    signal: 'SIGKILL',
  });
}
