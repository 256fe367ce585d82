import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { natsConfigFor } from '#operator/local-cluster/nats-config.ts';
import { writeNatsFiles } from '#operator/local-cluster/nats-files.ts';
import { planCluster } from '#operator/local-cluster/plan.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

const text = readFileSync(join(projectRoot, 'operator/local-cluster/nats.conf'), 'utf8');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-nats-config-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe('the configuration of the NATS servers', () => {
  it('configures a flush before an acknowledgement, if the server supports it', () => {
    for (const version of ['nats-server: v2.10.0', 'nats-server: v2.12.12', '2.14.4', 'a build of our own'])
      expect(natsConfigFor(text, version)).toBe(text);
    expect(text).toMatch(/^ {2}sync_interval: always$/m);
    for (const version of ['nats-server: v2.9.10', '2.9.25'])
      expect(natsConfigFor(text, version)).not.toMatch(/^\s*sync_interval/m);
  });

  it('is accepted by the real server with its environment', () => {
    const server = process.env.NATS_SERVER_BIN ?? requiredProgram('nats-server');
    const file = join(folder, 'nats.conf');
    const version = execFileSync(server, ['--version'], { encoding: 'utf8' });
    const passwords = { members: { 'member-1': 'p1', 'a.*"b': 'p2' }, route: 'p3', system: 'p4' };
    writeNatsFiles({ folder, version, passwords, clock: systemClock, random: systemRandom });
    expect(readFileSync(file, 'utf8')).toBe(natsConfigFor(text, version));
    for (const name of readdirSync(folder, { recursive: true }) as string[])
      expect(statSync(join(folder, name)).mode & 0o077, name).toBe(0);
    const plan = planCluster({
      folder,
      host: '127.0.0.1',
      port: 8080,
      natsPort: 4222,
      secrets: { jwtSecret: '', masterKey: '' },
      natsPasswords: passwords,
      adminPassword: undefined,
      programs: { nats: server, balancer: '' },
      memberConfig: '',
    });
    const { env } = plan[0] as (typeof plan)[number];
    const check = (environment: Record<string, string>) =>
      execFileSync(server, ['-t', '-c', file], { env: environment, encoding: 'utf8', stdio: 'pipe' });
    check(env);
    const { NATS_ROUTE_3: _, ...incomplete } = env;
    expect(() => check(incomplete)).toThrow('NATS_ROUTE_3');
  });
});
