import type { Log } from '#runtime/telemetry/log-context.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import type { SnapshotReport } from '#cluster/snapshot/snapshot-events.ts';

/** Counts snapshots and logs their events for operators. */
export function snapshotReport(metrics: Metrics, log: Log): SnapshotReport {
  const taken = metrics.counter('svc_snapshots_total', 'Snapshots of partitions taken by this member.');
  const stored = metrics.counter('svc_snapshot_stored_bytes_total', 'Bytes stored for snapshots.');
  const failures = metrics.counter('svc_snapshot_failures_total', 'Snapshots that could not be taken.');
  const cuts = metrics.counter('svc_log_cuts_total', 'Times a commit log was cut behind a snapshot.');
  const restores = metrics.counter('svc_snapshot_restores_total', 'Partitions begun with a snapshot.');
  const unusable = metrics.counter(
    'svc_snapshots_unusable_total',
    'Snapshots that were damaged or could not be read when they were wanted.',
  );
  return (event) => {
    const { kind, ...facts } = event;
    switch (kind) {
      case 'taken':
        taken.add();
        stored.add(event.storedBytes);
        log.info('snapshot taken', facts);
        break;
      case 'not-taken':
        failures.add();
        log.warn('snapshot could not be taken; it is tried again', told(event));
        break;
      case 'check-failed':
        log.warn('snapshots could not be checked; it is tried again', { error: event.cause });
        break;
      case 'log-cut':
        cuts.add();
        log.info('commit log truncated', facts);
        break;
      case 'log-not-cut':
        log.warn('commit log could not be truncated; it is tried again', told(event));
        break;
      case 'unusable':
        unusable.add();
        log.error('snapshot cannot be used; trying another one', {
          sequence: event.sequence,
          ...told(event),
        });
        break;
      case 'awaited':
        log.warn('partition waits for a snapshot; requested one of the other members', facts);
        break;
      case 'swap-finished':
        restores.add();
        log.info('partition restored from a snapshot', { ...facts, after_interruption: true });
        break;
      case 'restored':
        restores.add();
        log.info('partition restored from a snapshot', facts);
        break;
    }
  };
}

function told({ cause, partition }: { readonly cause: unknown; readonly partition: number }) {
  return { partition, error: cause };
}
