import { jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { sharedNatsCluster } from './nats-cluster.ts';

describe('one nats-server for tests', () => {
  const cluster = sharedNatsCluster(1);

  it('serves JetStream and keeps its streams through a kill and a restart', async () => {
    const [server] = cluster().servers;
    const before = await connect({ servers: cluster().urls });
    const manager = await jetstreamManager(before);
    await manager.streams.add({
      name: 'kept',
      subjects: ['kept'],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
    });
    await before.close();
    await server?.restart();
    await cluster().ready();
    const after = await connect({ servers: cluster().urls });
    expect((await (await jetstreamManager(after)).streams.info('kept')).config.name).toBe('kept');
    await after.close();
  });

  it('answers nothing while it is paused, and resumes afterwards', async () => {
    const [server] = cluster().servers;
    const connection = await connect({ servers: cluster().urls, timeout: 2000 });
    await server?.pause();
    await expect(connection.request('$JS.API.INFO', '', { timeout: 200 })).rejects.toThrow(/timeout/);
    server?.resume();
    expect((await connection.request('$JS.API.INFO')).json()).toHaveProperty('streams');
    await connection.close();
  });
});

describe('three nats-servers for tests', () => {
  const cluster = sharedNatsCluster(3);

  it('keeps a stream on three replicas as soon as it is ready, and takes writes with a follower killed', async () => {
    const connection = await connect({ servers: cluster().urls });
    const manager = await jetstreamManager(connection);
    const { cluster: placed } = await manager.streams.add({
      name: 'kept',
      subjects: ['kept'],
      num_replicas: 3,
    });
    await connection.close();
    const leader = cluster().server(placed?.leader ?? '');
    const followers = cluster().servers.filter((server) => server !== leader);
    expect(placed?.replicas?.map(({ name }) => name).sort()).toEqual(followers.map(({ name }) => name));
    const writer = await connect({ servers: leader.url });
    await followers[0]?.kill();
    expect((await writer.request('kept', 'written', { timeout: 5000 })).json()).toMatchObject({ seq: 1 });
    await writer.close();
  });
});
