import type { ReadRepository, RepositoryState } from '#actors/repository/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { translationConfigJson } from '#runtime/content/translations/translation-config.ts';
import type { RepositoryEntry } from '#actors/tenant/messages.ts';
import { type ListEntryError, listEntryErrorSchema } from '../list-entry-error.ts';
import type { FoundRepository } from '../access/found-branch.ts';
import { readerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';

/** A repository on the wire. @see docs/interface/repositories.md#repositories */
export interface RepositoryInfo {
  readonly tenant_id: string;
  readonly repo_id: string;
  readonly created_at: string;
  readonly branches: readonly string[];
  readonly config: {
    readonly default_branch: string;
    readonly description: string | null;
    readonly tags: Readonly<Record<string, string>>;
    readonly default_language: string;
    readonly supported_languages: readonly string[];
    readonly locale_fallback_chains: Readonly<Record<string, readonly string[]>>;
  };
}

/**
 * Reads a repository's settings and branches.
 *
 * @param caller overrides the caller of the request
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`
 */
export async function readRepositoryState(
  { router }: RestContext,
  request: RestRequest,
  repository: FoundRepository,
  caller: Caller = readerOf(request),
): Promise<RepositoryState> {
  const query: ReadRepository = { type: 'ReadRepository' };
  return (await router.query(repository.actor, query, caller)) as RepositoryState;
}

/** The body of the repository routes. */
export function repositoryInfo(tenant: string, state: RepositoryState): RepositoryInfo {
  return {
    tenant_id: tenant,
    repo_id: state.repositoryId,
    created_at: state.createdAt,
    branches: state.branches,
    config: {
      default_branch: state.defaultBranch,
      description: state.description,
      tags: {},
      ...translationConfigJson(state.languages),
    },
  };
}

/** A repository in a list whose own data is damaged: the fields that the registry has. */
export interface DamagedRepositoryInfo extends Omit<RepositoryInfo, 'branches' | 'config'> {
  readonly branches: null;
  readonly config: null;
  readonly error: ListEntryError;
}

/** The list entry of a damaged repository. */
export function damagedRepositoryInfo(
  tenant: string,
  { createdAt, repositoryId }: RepositoryEntry,
  error: ListEntryError,
): DamagedRepositoryInfo {
  return {
    tenant_id: tenant,
    repo_id: repositoryId,
    created_at: createdAt,
    branches: null,
    config: null,
    error,
  };
}

/** JSON Schema of {@link RepositoryInfo}. */
export const repositoryInfoSchema = Object.freeze({
  type: 'object',
  properties: {
    tenant_id: { type: 'string' },
    repo_id: { type: 'string' },
    created_at: { type: 'string', format: 'date-time' },
    branches: { type: 'array', items: { type: 'string' } },
    config: {
      type: 'object',
      properties: {
        default_branch: { type: 'string' },
        description: { type: ['string', 'null'] },
        tags: { type: 'object' },
        default_language: { type: 'string' },
        supported_languages: { type: 'array', items: { type: 'string' } },
        locale_fallback_chains: { type: 'object' },
      },
    },
  },
});

/** JSON Schema of an entry of a list: {@link RepositoryInfo} or {@link DamagedRepositoryInfo}. */
export const listedRepositorySchema = Object.freeze({
  ...repositoryInfoSchema,
  properties: {
    ...repositoryInfoSchema.properties,
    branches: { ...repositoryInfoSchema.properties.branches, type: ['array', 'null'] },
    config: { ...repositoryInfoSchema.properties.config, type: ['object', 'null'] },
    error: listEntryErrorSchema,
  },
});
