import { ServiceError } from '#runtime/errors/service-error.ts';
import { takesBody } from '#protocols/http/body-head.ts';
import { isHiddenFrom } from './hidden-branch.ts';
import { consistencyOf } from '../reads/read-consistency.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { recovering, type Soon } from '../soon.ts';

const REPOSITORY = '{repo}';
const BRANCH = '{branch}';
const slashAllowed = { allowSlash: true } as const;

/**
 * Lets every route with a body look up the repository and branch of its address before the body is read: whoever
 * names something that is not there has nothing of theirs kept or parsed. The handler looks them up again, because
 * a body may take its time and what it is for may be gone by then.
 */
export function withAdmission(context: RestContext, routes: readonly RestRoute[]): readonly RestRoute[] {
  return routes.map((route) => {
    const { pattern } = route;
    if (!takesBody(route) || !pattern.includes(REPOSITORY)) return route;
    const lookUp = pattern.includes(BRANCH) ? findBranch : findRepository;
    return {
      ...route,
      admit: (request) => {
        if (isHiddenFrom(request)) return undefined;
        const found = lookUp(context, request);
        return found instanceof Promise ? found.then(() => undefined) : undefined;
      },
    };
  });
}

function findRepository({ directory }: RestContext, request: RestRequest): Soon<unknown> {
  return directory.repository(request.principal.tenant, request.segment('repo'), nearbyOf(request));
}

/** The branch or tag, of which nothing is touched. */
function findBranch({ directory }: RestContext, request: RestRequest): Soon<unknown> {
  const { tenant } = request.principal;
  const branch = request.segment('branch', slashAllowed);
  return recovering<unknown>(
    () => directory.likelyBesideContent(tenant, request.segment('repo'), branch, nearbyOf(request)),
    (error) => {
      // There is such a tag; whether that will do is for the handler to say.
      if (error instanceof ServiceError && error.code === 'READ_ONLY_REVISION') return undefined;
      throw error;
    },
  );
}

/** Whoever takes what is here does not wait for others; a barrier is for the read itself. */
function nearbyOf(request: RestRequest): ReturnType<typeof consistencyOf> {
  const consistency = consistencyOf(request);
  return consistency?.kind === 'local' ? consistency : undefined;
}
