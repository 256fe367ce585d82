import { jetstream } from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { connect } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { blobsConformance, bytesOf, hashOf, readAll } from '#test/runtime/blobs/blobs-conformance.ts';
import { NatsBlobsStore } from '#test/support/nats-blobs-store.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const nats = sharedNatsCluster(1);
const put = { bytesMax: 100_000_000 };

blobsConformance('in the object store', () => NatsBlobsStore.open(nats().urls, 1));

describe('blobs in the object store', () => {
  let store: NatsBlobsStore;

  beforeEach(async () => {
    store = await NatsBlobsStore.open(nats().urls, 1);
  });

  afterEach(() => store.close());

  it('leave nothing behind when they are removed, replaced or broken off', async () => {
    const bytes = bytesOf(1_300_000);
    const { hash } = await store.blobs.put([bytes], put);
    expect(await store.messages()).toBe(4);
    await store.blobs.put([bytes], put);
    expect(await store.messages()).toBe(4);
    await expect(store.blobs.put([bytes], { ...put, hash: hashOf(bytesOf(1)) })).rejects.toThrow('hash');
    expect(await store.messages()).toBe(4);
    await store.blobs.delete(hash);
    expect(await store.messages()).toBe(0);
  });

  it('are swept of what interrupted uploads left, and of nothing that is younger or described', async () => {
    const bytes = bytesOf(600_000);
    const { hash } = await store.blobs.put([bytes], put);
    await store.publish(store.subjects.chunks('dead'), bytesOf(1_000));
    await store.publish(store.subjects.chunks('dead'), bytesOf(1_000));
    expect(await store.blobs.sweep(3_600_000)).toBe(0);
    expect(await store.messages()).toBe(5);
    expect(await store.blobs.sweep(0)).toBe(1);
    expect(await store.messages()).toBe(3);
    expect((await readAll(await store.blobs.get(hash))).equals(bytes)).toBe(true);
  });

  it('keep the bytes of descriptions that a newer build wrote', async () => {
    await store.publish(store.subjects.chunks('future'), bytesOf(1_000));
    const description = JSON.stringify({ name: 'x', nuid: 'future', layout: 9 });
    await store.publish(store.subjects.manifest(hashOf(bytesOf(1))), Buffer.from(description));
    expect(await store.blobs.sweep(0)).toBe(0);
    expect(await store.messages()).toBe(2);
  });

  it('are found by a reader whose chunks are gone because the same was stored again', async () => {
    const bytes = bytesOf(2_000_000);
    const { hash } = await store.blobs.put([bytes], put);
    const pieces: Uint8Array[] = [];
    for await (const piece of await store.blobs.get(hash)) {
      if (pieces.length === 0) await store.elsewhere.put([bytes], put);
      pieces.push(piece);
    }
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  });

  it('are gone for a reader when they are removed meanwhile', async () => {
    const { hash } = await store.blobs.put([bytesOf(3_000_000)], put);
    const reading = async (): Promise<void> => {
      let isFirst = true;
      for await (const piece of await store.blobs.get(hash)) {
        expect(piece.length).toBeGreaterThan(0);
        if (isFirst) await store.elsewhere.delete(hash);
        isFirst = false;
      }
    };
    await expect(reading()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('never give a part of a chunk that is damaged', async () => {
    const { hash } = await store.blobs.put([bytesOf(1_300_000)], put);
    const { chunks } = await store.manifest(hash);
    await store.removeMessage(chunks[1]?.sequence as number);
    const head = await readAll(await store.blobs.get(hash, { start: 5, end: 500_000 }));
    expect(head.length).toBe(499_995);
    const part = async () => readAll(await store.blobs.get(hash, { start: 600_000, end: 600_001 }));
    await expect(part()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it('are objects to the tools of NATS', async () => {
    const bytes = bytesOf(1_300_000);
    const { hash } = await store.blobs.put([bytes], put);
    const connection = await connect({ servers: nats().urls });
    const objects = await new Objm(jetstream(connection)).open(store.subjects.bucket);
    expect((await objects.list()).map(({ name, size }) => [name, size])).toEqual([[hash, bytes.length]]);
    expect(Buffer.from((await objects.getBlob(hash)) as Uint8Array).equals(bytes)).toBe(true);
    await connection.close();
  });
});
