import type { ParameterDocs, RouteDocs } from '#protocols/http/route.ts';
import type { RestRoute } from './rest-route.ts';

function withMore<Docs extends Pick<RouteDocs, 'parameters'>>(
  docs: Docs,
  added: readonly ParameterDocs[],
): Docs {
  const own = docs.parameters ?? [];
  const others = added.filter(({ name }) => own.every((one) => one.name !== name));
  return { ...docs, parameters: [...own, ...others] };
}

/** Adds parameters to the description of a route and of its further operations; parameters it already has are kept. */
export function withParameters(route: RestRoute, added: readonly ParameterDocs[]): RestRoute {
  const docs = withMore(route.docs, added);
  if (docs.further === undefined) return { ...route, docs };
  const further = docs.further.map((one) => ({ ...one, docs: withMore(one.docs, added) }));
  return { ...route, docs: { ...docs, further } };
}
