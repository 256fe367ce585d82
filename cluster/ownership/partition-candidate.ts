import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Replica } from '#runtime/commit/replica.ts';
import type { FlushGate } from '#cluster/replica-durability/flush-gate.ts';
import type { LogBatch } from '#cluster/replication/batch-decoder.ts';
import type { LogReport } from '#cluster/replication/log-events.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import type { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import type { OwnedPartition, PartitionEnvironment } from './partition-environment.ts';
import type { PartitionHost } from './partition-host.ts';
import type { PositionKeeper } from './position-keeper.ts';
import type { ShardPositions } from '#cluster/replication/shard-positions.ts';

/** Options for opening a partition. */
export interface CandidateOptions<Host extends PartitionHost> {
  readonly environment: PartitionEnvironment<Host>;
  readonly positions: PositionKeeper;
  readonly flushed: FlushedReplica | undefined;
  readonly shards: ShardPositions;
  /** @param newest position after everything it was given */
  readonly makeReplica: (newest: () => LogPosition | undefined) => Replica;
  /** Releases the replica and its readers. */
  readonly abandon: (replica: Replica) => Promise<void>;
  /** Called when all of the log is in the shards. @throws {ServiceError} when one of them is damaged */
  readonly requireSound: () => void;
  /** Receives events of the log while it is open. */
  readonly report: LogReport;
  /** Cancels the opening. */
  readonly signal: AbortSignal;
}

/** Outcome of an attempt to own a partition. */
export type CandidateOutcome<Host extends PartitionHost> =
  | { readonly kind: 'owned'; readonly owned: OwnedPartition<Host> }
  /** The stream has fewer records than this member, or other ones. */
  | { readonly kind: 'regressed'; readonly cause: unknown }
  /** It was not opened, or another member owns it. */
  | { readonly kind: 'refused'; readonly cause: unknown }
  /** It was opened, and its shards or its journal failed here. */
  | { readonly kind: 'failed'; readonly cause: unknown };

/**
 * One attempt to own a partition that no other code of this member uses: brings a replica to the end of the log,
 * opens the log, waits until the opening is durable in the class, and opens a host.
 *
 * @see docs/partition-log.md#opening-a-partition
 */
export class PartitionCandidate<Host extends PartitionHost> {
  /** Answers queries meanwhile. */
  readonly replica: Replica;
  readonly #options: CandidateOptions<Host>;
  /** Holds back records that are not in the flush journal on the disk; undefined without one. */
  readonly #behind: FlushGate<LogBatch> | undefined;
  /** Position after everything the replica was given. */
  #given: LogPosition | undefined;

  constructor(options: CandidateOptions<Host>) {
    this.#options = options;
    this.replica = options.makeReplica(() => this.#given);
    this.#behind = options.flushed?.openGate((batch) => this.replica.take(batch));
  }

  /** To be called once. The replica cannot be used any more when it resolves. */
  async run(): Promise<CandidateOutcome<Host>> {
    const { abandon, environment, flushed, positions, signal } = this.#options;
    let isStreamWhole = false;
    let log: PartitionLog | undefined;
    try {
      const isUnbroken = await flushed?.requireStream(positions.current, signal);
      if (isUnbroken === false) positions.forgetReceived();
      isStreamWhole = true;
      const gate = flushed?.beginOwning(environment.leaseMs);
      log = await this.#openLog(gate);
      await this.#behind?.drain();
      if (gate !== undefined && !(await gate.opens(log, signal))) {
        // The shards are healthy.
        const { ended } = log;
        await log.close();
        log = undefined;
        throw ended ?? new ServiceError('REQUEST_CANCELLED');
      }
      await this.replica.settle();
      this.#options.requireSound();
      await abandon(this.replica);
      // All of it is in the shards.
      for (const [actor, { last }] of log.pending()) log.released(actor, last);
      return { kind: 'owned', owned: { log, host: await environment.openHost(log) } };
    } catch (cause) {
      // A member that can serve it need not wait for a lease.
      await log?.close();
      flushed?.stopOwning();
      await abandon(this.replica);
      if (!isStreamWhole) return { kind: 'regressed', cause };
      return { kind: log === undefined ? 'refused' : 'failed', cause };
    }
  }

  #openLog(gate: ReturnType<FlushedReplica['beginOwning']>): Promise<PartitionLog> {
    const { environment, flushed, positions, report, shards, signal } = this.#options;
    const { stream, partition, member, leaseMs, clock, random } = environment;
    return openPartition({
      stream,
      partition,
      member,
      position: positions.current,
      leaseMs,
      clock,
      random,
      report,
      signal,
      take: (batch, position) => {
        this.#given = position;
        return this.#behind === undefined ? this.replica.take(batch) : this.#behind.take(batch);
      },
      shards: {
        before: async (sequence, newest, actor) => flushed?.beforeShards(sequence, newest, actor),
        applied: (actor, sequence, mark) => shards.applied(actor, sequence, mark),
      },
      ...(gate === undefined ? {} : { gate }),
      ...(flushed === undefined ? {} : { replicas: flushed.survey }),
    });
  }
}
