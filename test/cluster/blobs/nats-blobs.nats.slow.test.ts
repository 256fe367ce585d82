import { describe, expect, it } from 'vitest';
import { blobsConformance, bytesOf, readAll } from '#test/runtime/blobs/blobs-conformance.ts';
import { NatsBlobsStore } from '#test/support/nats-blobs-store.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const nats = sharedNatsCluster(3);
const put = { bytesMax: 100_000_000 };

blobsConformance('in the object store of three servers', () => NatsBlobsStore.open(nats().urls, 3));

describe('blobs on three servers', () => {
  it('are stored and read while the server that leads them dies', async () => {
    const store = await NatsBlobsStore.open(nats().urls, 3);
    expect(await store.replicas()).toBe(3);
    const before = await store.blobs.put([bytesOf(3_000_000, 1)], put);
    const bytes = bytesOf(6_000_000, 2);
    const leader = nats().server((await store.leader()) as string);
    const halfway = async function* (): AsyncGenerator<Uint8Array, void> {
      yield bytes.subarray(0, 2_000_000);
      await leader.kill();
      yield bytes.subarray(2_000_000);
    };
    const { hash } = await store.blobs.put(halfway(), put);
    expect((await readAll(await store.elsewhere.get(hash))).equals(bytes)).toBe(true);
    expect((await readAll(await store.elsewhere.get(before.hash))).length).toBe(3_000_000);
    leader.start();
    await nats().ready();
    expect((await readAll(await store.blobs.get(hash))).equals(bytes)).toBe(true);
    await store.close();
  });
});
