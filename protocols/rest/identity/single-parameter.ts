import { invalid } from '#runtime/errors/service-error.ts';
import type { RestRequest } from '../rest-route.ts';

/**
 * A parameter of a route that ignores unknown ones.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for one that is given twice: two readers may read two values
 */
export function singleParameter(request: RestRequest, name: string): string | undefined {
  const values = request.query.all(name);
  if (values.length > 1) throw invalid(`The query parameter '${name}' is given twice`, { field: name });
  return values[0];
}
