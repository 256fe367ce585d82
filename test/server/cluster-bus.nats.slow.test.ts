import { expect, it } from 'vitest';
import type { BusItem } from '#runtime/bus/ports.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { ADMIN_PASSWORD, startServer } from '#test/support/server.ts';

const nats = sharedNatsCluster(1);

it('members of a cluster notify each other of commits on either of them', async () => {
  const env = {
    SVC_NATS_URL: nats().urls.join(','),
    SVC_ADMIN_PASSWORD: ADMIN_PASSWORD,
    JWT_SECRET: 'a secret that all members of a cluster share',
    SVC_MASTER_KEY: '0123456789abcdef'.repeat(4),
  };
  const config = '[cluster]\npartitions = 4\nreplicas = 1\n';
  const servers = await Promise.all(
    ['a', 'b'].map((id) => startServer({ config, env: { ...env, SVC_MEMBER_ID: id } })),
  );
  const login = { username: 'admin', password: ADMIN_PASSWORD };
  const [one, other] = servers as [(typeof servers)[0], (typeof servers)[0]];
  const { json } = await one.request('POST', '/api/svc/sys/default/auth', { body: login });
  const send = async (server: typeof one, method: string, path: string, body: unknown) => {
    const answer = await server.request(method, path, { token: json.token as string, body });
    expect(answer.status).toBeLessThan(300);
  };
  const everything = other.member.bus.subscribeUnder('default');
  await send(one, 'POST', '/api/repositories', { repo_id: 'shop' });
  const workspace = { allowed_node_types: [], allowed_root_node_types: [] };
  await send(one, 'PUT', '/api/workspaces/shop/content', workspace);
  const create = (server: typeof one, name: string) =>
    send(server, 'POST', '/api/repository/shop/main/head/content/', { name, node_type: 'svc:Folder' });
  await create(one, 'a');
  let main: BusItem | undefined;
  while (main?.event.type !== 'RevisionCommitted' || main.event.changes?.[0]?.path !== '/a')
    main = (await everything.next()).value;
  const after = main.event.revision;
  await create(other, 'b');
  await create(one, 'c');
  for (const server of servers) {
    const subscription = await server.member.bus.subscribe(main.branch, { after });
    for (const path of ['/b', '/c'])
      expect((await subscription.next()).value?.event).toMatchObject({ changes: [{ path }] });
  }
  await Promise.all(servers.map((server) => server.close()));
});
