import type { ActorHost } from '#runtime/actor/host/actor-host.ts';
import type { ReplicaReads } from '#runtime/actor/reads/replica-reads.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Replica } from '#runtime/commit/replica.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import type { ColdStart } from './cold-start.ts';
import type { ReplicasEnvironment } from '#cluster/replica-durability/flushed-replica.ts';
import type { PartitionHost, PartitionStore } from './partition-host.ts';

/** Role of a member for one partition. */
export type PartitionRole = 'idle' | 'following' | 'opening' | 'owning' | 'quarantined';

/** Dependencies of a partition. @typeParam Host serves its actors while this member owns it */
export interface PartitionEnvironment<Host extends PartitionHost = ActorHost> {
  readonly partition: number;
  /** Name of this member. */
  readonly member: string;
  /** Contains the position of the partition. */
  readonly folder: string;
  readonly store: PartitionStore;
  readonly stream: LogStream;
  readonly leaseMs: number;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  /** Opens the host that serves the actors of the store over the log. */
  readonly openHost: (log: PartitionLog) => Promise<Host>;
  /** Without snapshots a truncated log puts the partition into quarantine. */
  readonly coldStart?: ColdStart;
  /** Opens queries on a replica; absent without readers. */
  readonly openReads?: (replica: Replica) => ReplicaReads;
  /** Communication with other replicas; without it this one trusts the stream. */
  readonly replicas?: ReplicasEnvironment;
  readonly report: LogReport;
  /** Called after every change of the role. */
  readonly onRole: (role: PartitionRole) => void;
}

/** The partition while this member owns it. */
export interface OwnedPartition<Host extends PartitionHost = ActorHost> {
  readonly log: PartitionLog;
  readonly host: Host;
}
