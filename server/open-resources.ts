import { requireFreePort } from '#protocols/http/listen-error.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { findSecrets } from '#runtime/config/secrets.ts';
import { acquireDataDirectory, type DataDirectoryLock } from '#runtime/embedded/data-directory-lock.ts';
import { LocalAccess } from '#runtime/embedded/local-access.ts';
import type { SpaceGate } from '#runtime/space/space-gate.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';
import { CheckResults } from '#server/check/check-results.ts';
import { requireFinishedRestore } from '#server/backup/restore-marker.ts';
import { backupFolder } from '#server/host/backup-folder.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { directoryKey, type RotatedKey } from '#server/host/directory-key.ts';
import { FolderWatch } from '#server/host/folder-watch.ts';
import { SigningKeyRecord } from '#server/host/signing-key.ts';
import { openSpaceGate, SpaceWatch } from '#server/host/space-watch.ts';
import { unsuitedVolumeWarning } from '#server/host/unsuited-volume.ts';
import type { Closers, MemberEnvironment } from './member.ts';

/** Resources of a member before its engine is opened: its data directory, its keys, and their watches. */
export interface MemberResources {
  readonly lock: DataDirectoryLock;
  readonly secrets: ReturnType<typeof findSecrets>;
  /** The master keys, as the data directory records them. */
  readonly key: RotatedKey;
  /** Which signing key the data directory records. */
  readonly signingKey: SigningKeyRecord;
  /** Its key is stored once the member listens. */
  readonly localAccess: LocalAccess;
  readonly metrics: Metrics;
  readonly files: FileSystem;
  readonly space: SpaceGate;
  readonly folders: FolderWatch;
  readonly checkResults: CheckResults;
  readonly slices: SliceScheduler;
}

/**
 * Takes the data directory and opens its resources. Nothing is created or printed that is useful only to a running
 * member.
 *
 * @throws {ServiceError} `CONFLICT` when another process has the directory
 * @throws {OptionError} when a stored key is damaged, or the folder of backups is unsuitable
 * @throws {ListenError} when the port is taken
 */
export async function openResources(
  environment: MemberEnvironment,
  closers: Closers,
): Promise<MemberResources> {
  const { clock, log, options, random } = environment;
  const { dataDir, host, port } = options.server;
  const backupDir = backupFolder(options.server);
  const lock = await acquireDataDirectory(dataDir, claimName);
  closers.add(() => lock.release());
  requireFinishedRestore(dataDir);
  if (port !== 0) await requireFreePort(host, port);
  const unsuited = unsuitedVolumeWarning(dataDir);
  if (unsuited !== undefined) log.warn(unsuited);
  const secrets = findSecrets(options.server, random);
  const localAccess = new LocalAccess(dataDir, random);
  closers.add(() => localAccess.remove());
  const metrics = openMetrics(environment);
  const space = openSpaceGate(options, log, metrics);
  const files = environment.files ?? realFileSystem;
  const watchSpace = new SpaceWatch({ gate: space, files, clock, dataDir, backupDir });
  closers.add(() => watchSpace.stop());
  await watchSpace.start();
  const folders = await FolderWatch.start(dataDir, clock);
  closers.add(() => folders.stop());
  const checkResults = new CheckResults(files, dataDir, clock);
  const slices = new SliceScheduler(clock, options.limits.replyBytesTotalMax);
  const key = directoryKey(secrets);
  const signingKey = new SigningKeyRecord({ dataDir, secrets, previous: options.server.jwtSecretPrevious });
  return {
    lock,
    secrets,
    key,
    signingKey,
    localAccess,
    metrics,
    files,
    space,
    folders,
    checkResults,
    slices,
  };
}

function openMetrics({ collectDefaultMetrics, linesDropped }: MemberEnvironment): Metrics {
  const metrics = new Metrics({ collectDefaults: collectDefaultMetrics === true });
  metrics.gauge(
    'svc_log_lines_dropped',
    'Lines of output given up since the start because nobody read them.',
    linesDropped ?? (() => 0),
  );
  return metrics;
}
