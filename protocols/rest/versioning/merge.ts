import type { MergeBranch, MergeResult, ResolveMerge } from '#actors/branch/merge-messages.ts';
import { formatRevision, parseRevision } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import { revisionHeaders, sendCommand } from '../access/branch-access.ts';
import { branchesOfMerge, type MergedBranches } from './branch-lookup.ts';
import { branchName, managedRepository } from './branches.ts';
import { commandCommit, commandCommitProperties } from '../commit-info.ts';
import { contentSchema } from '../content-schemas.ts';
import { foldedWord, parseResolutions, resolutionSchema } from './merge-resolutions.ts';
import { callerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

const base = '/api/management/repositories/{tenant}/{repo}/branches/{branch}';

const commitProperties = {
  ...commandCommitProperties,
  dry_run: { type: 'boolean', default: false, description: 'Reports, and writes nothing.' },
} as const;

const responses = {
  403: { description: 'The branch is protected, or this takes an administrator.' },
  404: { description: 'There is no such repository or branch.' },
  413: { description: 'The changed nodes are too many for one commit, or too large together.' },
  422: { description: 'A field is missing or of the wrong type; the text names it.' },
} as const;

/**
 * Merging one branch into another.
 *
 * @see docs/interface/merges.md#merging
 */
export function mergeRoutes(context: RestContext): readonly RestRoute[] {
  return [mergeRoute(context), resolveRoute(context)];
}

function mergeRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${base}/merge`,
    operationId: 'mergeBranches',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Merge `source_branch` into the branch',
      description:
        'A three-way merge by default: the changes of the source since the last common revision are written as one merge ' +
        'commit, also if a fast-forward is possible. If there are conflicts, nothing is written and the answer has ' +
        '`success: false`. Changes that would make nodes or definitions invalid are conflicts too. A fast-forward ' +
        'adopts the revisions of the source unchanged; the branch must have no revisions of its own since then. The ' +
        'source is never changed.',
      tag: 'Branches',
      requestSchema: {
        type: 'object',
        required: ['source_branch'],
        properties: {
          source_branch: { type: 'string' },
          strategy: {
            type: 'string',
            default: 'ThreeWay',
            description: '`ThreeWay` or `FastForward`, in any case and with or without a hyphen.',
          },
          ...commitProperties,
        },
        additionalProperties: false,
      },
      responses: {
        200: { description: 'What the merge did.', schema: contentSchema('MergeResult') },
        400: {
          description:
            'A fast-forward of branches that have diverged, an unknown strategy, branches that are too far apart, or a path that would be too long; the message says which node.',
        },
        ...responses,
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const sourceName = fields.string('source_branch');
      const strategy = parseStrategy(fields.optionalString('strategy'));
      const dryRun = fields.optionalBoolean('dry_run') ?? false;
      const commit = commandCommit(fields);
      const { source, target } = await branchesOf(context, request, sourceName);
      const command: MergeBranch = {
        type: 'MergeBranch',
        source: source.actor,
        sourceName,
        strategy,
        dryRun,
        ...(commit === undefined ? {} : { commit }),
      };
      const result = await sendCommand<MergeResult>(context, request, target, command);
      return { status: 200, headers: revisionHeaders({ revision: result.head }), json: result };
    },
  };
}

function resolveRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: `${base}/resolve-merge`,
    operationId: 'resolveMerge',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Merge `source_branch` into the branch and settle conflicts',
      description:
        'A three-way merge with a resolution for every conflict that `merge` or `conflicts` lists, written as one ' +
        'merge commit. If a conflict has no resolution, nothing is written and the answer has `success: false` with ' +
        'the open conflicts. Keeping a deleted node restores its ancestors, and the nodes below it that were deleted ' +
        'together with it. Deleting a node also deletes new nodes below it; a node that one side moved below it ' +
        'stays where the deleting side has it. If a resolution puts a node at a path that is taken, that is a further conflict. One ' +
        'resolution for any node or definition of a violation is enough, if it makes the result valid. A resolution ' +
        'for a node never changes a definition.',
      tag: 'Branches',
      requestSchema: {
        type: 'object',
        required: ['source_branch', 'resolutions'],
        properties: {
          source_branch: { type: 'string' },
          resolutions: {
            type: 'array',
            items: resolutionSchema,
            description: 'May be called `conflicts`, with `resolution` for the type.',
            'x-aliases': ['conflicts'],
          },
          expected_source_head: { type: 'string', description: 'The head the resolutions were made for.' },
          expected_target_head: { type: 'string', description: 'The head the resolutions were made for.' },
          ...commitProperties,
        },
        additionalProperties: false,
      },
      responses: {
        200: { description: 'What the merge did.', schema: contentSchema('MergeResult') },
        400: {
          description:
            'A resolution names no conflict, is unknown or is invalid; or the resolutions contradict each other, or their ' +
            'result is invalid. The message gives the first reason, `details.errors` all of them.',
        },
        ...responses,
        409: { description: 'A branch is no longer at its expected head; `details` has both heads.' },
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const sourceName = fields.string('source_branch');
      const resolutions = parseResolutions(fields);
      const dryRun = fields.optionalBoolean('dry_run') ?? false;
      const commit = commandCommit(fields);
      const expectedSourceHead = expectedHead(fields, 'expected_source_head');
      const expectedTargetHead = expectedHead(fields, 'expected_target_head');
      const { source, target } = await branchesOf(context, request, sourceName);
      const command: ResolveMerge = {
        type: 'ResolveMerge',
        source: source.actor,
        sourceName,
        resolutions,
        dryRun,
        ...(expectedSourceHead === undefined ? {} : { expectedSourceHead }),
        ...(expectedTargetHead === undefined ? {} : { expectedTargetHead }),
        ...(commit === undefined ? {} : { commit }),
      };
      const result = await sendCommand<MergeResult>(context, request, target, command);
      return { status: 200, headers: revisionHeaders({ revision: result.head }), json: result };
    },
  };
}

/** The branches of a merge. @throws {ServiceError} `REPOSITORY_NOT_FOUND`; as {@link branchesOfMerge} */
async function branchesOf(
  context: RestContext,
  request: RestRequest,
  sourceName: string,
): Promise<MergedBranches> {
  const repository = await managedRepository(context, request);
  return await branchesOfMerge(context, callerOf(request), repository, sourceName, branchName(request));
}

/** @throws {ServiceError} `INVALID_REVISION_NUMBER` */
function expectedHead(fields: BodyFields, name: string): string | undefined {
  const text = fields.optionalString(name);
  return text === undefined ? undefined : formatRevision(parseRevision(text));
}

/** Any case, with or without a hyphen or underscore. @throws {ServiceError} `VALIDATION_FAILED` */
function parseStrategy(text: string | undefined): MergeBranch['strategy'] {
  const plain = text === undefined ? 'threeway' : foldedWord(text);
  if (plain === 'threeway') return 'ThreeWay';
  if (plain === 'fastforward') return 'FastForward';
  throw invalid(`Unknown merge strategy '${text}'; there are ThreeWay and FastForward`, {
    field: 'strategy',
  });
}
