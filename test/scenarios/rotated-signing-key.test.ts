import { expect, it } from 'vitest';
import { IdentityClient } from '#test/support/identity-client.ts';
import { startServer } from '#test/support/server.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const first = 'the-first-signing-key-of-these-tests-32';
const second = 'the-second-signing-key-of-these-tests-32';

it('tokens of administrators and of identities outlive a new signing key, while the old one is named', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'grove-rotation-'));
  const before = await startServer({ dataDir, env: { JWT_SECRET: first } });
  const person = await new IdentityClient(before).person();
  const admin = before.adminToken;
  await before.close();

  const statuses = async (env: Record<string, string>) => {
    const server = await startServer({ dataDir, env });
    try {
      const people = new IdentityClient(server);
      const answers = [
        await server.request('GET', '/api/svc/me', { token: admin }),
        await people.send('GET', '/auth/sessions', { token: person.access }),
      ];
      return answers.map(({ status }) => status);
    } finally {
      await server.close();
    }
  };
  try {
    expect(await statuses({ JWT_SECRET: second, JWT_SECRET_PREVIOUS: first })).toEqual([200, 200]);
    expect(await statuses({ JWT_SECRET: second })).toEqual([401, 401]);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
