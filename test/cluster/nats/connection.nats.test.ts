import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, describe, expect, it } from 'vitest';
import { type ConnectionSettings, connectToNats } from '#cluster/nats/connection.ts';
import { readServers } from '#cluster/nats/server-capabilities.ts';
import { natsUsers, sharedNatsCluster, startNatsCluster } from '#test/support/nats-cluster.ts';

const cluster = sharedNatsCluster(1);
const open: NatsConnection[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

async function connect(settings: Partial<ConnectionSettings>): Promise<NatsConnection> {
  const connection = await connectToNats({
    urls: cluster().urls,
    name: 'm1',
    ...settings,
  });
  open.push(connection);
  return connection;
}

describe('a connection to NATS', () => {
  it('logs in with user and password of the address', async () => {
    const { user, pass } = natsUsers.system;
    const url = cluster().urls[0]?.replace('nats://', `nats://${user}:${pass}@`) as string;
    const connection = await connect({ urls: [url] });
    // Only the system account is told of the servers.
    expect((await connection.request('$SYS.REQ.SERVER.PING')).json()).toMatchObject({
      server: { name: 'n1' },
    });
    const other = await connect({});
    await expect(other.request('$SYS.REQ.SERVER.PING')).rejects.toThrow(/no responders/);
  });

  it('names the variable when credentials are refused, at once and without telling the password', async () => {
    const url = cluster().urls[0]?.replace('nats://', 'nats://grove:wrong@') as string;
    const refused = connect({ urls: [url] });
    await expect(refused).rejects.toThrow(/SVC_NATS_CREDS/);
    await expect(refused).rejects.not.toThrow(/wrong/);
  });

  it('names the variable and the address when no server answers', async () => {
    await expect(connect({ urls: ['nats://127.0.0.1:1'] })).rejects.toThrow(/127\.0\.0\.1:1.*SVC_NATS_URL/);
  });

  it.each([[[]], [['http://localhost']], [['nats://ok:4222', 'nonsense']]])(
    'refuses addresses %j',
    async (urls) => {
      await expect(connect({ urls })).rejects.toThrow(/SVC_NATS_URL/);
    },
  );

  it('reconnects by itself when the server comes back', async () => {
    const connection = await connect({});
    const [server] = cluster().servers;
    const told = connection.status();
    await server?.restart();
    for await (const { type } of told) if (type === 'reconnect') break;
    await cluster().ready();
    expect((await connection.request('$JS.API.INFO')).json()).toHaveProperty('streams');
  });
});

describe('the information of the servers', () => {
  it('is read from their monitoring pages', async () => {
    const connection = await connect({});
    const facts = await readServers({ connection, monitorUrls: cluster().monitorUrls });
    const version = connection.info?.version;
    const server = { name: 'n1', version, syncsAlways: false };
    const servers = new Map([[cluster().monitorUrls[0], server]]);
    expect(facts).toEqual({
      servers: [server],
      jetStreamServers: 1,
      pages: { jetStreamServers: 1, servers },
      silent: [],
    });
  });

  it('is only the version of one server without monitoring pages', async () => {
    const connection = await connect({});
    const facts = await readServers({ connection, monitorUrls: [] });
    const version = connection.info?.version;
    expect(facts).toEqual({
      servers: [{ name: 'n1', version, syncsAlways: undefined }],
      jetStreamServers: undefined,
      pages: { jetStreamServers: undefined, servers: new Map() },
      silent: [],
    });
  });

  it('covers every server of a cluster', async () => {
    const three = await startNatsCluster(3);
    try {
      const connection = await connect({ urls: three.urls });
      const facts = await readServers({ connection, monitorUrls: three.monitorUrls });
      expect(facts.servers.map(({ name }) => name)).toEqual(['n1', 'n2', 'n3']);
      expect(facts.jetStreamServers).toBe(3);
      await connection.close();
    } finally {
      await three.close();
    }
  });

  it('is what a page said earlier while it does not answer', async () => {
    const connection = await connect({});
    const down = 'http://127.0.0.1:1';
    const gone = { name: 'n2', version: '2.12.12', syncsAlways: true };
    const earlier = { jetStreamServers: 3, servers: new Map([[down, gone]]) };
    const both = await readServers({
      connection,
      earlier,
      monitorUrls: [...cluster().monitorUrls, down],
    });
    expect(both).toMatchObject({ jetStreamServers: 1, silent: [down] });
    expect(both.servers.map(({ name }) => name)).toEqual(['n1', 'n2']);
    expect([...both.pages.servers.keys()]).toEqual([...cluster().monitorUrls, down]);
    const none = await readServers({ connection, earlier, monitorUrls: [down] });
    expect(none).toMatchObject({ jetStreamServers: 3, silent: [down] });
    expect(none.servers).toContainEqual(gone);
  });

  it('has to be readable where an address is configured', async () => {
    const connection = await connect({});
    const monitorUrls = [...cluster().monitorUrls, 'http://127.0.0.1:1'];
    await expect(readServers({ connection, monitorUrls })).rejects.toThrow(
      /127\.0\.0\.1:1\/varz.*nats_monitor_urls/,
    );
  });
});
