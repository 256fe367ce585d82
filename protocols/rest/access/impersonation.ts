import type { AdminPrincipal, ImpersonatingPrincipal } from '#runtime/access/principal.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { ParameterDocs } from '#protocols/http/route.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { singleHeader } from '../single-header.ts';
import { withParameters } from '../with-parameters.ts';

const HEADER = 'X-Svc-Impersonate';

/** Id or path of a user node, or an address: printable, because it is the author of what is written, and logged. */
const userShape = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/;

/** Users that are kept for one administrator; with more of them all are made anew. */
const USERS_KEPT_MAX = 64;

/** Principals by administrator and user: each keeps its object, by which others know it again. */
const known = new WeakMap<AdminPrincipal, Map<string, ImpersonatingPrincipal>>();

/**
 * The caller of a content route with the token of an administrator: the administrator, or with `X-Svc-Impersonate` a
 * user with whose permissions the request runs. Whether there is such a user is decided where the users are.
 *
 * @throws {ServiceError} `INSUFFICIENT_PERMISSIONS` for an account without `can_impersonate`; `VALIDATION_FAILED`
 * @see docs/interface/accounts.md#acting-as-a-user
 */
export function actingAs(
  request: RestRequest,
  principal: AdminPrincipal,
): AdminPrincipal | ImpersonatingPrincipal {
  if (!principal.accessFlags.can_impersonate) {
    if (request.header('x-svc-impersonate') === undefined) return principal;
    throw new ServiceError('INSUFFICIENT_PERMISSIONS', 'The account has no can_impersonate');
  }
  // An empty header is refused, so that a script whose user is not set does not act as the administrator.
  const user = singleHeader(request, HEADER);
  if (user === undefined) return principal;
  if (!userShape.test(user))
    throw invalid(`${HEADER} has 1 to 1024 printable ASCII characters`, { field: HEADER });
  const users = known.get(principal) ?? new Map<string, ImpersonatingPrincipal>();
  known.set(principal, users);
  const kept = users.get(user);
  if (kept !== undefined) return kept;
  if (users.size >= USERS_KEPT_MAX) users.clear();
  const { tenant, userId, username } = principal;
  const acting = Object.freeze({ kind: 'impersonating', tenant, userId, username, user } as const);
  users.set(user, acting);
  return acting;
}

const parameter: ParameterDocs = {
  name: HEADER,
  in: 'header',
  description:
    'With the token of an administrator who has `can_impersonate`: id or path of a user node, or the email address of its user. The request runs with the permissions of that user. Ignored with other tokens.',
  schema: { type: 'string', minLength: 1, maxLength: 1024 },
};

/** Marks routes as those of content, and describes the header that they take. */
export function forContent(routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => withParameters({ ...route, audience: 'content' }, [parameter]));
}

/** Marks routes as those of repositories. */
export function forRepositories(routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => ({ ...route, audience: 'repositories' }));
}
