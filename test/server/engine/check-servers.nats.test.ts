import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkServers } from '#server/engine/check-servers.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { TcpProxy } from '#test/support/tcp-proxy.ts';

const cluster = sharedNatsCluster(1);
let connection: NatsConnection;
let folder: string;
let page: TcpProxy;

beforeEach(async () => {
  connection = await connectToNats({ urls: cluster().urls, name: 'm1' });
  folder = mkdtempSync(join(tmpdir(), 'check-servers-'));
  page = await TcpProxy.to(Number(new URL(cluster().monitorUrls[0] as string).port));
});

afterEach(async () => {
  await connection.close();
  await page.close();
  rmSync(folder, { recursive: true, force: true });
});

function check() {
  const url = `http://127.0.0.1:${page.port}`;
  const env = {
    JWT_SECRET: 'a secret of thirty-two bytes or more',
    SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
    SVC_DATA_DIR: folder,
    SVC_NATS_URL: cluster().urls.join(','),
    SVC_CONFIG: 'svc.toml',
  };
  const options = loadOptions(env, () => `[cluster]\nreplicas = 1\nnats_monitor_urls = ['${url}']\n`);
  return checkServers(connection, { files: realFileSystem, log: silentLog, options });
}

it('a member starts while a monitoring page is down once it has seen it, with one replica too', async () => {
  page.cut();
  await expect(check()).rejects.toThrow(/nats_monitor_urls/);
  page.restore();
  const before = await check();
  expect([...before.pages.servers.values()]).toMatchObject([{ name: 'n1' }]);
  page.cut();
  expect(await check()).toEqual(before);
});
