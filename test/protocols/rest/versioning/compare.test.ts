import { describe, expect, it } from 'vitest';
import { parseQuery } from '#protocols/http/requests/query-parameters.ts';
import { detailOf } from '#protocols/rest/versioning/compare.ts';
import { DIFF_DETAILS_SINCE } from '#runtime/actor/message-version.ts';

const detailIn = (query: string) => detailOf({ query: parseQuery(query) });

describe('a difference between members', () => {
  it('says which version it takes where it wants changes: an older member would answer without them', () => {
    expect(detailIn('detail=properties')).toEqual({ detail: 'properties', since: DIFF_DETAILS_SINCE });
  });

  it('is the query of every version where it does not', () => {
    expect(detailIn('')).toEqual({});
  });

  it('is refused where it wants anything else [BR-049]', () => {
    for (const query of ['detail=', 'detail=all', 'detail=properties,order'])
      expect(() => detailIn(query), query).toThrow("'detail' must be properties");
  });
});
