import type { JsonSchema } from '#protocols/http/route.ts';
import type { BackupInfo, BackupSigner, NamedRepository, RestoreInfo } from './backup-ports.ts';
import {
  type OperationJson,
  operationJson,
  operationSchema,
  optionalText,
  text,
} from './management-operations.ts';

/** A backup on the wire. */
export interface BackupJson extends OperationJson {
  readonly name: string;
  /** `{tenant}/{name}`; null: the whole server. */
  readonly repository: string | null;
  readonly version: string;
  readonly bytes: number;
  readonly actors: number;
  readonly signed_by: BackupSigner | null;
}

/** A restore on the wire. */
export interface RestoreJson extends OperationJson {
  readonly id: string;
  readonly backup: string;
  readonly repository: string | null;
  readonly as: string | null;
  readonly bytes: number;
  readonly bytes_total: number;
}

/** The body of the backup routes. */
export function backupJson(backup: BackupInfo): BackupJson {
  return {
    name: backup.name,
    ...operationJson(backup),
    repository: repositoryText(backup.repository),
    version: backup.version,
    bytes: backup.bytes,
    actors: backup.actors,
    signed_by: backup.signedBy ?? null,
  };
}

/** The body of the restore routes. */
export function restoreJson(restore: RestoreInfo): RestoreJson {
  return {
    id: restore.id,
    backup: restore.backup,
    ...operationJson(restore),
    repository: repositoryText(restore.repository),
    as: repositoryText(restore.target),
    bytes: restore.bytes,
    bytes_total: restore.bytesTotal,
  };
}

function repositoryText(repository: NamedRepository | undefined): string | null {
  return repository === undefined ? null : `${repository.tenant}/${repository.name}`;
}

/** JSON Schema of {@link BackupJson}. */
export const backupSchema: JsonSchema = Object.freeze({
  type: 'object',
  properties: {
    name: text,
    ...operationSchema('What is copied now.'),
    repository: { ...optionalText, description: '`{tenant}/{name}`; null: everything.' },
    version: { ...text, description: 'Version of the product that made it.' },
    bytes: { type: 'integer', description: 'Of its files, so far.' },
    actors: { type: 'integer', description: 'Files in it, so far.' },
    signed_by: {
      type: ['string', 'null'],
      enum: ['own', 'foreign', 'unsigned', null],
      description: "Whose key signed it: this server's, another one's, or nobody's; null while it is made.",
    },
  },
});

/** JSON Schema of {@link RestoreJson}. */
export const restoreSchema: JsonSchema = Object.freeze({
  type: 'object',
  properties: {
    id: text,
    backup: text,
    ...operationSchema('What is made now; null while checksums are compared.'),
    repository: { ...optionalText, description: 'What is restored of it; null: everything.' },
    as: { ...optionalText, description: 'The name it gets; null where everything is restored.' },
    bytes: {
      type: 'integer',
      description: 'Of `bytes_total`, which counts each file twice: for its checksum and for its rows.',
    },
    bytes_total: { type: 'integer' },
  },
});
