import { compareRoutes } from './compare.ts';
import { definitionRoutes } from './definitions.ts';
import { historyRoutes } from './history.ts';
import { mergeRoutes } from './merge.ts';
import { nodeRoutes } from './nodes.ts';
import { queryRoutes } from './queries.ts';
import type { RestContext, RestRoute } from './rest-context.ts';
import { revertRoutes } from './revert.ts';
import { revisionRoutes } from './revisions.ts';

/**
 * Every route of content: nodes, queries, schema, history, revisions, differences, merges, reverts. Their description
 * refers to `contentSchemas`.
 *
 * @see Content, Query, Functions and Versioning Interface: Endpoints
 */
export function contentRoutes(context: RestContext): readonly RestRoute[] {
  return [
    ...nodeRoutes(context),
    ...queryRoutes(context),
    ...definitionRoutes(context),
    ...historyRoutes(context),
    ...revisionRoutes(context),
    ...compareRoutes(context),
    ...mergeRoutes(context),
    ...revertRoutes(context),
  ];
}
