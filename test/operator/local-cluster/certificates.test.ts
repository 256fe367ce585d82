import { createPrivateKey, X509Certificate } from 'node:crypto';
import { checkServerIdentity, connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { systemRandom } from '#runtime/base/random.ts';
import { makeServerCertificates } from '#operator/local-cluster/certificates.ts';

const nowMs = Date.UTC(2026, 10, 22);
const made = makeServerCertificates(['127.0.0.1', 'localhost'], nowMs, systemRandom);

/** What a client finds that talks to a server with the certificate. */
function handshake(authority: string): Promise<string> {
  const { certificate, key } = made.server;
  return new Promise((resolve) => {
    const server = createServer({ cert: certificate, key }, (socket: TLSSocket) => socket.end());
    server.on('tlsClientError', () => undefined);
    const end = (found: string): void => {
      server.close();
      resolve(found);
    };
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      const client = connect({ host: '127.0.0.1', port, ca: authority }, () => {
        end(client.authorized ? (client.getProtocol() ?? '') : 'not authorized');
        client.destroy();
      });
      client.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    });
  });
}

describe('certificates of a cluster on one machine', () => {
  it('are taken by a client that trusts their authority, and by no other', async () => {
    expect(await handshake(made.authority)).toBe('TLSv1.3');
    const other = makeServerCertificates(['127.0.0.1'], nowMs, systemRandom);
    expect(await handshake(other.authority)).toMatch(/UNABLE_TO|CERT|SELF_SIGNED/);
  });

  it('name the hosts they are for, hold for ten years, and are signed by an authority that signs no other', () => {
    const server = new X509Certificate(made.server.certificate);
    const authority = new X509Certificate(made.authority);
    expect(server.subjectAltName).toBe('IP Address:127.0.0.1, DNS:localhost');
    expect([server.ca, authority.ca]).toEqual([false, true]);
    expect([server.checkIssued(authority), server.verify(authority.publicKey)]).toEqual([true, true]);
    expect(authority.verify(authority.publicKey)).toBe(true);
    expect(new Date(server.validFrom).getTime()).toBe(nowMs - 86_400_000);
    expect(new Date(server.validTo).getTime()).toBe(nowMs + 3650 * 86_400_000);
    expect(server.checkPrivateKey(createPrivateKey(made.server.key))).toBe(true);
    expect(checkServerIdentity('10.0.0.1', server.toLegacyObject() as never)).toBeInstanceOf(Error);
  });

  it('hold beyond the year 2050, where the form of their dates changes', () => {
    const late = makeServerCertificates(['127.0.0.1'], Date.UTC(2045, 0, 1), systemRandom);
    const { validFrom, validTo } = new X509Certificate(late.server.certificate);
    expect([new Date(validFrom).getUTCFullYear(), new Date(validTo).getUTCFullYear()]).toEqual([2044, 2054]);
  });

  it('have numbers of their own', () => {
    const serials = Array.from(
      { length: 4 },
      () =>
        new X509Certificate(makeServerCertificates([], nowMs, systemRandom).server.certificate).serialNumber,
    );
    expect(new Set(serials).size).toBe(4);
  });
});
