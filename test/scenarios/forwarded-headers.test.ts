import { describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '#test/support/server.ts';

const address = '203.0.113.77';

/** The warnings a server gave that name the option. */
const warnings = (server: TestServer) =>
  server.logLines.filter(({ msg }) => String(msg).includes('SVC_TRUST_FORWARDED_HEADERS'));

/** Asks often enough that every member of a cluster is asked too. */
async function ask(server: TestServer, headers: Record<string, string>): Promise<void> {
  for (let round = 0; round < 6; round++) await server.request('GET', '/health', { headers });
}

describe('forwarded headers of a peer that is not trusted', () => {
  it.each(['x-forwarded-for', 'forwarded'])('are logged, once and without the value of %s', async (name) => {
    const server = await startServer();
    try {
      await ask(server, {});
      expect(warnings(server)).toEqual([]);
      // Requests in close succession are not all looked at.
      await expect
        .poll(async () => {
          await ask(server, { [name]: address });
          return warnings(server).length;
        })
        .toBeGreaterThan(0);
      const told = warnings(server).length;
      await ask(server, { [name]: address });
      expect(new Set(warnings(server).map(({ level }) => level))).toEqual(new Set(['warn']));
      // Of a cluster each member tells it for itself.
      expect(warnings(server).length).toBeLessThanOrEqual(Math.max(told, 3));
      expect(JSON.stringify(server.logLines)).not.toContain(address);
    } finally {
      await server.close();
    }
  });

  it('are used when the peer is trusted, and not logged', async () => {
    const server = await startServer({ env: { SVC_TRUST_FORWARDED_HEADERS: 'true' } });
    try {
      await ask(server, { 'x-forwarded-for': address });
      expect(warnings(server)).toEqual([]);
    } finally {
      await server.close();
    }
  });
});
