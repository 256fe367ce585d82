import type { ErrorCode } from '#runtime/errors/error-registry.ts';

/** A repository by its name. */
export interface NamedRepository {
  readonly tenant: string;
  readonly name: string;
}

/** Progress of a backup or a restore. */
export type OperationState = 'running' | 'done' | 'failed';

/** The signer of a backup: this server, another one, or none. */
export type BackupSigner = 'own' | 'foreign' | 'unsigned';

/** The error of a failed backup or restore. */
export interface OperationError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** A running, finished or failed backup. */
export interface BackupInfo {
  readonly name: string;
  readonly state: OperationState;
  /** Default: the whole server. */
  readonly repository: NamedRepository | undefined;
  /** ISO 8601, as all times. */
  readonly startedAt: string;
  readonly finishedAt: string | undefined;
  /** Version of the product that made it. */
  readonly version: string;
  /** Total size of its files so far. */
  readonly bytes: number;
  /** Number of actors so far. */
  readonly actors: number;
  /** Undefined until it is finished. */
  readonly signedBy: BackupSigner | undefined;
  /** The item that is being copied. */
  readonly current: string | undefined;
  readonly error: OperationError | undefined;
}

/** A restore of this process. */
export interface RestoreInfo {
  readonly id: string;
  /** Name of the backup. */
  readonly backup: string;
  readonly state: OperationState;
  /** The repository to restore; undefined: the whole backup. */
  readonly repository: NamedRepository | undefined;
  /** The name of the restored repository; undefined when the whole backup is restored. */
  readonly target: NamedRepository | undefined;
  readonly startedAt: string;
  readonly finishedAt: string | undefined;
  /** Bytes read so far. Each file is read twice: once for its checksum, once for its rows. */
  readonly bytes: number;
  readonly bytesTotal: number;
  /** The item that is being restored; undefined while checksums are verified. */
  readonly current: string | undefined;
  readonly error: OperationError | undefined;
}

/** The scope of a new backup. */
export interface NewBackup {
  /** Name of its folder below the backup folder, or the path of that folder; default: derived from the time. */
  readonly name: string | undefined;
  /** Default: the whole server. */
  readonly repository: NamedRepository | undefined;
}

/** The scope of a restore. */
export interface NewRestore {
  /** Name or path of the backup. */
  readonly backup: string;
  /** A repository in it; default: the only one of a backup of one repository, else the whole backup. */
  readonly repository: NamedRepository | undefined;
  /** A new name for that repository; default: its own. */
  readonly target: NamedRepository | undefined;
  /** Whether a backup that this server has not signed is accepted; default: no. */
  readonly acceptForeign?: boolean;
}

/** Backups of a member, one at a time. Implemented by the process that owns the actors. */
export interface Backups {
  /**
   * Starts a backup into the backup folder; {@link Backups.find} returns its progress.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `ALREADY_EXISTS`, `VALIDATION_FAILED`, `STORAGE_FULL`; `CONFLICT`
   *   while another backup or restore runs
   */
  start(backup: NewBackup): Promise<BackupInfo>;
  /** The backups in the backup folder, sorted by name, and the running one. */
  list(): Promise<readonly BackupInfo[]>;
  /** Undefined if no backup has this name. @throws {ServiceError} `BACKUP_DAMAGED` */
  find(name: string): Promise<BackupInfo | undefined>;
  /**
   * Starts a restore; {@link Backups.findRestore} returns its progress.
   *
   * @throws {ServiceError} `BACKUP_NOT_FOUND`, `BACKUP_DAMAGED`, `BACKUP_FOREIGN`, `REPOSITORY_NOT_FOUND`,
   *   `TENANT_NOT_FOUND`, `REPOSITORY_ALREADY_EXISTS`, `VALIDATION_FAILED`; `CONFLICT` when the whole backup is to be
   *   restored and the server is not empty, and while another backup or restore runs
   */
  restore(restore: NewRestore): Promise<RestoreInfo>;
  /** A restore of this process; only the latest ones are kept. */
  findRestore(id: string): RestoreInfo | undefined;
  /**
   * Cancels a restore. It fails once its partial result is removed, unless it finishes before;
   * {@link Backups.findRestore} returns the outcome.
   *
   * @returns the restore as it is now; undefined when there is none
   */
  stopRestore(id: string): RestoreInfo | undefined;
}
