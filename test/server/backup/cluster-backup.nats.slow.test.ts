import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { restoreDirectory } from '#server/backup/restore-directory.ts';
import { BackupKey } from '#runtime/backup/backup-key.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const nats = sharedNatsCluster(1);

/** Folder of all backups, and of the data directory that is filled at the end. */
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-cluster-backup-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const secrets = {
  JWT_SECRET: 'a secret that all members of a cluster share',
  SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
};

/** What somebody with a token may do. */
interface Session {
  readonly server: TestServer;
  readonly token: string;
}

async function loggedIn(server: TestServer): Promise<Session> {
  const body = { username: 'admin', password: ADMIN_PASSWORD };
  const { json } = expectStatus(await server.request('POST', '/api/svc/sys/default/auth', { body }), 200);
  return { server, token: json.token as string };
}

/** Begins a backup or a restore and waits until it is over. */
async function whole({ server, token }: Session, path: string, body: object): Promise<void> {
  const { json } = expectStatus(await server.request('POST', path, { token, body }), 202);
  for (;;) {
    const now = expectStatus(await server.request('GET', `${path}/${json.id ?? json.name}`, { token }), 200);
    if (now.json.state === 'running') continue;
    expect(now.json).toMatchObject({ state: 'done', error: null });
    return;
  }
}

/** Names of the nodes at the root, and the newest revisions. */
async function contentOf({ server, token }: Session): Promise<unknown> {
  const list = await server.request('GET', '/api/repository/shop/main/head/space-1/', { token });
  const revisions = await server.request('GET', '/api/management/repositories/default/shop/revisions', {
    token,
  });
  return [expectStatus(list, 200).json, revisions.json];
}

it('a backup takes a single member into a cluster, and the cluster into a single member again [BAK-020]', async () => {
  const alone = await startServer({ env: { ...secrets, SVC_BACKUP_DIR: folder } });
  let before: unknown;
  try {
    await alone.createRepository('shop');
    const client = new ContentClient(alone, 'shop');
    const space = await client.workspace();
    await space.addAll('/a', '/a/b', '/c');
    await client.branch('draft', { upstream_branch: 'main' });
    await new Space(client, 'space-1', 'draft').add('/', 'on-draft');
    const session = await loggedIn(alone);
    before = await contentOf(session);
    await whole(session, '/api/management/backups', { name: 'from-one' });
  } finally {
    await alone.close();
  }

  const config = '[cluster]\npartitions = 4\nreplicas = 1\n';
  // Of the two one makes the account, so both are given the password.
  const password = { SVC_ADMIN_PASSWORD: ADMIN_PASSWORD };
  const env = { ...secrets, ...password, SVC_NATS_URL: nats().urls.join(','), SVC_BACKUP_DIR: folder };
  const members = await Promise.all(
    ['a', 'b'].map((id) => startServer({ config, env: { ...env, SVC_MEMBER_ID: id } })),
  );
  try {
    const [first] = (await Promise.all(members.map(loggedIn))) as [Session, Session];
    await whole(first, '/api/management/restores', { from: 'from-one' });
    // The accounts are those of the backup now.
    const [a, b] = (await Promise.all(members.map(loggedIn))) as [Session, Session];
    for (const session of [a, b]) expect(await contentOf(session)).toEqual(before);
    const added = await b.server.request('POST', '/api/repository/shop/main/head/space-1/', {
      token: b.token,
      body: { name: 'in-cluster', node_type: 'svc:Folder' },
    });
    expectStatus(added, 201);
    // Whichever member is asked has it all, also of what the other one owns.
    await whole(b, '/api/management/backups', { name: 'from-cluster' });
  } finally {
    await Promise.all(members.map((member) => member.close()));
  }

  const dataDir = join(folder, 'data');
  await restoreDirectory({
    dataDir,
    backup: join(folder, 'from-cluster'),
    key: new BackupKey(Buffer.from(secrets.SVC_MASTER_KEY, 'hex')),
    acceptForeign: false,
    clock: systemClock,
    random: systemRandom,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  const again = await startServer({ dataDir, env: secrets });
  try {
    const client = new ContentClient(again, 'shop');
    expect(await new Space(client, 'space-1').names()).toEqual(['a', 'c', 'in-cluster']);
    expect(await new Space(client, 'space-1', 'draft').names()).toEqual(['a', 'c', 'on-draft']);
  } finally {
    await again.close();
  }
});
