import { afterAll, beforeAll } from 'vitest';
import { type LogClient, logClient, newPartition } from '#test/support/log-partition.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { logConformance } from '#test/runtime/log/log-conformance.ts';

const cluster = sharedNatsCluster(1);
let client: LogClient;

beforeAll(async () => {
  client = await logClient(cluster());
});

afterAll(async () => {
  await client.close();
});

logConformance('a partition over one nats-server', async () => {
  const partition = await newPartition(client, 1);
  return { open: () => client.open(partition, 'm1'), dispose: () => Promise.resolve() };
});
