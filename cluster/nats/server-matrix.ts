import { isAtLeast, type ServerVersion } from './server-version.ts';

/** The oldest supported nats-server, which was measured: Debian 12 ships it. */
export const SERVER_FLOOR = '2.9.10';

/** A feature that nats-server has from some version on. */
interface Feature {
  /** Releases that introduced it, one for each minor version it was backported to. */
  readonly since: readonly string[];
  /** Description of the feature, and what fails without it. */
  readonly note: string;
}

/**
 * Features by version, as data. A cluster has the features of its oldest server.
 *
 * @see docs/partition-log.md#streams-and-servers
 */
export const serverMatrix = {
  streamSequenceFence: {
    since: [SERVER_FLOOR],
    note: 'an append states the last sequence of the stream, and one of several concurrent appends succeeds: this fences the log',
  },
  createOnlyKey: {
    since: [SERVER_FLOOR],
    note: 'one of several concurrent creates of a key succeeds',
  },
  subjectSequenceFence: {
    since: ['2.11.0'],
    note:
      'an append states the last sequence of its subject, as an update of a key does; before 2.9.21 several succeed on ' +
      'three replicas, before 2.11 replicas may diverge',
  },
  killSafeStreams: {
    since: ['2.10.23'],
    note: 'a stream survives when servers are killed; before, its replicas may need to be restored by hand',
  },
  syncAlways: {
    since: ['2.10.23'],
    note: 'sync_interval: always flushes streams and their Raft logs before an acknowledgement',
  },
  powerSafeSync: {
    since: ['2.12.12', '2.14.4'],
    note: 'the same without the gaps that were found later; durability class quorum-disk requires it',
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
    note: 'several messages that are stored atomically',
  },
} as const satisfies Readonly<Record<string, Feature>>;

/** A row of {@link serverMatrix}. */
export type ServerFeature = keyof typeof serverMatrix;

/** Returns whether every server has a feature. */
export function haveFeature(versions: readonly ServerVersion[], feature: ServerFeature): boolean {
  return versions.length > 0 && versions.every((version) => isAtLeast(version, serverMatrix[feature].since));
}
