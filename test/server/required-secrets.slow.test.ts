import { describe, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

/** Starts a member of a cluster that is expected to end at once. */
async function refused(env: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const server = await startServerProcess({
    // Nobody is there: who asks for the secrets first does not look.
    env: { SVC_NATS_URL: 'nats://127.0.0.1:1', ...env },
    waitForExit: true,
  });
  expect((await server.exited).code).toBe(2);
  return server;
}

describe('a member of a cluster', () => {
  it('refuses to start without JWT_SECRET and SVC_MASTER_KEY, naming each that is missing [CLU-009]', async () => {
    const jwt = { JWT_SECRET: 'a secret of more than thirty-two characters' };
    const master = { SVC_MASTER_KEY: '0123456789abcdef'.repeat(4) };
    const [neither, noMaster, noJwt] = await Promise.all([refused({}), refused(jwt), refused(master)]);
    try {
      expect(neither.stderr).toContain('a cluster needs JWT_SECRET, the same on all members');
      expect(neither.stderr).toContain('a cluster needs SVC_MASTER_KEY, the same on all members');
      expect(noMaster.stderr).toContain('a cluster needs SVC_MASTER_KEY');
      expect(noMaster.stderr).not.toContain('a cluster needs JWT_SECRET');
      expect(noJwt.stderr).toContain('a cluster needs JWT_SECRET');
      expect(noJwt.stderr).not.toContain('a cluster needs SVC_MASTER_KEY');
    } finally {
      for (const server of [neither, noMaster, noJwt]) await server.close();
    }
  });
});
