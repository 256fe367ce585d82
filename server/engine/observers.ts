import type { SlowStatementReport } from '#actors/branch/sql/slow-statements.ts';
import { isLinkWaiting } from '#actors/identities/link-messages.ts';
import { isAuthenticationConfigured, isIdentityChanged } from '#actors/identities/messages.ts';
import { isUserStatusChanging } from '#actors/identities/people-messages.ts';
import {
  type AuditEntry,
  isAccountChanged,
  isActionRecorded,
  isBranchesEnding,
} from '#actors/tenant/messages.ts';
import type { HttpObservation } from '#protocols/http/uws-server.ts';
import type { RestRoute } from '#protocols/rest/rest-route.ts';
import type { IdentityNews } from '#runtime/access/identity/identity-news.ts';
import { tenantOf } from '#runtime/actor/actor-id.ts';
import { rowsImported } from '#runtime/actor/copies/import-rows.ts';
import type { HostObserver } from '#runtime/actor/host/actor-host.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem, OpenFile } from '#runtime/base/files/file-system.ts';
import type { JournalEvent } from '#runtime/embedded/journal-events.ts';
import { isJobWaiting } from '#runtime/jobs/job-waiting.ts';
import { jobEnqueued } from '#runtime/jobs/outbox.ts';
import { isBranchEvent, isIndexesPending } from '#runtime/tree/branch-events.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import type { HttpRouteMetrics, Metrics } from '#runtime/telemetry/metrics.ts';

const MS_PER_SECOND = 1000;

/** Events after which a branch may have other definitions than the shipped ones. */
const movesHead: ReadonlySet<string> = new Set(['HeadMoved', 'RevisionsAdopted']);

/** Listeners to events of actors. */
export interface HostListeners {
  /** An account of an administrator, or one of its keys, has changed. */
  readonly onAccountChanged: (actor: ActorId, userId: string) => void;
  /** A branch has moved to another of its revisions. */
  readonly onHeadMoved: (actor: ActorId) => void;
  /** The change feed of a branch has new entries. */
  readonly onFeedWritten: (branch: ActorId) => void;
  /** An actor was opened, or got rows of a backup. */
  readonly onOpened: (actor: ActorId) => void;
  /** Branches of a tenant are about to be removed. */
  readonly onBranchesEnding: (branches: readonly ActorId[]) => void;
  /** An actor has committed background jobs, which wait in its outbox. */
  readonly onJobsEnqueued: (actor: ActorId) => void;
  /** A branch has pending property indexes. */
  readonly onIndexesPending: (actor: ActorId, since: string) => void;
  /** Jobs of a repository may be claimed. */
  readonly onJobsWaiting: (actor: ActorId, ids: readonly string[]) => void;
  /** Login links of a tenant are to be sent. */
  readonly onLinksWaiting: (actor: ActorId, ids: readonly string[]) => void;
  /** Something has changed in the identities of a tenant. */
  readonly onIdentityNews: (news: IdentityNews) => void;
  /** A change of the status of user nodes has to be carried to repositories. */
  readonly onUserStatusChanging: (identities: ActorId) => void;
}

/** Counts batches and logs events of actors for operators. */
export function hostObserver(metrics: Metrics, log: Log, listeners: HostListeners): HostObserver {
  const { onFeedWritten, onHeadMoved, onIndexesPending, onJobsEnqueued, onJobsWaiting, onOpened } = listeners;
  const { onIdentityNews } = listeners;
  const events = metrics.counter('svc_events_total', 'Events of durable commands.');
  const failures = metrics.counter('svc_apply_failures_total', 'Applications to a shard that failed.');
  return {
    batchDurable(_kind, commands, bytes, elapsedMs) {
      metrics.commitBatches.add();
      metrics.batchCommands.observe(commands);
      metrics.batchBytes.observe(bytes);
      metrics.commitSeconds.observe(elapsedMs / MS_PER_SECOND);
    },
    events(actor, happened) {
      events.add(happened.length);
      const isHeadMoved = happened.some(({ type }) => movesHead.has(type));
      if (isHeadMoved) onHeadMoved(actor);
      if (isHeadMoved || happened.some(isBranchEvent)) onFeedWritten(actor);
      if (happened.includes(rowsImported)) onOpened(actor);
      for (const event of happened) {
        if (isBranchesEnding(event)) listeners.onBranchesEnding(event.branches);
        else if (isAccountChanged(event)) listeners.onAccountChanged(actor, event.userId);
        else if (isActionRecorded(event)) logAction(log, actor, event.entry);
      }
      if (happened.includes(jobEnqueued)) onJobsEnqueued(actor);
      for (const event of happened) if (isIndexesPending(event)) onIndexesPending(actor, event.since);
      if (happened.some(isUserStatusChanging)) listeners.onUserStatusChanging(actor);
      const waiting = happened.filter(isJobWaiting);
      for (const event of happened) {
        if (isIdentityChanged(event))
          onIdentityNews({ kind: 'identity', tenant: tenantOf(actor), identityId: event.identityId });
        else if (isAuthenticationConfigured(event))
          onIdentityNews({ kind: 'configuration', tenant: tenantOf(actor) });
      }
      if (waiting.length > 0)
        onJobsWaiting(
          actor,
          waiting.map(({ id }) => id),
        );
      const links = happened.filter(isLinkWaiting);
      if (links.length > 0)
        listeners.onLinksWaiting(
          actor,
          links.map(({ id }) => id),
        );
    },
    opened: onOpened,
    verifying: (actor, done, of) =>
      log.warn(
        'the previous process ended while it used a shard; all of the shard is verified before it is opened',
        {
          actor,
          done,
          of,
        },
      ),
    stopped: (actor, error) => log.error('writes to an actor stopped', { actor, error }),
    applyFailed(actor, error) {
      failures.add();
      log.error('changes could not be applied to a shard; they stay in the journal and are applied later', {
        actor,
        error,
      });
    },
  };
}

/** Logs an action of an administrator, without its details. */
function logAction(log: Log, actor: ActorId, { action, actor: by, subject }: AuditEntry): void {
  log.info('administration', { actor, action, subject, by: by.username });
}

/** Logs the events of the journal. */
export function journalReport(log: Log): (event: JournalEvent) => void {
  return (event) => {
    const { kind, ...facts } = event;
    switch (kind) {
      case 'recovered':
      case 'segment-created':
      case 'segment-removed':
        log.debug(`journal: ${kind}`, facts);
        break;
      case 'tail-discarded':
        log.warn(
          'journal: its last record is incomplete and was cut off, as after a crash in the middle of a write. ' +
            'With durability local such a write was not answered, unless the file was cut or the disk lost a part of it later; ' +
            'with durability relaxed answered writes of the last moments may have been in it',
          facts,
        );
        break;
      case 'removal-failed':
        log.warn('journal: an unused segment could not be removed; the removal is tried again', facts);
        break;
      case 'storage-full':
        log.error('journal: no space left on the volume; writes are refused until there is space', facts);
        break;
      case 'writes-stopped':
        log.error(
          event.kind === 'writes-stopped' && event.heals
            ? 'journal: writing stopped; it resumes by itself when the cause is gone'
            : 'journal: writing stopped; restart the member when the disk is well',
          facts,
        );
        break;
      case 'writes-resumed':
        log.warn('journal: writable again; no acknowledged write was lost', facts);
        break;
    }
  };
}

/**
 * Logs statements of SQL that take long.
 *
 * @param thresholdMs shortest time that is long, in milliseconds; 0: none is logged
 * @see docs/operations.md#slow-statements
 */
export function slowStatementReport(log: Log, thresholdMs: number): SlowStatementReport | undefined {
  if (thresholdMs === 0) return undefined;
  return { thresholdMs, report: (statement) => log.warn('slow statement', { ...statement }) };
}

/** Counts requests by route and writes a debug line for each. */
export function requestObserver(
  metrics: Metrics,
  log: Log,
  routes: readonly RestRoute[],
): (observation: HttpObservation) => void {
  // One lookup per route, so that a request looks up one string.
  const known = new Map<string, HttpRouteMetrics>(
    routes.map((route) => [route.operationId, metrics.httpRoute(route.method, route.pattern)]),
  );
  const unmatched = metrics.httpRoute('ANY', 'unmatched');
  return ({ operationId, method, status, durationMs, requestId }) => {
    (known.get(operationId) ?? unmatched).observe(status, durationMs / MS_PER_SECOND);
    if (log.isEnabled('debug')) log.debug('request', { requestId, operationId, method, status, durationMs });
  };
}

/** Wraps files so that they report the time of their flushes. */
export function timedFiles(
  files: FileSystem,
  clock: Clock,
  observeSeconds: (seconds: number) => void,
): FileSystem {
  return {
    ...files,
    async open(path, mode) {
      const file = await files.open(path, mode);
      return timedFile(file, mode === 'create-synced', clock, observeSeconds);
    },
  };
}

/** @param isSynced whether a write also flushes */
function timedFile(
  file: OpenFile,
  isSynced: boolean,
  clock: Clock,
  observeSeconds: (seconds: number) => void,
): OpenFile {
  const timed = async (flush: Promise<void>): Promise<void> => {
    const startedMs = clock.monotonicMs();
    await flush;
    observeSeconds((clock.monotonicMs() - startedMs) / MS_PER_SECOND);
  };
  return {
    write(buffer, offset, length, position) {
      const written = file.write(buffer, offset, length, position);
      return isSynced ? timed(written) : written;
    },
    read: (buffer, offset, length, position) => file.read(buffer, offset, length, position),
    datasync: () => timed(file.datasync()),
    sync: () => file.sync(),
    truncate: (length) => file.truncate(length),
    size: () => file.size(),
    look: () => file.look(),
    close: () => file.close(),
  };
}

/** Level and text of each event of a partition's commit log. */
const partitionLines: Readonly<
  Record<LogEvent['kind'] | 'shards-damaged', readonly ['debug' | 'info' | 'warn' | 'error', string]>
> = {
  opened: ['info', 'partition: opened'],
  resolved: ['info', 'partition: resolved'],
  'void-record': ['debug', 'partition: record of a former owner ignored'],
  'outcome-unknown': ['warn', 'partition: outcome of a write is unknown; reading it from the log'],
  fenced: ['warn', 'partition: now owned by another member'],
  'left-behind': ['warn', 'partition: log was truncated while this member was away'],
  'storage-full': ['error', 'partition: log is full; writes are refused until there is space'],
  'shards-damaged': [
    'error',
    'partition: its shards on this member are damaged; they are removed and rebuilt from the log',
  ],
  'shards-failed': [
    'error',
    'partition: its files on this member cannot be written; other members take over, and this one tries again',
  ],
  'damage-contained': [
    'error',
    'partition: some of its data on this member is damaged and refused, and is not replaced: its log was truncated or cannot be ' +
      'read, or the volume has no space for a second copy; it is rebuilt when a complete snapshot is available, or space',
  ],
  'flush-failed': ['error', 'partition: flush journal cannot be written'],
  reseeded: ['warn', 'partition: end of the stream was lost and has been restored'],
  'leader-doubted': [
    'warn',
    'partition: stream leader lacks the end of the stream; requesting another leader',
  ],
  'set-aside': [
    'warn',
    'partition: records that were never acknowledged were set aside; others had written over them',
  ],
  quarantined: ['error', 'partition: quarantined; it is not served until an operator decides'],
};

/** Logs the events of a partition's commit log. */
export function partitionReport(log: Log, partition: number): (event: LogEvent) => void {
  return (event) => {
    const { kind, ...facts } = event;
    const isDamaged = event.kind === 'shards-failed' && event.isDamaged;
    const [level, text] = partitionLines[isDamaged ? 'shards-damaged' : kind];
    log[level](text, 'cause' in event ? { partition, error: event.cause } : { partition, ...facts });
  };
}
