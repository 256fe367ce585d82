import type { ListConflicts } from '#actors/branch/merge-messages.ts';
import type { CompareBranch, DiffBranch } from '#actors/branch/messages.ts';
import type { HttpReply, ParameterDocs } from '#protocols/http/route.ts';
import { DIFF_DETAILS_SINCE } from '#runtime/actor/message-version.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { askBranch, branchOf, minRevisionParameter, replyOf } from '../access/branch-access.ts';
import { contentSchema } from '../content-schemas.ts';
import { consistencyOf } from '../reads/read-consistency.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

const tag = 'Branches';
const branchBase = '/api/management/repositories/{tenant}/{repo}/branches/{branch}';
const slashAllowed = { allowSlash: true } as const;

/** The parameter for the details of a difference. */
const detailParameter: ParameterDocs = {
  name: 'detail',
  in: 'query',
  schema: { type: 'string', enum: ['properties'] },
  description:
    'Gives each entry its `changes`: the places that differ in the node or definition, with the values before and after. ' +
    'Values of more than 8 KiB are left out and their size is shown. An entry has at most 100 changes and 64 Ki ' +
    'characters of them, an answer 1 Mi characters; an entry with more has `truncated`, and so has the answer.',
};

const responses = {
  400: { description: 'The two are too far apart to be compared.' },
  401: { description: 'This takes a login.' },
  404: { description: 'There is no such repository, branch or tag.' },
};

/**
 * The differences between two branches. A tag may stand in for a branch.
 *
 * @see docs/interface/branches.md#comparing-branches
 */
export function compareRoutes(context: RestContext): readonly RestRoute[] {
  return [compareRoute(context), diffRoute(context), conflictsRoute(context)];
}

function compareRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${branchBase}/compare/{base}`,
    operationId: 'compareBranches',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'How many revisions a branch is ahead of another one and behind it',
      tag,
      parameters: [minRevisionParameter],
      responses: {
        200: { description: 'The comparison.', schema: contentSchema('BranchComparison') },
        ...responses,
      },
    },
    handler: (request) => ask(context, request, { type: 'CompareBranch' }),
  };
}

function diffRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${branchBase}/diff/{base}`,
    operationId: 'diffBranches',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The nodes and schema definitions a branch changed since it last met another one',
      description:
        'Lists net changes. Changes that were undone, and changes that a merge brought from the base, are not listed. ' +
        'Every node of a subtree that was moved or renamed is modified. A changed order of siblings is no change.',
      tag,
      parameters: [detailParameter, minRevisionParameter],
      responses: {
        200: { description: 'The difference.', schema: contentSchema('BranchDifference') },
        ...responses,
        400: { description: 'The two are too far apart to be compared, or there is no such `detail`.' },
      },
    },
    handler: (request) => ask(context, request, { type: 'DiffBranch', ...detailOf(request) }),
  };
}

function conflictsRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${branchBase}/conflicts/{source}`,
    operationId: 'listConflicts',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'What would stop a merge of `source` into the branch',
      description:
        'Writes nothing. A node and each of its locales are compared separately: it is a conflict if both sides changed ' +
        'one of them differently. Other conflicts are: a node below one that the other side deleted, two nodes at ' +
        'one path, moves that would make a node its own ancestor, and a schema definition changed on both sides. A ' +
        'changed order of siblings is never a conflict. If only the merged state would be invalid, every node and ' +
        'definition that takes part is a conflict with `violations`: a node that does not satisfy its definitions, a ' +
        'deleted definition that is in use, one unique value of two nodes, a child or a type that is no longer allowed.',
      tag,
      parameters: [minRevisionParameter],
      responses: {
        200: { description: 'The conflicts.', schema: contentSchema('ConflictList') },
        ...responses,
        403: { description: 'This takes an administrator.' },
        413: { description: 'The changed nodes are too large together.' },
      },
    },
    async handler(request) {
      const branch = await branchOf(context, request);
      const name = request.segment('source', slashAllowed);
      const { actor, taggedAt } = await context.directory.branchOf(
        branch.repository,
        name,
        'read',
        consistencyOf(request),
      );
      const sourceAt = taggedAt === undefined ? {} : { sourceAt: taggedAt };
      const query: ListConflicts = { type: 'ListConflicts', source: actor, ...sourceAt };
      return await askBranch<unknown>(context, request, branch, query, callerOf(request), replyOf);
    },
  };
}

/**
 * The requested details of a difference, as a part of its query.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for an unknown detail
 * @see docs/interface/branches.md#changed-properties
 */
export function detailOf(request: Pick<RestRequest, 'query'>): Pick<DiffBranch, 'detail' | 'since'> {
  const detail = request.query.get('detail');
  if (detail === undefined) return {};
  if (detail === 'properties') return { detail, since: DIFF_DETAILS_SINCE };
  throw invalid("The query parameter 'detail' must be properties", { field: 'detail' });
}

async function ask(
  context: RestContext,
  request: RestRequest,
  asked: Omit<CompareBranch, 'base' | 'baseAt'> | Omit<DiffBranch, 'base' | 'baseAt'>,
): Promise<HttpReply> {
  const branch = await branchOf(context, request);
  const name = request.segment('base', slashAllowed);
  const consistency = consistencyOf(request);
  const base = await context.directory.branchOf(branch.repository, name, 'read', consistency);
  const baseAt = base.taggedAt === undefined ? {} : { baseAt: base.taggedAt };
  const query: CompareBranch | DiffBranch = { ...asked, base: base.actor, ...baseAt };
  return await askBranch<unknown>(context, request, branch, query, callerOf(request), replyOf);
}
