import { describe, expect, it } from 'vitest';
import { parseQuery } from '#protocols/http/requests/query-parameters.ts';
import type { RestRequest, RestRoute } from '#protocols/rest/rest-route.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';

// Only refusals are looked at; behind them the handlers have nothing to work with.
const routes = memberRoutes({} as RoutesContext);

async function refusal(route: RestRoute, queryString: string): Promise<string> {
  const request = { route, queryString, query: parseQuery(queryString) } as RestRequest;
  try {
    await route.handler(request);
    return 'taken';
  } catch (error) {
    const { message } = error as Error;
    return /^Unknown query parameter|: a write goes to the head/.test(message) ? message : 'taken';
  }
}

describe('the routes of a member', () => {
  it('ignore unknown parameters on public routes, logins and routes that refuse every request', () => {
    const open = routes.filter((route) => route.takesAnyParameter).map((route) => route.operationId);
    expect(open).toEqual([
      'readHealth',
      'readReadiness',
      'readMetrics',
      'readOpenApi',
      'logInAdmin',
      'changeAdminPassword',
      'readOwnProfile',
      'logInIdentity',
      'refreshSession',
      'logInIdentityInRepository',
      'refreshSessionInRepository',
      'readOwnIdentity',
      'readOwnIdentityInRepository',
      'changeIdentityPassword',
      'changeIdentityPasswordInRepository',
      'finishOidcLogin',
      'openRepositoryMagicLink',
      'openMagicLink',
      'refuseCreateAtRevision',
      'refuseUpdateAtRevision',
      'refusePatchAtRevision',
      'refuseDeleteAtRevision',
    ]);
  });

  it.each(routes.filter((route) => !route.takesAnyParameter).map((route) => [route.operationId, route]))(
    '%s refuses what its documentation does not have, and nothing that it has',
    async (_, route) => {
      expect(await refusal(route, 'nonsense=1')).toMatch(/^Unknown query parameter 'nonsense'; /);
      for (const { in: place, name } of route.docs.parameters ?? []) {
        if (place === 'query') expect([name, await refusal(route, `${name}=1`)]).toEqual([name, 'taken']);
      }
    },
  );
});
