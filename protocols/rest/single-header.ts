import { invalid } from '#runtime/errors/service-error.ts';
import type { RestRequest } from './rest-route.ts';

/**
 * The value of a header that may have only one.
 *
 * @param name as it is written; it is looked for in lower case
 * @returns undefined when it is absent
 * @throws {ServiceError} `VALIDATION_FAILED` when it is empty: a client whose value was not set would be answered as if
 *   it had not sent the header, and a write would happen without its condition; when it is there several times with
 *   different values
 */
export function singleHeader(request: RestRequest, name: string): string | undefined {
  const key = name.toLowerCase();
  const list = request.headerList(key);
  if (list === undefined) return undefined;
  const value = request.header(key);
  if (value === undefined) {
    throw invalid(`${name} is empty: give it a value or leave it out`, { field: name });
  }
  if (list === value) return value;
  const times = Math.round((list.length + 2) / (value.length + 2));
  if (list === Array.from({ length: times }, () => value).join(', ')) return value;
  throw invalid(`${name} is given twice, with different values`, { field: name });
}
