import { isAtLeast, type ServerVersion } from './server-version.ts';

/** The oldest nats-server the product was measured with and runs on: Debian 12 has it. */
export const SERVER_FLOOR = '2.9.10';

/** Something a nats-server gives from some version on. */
interface Feature {
  /** Releases it came with, one for each minor version it was brought to. */
  readonly since: readonly string[];
  /** What it is, and what goes without it. */
  readonly note: string;
}

/**
 * What is safe on which version, as data. A cluster has what its oldest server has.
 *
 * @see Reliability: NATS settings and versions
 */
export const serverMatrix = {
  streamSequenceFence: {
    since: [SERVER_FLOOR],
    note: 'an append states the last sequence of the stream, and one of several wins: what the log is fenced by',
  },
  createOnlyKey: {
    since: [SERVER_FLOOR],
    note: 'of several creates of one key one wins',
  },
  subjectSequenceFence: {
    since: ['2.11.0'],
    note:
      'an append states the last sequence of its subject, as an update of a key does; before 2.9.21 several win on ' +
      'three replicas, before 2.11 replicas can come to differ',
  },
  killSafeStreams: {
    since: ['2.10.23'],
    note: 'a stream is not lost when servers are killed; before, its replicas can have to be brought back by hand',
  },
  syncAlways: {
    since: ['2.10.23'],
    note: 'sync_interval: always flushes streams and their Raft logs before an acknowledgement',
  },
  powerSafeSync: {
    since: ['2.12.12', '2.14.4'],
    note: 'and does so without the gaps that were found later: what durability class quorum-disk needs',
  },
  consumerFilters: {
    since: ['2.10.0'],
    note: 'several filters of a consumer, metadata, a first sequence, compression',
  },
  messageTtl: {
    since: ['2.11.0'],
    note: 'messages and keys that expire, paused consumers, batched direct reads',
  },
  atomicBatch: {
    since: ['2.12.0'],
    note: 'several messages that are stored together or not at all',
  },
} as const satisfies Readonly<Record<string, Feature>>;

/** A row of {@link serverMatrix}. */
export type ServerFeature = keyof typeof serverMatrix;

/** Whether every server has something. */
export function haveFeature(versions: readonly ServerVersion[], feature: ServerFeature): boolean {
  return versions.length > 0 && versions.every((version) => isAtLeast(version, serverMatrix[feature].since));
}
