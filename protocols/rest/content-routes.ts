import { compareRoutes } from './versioning/compare.ts';
import { type DefinitionsContext, definitionRoutes } from './schema/definitions.ts';
import { historyRoutes } from './versioning/history.ts';
import { mergeRoutes } from './versioning/merge.ts';
import { nodeRoutes } from './nodes/nodes.ts';
import { queryRoutes } from './nodes/queries.ts';
import type { RestRoute } from './rest-route.ts';
import type { SqlRouteContext } from './sql/run-text.ts';
import { sqlRoutes } from './sql/sql.ts';
import { revertRoutes } from './versioning/revert.ts';
import { revisionRoutes } from './versioning/revisions.ts';
import { withLocks } from './write-headers.ts';

/**
 * All content routes: nodes, queries, SQL, schema, history, revisions, differences, merges, reverts. Their description
 * refers to `contentSchemas` and `commandSchemas`.
 *
 * @see docs/interface/README.md
 */
export function contentRoutes(context: DefinitionsContext & SqlRouteContext): readonly RestRoute[] {
  const routes = [
    ...nodeRoutes(context),
    ...queryRoutes(context),
    ...sqlRoutes(context),
    ...definitionRoutes(context),
    ...historyRoutes(context),
    ...revisionRoutes(context),
    ...compareRoutes(context),
    ...mergeRoutes(context),
    ...revertRoutes(context),
  ];
  return withLocks(routes);
}
