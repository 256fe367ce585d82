import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { preparedFolder } from '#test/support/prepared-folder.ts';
import { startServer } from '#test/support/server.ts';
import { startServerProcess } from '#test/support/server-process.ts';
import { until } from '#test/support/until.ts';

/** More than are reached before it is recorded how far a change has come. */
const REPOSITORIES = 40;

const users = '/api/svc/sys/default/identity-users';

let person: string;
const repositories: string[] = [];

const prepared = preparedFolder(async (server) => {
  for (let each = 0; each < REPOSITORIES; each += 1) repositories.push(await server.createRepository());
  const body = { email: 'ann@example.org', password: 'eight or more', repos: repositories };
  const made = await server.admin('POST', users, body);
  expect([made.status, made.text]).toEqual([201, expect.anything()]);
  person = made.json.id;
});

it('a deactivation reaches every repository although the process is killed half-way [IDADMIN-007]', async () => {
  const dataDir = prepared();
  try {
    const doomed = await startServerProcess({ dataDir, env: { SVC_CRASH_POINT: 'mid-job:1' } });
    const token = await doomed.logIn();
    await doomed
      .request('PATCH', `${users}/${person}`, { token, body: { is_active: false } })
      .catch(() => undefined);
    expect((await doomed.exited).signal).toBe('SIGKILL');
    await doomed.close();

    const server = await startServer({ dataDir });
    await until(
      async () => (await server.admin('GET', `${users}/${person}`)).json.status_change === null,
      'every repository is reached',
    );
    for (const name of repositories) {
      const path = `/api/repository/${name}/main/head/svc:access_control/users/internal/ann-at-example-org`;
      const node = await server.admin('GET', path);
      expect([name, node.json.properties.status]).toEqual([name, 'inactive']);
      // Written once, whichever process has reached it.
      expect([name, node.json.version]).toEqual([name, 2]);
    }
    await server.close();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
