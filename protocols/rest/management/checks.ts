import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import type { CheckInfo, Checks } from './check-ports.ts';
import { forbidden, operationJson, operationSchema, text } from './management-operations.ts';
import { requireSystemAdministrator } from '../access/permission.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRoute } from '../rest-route.ts';

/** Dependencies of the check routes. */
export interface ChecksContext extends RestContext {
  readonly checks: Checks;
}

const tag = 'Checks';
const unknown = { description: 'There is no such check; a restart forgets them.' };

/** JSON Schema of a check on the wire. */
const checkSchema: JsonSchema = Object.freeze({
  type: 'object',
  properties: {
    id: text,
    ...operationSchema('What is checked now.'),
    actors: { type: 'integer', description: 'Of `actors_total`, so far.' },
    actors_total: { type: 'integer' },
    bytes: { type: 'integer', description: 'Of the files that were read.' },
    damage: {
      type: 'array',
      items: { type: 'object', properties: { file: text, actor: text, table: text, what: text } },
      description: 'What does not verify; the first ones where there are many.',
    },
    damage_total: { type: 'integer' },
    partitions_skipped: {
      type: 'array',
      items: { type: 'integer' },
      description:
        'Partitions of the cluster that were not checked completely, because this member did not own or follow them during the whole check. Empty for a single member.',
    },
  },
});

/**
 * Checks of a serving member's stored data, for system administrators. They continue after the response, with idle
 * time only.
 *
 * @see docs/decisions/0032-containing-journal-damage.md
 */
export function checkRoutes(context: ChecksContext): readonly RestRoute[] {
  return [startRoute(context), readRoute(context), stopRoute(context)];
}

function checkJson(check: CheckInfo): object {
  return {
    id: check.id,
    ...operationJson(check),
    actors: check.actors,
    actors_total: check.actorsTotal,
    bytes: check.bytes,
    damage: check.damage,
    damage_total: check.damageTotal,
    partitions_skipped: check.partitionsSkipped,
  };
}

function found(check: CheckInfo | undefined, id: string): object {
  if (check === undefined) throw new ServiceError('NOT_FOUND', `Check '${id}' not found`);
  return checkJson(check);
}

function startRoute({ checks }: ChecksContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/management/checks',
    operationId: 'startCheck',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'Verify everything that is stored, while it is served',
      description:
        'Copies each actor as of one moment and verifies the copy: pages, checksums, indexes against content, the present state against history. A member of a cluster checks the partitions that it owns and follows, names the others in `partitions_skipped`, and rebuilds damaged shards from the log. Read the check by its id to see its progress.',
      tag,
      responses: {
        202: { description: 'It has begun.', schema: checkSchema },
        403: forbidden,
        409: { description: 'A check is running.' },
      },
    },
    async handler() {
      return { status: 202, json: checkJson(await checks.start()) };
    },
  };
}

function readRoute({ checks }: ChecksContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/management/checks/{id}',
    operationId: 'readCheck',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'How far a check is, and what it has found',
      tag,
      responses: {
        200: { description: 'The check.', schema: checkSchema },
        403: forbidden,
        404: unknown,
      },
    },
    handler(request) {
      const id = request.segment('id');
      return { status: 200, json: found(checks.find(id), id) };
    },
  };
}

function stopRoute({ checks }: ChecksContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: '/api/management/checks/{id}',
    operationId: 'stopCheck',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'Give up a check',
      tag,
      responses: {
        200: { description: 'The check as it is now.', schema: checkSchema },
        403: forbidden,
        404: unknown,
      },
    },
    handler(request) {
      const id = request.segment('id');
      return { status: 200, json: found(checks.stop(id), id) };
    },
  };
}
