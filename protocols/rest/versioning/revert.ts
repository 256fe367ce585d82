import type { RevertedRevisions, RevertResult, RevertRevisions } from '#actors/branch/revert-messages.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/body-fields.ts';
import { revisionHeaders, sendCommand } from '../access/branch-access.ts';
import { managedRepository, requireEntry } from './branches.ts';
import { commandCommit, commandCommitProperties } from '../commit-info.ts';
import { contentSchema } from '../content-schemas.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRoute } from '../rest-route.ts';

/**
 * Reverting revisions of a branch.
 *
 * @see docs/interface/merges.md#reverting
 */
export function revertRoutes(context: RestContext): readonly RestRoute[] {
  return [revertRoute(context)];
}

function revertRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/management/repositories/{tenant}/{repo}/branches/{branch}/revert',
    operationId: 'revertRevisions',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Undo revisions of the branch as one new revision',
      description:
        'Name `revisions`, in any order, or `from` and `to`: every revision of the branch between these two, both ' +
        'included. They must lead to its head; there may be 1,000. What they changed becomes what it was before ' +
        'them, node by node and locale by locale; what they did not change stays as it is. Something that another ' +
        'revision changed later is in conflict: nothing is written then, and the answer says `success: false`. In a ' +
        'conflict base is what the reverted revisions made, target what the branch has, source what was before ' +
        'them. A new place among the same siblings never conflicts. Reverting a merge brings back what the branch ' +
        'had before it, and a later merge does not bring that again; reverting a revert does. Where nothing is left ' +
        'to undo no revision is written. A protected branch may be reverted, as it may be written.',
      tag: 'Branches',
      requestSchema: {
        type: 'object',
        properties: {
          revisions: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 1_000 },
          from: { type: 'string', description: 'The first revision of a range, itself included.' },
          to: { type: 'string', description: 'The last revision of a range, itself included.' },
          ...commandCommitProperties,
          dry_run: {
            type: 'boolean',
            default: false,
            description: 'Reports, and writes nothing.',
          },
        },
        additionalProperties: false,
      },
      responses: {
        200: { description: 'What the revert did.', schema: contentSchema('RevertResult') },
        400: {
          description:
            'None or too many revisions, a range that runs backwards, a revision that does not lead to the head or brought a built-in type; or what comes back is not valid under the types and unique values of today, and the message says which node.',
        },
        403: { description: 'This takes an administrator.' },
        404: { description: 'There is no such repository, branch or revision.' },
        413: {
          description:
            'It would change more nodes than one commit may, or nodes that are too large together.',
        },
        422: { description: 'A field is missing or of the wrong type; the text names it.' },
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const which = whichOf(fields);
      const dryRun = fields.optionalBoolean('dry_run') ?? false;
      const commit = commandCommit(fields);
      const repository = await managedRepository(context, request);
      const entry = await requireEntry(context, request, repository);
      const command: RevertRevisions = {
        type: 'RevertRevisions',
        which,
        dryRun,
        ...(commit === undefined ? {} : { commit }),
      };
      const branch = context.directory.foundBranch(repository, entry);
      const result = await sendCommand<RevertResult>(context, request, branch, command);
      return { status: 200, headers: revisionHeaders({ revision: result.head }), json: result };
    },
  };
}

/** @throws {ServiceError} `UNPROCESSABLE_BODY`; `VALIDATION_FAILED` if both a list and a range are given */
function whichOf(fields: BodyFields): RevertedRevisions {
  const isRange = fields.has('from') || fields.has('to');
  if (!isRange) return { revisions: fields.strings('revisions') };
  if (fields.has('revisions')) {
    throw invalid('Name either `revisions` or `from` and `to`', { field: 'revisions' });
  }
  return { from: fields.string('from'), to: fields.string('to') };
}
