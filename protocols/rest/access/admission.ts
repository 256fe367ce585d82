import { ServiceError } from '#runtime/errors/service-error.ts';
import { takesBody } from '#protocols/http/requests/body-head.ts';
import { isHiddenFrom } from './hidden-branch.ts';
import { consistencyOf } from '../reads/read-consistency.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { recovering, type Soon } from '#runtime/base/event-loop/soon.ts';

const REPOSITORY = '{repo}';
const BRANCH = '{branch}';
const slashAllowed = { allowSlash: true } as const;

/**
 * Makes every route with a body resolve the repository and branch of its address before the body is read: a body for
 * an unknown address is not buffered or parsed. The handler resolves them again, because receiving a body may take
 * long and they may be deleted meanwhile.
 */
export function withAdmission(context: RestContext, routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => {
    const { pattern, repeatsWithoutBranch = false } = route;
    if (!takesBody(route) || !pattern.includes(REPOSITORY)) return route;
    const lookUp = pattern.includes(BRANCH) ? findBranch : findRepository;
    return {
      ...route,
      admit: (request) => {
        if (isHiddenFrom(request)) return undefined;
        const mayRepeat = repeatsWithoutBranch && request.header('idempotency-key') !== undefined;
        const found = (mayRepeat ? findRepository : lookUp)(context, request);
        return found instanceof Promise ? found.then(() => undefined) : undefined;
      },
    };
  });
}

function findRepository({ directory }: RestContext, request: RestRequest): Soon<unknown> {
  return directory.repository(request.principal.tenant, request.segment('repo'), nearbyOf(request));
}

/** The branch or tag, without side effects on it. */
function findBranch({ directory }: RestContext, request: RestRequest): Soon<unknown> {
  const { tenant } = request.principal;
  const branch = request.segment('branch', slashAllowed);
  return recovering<unknown>(
    () => directory.likelyBesideContent(tenant, request.segment('repo'), branch, nearbyOf(request)),
    (error) => {
      // The tag exists; the handler decides whether a tag is acceptable.
      if (error instanceof ServiceError && error.code === 'READ_ONLY_REVISION') return undefined;
      throw error;
    },
  );
}

/** A local read does not wait for other members; a barrier applies only to the read itself. */
function nearbyOf(request: RestRequest): ReturnType<typeof consistencyOf> {
  const consistency = consistencyOf(request);
  return consistency?.kind === 'local' ? consistency : undefined;
}
