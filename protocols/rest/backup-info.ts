import type { JsonSchema } from '#protocols/http/route.ts';
import type {
  BackupInfo,
  BackupSigner,
  NamedRepository,
  OperationError,
  OperationState,
  RestoreInfo,
} from './backup-ports.ts';

/** A backup on the wire. */
export interface BackupJson {
  readonly name: string;
  readonly state: OperationState;
  /** `{tenant}/{name}`; null: everything. */
  readonly repository: string | null;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly version: string;
  readonly bytes: number;
  readonly actors: number;
  readonly signed_by: BackupSigner | null;
  readonly current: string | null;
  readonly error: OperationError | null;
}

/** A restore on the wire. */
export interface RestoreJson {
  readonly id: string;
  readonly backup: string;
  readonly state: OperationState;
  readonly repository: string | null;
  readonly as: string | null;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly bytes: number;
  readonly bytes_total: number;
  readonly current: string | null;
  readonly error: OperationError | null;
}

/** What the backup routes answer. */
export function backupJson(backup: BackupInfo): BackupJson {
  return {
    name: backup.name,
    state: backup.state,
    repository: repositoryText(backup.repository),
    started_at: backup.startedAt,
    finished_at: backup.finishedAt ?? null,
    version: backup.version,
    bytes: backup.bytes,
    actors: backup.actors,
    signed_by: backup.signedBy ?? null,
    current: backup.current ?? null,
    error: backup.error ?? null,
  };
}

/** What the restore routes answer. */
export function restoreJson(restore: RestoreInfo): RestoreJson {
  return {
    id: restore.id,
    backup: restore.backup,
    state: restore.state,
    repository: repositoryText(restore.repository),
    as: repositoryText(restore.target),
    started_at: restore.startedAt,
    finished_at: restore.finishedAt ?? null,
    bytes: restore.bytes,
    bytes_total: restore.bytesTotal,
    current: restore.current ?? null,
    error: restore.error ?? null,
  };
}

function repositoryText(repository: NamedRepository | undefined): string | null {
  return repository === undefined ? null : `${repository.tenant}/${repository.name}`;
}

const text = { type: 'string' } as const;
const optionalText = { type: ['string', 'null'] } as const;
const time = { type: 'string', format: 'date-time' } as const;
const optionalTime = { type: ['string', 'null'], format: 'date-time' } as const;
const state = { type: 'string', enum: ['running', 'done', 'failed'] } as const;
const error = { type: ['object', 'null'], properties: { code: text, message: text } } as const;

/** JSON Schema of {@link BackupJson}. */
export const backupSchema: JsonSchema = Object.freeze({
  type: 'object',
  properties: {
    name: text,
    state,
    repository: { ...optionalText, description: '`{tenant}/{name}`; null: everything.' },
    started_at: time,
    finished_at: optionalTime,
    version: { ...text, description: 'Version of the product that made it.' },
    bytes: { type: 'integer', description: 'Of its files, so far.' },
    actors: { type: 'integer', description: 'Files in it, so far.' },
    signed_by: {
      type: ['string', 'null'],
      enum: ['own', 'foreign', 'unsigned', null],
      description: "Whose key signed it: this server's, another one's, or nobody's; null while it is made.",
    },
    current: { ...optionalText, description: 'What is copied now.' },
    error,
  },
});

/** JSON Schema of {@link RestoreJson}. */
export const restoreSchema: JsonSchema = Object.freeze({
  type: 'object',
  properties: {
    id: text,
    backup: text,
    state,
    repository: { ...optionalText, description: 'What is restored of it; null: everything.' },
    as: { ...optionalText, description: 'The name it gets; null where everything is restored.' },
    started_at: time,
    finished_at: optionalTime,
    bytes: {
      type: 'integer',
      description: 'Of `bytes_total`, which counts each file twice: for its checksum and for its rows.',
    },
    bytes_total: { type: 'integer' },
    current: { ...optionalText, description: 'What is made now; null while checksums are compared.' },
    error,
  },
});
