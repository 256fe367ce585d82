import type { ErrorCode } from '#runtime/errors/error-registry.ts';

/** A repository by its name. */
export interface NamedRepository {
  readonly tenant: string;
  readonly name: string;
}

/** How far a backup or a restore is. */
export type OperationState = 'running' | 'done' | 'failed';

/** Who signed a backup: this server, another one, or nobody. */
export type BackupSigner = 'own' | 'foreign' | 'unsigned';

/** Why a backup or a restore failed. */
export interface OperationError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** A backup that is made, was made, or could not be made. */
export interface BackupInfo {
  readonly name: string;
  readonly state: OperationState;
  /** Default: everything. */
  readonly repository: NamedRepository | undefined;
  /** ISO 8601, as all times. */
  readonly startedAt: string;
  readonly finishedAt: string | undefined;
  /** Version of the product that made it. */
  readonly version: string;
  /** Bytes of its files, so far. */
  readonly bytes: number;
  /** Actors in it, so far. */
  readonly actors: number;
  /** Undefined while it is not finished. */
  readonly signedBy: BackupSigner | undefined;
  /** What is copied now. */
  readonly current: string | undefined;
  readonly error: OperationError | undefined;
}

/** A restore of this process. */
export interface RestoreInfo {
  readonly id: string;
  /** Name of the backup. */
  readonly backup: string;
  readonly state: OperationState;
  /** What is restored of it; undefined: everything. */
  readonly repository: NamedRepository | undefined;
  /** The name it gets; undefined where everything is restored. */
  readonly target: NamedRepository | undefined;
  readonly startedAt: string;
  readonly finishedAt: string | undefined;
  /** Bytes read of those that are to be read: each file once for its checksum, once for its rows. */
  readonly bytes: number;
  readonly bytesTotal: number;
  /** What is made now; undefined while checksums are compared. */
  readonly current: string | undefined;
  readonly error: OperationError | undefined;
}

/** What is to be backed up. */
export interface NewBackup {
  /** Of its folder, below the folder of the backups, or the path of that folder; default: made of the time. */
  readonly name: string | undefined;
  /** Default: everything. */
  readonly repository: NamedRepository | undefined;
}

/** What is to be restored. */
export interface NewRestore {
  /** Name or path of the backup. */
  readonly backup: string;
  /** A repository in it; default: the only one of a backup of one repository, else everything. */
  readonly repository: NamedRepository | undefined;
  /** Another name for that repository; default: its own. */
  readonly target: NamedRepository | undefined;
  /** Whether a backup that this server has not signed is taken too; default: no. */
  readonly acceptForeign?: boolean;
}

/** Backups of a member, one at a time. Implemented by the process that owns the actors. */
export interface Backups {
  /**
   * Begins a backup into the folder of the backups; look at {@link Backups.find} for what becomes of it.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `ALREADY_EXISTS`, `VALIDATION_FAILED`, `STORAGE_FULL`; `CONFLICT`
   *   while another backup or restore runs
   */
  start(backup: NewBackup): Promise<BackupInfo>;
  /** Those in the folder of the backups, sorted by name, and the one that is being made. */
  list(): Promise<readonly BackupInfo[]>;
  /** Undefined when there is none of the name. @throws {ServiceError} `BACKUP_DAMAGED` */
  find(name: string): Promise<BackupInfo | undefined>;
  /**
   * Begins a restore; look at {@link Backups.findRestore} for what becomes of it.
   *
   * @throws {ServiceError} `BACKUP_NOT_FOUND`, `BACKUP_DAMAGED`, `BACKUP_FOREIGN`, `REPOSITORY_NOT_FOUND`, `TENANT_NOT_FOUND`,
   *   `REPOSITORY_ALREADY_EXISTS`, `VALIDATION_FAILED`; `CONFLICT` when everything is to be restored and the server
   *   is not empty, and while another backup or restore runs
   */
  restore(restore: NewRestore): Promise<RestoreInfo>;
  /** A restore of this process; the last ones are remembered. */
  findRestore(id: string): RestoreInfo | undefined;
  /**
   * Gives a restore up: it has failed when nothing of it is left, unless it was over before. Look at
   * {@link Backups.findRestore} for which.
   *
   * @returns the restore as it is now; undefined when there is none
   */
  stopRestore(id: string): RestoreInfo | undefined;
}
