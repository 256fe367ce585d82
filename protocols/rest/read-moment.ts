import type { Revision } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { parseReadRevision } from './read-parameters.ts';
import type { RestRequest } from './rest-context.ts';

/**
 * When a request to a head address looks: at `?revision=`, else at the head.
 *
 * @returns undefined for the head
 * @throws {ServiceError} `INVALID_REVISION_NUMBER`
 */
export function headMoment(request: RestRequest): Revision | undefined {
  const asked = request.query.get('revision');
  return asked === undefined ? undefined : parseReadRevision(asked);
}

/**
 * When a request to an address below `rev/{revision}` looks.
 *
 * @throws {ServiceError} `INVALID_REVISION_NUMBER`; `VALIDATION_FAILED` for a parameter that says it again
 */
export function revisionMoment(request: RestRequest): Revision {
  if (request.query.get('revision') !== undefined) {
    throw invalid('The address names a revision already; leave out the parameter', { field: 'revision' });
  }
  return parseReadRevision(request.segment('revision'));
}
