import { expect, it } from 'vitest';
import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import { PartitionMetrics } from '#server/status/partition-metrics.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';

it('reports how many partitions a member has, what happened to them, and how long appends take', async () => {
  const metrics = new Metrics();
  let roles: PartitionRole[] = [];
  const partitions = new PartitionMetrics(metrics, () => roles);
  roles = ['owning', 'owning', 'following', 'opening', 'idle', 'quarantined'];
  partitions.event({ kind: 'opened', epoch: 1, waitedMs: 0 });
  partitions.event({ kind: 'fenced', member: 'm2', epoch: 2 });
  partitions.event({ kind: 'outcome-unknown', sequence: 3, reason: 'no answer' });
  partitions.event({ kind: 'resolved', epoch: 3, sentAgain: 0, tookMs: 1 });
  partitions.event({ kind: 'void-record', sequence: 4, reason: 'an older epoch' });
  partitions.event({ kind: 'storage-full', batches: 1, reason: 'full' });
  partitions.append({ kind: 'stored', sequence: 5 }, 2000);
  partitions.append({ kind: 'wrong-sequence' }, 1);
  const text = await metrics.text();
  for (const [name, value] of [
    ['svc_partitions_owned', 2],
    ['svc_partitions_followed', 2],
    ['svc_partitions_quarantined', 1],
    ['svc_partition_openings_total', 1],
    ['svc_partition_fences_total', 1],
    ['svc_append_unknown_outcomes_total', 1],
    ['svc_void_records_total', 1],
    ['svc_log_full_total', 1],
    ['svc_appends_refused_total', 1],
    ['svc_append_seconds_count', 1],
    ['svc_append_seconds_sum', 2],
  ])
    expect(text).toContain(`\n${name} ${value}\n`);
});
