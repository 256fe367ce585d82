import type { Revision } from '#runtime/content/revision.ts';
import { parseReadRevision } from './read-parameters.ts';
import type { RestRequest } from '../rest-route.ts';

/**
 * The revision a request to a head address reads at: `?revision=`, else the head.
 *
 * @returns undefined for the head
 * @throws {ServiceError} `INVALID_REVISION_NUMBER`
 */
export function headMoment(request: RestRequest): Revision | undefined {
  const asked = request.query.get('revision');
  return asked === undefined ? undefined : parseReadRevision(asked);
}

/**
 * The revision a request to an address below `rev/{revision}` reads at. These routes do not have the parameter, so it
 * cannot be given twice.
 *
 * @throws {ServiceError} `INVALID_REVISION_NUMBER`
 */
export function revisionMoment(request: RestRequest): Revision {
  return parseReadRevision(request.segment('revision'));
}
