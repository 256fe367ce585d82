import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import { backupJson, backupSchema, restoreJson, restoreSchema } from './backup-info.ts';
import type { Backups, NamedRepository, RestoreInfo } from './backup-ports.ts';
import { recordAdminAction } from '../access/admin-actions.ts';
import { requireSystemAdministrator } from '../access/permission.ts';
import { forbidden } from './management-operations.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRoute } from '../rest-route.ts';

/** Dependencies of the backup routes. */
export interface BackupsContext extends RestContext {
  readonly backups: Backups;
}

const tag = 'Backups';
const damaged = {
  description:
    'The backup is damaged, and the message names the file; or it has a foreign signature and was not accepted.',
};
const isRunning = 'another backup or restore is running';

const repositoryField = {
  type: 'string',
  pattern: '^[a-z0-9][a-z0-9_-]{0,62}/[a-z0-9][a-z0-9_-]{0,62}$',
} as const;

/**
 * Backups and restores, for system administrators: a backup contains data of every tenant. They use the backup folder
 * of the member that serves the request, and continue after the response.
 *
 * @see docs/decisions/0020-backups-are-copies-restores-are-commits.md
 */
export function backupRoutes(context: BackupsContext): readonly RestRoute[] {
  return [
    startRoute(context),
    listRoute(context),
    readRoute(context),
    restoreRoute(context),
    readRestoreRoute(context),
    stopRestoreRoute(context),
  ];
}

/** Longer than any tenant and repository name with a slash between them. */
const NAMED_LENGTH_MAX = 256;

/** `{tenant}/{name}`. @throws {ServiceError} `VALIDATION_FAILED` */
function repositoryNamed(text: string | null | undefined, field: string): NamedRepository | undefined {
  if (text === undefined || text === null) return undefined;
  const [tenant, name, ...more] = text.length > NAMED_LENGTH_MAX ? [] : text.split('/');
  if (tenant !== undefined && tenant !== '' && name !== undefined && name !== '' && more.length === 0) {
    return { tenant, name };
  }
  throw invalid(`'${text}' is no repository; write {tenant}/{name}`, { field });
}

function startRoute(context: BackupsContext): RestRoute {
  const { backups } = context;
  return {
    method: 'POST',
    pattern: '/api/management/backups',
    operationId: 'startBackup',
    body: 'optional-json',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'Back up one repository or everything, while it is written to',
      description:
        'Writes a backup to the backup folder of the server. It contains every write that was answered before the request. Read the backup by its name to see its progress. It does not contain the keys of the server.',
      tag,
      requestSchema: {
        type: 'object',
        properties: {
          name: {
            type: 'string',
            description: 'Name of the backup, or a folder directly in the backup folder; default: the time.',
          },
          repository: { ...repositoryField, description: '`{tenant}/{name}`; default: everything.' },
        },
        additionalProperties: false,
      },
      responses: {
        202: { description: 'It has begun.', schema: backupSchema },
        400: { description: 'The name is no name, or a folder elsewhere.' },
        403: forbidden,
        404: { description: 'There is no such repository.' },
        409: { description: `There is a backup of this name, or ${isRunning}.` },
      },
    },
    async handler(request) {
      const fields = request.body === undefined ? undefined : bodyFields(request.body);
      const repository = repositoryNamed(fields?.optionalString('repository'), 'repository');
      const backup = await backups.start({ name: fields?.optionalString('name') ?? undefined, repository });
      await recordAdminAction(context, request, { action: 'backup_started', subject: backup.name });
      return { status: 202, json: backupJson(backup) };
    },
  };
}

function listRoute({ backups }: BackupsContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/management/backups',
    operationId: 'listBackups',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'The backups in the backup folder of the server, and the one that is being made',
      tag,
      responses: {
        200: { description: 'Sorted by name.', schema: { type: 'array', items: backupSchema } },
        403: forbidden,
      },
    },
    async handler() {
      return { status: 200, json: (await backups.list()).map(backupJson) };
    },
  };
}

function readRoute({ backups }: BackupsContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/management/backups/{name}',
    operationId: 'readBackup',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'A backup: how far it is, or what it has',
      tag,
      responses: {
        200: { description: 'The backup.', schema: backupSchema },
        403: forbidden,
        404: { description: 'There is no such backup.' },
        422: damaged,
      },
    },
    async handler(request) {
      const name = request.segment('name');
      const backup = await backups.find(name);
      if (backup === undefined) throw new ServiceError('BACKUP_NOT_FOUND', `Backup '${name}' not found`);
      return { status: 200, json: backupJson(backup) };
    },
  };
}

function restoreRoute(context: BackupsContext): RestRoute {
  const { backups } = context;
  return {
    method: 'POST',
    pattern: '/api/management/restores',
    operationId: 'startRestore',
    body: 'json',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'Restore a repository, or everything into an empty server',
      description:
        'First all checksums are compared. A repository becomes visible when all of it is restored. An existing one is never replaced. After the restore no lock is held, and fence tokens are higher than all earlier ones.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['from'],
        properties: {
          from: { type: 'string', description: 'Name of the backup, or its folder.' },
          repository: {
            ...repositoryField,
            description: 'Which one of the backup; default: the only one, else everything.',
          },
          as: { ...repositoryField, description: 'Another name for it.' },
          accept_foreign: {
            type: 'boolean',
            description: 'Takes a backup that is not signed with the key of this server. Default: false.',
          },
        },
        additionalProperties: false,
      },
      responses: {
        202: { description: 'It has begun.', schema: restoreSchema },
        400: { description: 'A name is no name.' },
        403: forbidden,
        404: { description: 'There is no such backup, or no such repository in it, or no such tenant.' },
        409: {
          description: `A repository of the name exists, the server is not empty, or ${isRunning}.`,
        },
        422: { ...damaged, alternatives: { 'application/json': { $ref: '#/components/schemas/ErrorBody' } } },
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const restore = await backups.restore({
        backup: fields.string('from'),
        repository: repositoryNamed(fields.optionalString('repository'), 'repository'),
        target: repositoryNamed(fields.optionalString('as'), 'as'),
        acceptForeign: fields.optionalBoolean('accept_foreign') ?? false,
      });
      await recordAdminAction(context, request, {
        action: 'restore_started',
        subject: fields.string('from'),
        details: { id: restore.id },
      });
      return { status: 202, json: restoreJson(restore) };
    },
  };
}

function readRestoreRoute({ backups }: BackupsContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/management/restores/{id}',
    operationId: 'readRestore',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'How far a restore is',
      description: 'Known to the server that makes it, until it has made some others since or is restarted.',
      tag,
      responses: {
        200: { description: 'The restore.', schema: restoreSchema },
        403: forbidden,
        404: { description: 'There is no such restore.' },
      },
    },
    handler(request) {
      const id = request.segment('id');
      return { status: 200, json: restoreJson(found(backups.findRestore(id), id)) };
    },
  };
}

function stopRestoreRoute({ backups }: BackupsContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: '/api/management/restores/{id}',
    operationId: 'stopRestore',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'Give up a restore',
      description:
        'Cancels the restore. Its state is `failed` when all partial data is removed. A restore whose repository is already visible is no longer cancelled.',
      tag,
      responses: {
        200: { description: 'The restore as it is now.', schema: restoreSchema },
        403: forbidden,
        404: { description: 'There is no such restore.' },
      },
    },
    handler(request) {
      const id = request.segment('id');
      return { status: 200, json: restoreJson(found(backups.stopRestore(id), id)) };
    },
  };
}

/** @throws {ServiceError} `NOT_FOUND` */
function found(restore: RestoreInfo | undefined, id: string): RestoreInfo {
  if (restore === undefined) throw new ServiceError('NOT_FOUND', `Restore '${id}' not found`);
  return restore;
}
