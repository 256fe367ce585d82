import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalQueue } from '#actors/jobs/local-queue.ts';
import { ActorHost } from '#runtime/actor/host/actor-host.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { BackupKey } from '#runtime/backup/backup-key.ts';
import { BackupReader } from '#runtime/backup/backup-reader.ts';
import { noOwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { hostLimits } from '#server/host/host-limits.ts';
import { requireEverything, type RestoredEverything, restoreEverything } from './restore-everything.ts';
import { isBeingRestored, markRestore, unmarkRestore } from './restore-marker.ts';

/** Dependencies of a restore into an empty data directory. */
export interface RestoreDirectoryEnvironment {
  readonly dataDir: string;
  /** Folder of the backup. */
  readonly backup: string;
  /** The key of the server that is to run on it; without one every backup is foreign. */
  readonly key: BackupKey | undefined;
  /** Whether a backup that was not signed with that key is accepted. */
  readonly acceptForeign: boolean;
  readonly clock: Clock;
  readonly random: Random;
  /** Cancels the restore. */
  readonly signal: AbortSignal;
  /** Receives the progress: bytes done, bytes in total, and the current actor. */
  readonly onProgress: (bytes: number, total: number, current: ActorId | undefined) => void;
}

/** Content of a data directory besides keys, lock and backups: with any of it the directory is in use. */
const contents = ['actors', 'journal', 'blobs', 'partitions'] as const;

/**
 * Restores a complete backup into an empty data directory, without a server. It uses the restore of a running server
 * over a journal of its own. A marker in the directory prevents servers from starting until the restore is complete,
 * so the journal need not be flushed with every commit.
 *
 * The keys should be in the directory already: without the old ones, sessions end and stored secrets cannot be
 * read.
 *
 * @throws {ServiceError} `CONFLICT` when the directory is not empty or in use; `BACKUP_NOT_FOUND`, `BACKUP_DAMAGED`,
 *   `BACKUP_FOREIGN`, `REQUEST_CANCELLED`, `STORAGE_FULL`
 */
export async function restoreDirectory(
  environment: RestoreDirectoryEnvironment,
): Promise<RestoredEverything> {
  const { acceptForeign, backup, dataDir, key, onProgress, signal } = environment;
  const reader = await BackupReader.open(backup, realFileSystem, key);
  reader.requireTrusted(acceptForeign);
  requireEverything(reader);
  const lock = await acquireDataDirectory(dataDir, claimName);
  try {
    await requireEmptyDirectory(dataDir);
    const total = 2 * BackupReader.bytesOf(reader.manifest.actors);
    let bytes = 0;
    let current: ActorId | undefined;
    const add = (more: number): void => {
      bytes += more;
      onProgress(bytes, total, current);
    };
    await reader.verify(reader.manifest.actors, (read) => {
      if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The restore was given up');
      add(read);
    });
    await markRestore(dataDir, realFileSystem);
    const onActor = (actor: ActorId): void => {
      current = actor;
      add(0);
    };
    const restored = await fill(environment, reader, onActor, add);
    await unmarkRestore(dataDir, realFileSystem);
    return restored;
  } finally {
    lock.release();
  }
}

/** Removes the remains of an unfinished restore: the directory was empty when it began. */
async function requireEmptyDirectory(dataDir: string): Promise<void> {
  const found = contents.filter((name) => existsSync(join(dataDir, name)));
  if (found.length === 0) return;
  if (!isBeingRestored(dataDir)) {
    throw new ServiceError(
      'CONFLICT',
      `${dataDir} is not empty (it has ${found.join(', ')}). Everything is restored into an empty directory; to get one repository back, restore it into the running server.`,
    );
  }
  for (const name of found) await rm(join(dataDir, name), { recursive: true, force: true });
}

async function fill(
  { clock, dataDir, random, signal }: RestoreDirectoryEnvironment,
  reader: BackupReader,
  onActor: (actor: ActorId) => void,
  onFile: (bytes: number) => void,
): Promise<RestoredEverything> {
  const kinds = actorKinds(defaultLimits);
  const journal = await Journal.open({
    folder: join(dataDir, 'journal'),
    durability: 'relaxed',
    files: realFileSystem,
    clock,
    random,
    report: () => {},
  });
  const host = new ActorHost({
    folder: join(dataDir, 'actors'),
    log: journal,
    clock,
    random,
    kinds,
    limits: hostLimits(defaultLimits),
    observer: { batchDurable: () => {}, events: () => {}, stopped: () => {}, applyFailed: () => {} },
    slices: new SliceScheduler(clock),
  });
  const queue = new LocalQueue({ router: host, lifecycle: host, clock, random, onFailure: () => {} });
  try {
    await host.recover();
    return await restoreEverything({
      router: host,
      lifecycle: host,
      // No server starts on a partial backup: see restore-marker.ts.
      unsettled: noOwnerIntents,
      queue,
      kinds,
      clock,
      random,
      reader,
      signal,
      onActor,
      onFile,
    });
  } finally {
    queue.close();
    await host.close();
    await journal.close();
  }
}
