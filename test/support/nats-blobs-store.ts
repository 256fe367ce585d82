import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { crc32 } from 'node:zlib';
import {
  type BlobManifest,
  BlobSubjects,
  decodeManifest,
  encodeManifest,
} from '#cluster/blobs/blob-manifest.ts';
import { NatsBlobs } from '#cluster/blobs/nats-blobs.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { BlobsUnderTest } from '#test/runtime/blobs/blobs-conformance.ts';

let made = 0;

/** A bucket as two members see it, and from behind. */
export class NatsBlobsStore implements BlobsUnderTest {
  readonly blobs: NatsBlobs;
  readonly elsewhere: NatsBlobs;
  readonly subjects: BlobSubjects;
  readonly #connections: readonly { close(): Promise<void> }[];
  readonly #jetstream: ReturnType<typeof jetstream>;
  readonly #manager: Awaited<ReturnType<typeof jetstreamManager>>;

  private constructor(
    blobs: readonly [NatsBlobs, NatsBlobs],
    subjects: BlobSubjects,
    connections: readonly { close(): Promise<void> }[],
    client: ReturnType<typeof jetstream>,
    manager: Awaited<ReturnType<typeof jetstreamManager>>,
  ) {
    [this.blobs, this.elsewhere] = blobs;
    this.subjects = subjects;
    this.#connections = connections;
    this.#jetstream = client;
    this.#manager = manager;
  }

  static async open(urls: readonly string[], replicas: number): Promise<NatsBlobsStore> {
    made += 1;
    const bucket = `blobs-${made}`;
    const connect = () => connectToNats({ urls, name: 'blobs' });
    const connections = await Promise.all([connect(), connect(), connect()]);
    const [one, other, behind] = connections;
    const open = (connection: typeof one) =>
      NatsBlobs.open({ connection, bucket, replicas, clock: systemClock, random: systemRandom });
    // One after the other: both would make the bucket.
    const blobs = [await open(one), await open(other)] as const;
    const manager = await jetstreamManager(behind);
    return new NatsBlobsStore(blobs, new BlobSubjects(bucket), connections, jetstream(behind), manager);
  }

  /** How many messages are stored. */
  async messages(): Promise<number> {
    return (await this.#manager.streams.info(this.subjects.stream)).state.messages;
  }

  /** How many servers hold the bucket. */
  async replicas(): Promise<number> {
    return (await this.#manager.streams.info(this.subjects.stream)).config.num_replicas;
  }

  /** The server that leads the bucket. */
  async leader(): Promise<string | undefined> {
    return (await this.#manager.streams.info(this.subjects.stream)).cluster?.leader;
  }

  async manifest(hash: string): Promise<BlobManifest> {
    const found = await this.#manager.streams.getMessage(this.subjects.stream, {
      last_by_subj: this.subjects.manifest(hash),
    });
    const manifest = found === null ? undefined : decodeManifest(found.data);
    if (manifest === undefined) throw new Error(`no blob ${hash}`);
    return manifest;
  }

  /** Stores bytes under a subject as anybody could. */
  async publish(subject: string, data: Uint8Array): Promise<number> {
    return (await this.#jetstream.publish(subject, data)).seq;
  }

  /** Makes a message of the stream disappear. */
  async removeMessage(sequence: number): Promise<void> {
    await this.#manager.streams.deleteMessage(this.subjects.stream, sequence);
  }

  async damage(hash: string, how: 'flip' | 'truncate'): Promise<void> {
    const manifest = await this.manifest(hash);
    const [first, ...others] = manifest.chunks;
    if (first === undefined) throw new Error('an empty blob cannot be damaged');
    if (how === 'truncate') return this.removeMessage((others.at(-1) ?? first).sequence);
    const stored = await this.#manager.streams.getMessage(this.subjects.stream, { seq: first.sequence });
    const bytes = Buffer.from(stored?.data as Uint8Array);
    bytes[100] = (bytes[100] as number) ^ 1;
    // Even one whose checksum is right: only the hash of it all tells.
    const sequence = await this.publish(this.subjects.chunks(manifest.upload), bytes);
    const chunks = [{ sequence, checksum: crc32(bytes) }, ...others];
    const description = encodeManifest(this.subjects.bucket, { ...manifest, chunks });
    await this.publish(this.subjects.manifest(hash), description);
  }

  async close(): Promise<void> {
    await this.#manager.streams.delete(this.subjects.stream);
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}
