import type { ReadableNode } from '#runtime/access/policy.ts';
import { type JsonObject, ownValue } from '#runtime/content/values/json-value.ts';

/** A node as conditions of a policy look at it, from the parts that a test is about. */
export function readableNode({
  properties = {},
  ...columns
}: Partial<Omit<ReadableNode, 'property'>> & { readonly properties?: JsonObject }): ReadableNode {
  const path = columns.path ?? '/node';
  return {
    id: 'node',
    name: path.slice(path.lastIndexOf('/') + 1),
    path,
    nodeType: 'test:Node',
    createdBy: 'someone',
    updatedBy: 'someone',
    ownerId: null,
    ...columns,
    property: (name) => ownValue(properties, name),
  };
}
