import type { RevertedRevisions, RevertResult, RevertRevisions } from '#actors/branch/revert-messages.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
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
        'Give `revisions`, in any order, or `from` and `to` for all revisions of the branch from one to the other, both ' +
        'included. They must lead to the head of the branch; at most 1,000 are accepted. Each node and each locale ' +
        'that they changed gets its state from before them. Everything else is kept. If a later revision changed the ' +
        'same node or locale, that is a conflict: nothing is written, and the answer has `success: false`. In a ' +
        'conflict, base is the state after the reverted revisions, target the state of the branch, and source the ' +
        'state before the reverted revisions. A changed order of siblings never conflicts. Reverting a merge removes ' +
        'what it brought, and a later merge does not bring it again; reverting the revert does. If nothing is left ' +
        'to undo, no revision is written. A protected branch can be reverted, as it can be written.',
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
            'No or too many revisions, a range whose end is before its start, a revision that does not lead to the head or brought a built-in type; or a restored state is not valid under the present types and unique values; the message names the node.',
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
