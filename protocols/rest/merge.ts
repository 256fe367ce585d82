import type { MergeBranch, MergeResult } from '#actors/branch/merge-messages.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/body-fields.ts';
import { revisionHeaders, sendCommand } from './branch-access.ts';
import { managedRepository, requireEntry } from './branches.ts';
import { commandCommit } from './commit-info.ts';
import { contentSchema } from './content-schemas.ts';
import type { RestContext, RestRoute } from './rest-context.ts';

/**
 * Merging one branch into another one.
 *
 * @see Content, Query, Functions and Versioning Interface: Branches, tags, revisions; Supplement 8.1, 8.3
 */
export function mergeRoutes(context: RestContext): readonly RestRoute[] {
  return [mergeRoute(context)];
}

function mergeRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/management/repositories/{tenant}/{repo}/branches/{branch}/merge',
    operationId: 'mergeBranches',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Merge `source_branch` into the branch',
      description:
        'Three-way unless told otherwise: what the source changed since the two last met is written as one merge ' +
        'commit, also where a fast-forward is possible. With conflicts nothing is written and the answer says ' +
        '`success: false`. A fast-forward takes the revisions of the source over as they are, and needs a branch ' +
        'without revisions of its own. The source is never changed.',
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
          message: { type: 'string' },
          actor: { type: 'string', description: 'Default: the caller.' },
          dry_run: { type: 'boolean', default: false, description: 'Reports, and writes nothing.' },
        },
      },
      responses: {
        200: { description: 'What the merge did.', schema: contentSchema('MergeResult') },
        400: {
          description:
            'A fast-forward of branches that have diverged, an unknown strategy, or what both sides made is no valid tree together; the message says which node.',
        },
        403: { description: 'The branch is protected, or this takes an administrator.' },
        404: { description: 'There is no such repository or branch.' },
        422: { description: 'A field is missing or of the wrong type; the text names it.' },
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const sourceName = fields.string('source_branch');
      const strategy = parseStrategy(fields.optionalString('strategy'));
      const dryRun = fields.optionalBoolean('dry_run') ?? false;
      const commit = commandCommit(fields);
      const repository = await managedRepository(context, request);
      const entry = await requireEntry(context, request, repository);
      const source = await context.directory.branchOf(repository, sourceName, 'read');
      if (source.taggedAt !== undefined) {
        throw new ServiceError('BRANCH_NOT_FOUND', `'${sourceName}' is a tag; a merge takes a branch`);
      }
      if (entry.protected) throw new ServiceError('FORBIDDEN', `Branch '${entry.name}' is protected`);
      const command: MergeBranch = {
        type: 'MergeBranch',
        source: source.actor,
        sourceName,
        strategy,
        dryRun,
        ...(commit === undefined ? {} : { commit }),
      };
      const target = context.directory.foundBranch(repository, entry);
      const result = await sendCommand<MergeResult>(context, request, target, command);
      return { status: 200, headers: revisionHeaders({ revision: result.head }), json: result };
    },
  };
}

/** Any case, with or without a hyphen or underscore. @throws {ServiceError} `VALIDATION_FAILED` */
function parseStrategy(text: string | undefined): MergeBranch['strategy'] {
  const plain = text?.replace(/[-_]/g, '').toLowerCase() ?? 'threeway';
  if (plain === 'threeway') return 'ThreeWay';
  if (plain === 'fastforward') return 'FastForward';
  throw invalid(`Unknown merge strategy '${text}'; there are ThreeWay and FastForward`, {
    field: 'strategy',
  });
}
