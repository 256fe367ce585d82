import type { StreamState } from '#cluster/replication/log-stream.ts';
import { type SnapshotRecord, SNAPSHOTS_KEPT } from './snapshot-manifest.ts';

/** What is known of one log. */
interface RotatedLog {
  readonly identity: string;
  /** Its newest record when all members had begun to sign with the present key. */
  readonly last: number;
  /** Whether the log still had that record, or an earlier one, when it was looked at. */
  hasOld: boolean;
}

/** What a log that has records of the previous key needs next, so that they can be truncated. */
export type RotationStep = 'record' | 'snapshot' | 'truncation';

/**
 * Logs with records that may be signed with the previous master key. Nothing that is in a stream can be signed again, so the
 * records have to go: a member without the previous key would take them for forged.
 *
 * Invariant: while all members sign with the present key, no record after {@link RotatedLog.last} is signed with another
 * one. When that ends, nothing is known any more.
 *
 * @see docs/decisions/0076-master-key-rotation.md
 */
export class RotatedLogs {
  readonly #isAgreed: () => boolean;
  readonly #logs = new Map<number, RotatedLog>();

  /** @param isAgreed whether all known members sign with the present key of this one */
  constructor(isAgreed: () => boolean) {
    this.#isAgreed = isAgreed;
  }

  /**
   * Looks at a log.
   *
   * @returns its newest record that may be signed with the previous key; undefined when it has none, or that cannot be known
   *   yet
   */
  look(partition: number, { firstSequence, identity, lastSequence }: StreamState): number | undefined {
    if (!this.#isAgreed()) {
      this.#logs.clear();
      return undefined;
    }
    let log = this.#logs.get(partition);
    if (log === undefined || log.identity !== identity) log = { identity, last: lastSequence, hasOld: true };
    log.hasOld = firstSequence <= log.last;
    this.#logs.set(partition, log);
    return log.hasOld ? log.last : undefined;
  }

  /** Of some partitions those whose logs may have records of the previous key; one that was not looked at may. */
  left(partitions: Iterable<number>): readonly number[] {
    return [...partitions].filter((partition) => this.#logs.get(partition)?.hasOld !== false);
  }
}

/**
 * Returns what is needed next to truncate a log behind a record: both kept snapshots have to end after it, and the record at
 * which the older one ends stays in the log.
 *
 * @param lastOld result of {@link RotatedLogs.look}
 */
export function rotationStep(
  lastOld: number,
  { identity, lastSequence }: Pick<StreamState, 'identity' | 'lastSequence'>,
  records: readonly SnapshotRecord[],
): RotationStep {
  const later = records.filter(
    ({ position }) => position.identity === identity && position.sequence > lastOld,
  );
  if (later.length >= SNAPSHOTS_KEPT) return 'truncation';
  return lastSequence > (later[0]?.position.sequence ?? lastOld) ? 'snapshot' : 'record';
}
