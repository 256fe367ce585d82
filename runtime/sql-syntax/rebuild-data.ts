import { mapItem, mapOptional } from './map-parts.ts';
import type { DataStatement, ReturningClause } from './nodes/data-nodes.ts';
import type { MapChild, RebuildersOf } from './syntax-node.ts';

function mapReturning(clause: ReturningClause | undefined, map: MapChild): ReturningClause | undefined {
  return clause === undefined
    ? undefined
    : { ...clause, items: clause.items.map((item) => mapItem(item, map)) };
}

/** How statements that write rows are made anew from their children. */
export const dataRebuilders: RebuildersOf<DataStatement['kind']> = {
  insert: (node, map) => ({
    ...node,
    source: map(node.source),
    returning: mapReturning(node.returning, map),
  }),
  update: (node, map) => ({
    ...node,
    assignments: node.assignments.map((each) => ({ ...each, value: map(each.value) })),
    where: mapOptional(node.where, map),
    returning: mapReturning(node.returning, map),
  }),
  delete: (node, map) => ({
    ...node,
    where: mapOptional(node.where, map),
    returning: mapReturning(node.returning, map),
  }),
};
