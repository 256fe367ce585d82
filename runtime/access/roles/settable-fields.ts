import { decidingProperties } from '#runtime/content/built-in/deciding-nodes.ts';
import { FieldFilter } from '../field-filter.ts';

/**
 * The properties of a node of a deciding type that may be set under a permission, which has to name those that decide.
 *
 * @see docs/interface/permissions.md#nodes-that-decide
 */
export function settableOf(nodeType: string, fields: FieldFilter): FieldFilter {
  if (nodeType !== 'svc:User' || fields.kind === 'only') return fields;
  return new FieldFilter('except', [...fields.names, ...decidingProperties]);
}
