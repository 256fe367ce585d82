import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { Caller, ConditionNode, RelationDirection, Relations } from '#runtime/rel/ports.ts';

/** The caller of the examples: an editor with a user node. */
export const bob: Caller = Object.freeze({
  userId: 'i1',
  localUserId: 'u1',
  email: 'bob@example.com',
  home: '/users/internal/bob',
  roles: ['editor', 'viewer'],
  groups: ['staff'],
  isAnonymous: false,
  isSystem: false,
  actingAsWard: null,
  activeStewardshipSource: null,
});

/** A caller without a login. */
export const nobody: Caller = Object.freeze({
  ...bob,
  userId: null,
  localUserId: null,
  email: null,
  home: null,
  roles: ['anonymous'],
  groups: [],
  isAnonymous: true,
});

/** The columns of a node and its properties. */
export interface NodeFields {
  readonly id?: string;
  readonly name?: string;
  readonly path?: string;
  readonly nodeType?: string;
  readonly createdBy?: string | null;
  readonly updatedBy?: string | null;
  readonly ownerId?: string | null;
  readonly workspace?: string;
  readonly properties?: JsonObject;
}

/** A node with the given fields, and those of the node b1 of the examples. */
export function nodeOf({ properties = {}, ...columns }: NodeFields = {}): ConditionNode {
  return {
    id: 'b1',
    name: 'north',
    path: '/beds/north',
    nodeType: 'garden:Bed',
    createdBy: 'i1',
    updatedBy: 'i2',
    ownerId: null,
    workspace: 'garden',
    ...columns,
    property: (name) => (Object.hasOwn(properties, name) ? (properties[name] as JsonValue) : undefined),
  };
}

/** A relation of a graph: from, type, to. */
export type Edge = readonly [string, string, string];

/** The relations of a small graph. A path may use a relation more than once. */
export function relationsOf(edges: readonly Edge[]): Relations {
  const next = (id: string, types: readonly string[], direction: RelationDirection): string[] =>
    edges.flatMap(([from, type, to]) => {
      if (!types.includes(type)) return [];
      const found = [];
      if (from === id && direction !== 'INCOMING') found.push(to);
      if (to === id && direction !== 'OUTGOING') found.push(from);
      return found;
    });
  return {
    related(from, to, types, depthMin, depthMax, direction) {
      let reached = new Set([from]);
      for (let depth = 1; depth <= depthMax; depth += 1) {
        reached = new Set([...reached].flatMap((id) => next(id, types, direction)));
        if (depth >= depthMin && reached.has(to)) return true;
      }
      return false;
    },
  };
}
