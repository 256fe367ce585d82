import type { ParameterDocs } from '#protocols/http/route.ts';
import { clampedInteger } from '../reads/read-parameters.ts';
import type { RestRequest } from '../rest-route.ts';

/** Entries in one answer, unless the request says otherwise. */
const PER_PAGE_DEFAULT = 50;

/** Highest page: the pages before it are read through. */
const PAGE_MAX = 100_000;

/**
 * Query parameters of {@link pageOf}.
 *
 * @param most entries in one answer at most
 */
export function pageParameters(most: number): readonly ParameterDocs[] {
  return [
    { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, default: 1 } },
    {
      name: 'per_page',
      in: 'query',
      schema: { type: 'integer', minimum: 1, maximum: most, default: PER_PAGE_DEFAULT },
    },
  ];
}

/**
 * The page that a request asks for with `page` and `per_page`.
 *
 * @param most entries in one answer at most
 * @throws {ServiceError} `VALIDATION_FAILED` for a value that is no integer
 */
export function pageOf(
  { query }: RestRequest,
  most: number,
): { readonly offset: number; readonly limit: number } {
  const page = clampedInteger(query, 'page', { min: 1, max: PAGE_MAX }) ?? 1;
  const limit = clampedInteger(query, 'perPage', { min: 1, max: most }) ?? PER_PAGE_DEFAULT;
  return { limit, offset: (page - 1) * limit };
}
