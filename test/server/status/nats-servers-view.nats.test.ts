import { describe, expect, it } from 'vitest';
import { NatsServersView } from '#server/status/nats-servers-view.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const cluster = sharedNatsCluster(3);

describe('the NATS servers as operators see them', () => {
  it('are all there with their versions; one that dies keeps its name, and is not missed twice', async () => {
    const { monitorUrls, servers, urls } = cluster();
    const connection = await connectToNats({ urls: [urls[0] as string], name: 'm' });
    try {
      const view = new NatsServersView(connection, monitorUrls);
      const stranger = new NatsServersView(connection, monitorUrls);
      const before = await view.read();
      const version = connection.info?.version as string;
      expect(before.servers.map(({ name, isReachable, version: of }) => [name, isReachable, of])).toEqual([
        ['n1', true, version],
        ['n2', true, version],
        ['n3', true, version],
      ]);
      expect(before.servers.every(({ syncsAlways }) => syncsAlways !== undefined)).toBe(true);
      await servers[2]?.kill();
      const after = await view.read();
      expect(after.servers.map(({ name, isReachable }) => [name, isReachable])).toEqual([
        ['n1', true],
        ['n2', true],
        ['n3', false],
      ]);
      expect(after.remarks).toEqual(before.remarks);
      // Who never heard of it calls it by its address.
      expect((await stranger.read()).servers.filter(({ isReachable }) => !isReachable)).toMatchObject([
        { name: (monitorUrls[2] as string).replace('http://', ''), version: '' },
      ]);
      const partial = await new NatsServersView(connection, monitorUrls.slice(0, 2)).read();
      expect(partial.remarks.join()).toContain('3 NATS servers run JetStream and 2 are known');
      const blind = await new NatsServersView(connection, []).read();
      expect(blind.servers).toEqual([{ name: 'n1', version, isReachable: true, syncsAlways: undefined }]);
      expect(blind.remarks.join()).toContain('nats_monitor_urls is not set');
    } finally {
      await connection.close();
    }
  });
});
