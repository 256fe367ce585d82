import type {
  RepositoryState,
  UpdateRepository,
  UpdateTranslationConfig,
} from '#actors/repository/messages.ts';
import type { ListRepositories, RepositoryEntry } from '#actors/tenant/messages.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import {
  newLanguageSettings,
  translationConfigJson,
} from '#runtime/content/translations/translation-config.ts';
import { type JsonValue, jsonEquals } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import { readOnly } from '#protocols/http/requests/body-shape.ts';
import { recordAdminAction } from '../access/admin-actions.ts';
import { repositoryOf } from '../access/branch-access.ts';
import { listEntryError } from '../list-entry-error.ts';
import type { NewRepository, Provisioning } from '../ports.ts';
import { consistencyOf } from '../reads/read-consistency.ts';
import {
  damagedRepositoryInfo,
  type DamagedRepositoryInfo,
  listedRepositorySchema,
  readRepositoryState,
  repositoryInfo,
  type RepositoryInfo,
  repositoryInfoSchema,
} from './repository-info.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/** Dependencies of the repository routes. */
export interface RepositoriesContext extends RestContext {
  readonly provisioning: Provisioning;
}

const tag = 'Repositories';
const notFound = { description: 'There is no such repository.' };
const languageList = { type: 'array', items: { type: 'string' } } as const;

const translationConfigSchema = {
  type: 'object',
  properties: {
    default_language: { type: 'string' },
    supported_languages: languageList,
    locale_fallback_chains: { type: 'object', additionalProperties: languageList },
  },
} as const;

const { tags, default_language, locale_fallback_chains } = repositoryInfoSchema.properties.config.properties;
const { tenant_id, repo_id, created_at, branches } = repositoryInfoSchema.properties;

const settings = {
  description: { type: ['string', 'null'] },
  default_branch: { type: 'string' },
  supported_languages: languageList,
} as const;

const updateSchema = {
  type: 'object',
  properties: {
    ...settings,
    config: {
      type: 'object',
      properties: { ...settings, ...readOnly({ tags, default_language, locale_fallback_chains }) },
      additionalProperties: false,
    },
    ...readOnly({ tenant_id, repo_id, created_at, branches }),
  },
  additionalProperties: false,
} as const;

/**
 * Repositories and their languages.
 *
 * @see docs/interface/repositories.md#repositories
 */
export function repositoryRoutes(context: RepositoriesContext): readonly RestRoute[] {
  return [
    listRoute(context),
    createRoute(context),
    readRoute(context),
    updateRoute(context),
    removeRoute(context),
    readLanguagesRoute(context),
    patchLanguagesRoute(context),
  ];
}

async function stateOf(context: RestContext, request: RestRequest, name: string): Promise<RepositoryState> {
  const { tenant } = request.principal;
  const repository = await context.directory.repository(tenant, name, consistencyOf(request));
  return await readRepositoryState(context, request, repository);
}

function listRoute(context: RepositoriesContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/repositories',
    operationId: 'listRepositories',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The repositories of the tenant',
      tag,
      responses: {
        200: {
          description: 'Every repository, sorted by name; a damaged one says so with `error`.',
          schema: { type: 'array', items: listedRepositorySchema },
        },
      },
    },
    handler: async (request) => ({ status: 200, json: await listRepositories(context, request) }),
  };
}

async function listRepositories(
  context: RepositoriesContext,
  request: RestRequest,
): Promise<(RepositoryInfo | DamagedRepositoryInfo)[]> {
  const { tenant } = request.principal;
  const query: ListRepositories = { type: 'ListRepositories' };
  const caller = callerOf(request);
  const entries = (await context.router.query(
    actorId(tenant, 'tenant'),
    query,
    caller,
  )) as readonly RepositoryEntry[];
  const found: (RepositoryInfo | DamagedRepositoryInfo)[] = [];
  for (const entry of entries) {
    if (request.signal.aborted) throw new ServiceError('REQUEST_CANCELLED');
    try {
      found.push(repositoryInfo(tenant, await stateOf(context, request, entry.repositoryId)));
    } catch (error) {
      // Deleted since the list was read.
      const isGone = error instanceof ServiceError && error.entry.status === 404;
      if (isGone) continue;
      const contained = listEntryError(error);
      if (contained === undefined) throw error;
      found.push(damagedRepositoryInfo(tenant, entry, contained));
    }
  }
  return found;
}

function createRoute(context: RepositoriesContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/repositories',
    operationId: 'createRepository',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Create a repository',
      description: 'It has its default branch, the built-in workspaces, types and access-control content.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['repo_id'],
        properties: {
          repo_id: { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' },
          description: { type: ['string', 'null'] },
          default_branch: { type: 'string', default: 'main' },
          default_language: { type: 'string', default: 'en' },
          supported_languages: languageList,
        },
        additionalProperties: false,
      },
      responses: {
        201: { description: 'The new repository.', schema: repositoryInfoSchema },
        400: { description: 'A name or a language is not allowed.' },
        409: { description: 'A repository of this name exists.' },
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const repositoryId = fields.string('repo_id');
      const defaultLanguage = fields.optionalString('default_language') ?? 'en';
      const { tenant } = request.principal;
      const repository: NewRepository = {
        repositoryId,
        description: fields.optionalString('description') ?? null,
        defaultBranch: fields.optionalString('default_branch') ?? 'main',
        defaultLanguage,
        supportedLanguages: fields.optionalStrings('supported_languages') ?? [defaultLanguage],
      };
      const entry = await context.provisioning.createRepository(tenant, repository, deliveryOf(request));
      return { status: 201, json: repositoryInfo(tenant, createdState(repository, entry)) };
    },
  };
}

/** A repository as it was created. Read from its actor it may be changed or removed, when a request is repeated. */
function createdState(
  repository: NewRepository,
  { createdAt, repositoryId }: RepositoryEntry,
): RepositoryState {
  const { defaultBranch, defaultLanguage, description, supportedLanguages } = repository;
  const languages = newLanguageSettings(defaultLanguage, supportedLanguages);
  return { repositoryId, createdAt, description, defaultBranch, languages, branches: [defaultBranch] };
}

function readRoute(context: RepositoriesContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/repositories/{repo}',
    operationId: 'readRepository',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'A repository',
      tag,
      responses: { 200: { description: 'The repository.', schema: repositoryInfoSchema }, 404: notFound },
    },
    async handler(request) {
      const state = await stateOf(context, request, request.segment('repo'));
      return { status: 200, json: repositoryInfo(request.principal.tenant, state) };
    },
  };
}

function updateRoute(context: RepositoriesContext): RestRoute {
  return {
    method: 'PUT',
    pattern: '/api/repositories/{repo}',
    operationId: 'updateRepository',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Change settings of a repository',
      description:
        'Keys that are not in the body keep their value. The default language of a repository is fixed; fallback chains have a route of their own. A repository that was read can be sent back: a setting outside of `config` takes precedence over the same setting in `config`.',
      tag,
      requestSchema: updateSchema,
      responses: {
        204: { description: 'The settings are changed.' },
        400: {
          description:
            'A language is not allowed, a fallback chain uses a language that is no longer supported, or a field other than the settings differs.',
        },
        404: { description: 'There is no such repository, or no such branch.' },
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const config = fields.optionalFields('config');
      const command: UpdateRepository = {
        type: 'UpdateRepository',
        ...(config === undefined ? {} : settingsIn(config)),
        ...settingsIn(fields),
      };
      const repository = await repositoryOf(context, request);
      await requireSameElse(fields, config, () => readRepositoryState(context, request, repository));
      const delivery = deliveryOf(request);
      await context.router.command(repository.actor, command, delivery);
      const { type: _type, ...settings } = command;
      const action = {
        action: 'repository_changed',
        subject: repository.name,
        details: { settings: Object.keys(settings) },
      };
      await recordAdminAction(context, request, action, delivery.idempotency);
      return { status: 204 };
    },
  };
}

function settingsIn(fields: BodyFields): Omit<UpdateRepository, 'type'> {
  const description =
    fields.optionalString('description') ?? (Object.hasOwn(fields.raw, 'description') ? null : undefined);
  const defaultBranch = fields.optionalString('default_branch');
  const supportedLanguages = fields.optionalStrings('supported_languages');
  return {
    ...(description === undefined ? {} : { description }),
    ...(defaultBranch === undefined ? {} : { defaultBranch }),
    ...(supportedLanguages === undefined ? {} : { supportedLanguages }),
  };
}

/**
 * Fields that cannot be changed here may be sent with their present value.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for another name, default language or fallback chain
 */
async function requireSameElse(
  fields: BodyFields,
  config: BodyFields | undefined,
  read: () => Promise<RepositoryState>,
): Promise<void> {
  const name = fields.optionalString('repo_id');
  const languages = ['default_language', 'locale_fallback_chains'] as const;
  if (name === undefined && !languages.some((key) => config?.has(key))) return;
  const state = await read();
  if (name !== undefined && name !== state.repositoryId) {
    throw invalid('A repository cannot be renamed', { field: 'repo_id' });
  }
  const present = translationConfigJson(state.languages);
  for (const key of languages) {
    const given = config?.optionalValue(key) ?? null;
    if (given === null || jsonEquals(given as JsonValue, present[key])) continue;
    const where = key === 'default_language' ? 'fixed' : 'changed with PATCH …/translation-config';
    throw invalid(`'config.${key}' of a repository is ${where}`, { field: `config.${key}` });
  }
}

function removeRoute(context: RepositoriesContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: '/api/repositories/{repo}',
    operationId: 'deleteRepository',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'Delete a repository with all its content',
      tag,
      responses: { 204: { description: 'It is gone.' }, 404: notFound },
    },
    async handler(request) {
      const delivery = deliveryOf(request);
      await context.provisioning.removeRepository(
        request.principal.tenant,
        request.segment('repo'),
        delivery,
      );
      return { status: 204 };
    },
  };
}

function readLanguagesRoute(context: RepositoriesContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/repositories/{repo}/translation-config',
    operationId: 'readTranslationConfig',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The languages of a repository',
      tag,
      responses: {
        200: { description: 'Languages and fallback chains.', schema: translationConfigSchema },
        404: notFound,
      },
    },
    async handler(request) {
      const { languages } = await stateOf(context, request, request.segment('repo'));
      return { status: 200, json: translationConfigJson(languages) };
    },
  };
}

function patchLanguagesRoute(context: RepositoriesContext): RestRoute {
  return {
    method: 'PATCH',
    pattern: '/api/repositories/{repo}/translation-config',
    operationId: 'updateTranslationConfig',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Change the languages of a repository',
      description:
        'Keys that are not in the body keep their value. The default language cannot be changed and is always supported; every locale in a chain has to be supported.',
      tag,
      requestSchema: { ...translationConfigSchema, additionalProperties: false },
      responses: {
        204: { description: 'The languages are changed.' },
        400: { description: 'A locale or a chain is not allowed.' },
        404: notFound,
      },
    },
    async handler(request) {
      const { actor, name: subject } = await repositoryOf(context, request);
      const command: UpdateTranslationConfig = { type: 'UpdateTranslationConfig', patch: request.body };
      const delivery = deliveryOf(request);
      await context.router.command(actor, command, delivery);
      const action = { action: 'repository_changed', subject, details: { settings: ['translations'] } };
      await recordAdminAction(context, request, action, delivery.idempotency);
      return { status: 204 };
    },
  };
}
