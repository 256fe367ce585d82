import { invalid } from '#runtime/errors/service-error.ts';
import type { RestRequest } from './rest-route.ts';

/**
 * A header that has one value.
 *
 * @param name as it is written; it is looked for in lower case
 * @returns undefined when it is absent or empty
 * @throws {ServiceError} `VALIDATION_FAILED` when it is there several times with different values
 */
export function singleHeader(request: RestRequest, name: string): string | undefined {
  const key = name.toLowerCase();
  const value = request.header(key);
  if (value === undefined) return undefined;
  const list = request.headerList(key);
  if (list === value || list === `${value}, ${value}`) return value;
  throw invalid(`${name} is given twice, with different values`, { field: name });
}
