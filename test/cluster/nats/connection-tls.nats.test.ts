import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { NatsConnection } from '@nats-io/transport-node';
import { systemRandom } from '#runtime/base/random.ts';
import { makeServerCertificates } from '#operator/local-cluster/certificates.ts';
import { type ConnectionSettings, connectToNats } from '#cluster/nats/connection.ts';
import { type NatsCluster, sharedNatsCluster, startNatsCluster } from '#test/support/nats-cluster.ts';

const plain = sharedNatsCluster(1);
const folder = mkdtempSync(join(tmpdir(), 'grove-nats-tls-'));
const ours = makeServerCertificates(['127.0.0.1'], systemClock.wallMs(), systemRandom);
const others = makeServerCertificates(['127.0.0.1'], systemClock.wallMs(), systemRandom);
const open: NatsConnection[] = [];
let encrypted: NatsCluster;

beforeAll(async () => {
  writeFileSync(join(folder, 'cert.pem'), ours.server.certificate);
  writeFileSync(join(folder, 'key.pem'), ours.server.key, { mode: 0o600 });
  const tls = `tls { cert_file: "${join(folder, 'cert.pem')}", key_file: "${join(folder, 'key.pem')}" }`;
  encrypted = await startNatsCluster(1, { server: [tls] });
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

afterAll(async () => {
  await encrypted?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function connect(settings: Partial<ConnectionSettings>): Promise<NatsConnection> {
  const connection = await connectToNats({
    urls: asTls(encrypted),
    name: 'm1',
    authorities: ours.authority,
    ...settings,
  });
  open.push(connection);
  return connection;
}

function asTls({ urls }: NatsCluster): string[] {
  return urls.map((url) => url.replace('nats://', 'tls://'));
}

describe('a tls:// address', () => {
  it('is taken by a server with a certificate of the authority', async () => {
    const connection = await connect({});
    expect((await connection.request('$JS.API.INFO')).json()).toHaveProperty('streams');
  });

  it('refuses a server without TLS, which receives neither name nor password', async () => {
    const urls = asTls(plain()).map((url) => url.replace('tls://', 'tls://grove:the-password@'));
    const refused = connect({ urls });
    await expect(refused).rejects.toThrow(/offers no TLS/);
    await expect(refused).rejects.not.toThrow(/the-password/);
  });

  it('sends nothing to a process that impersonates a server', async () => {
    const received: Buffer[] = [];
    const info = { server_id: 'X', version: '2.9.10', proto: 1, headers: true, max_payload: 1_048_576 };
    const impostor = createServer((socket) => {
      socket.on('error', () => undefined).on('data', (bytes) => received.push(bytes));
      socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    });
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
    const { port } = impostor.address() as { port: number };
    await expect(connect({ urls: [`tls://grove:secret@127.0.0.1:${port}`] })).rejects.toThrow(
      /offers no TLS/,
    );
    expect(Buffer.concat(received).toString()).toBe('');
    impostor.close();
  });

  it('refuses a certificate of another authority, also one of the system', async () => {
    await expect(connect({ authorities: others.authority })).rejects.toThrow(/SVC_NATS_CA/);
    const { urls } = { urls: asTls(encrypted) };
    await expect(connectToNats({ urls, name: 'm1' })).rejects.toThrow(/does not verify/);
  });

  it('refuses a certificate that is for none of the configured hosts', async () => {
    const urls = asTls(encrypted).map((url) => url.replace('127.0.0.1', 'localhost'));
    await expect(connect({ urls })).rejects.toThrow(/names in the certificate/);
  });

  it('is a demand when the connection is made again as well: what took the place of the server gets nothing', async () => {
    const connection = await connect({
      urls: asTls(encrypted).map((url) => url.replace('//', '//grove:grove@')),
    });
    const [server] = encrypted.servers;
    const told = connection.status();
    const received: Buffer[] = [];
    let visits = 0;
    const impostor = createServer((socket) => {
      socket.on('error', () => undefined).on('data', (bytes) => received.push(bytes));
      socket.on('close', () => {
        visits += 1;
      });
      socket.write('INFO {"server_id":"X","version":"2.9.10","proto":1,"max_payload":1048576}\r\n');
    });
    await server?.kill();
    await new Promise<void>((resolve) => impostor.listen(server?.port, '127.0.0.1', resolve));
    // It came, saw, and left; and again.
    await expect.poll(() => visits, { timeout: 15_000 }).toBeGreaterThanOrEqual(2);
    expect(Buffer.concat(received).toString('latin1')).toBe('');
    await new Promise((resolve) => impostor.close(resolve));
    server?.start();
    for await (const { type } of told) if (type === 'reconnect') break;
    expect(connection.isClosed()).toBe(false);
    await encrypted.ready();
  });

  it('is required for all servers or for none', async () => {
    const [url] = asTls(encrypted) as [string];
    await expect(connect({ urls: [url, 'nats://127.0.0.1:4222'] })).rejects.toThrow(
      /write all addresses as tls/,
    );
    await expect(connect({ urls: encrypted.urls })).rejects.toThrow(/SVC_NATS_CA is set.*tls:\/\//);
  });
});

describe('a login that all servers of a cluster refuse', () => {
  it('fails at once, although the servers announce each other and the client would retry forever', async () => {
    const three = await startNatsCluster(3);
    try {
      const urls = three.urls.map((url) => url.replace('nats://', 'nats://grove:wrong@'));
      await expect(connectToNats({ urls, name: 'm1' })).rejects.toThrow(/refuses the credentials/);
    } finally {
      await three.close();
    }
  });
});
