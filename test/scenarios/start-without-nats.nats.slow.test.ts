import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type NatsCluster, startNatsCluster } from '#test/support/nats-cluster.ts';
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
} from '#test/support/server-process.ts';

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startMember(env: ServerProcessOptions['env']): Promise<ServerProcess> {
  const server = await startServerProcess({
    env: {
      JWT_SECRET: 'a secret of more than thirty-two characters',
      SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
      SVC_MEMBER_ID: 'm1',
      ...env,
    },
    waitForNothing: true,
  });
  cleanups.push(() => server.close());
  return server;
}

/** A member that owns everything, with one NATS server. */
async function startAlone(): Promise<{ readonly nats: NatsCluster; readonly member: ServerProcess }> {
  const nats = await startNatsCluster(1);
  cleanups.push(() => nats.close());
  return { nats, member: await startMember({ SVC_NATS_URL: nats.urls.join(','), SVC_CONFIG: configFile() }) };
}

/** @returns the file of a configuration for one NATS server */
function configFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  cleanups.push(async () => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, 'svc.toml');
  const cluster = '[cluster]\npartitions = 2\nreplicas = 1\nlog_bytes_max = 268435456\n';
  writeFileSync(config, `[server]\nshutdown_grace_ms = 4000\n${cluster}`);
  return config;
}

describe('a member of a cluster that is terminated while NATS is gone', () => {
  it('ends with 0 inside its grace period, with a pending write whose outcome is unknown', async () => {
    const { member, nats } = await startAlone();
    await member.ready();
    const token = await member.logIn();
    const create = (repository: string) =>
      member.request('POST', '/api/repositories', { token, body: { repo_id: repository } });
    expect((await create('before')).status).toBe(201);
    for (const server of nats.servers) server.pause();
    // The servers take it and do not answer, so that its outcome is looked for again and again.
    const write = create('during').catch((error: unknown) => error);
    await member.request('GET', '/ready');
    expect(await member.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(member.stdout).toContain('"msg":"stopped"');
    expect(member.stdout).not.toContain('shutdown took too long');
    await write;
  });
});

describe('a member of a cluster that starts before NATS', () => {
  it('waits, reports the reason, and serves when NATS is there', async () => {
    const nats = await startNatsCluster(1);
    cleanups.push(() => nats.close());
    const [server] = nats.servers;
    await server?.kill();
    const member = await startMember({ SVC_NATS_URL: nats.urls.join(','), SVC_CONFIG: configFile() });
    await expect
      .poll(() => member.stdout, { timeout: 30_000 })
      .toMatch(/"waitedS":0.*"msg":"waiting for NATS"/);
    expect(member.stdout).toContain('no NATS server answers at');
    // Longer than everything that could end it by itself.
    await expect.poll(() => member.stdout, { timeout: 60_000 }).toMatch(/"waitedS":(?!0\b)\d+/);
    server?.start();
    await member.ready();
    expect(await member.logIn()).not.toBe('');
  });

  it('ends at once when it is terminated while it waits', async () => {
    const member = await startMember({ SVC_NATS_URL: 'nats://127.0.0.1:1' });
    await expect.poll(() => member.stdout, { timeout: 30_000 }).toContain('waiting for NATS');
    expect(await member.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
  });
});

describe('a member that starts with the name of another one', () => {
  it('ends with 2 and names the owner of the name, and the other one keeps all it has [CLU-047]', async () => {
    const { member, nats } = await startAlone();
    await member.ready();
    const settings = { SVC_NATS_URL: nats.urls.join(','), SVC_CONFIG: configFile() };
    const copied = await startMember(settings);
    expect(await copied.exited).toEqual({ code: 2, signal: null });
    expect(copied.stderr).toContain('SVC_MEMBER_ID: another member is called m1 and runs at http://');
    expect(copied.stderr).not.toMatch(/^ +at /m);
    expect(member.stdout).not.toContain('another member has the same name');
    const token = await member.logIn();
    const body = { repo_id: 'after' };
    expect((await member.request('POST', '/api/repositories', { token, body })).status).toBe(201);
  });
});
