import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { startNatsCluster } from '#test/support/nats-cluster.ts';
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
      SVC_MASTER_KEY: '0f'.repeat(32),
      SVC_MEMBER_ID: 'm1',
      ...env,
    },
    waitForNothing: true,
  });
  cleanups.push(() => server.close());
  return server;
}

describe('a member of a cluster that starts before NATS', () => {
  it('waits, says what for, and serves when NATS is there', async () => {
    const nats = await startNatsCluster(1);
    cleanups.push(() => nats.close());
    const [server] = nats.servers;
    await server?.kill();
    const folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
    cleanups.push(async () => rmSync(folder, { recursive: true, force: true }));
    const config = join(folder, 'svc.toml');
    writeFileSync(config, '[cluster]\npartitions = 2\nreplicas = 1\nlog_bytes_max = 268435456\n');
    const member = await startMember({ SVC_NATS_URL: nats.urls.join(','), SVC_CONFIG: config });
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

  it('ends at once when it is told to while it waits', async () => {
    const member = await startMember({ SVC_NATS_URL: 'nats://127.0.0.1:1' });
    await expect.poll(() => member.stdout, { timeout: 30_000 }).toContain('waiting for NATS');
    expect(await member.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
  });
});
