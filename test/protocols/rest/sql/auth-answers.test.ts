import { describe, expect, it } from 'vitest';
import { IDENTITIES_PAGE_MAX, type ListIdentities } from '#actors/identities/messages.ts';
import { type AuthFunctionsContext, authAnswers } from '#protocols/rest/sql/auth-answers.ts';
import type { RestRequest } from '#protocols/rest/rest-route.ts';

/** As many rows as one call may have. */
const ROWS_MAX = 5_000;
/** As many people as one call may read the sessions of. */
const SESSION_OWNERS_MAX = 1_000;

const request = {
  principal: { kind: 'admin', tenant: 'default', userId: 'a', username: 'ada' },
  deadlineMs: 1,
} as unknown as RestRequest;

/** A tenant of so many people, each with some sessions. */
class Tenant {
  readonly #people: number;
  readonly #sessions: number;
  queries = 0;

  constructor(people: number, sessions: number) {
    this.#people = people;
    this.#sessions = sessions;
  }

  async query(
    _tenant: string,
    query: ListIdentities | { readonly type: 'ListSessions' },
  ): Promise<readonly object[]> {
    this.queries += 1;
    if (query.type === 'ListSessions')
      return Array.from({ length: this.#sessions }, () => ({ created_ms: 0, last_active_ms: 0 }));
    const length = Math.max(0, Math.min(query.limit, this.#people - query.offset));
    return Array.from({ length }, (_, index) => ({
      identity_id: `i${query.offset + index}`,
      email: `p${query.offset + index}@example.org`,
      display_name: 'P',
    }));
  }

  async rows(call: string): Promise<number> {
    const context = { people: this } as unknown as AuthFunctionsContext;
    const answers = await authAnswers(context, request, { sql: `SELECT * FROM ${call}`, parameters: [] });
    const [rows] = Object.values(answers) as unknown[][];
    return rows?.length ?? -1;
  }
}

describe('the rows of a function about people', () => {
  it('are bounded: of identities', async () => {
    const most = new Tenant(ROWS_MAX, 0);
    expect(await most.rows('SVC_AUTH_IDENTITIES()')).toBe(ROWS_MAX);
    const more = new Tenant(2 * ROWS_MAX, 0);
    await expect(more.rows('SVC_AUTH_IDENTITIES()')).rejects.toMatchObject({
      code: 'REQUEST_TOO_EXPENSIVE',
      message: 'SVC_AUTH_IDENTITIES reads at most 5,000 rows: give a part of the address',
    });
    // It stops where it is too much.
    expect(more.queries).toBe(ROWS_MAX / IDENTITIES_PAGE_MAX + 1);
    // Only what the filter leaves is counted.
    expect(await more.rows("SVC_AUTH_IDENTITIES('p12@')")).toBe(1);
  });

  it('are bounded: of sessions', async () => {
    expect(await new Tenant(ROWS_MAX / 10, 10).rows('SVC_AUTH_SESSIONS()')).toBe(ROWS_MAX);
    await expect(new Tenant(ROWS_MAX / 10 + 1, 10).rows('SVC_AUTH_SESSIONS()')).rejects.toMatchObject({
      code: 'REQUEST_TOO_EXPENSIVE',
      message: 'SVC_AUTH_SESSIONS reads at most 5,000 rows: give the id of one identity',
    });
    expect(await new Tenant(SESSION_OWNERS_MAX, 1).rows('SVC_AUTH_SESSIONS()')).toBe(SESSION_OWNERS_MAX);
    await expect(new Tenant(SESSION_OWNERS_MAX + 1, 1).rows('SVC_AUTH_SESSIONS()')).rejects.toMatchObject({
      code: 'REQUEST_TOO_EXPENSIVE',
      message: 'SVC_AUTH_SESSIONS reads at most 1,000 people: give the id of one identity',
    });
  });
});
