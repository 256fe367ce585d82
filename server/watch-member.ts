import type { HttpServer } from '#protocols/http/uws-server.ts';
import type { BackupInfo } from '#protocols/rest/management/backup-ports.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { EventLoopLag } from '#runtime/telemetry/event-loop-lag.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import { LastBackups } from '#server/backup/last-backups.ts';
import type { MemberEngine } from '#server/engine/engine.ts';
import { StatusMetrics } from '#server/status/status-metrics.ts';

const MS_PER_SECOND = 1000;

/** Sources of a member's metrics. */
export interface WatchedMember {
  readonly clock: Clock;
  /** Version of the product. */
  readonly version: string;
  readonly engine: Pick<MemberEngine, 'load' | 'mode' | 'status'>;
  readonly http: Pick<HttpServer, 'connectionCount' | 'inFlightCount'>;
  readonly backups: { find(name: string): Promise<BackupInfo | undefined> };
  /** Folder of the backups. */
  readonly backupFolder: string;
}

/** Exports the metrics of a member as a whole. @returns ends continuous measurements */
export function watchMember(metrics: Metrics, member: WatchedMember): () => void {
  const { backupFolder, backups, clock, engine, http, version } = member;
  const lag = new EventLoopLag(systemClock);
  lag.start();
  metrics.watchEventLoopLag(lag);
  metrics.watchOpenActors(() => engine.load().openActors);
  metrics.watchMemtableBytes(() => engine.load().pendingBytes);
  metrics.watchInFlightRequests(() => http.inFlightCount);
  metrics.gauge('svc_connections', 'Connections of clients that are open.', () => http.connectionCount);
  const build = [{ labels: { version, node: process.version, mode: engine.mode }, value: 1 }];
  metrics.gauges('svc_build_info', '1, with the version of Grove and of Node, and the mode.', () => build);
  const last = new LastBackups({ folder: backupFolder, find: (name) => backups.find(name), clock });
  metrics.gauges(
    'svc_backup_finished_timestamp_seconds',
    'When the newest backup in the folder of this member was finished; 0: there is none.',
    () =>
      [...(last.finishedMs ?? [])].map(([scope, finishedMs]) => ({
        labels: { scope },
        value: finishedMs / MS_PER_SECOND,
      })),
  );
  const status = new StatusMetrics(metrics, {
    clock,
    mode: engine.mode,
    read: (signal) => engine.status.read(signal),
  });
  return () => {
    lag.stop();
    status.stop();
  };
}
