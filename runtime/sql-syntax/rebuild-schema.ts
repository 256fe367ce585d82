import { mapList, mapOptional } from './map-parts.ts';
import type {
  DefinitionAction,
  DefinitionClause,
  PropertyNode,
  PropertyTypeNode,
  SchemaStatement,
} from './nodes/schema-nodes.ts';
import type { MapChild, RebuildersOf } from './syntax-node.ts';

type SchemaKind = SchemaStatement['kind'] | PropertyNode['kind'] | PropertyTypeNode['kind'];

/** How statements about the schema, and the properties in them, are made anew from their children. */
export const schemaRebuilders: RebuildersOf<SchemaKind> = {
  'create-definition': (node, map) => ({
    ...node,
    name: map(node.name),
    clauses: node.clauses.map((clause) => mapClause(clause, map)),
  }),
  'alter-definition': (node, map) => ({
    ...node,
    name: map(node.name),
    actions: node.actions.map((action) => mapAction(action, map)),
  }),
  'drop-definition': (node, map) => ({ ...node, name: map(node.name) }),
  property: (node, map) => ({
    ...node,
    type: map(node.type),
    defaultValue: mapOptional(node.defaultValue, map),
    label: mapOptional(node.label, map),
    description: mapOptional(node.description, map),
  }),
  'named-type': (node) => node,
  'array-type': (node, map) => ({ ...node, of: map(node.of) }),
  'object-type': (node, map) => ({ ...node, properties: node.properties.map(map) }),
};

function mapClause(clause: DefinitionClause, map: MapChild): DefinitionClause {
  switch (clause.kind) {
    case 'extends':
    case 'base-node-type':
    case 'compound-index':
      return { ...clause, name: map(clause.name) };
    case 'mixins':
    case 'allowed-children':
    case 'required-nodes':
      return { ...clause, names: clause.names.map(map) };
    case 'title':
    case 'description':
    case 'icon':
      return { ...clause, text: map(clause.text) };
    case 'properties':
      return { ...clause, properties: clause.properties.map(map) };
    case 'flag':
      return clause;
  }
}

function mapAction(action: DefinitionAction, map: MapChild): DefinitionAction {
  switch (action.kind) {
    case 'add-property':
    case 'modify-property':
      return { ...action, property: map(action.property) };
    case 'set-text':
      return { ...action, text: map(action.text) };
    case 'set-name':
      return { ...action, name: mapOptional(action.name, map) };
    case 'add-mixin':
    case 'drop-mixin':
      return { ...action, name: map(action.name) };
    case 'set-names':
      return { ...action, names: mapList(action.names, map) ?? [] };
    case 'drop-property':
    case 'set-flag':
      return action;
  }
}
