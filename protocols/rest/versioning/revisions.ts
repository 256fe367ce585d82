import type { ListTags, TagEntry } from '#actors/repository/messages.ts';
import type { ListRevisions, ReadRevision, ReadRevisionChanges } from '#actors/branch/messages.ts';
import { compareRevisions, parseRevision } from '#runtime/content/revision.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { HttpReply, ParameterDocs } from '#protocols/http/route.ts';
import { askBranch, replyOf, repositoryOf } from '../access/branch-access.ts';
import { contentList, contentSchema } from '../content-schemas.ts';
import { consistencyOf } from '../reads/read-consistency.ts';
import { clampedInteger } from '../reads/read-parameters.ts';
import type { FoundBranch, FoundRepository } from '../access/found-branch.ts';
import { readRepositoryState } from '../management/repository-info.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/** Records of a list: the maximum and the default. */
const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 50;

const tag = 'Revisions';
const base = '/api/management/repositories/{tenant}/{repo}/revisions';

const branchParameter: ParameterDocs = {
  name: 'branch',
  in: 'query',
  description:
    'Default: the default branch of the repository first, then the others, then tags of deleted branches.',
};

const missing = { description: 'There is no such repository, branch or revision.' };

/**
 * Revisions of a repository.
 *
 * @see docs/interface/revisions.md#revision-lists
 */
export function revisionRoutes(context: RestContext): readonly RestRoute[] {
  return [listRoute(context), readRoute(context), changesRoute(context)];
}

/** The branch of `?branch=`, or undefined when it is absent. */
function askedBranch(request: RestRequest): string | undefined {
  const name = request.query.get('branch');
  return name === '' ? undefined : name;
}

function listRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: base,
    operationId: 'listRevisions',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The revisions of a branch, newest first',
      description:
        'A revision of which the caller may read no changed node is left out. It is counted, so a page may be shorter than `limit`: go on while `has_more` is true.',
      tag,
      parameters: [
        { name: 'branch', in: 'query', description: 'Default: the default branch of the repository.' },
        {
          name: 'limit',
          in: 'query',
          schema: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
        },
        { name: 'offset', in: 'query', schema: { type: 'integer', minimum: 0, default: 0 } },
        { name: 'include_system', in: 'query', schema: { type: 'boolean', default: false } },
      ],
      responses: {
        200: { description: 'One page.', schema: contentSchema('RevisionList') },
        404: { description: 'There is no such repository or branch.' },
      },
    },
    handler: (request) => listRevisions(context, request),
  };
}

async function listRevisions(context: RestContext, request: RestRequest): Promise<HttpReply> {
  const limit = clampedInteger(request.query, 'limit', { min: 1, max: LIMIT_MAX });
  const offset = clampedInteger(request.query, 'offset', { min: 0, max: Number.MAX_SAFE_INTEGER });
  const query: ListRevisions = {
    type: 'ListRevisions',
    limit: limit ?? LIMIT_DEFAULT,
    offset: offset ?? 0,
    includeSystem: request.query.flag('includeSystem') === true,
  };
  const repository = await repositoryOf(context, request);
  const name =
    askedBranch(request) ??
    (await readRepositoryState(context, request, repository, asEngine(callerOf(request)))).defaultBranch;
  const branch = await context.directory.branchOf(repository, name, 'read', consistencyOf(request));
  return await askBranch<unknown>(context, request, branch, query, callerOf(request), replyOf);
}

function readRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${base}/{revision}`,
    operationId: 'readRevision',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'One revision',
      tag,
      parameters: [branchParameter],
      responses: {
        200: { description: 'The record.', schema: contentSchema('Revision') },
        400: { description: 'That is not a revision.' },
        404: missing,
      },
    },
    handler: (request) => findRevision(context, request, 'ReadRevision'),
  };
}

function changesRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${base}/{revision}/changes`,
    operationId: 'readRevisionChanges',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The nodes a revision changed',
      tag,
      parameters: [branchParameter],
      responses: {
        200: { description: 'The changes.', schema: contentList('NodeChange') },
        400: { description: 'That is not a revision.' },
        404: missing,
      },
    },
    handler: (request) => findRevision(context, request, 'ReadRevisionChanges'),
  };
}

async function findRevision(
  context: RestContext,
  request: RestRequest,
  type: 'ReadRevision' | 'ReadRevisionChanges',
): Promise<HttpReply> {
  const text = request.segment('revision');
  const query: ReadRevision | ReadRevisionChanges = { type, revision: parseRevision(text) };
  const repository = await repositoryOf(context, request);
  const asked = callerOf(request);
  const { consistency, ...atOwner } = asked;
  // A caller that names a revision has seen it: a replica that does not know it lags behind, so the owner is asked
  // next.
  const callers: readonly Caller[] = consistency?.kind === 'local' ? [asked, atOwner] : [asked];
  const isNamed = askedBranch(request) !== undefined;
  for (const caller of callers) {
    const uids = new Set<string>();
    for await (const name of candidates(context, request, repository, caller, uids)) {
      const branch = await branchOr404(context, repository, name, caller);
      // A listed branch may have been deleted meanwhile; a branch that the caller names may not have reached the
      // replica yet.
      if (branch instanceof ServiceError) {
        if (isNamed && caller === callers.at(-1)) throw branch;
        continue;
      }
      uids.add(branch.uid);
      const found = await askOne(context, branch, query, caller);
      if (found !== undefined) return found;
    }
  }
  throw new ServiceError('REVISION_NOT_FOUND', `Revision '${text}' not found`);
}

/**
 * Names of branches and tags that may have a revision: the branch that the caller names, else every branch, then tags
 * of deleted branches, whose content is kept for the tags.
 *
 * @param asked uids of the branches that were queried meanwhile; filled by the caller
 */
async function* candidates(
  context: RestContext,
  request: RestRequest,
  repository: FoundRepository,
  caller: Caller,
  asked: ReadonlySet<string>,
): AsyncGenerator<string, void> {
  const named = askedBranch(request);
  if (named !== undefined) {
    yield named;
    return;
  }
  const engine = asEngine(caller);
  const { branches, defaultBranch } = await readRepositoryState(context, request, repository, engine);
  yield defaultBranch;
  yield* branches.filter((name) => name !== defaultBranch);
  const listTags: ListTags = { type: 'ListTags' };
  const tags = (await context.router.query(repository.actor, listTags, engine)) as readonly TagEntry[];
  yield* newestTags(tags.filter(({ branch }) => !asked.has(branch.uid)));
}

/** Names of branches and tags are for administrators. What a branch shows is still decided for the caller. */
function asEngine(caller: Caller): Caller {
  return { ...caller, ...engineCaller(caller.principal.tenant) };
}

/** The newest tag of each branch. Earlier tags show a subset of its content. */
function newestTags(tags: readonly TagEntry[]): readonly string[] {
  const newest = new Map<string, TagEntry>();
  for (const tag of tags) {
    const other = newest.get(tag.branch.uid);
    if (other === undefined || isLater(tag, other)) newest.set(tag.branch.uid, tag);
  }
  return [...newest.values()].map(({ name }) => name);
}

function isLater(tag: TagEntry, other: TagEntry): boolean {
  return compareRevisions(parseRevision(tag.revision), parseRevision(other.revision)) > 0;
}

/** @returns a `BRANCH_NOT_FOUND` error if there is none */
async function branchOr404(
  { directory }: RestContext,
  repository: FoundRepository,
  name: string,
  { consistency }: Caller,
): Promise<FoundBranch | ServiceError> {
  try {
    return await directory.branchOf(repository, name, 'read', consistency);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'BRANCH_NOT_FOUND') return error;
    throw error;
  }
}

/** @returns undefined when this branch does not have the revision */
async function askOne(
  context: RestContext,
  branch: FoundBranch,
  query: ReadRevision | ReadRevisionChanges,
  caller: Caller,
): Promise<HttpReply | undefined> {
  // Revisions after the tag are not visible through it.
  if (branch.taggedAt !== undefined && compareRevisions(query.revision, branch.taggedAt) > 0)
    return undefined;
  const answer: unknown = await context.router.query(branch.actor, query, caller);
  return answer === undefined ? undefined : replyOf(answer, {});
}
