import type { JsonSchema } from '#protocols/http/route.ts';
import { commitSchema } from './commit-info.ts';

const text = { type: 'string' } as const;
const textOrNull = { type: ['string', 'null'] } as const;
const flagOrNull = { type: ['boolean', 'null'] } as const;
const time = { type: 'string', format: 'date-time' } as const;
const timeOrNull = { type: ['string', 'null'], format: 'date-time' } as const;
const revision = {
  type: 'string',
  pattern: '^\\d+-\\d+$',
  description: '`<milliseconds>-<counter>`',
} as const;
const revisionOrNull = { ...revision, type: ['string', 'null'] } as const;
const anyObject = { type: 'object', additionalProperties: true } as const;
const anyObjectOrNull = { type: ['object', 'null'], additionalProperties: true } as const;

function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

const page: JsonSchema = {
  type: 'object',
  required: ['total', 'limit', 'offset', 'nextOffset'],
  properties: {
    total: { type: 'integer' },
    limit: { type: ['integer', 'null'] },
    offset: { type: 'integer' },
    nextOffset: { type: ['integer', 'null'] },
  },
};

const relation: JsonSchema = {
  type: 'object',
  properties: {
    target: text,
    workspace: text,
    target_node_type: text,
    relation_type: text,
    weight: { type: ['number', 'null'] },
  },
};

const node: JsonSchema = {
  type: 'object',
  required: ['id', 'name', 'path', 'node_type', 'properties', 'parent', 'version', 'workspace'],
  properties: {
    id: text,
    name: text,
    path: text,
    node_type: text,
    archetype: textOrNull,
    properties: {
      ...anyObject,
      description: 'Data of the node; on read with `$supertypes` and `$mixins`, derived from the type.',
    },
    parent: { ...text, description: 'Name of the parent node; `/` at the root.' },
    order_key: { ...text, description: 'Opaque; siblings sorted by it are in editorial order.' },
    has_children: { type: 'boolean' },
    version: { type: 'integer', minimum: 1 },
    created_at: time,
    updated_at: time,
    created_by: text,
    updated_by: text,
    published_at: timeOrNull,
    published_by: textOrNull,
    translations: {
      ...anyObjectOrNull,
      description: '`{locale: {property: value}}`; deeper places by JSON pointer.',
    },
    workspace: text,
    owner_id: textOrNull,
    relations: listOf(relation),
  },
};

const newNode: JsonSchema = {
  type: 'object',
  required: ['name', 'node_type'],
  properties: {
    name: { ...text, description: 'Made into the last segment of the path.' },
    node_type: text,
    properties: anyObject,
    id: { ...text, description: 'Default: made by the server.' },
    archetype: textOrNull,
    translations: anyObjectOrNull,
    owner_id: textOrNull,
  },
};

const schemaStamps = {
  id: text,
  version: { type: 'integer', minimum: 1 },
  created_at: time,
  updated_at: time,
  published_at: timeOrNull,
  published_by: textOrNull,
  previous_version: textOrNull,
} as const;

const propertySchema: JsonSchema = {
  type: 'object',
  required: ['name', 'type'],
  properties: {
    name: text,
    type: text,
    required: { type: 'boolean' },
    unique: { type: 'boolean' },
    default: {},
    index: listOf({ type: 'string', enum: ['Fulltext', 'Property', 'Vector'] }),
    constraints: anyObject,
    is_translatable: { type: 'boolean' },
    structure: anyObject,
    items: anyObject,
    meta: anyObject,
  },
};

const nodeType: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { ...text, pattern: '^[a-zA-Z]+:(?:[A-Z][a-z]*)+$' },
    strict: flagOrNull,
    extends: textOrNull,
    mixins: listOf(text),
    overrides: anyObjectOrNull,
    is_mixin: { type: 'boolean' },
    description: textOrNull,
    icon: textOrNull,
    properties: listOf(propertySchema),
    allowed_children: listOf(text),
    required_nodes: listOf(text),
    initial_structure: anyObjectOrNull,
    versionable: flagOrNull,
    immutable: flagOrNull,
    publishable: flagOrNull,
    auditable: flagOrNull,
    indexable: flagOrNull,
    index_types: { type: ['array', 'null'], items: text },
    compound_indexes: listOf(anyObject),
    ...schemaStamps,
  },
};

const fieldHolder = {
  name: text,
  extends: textOrNull,
  icon: textOrNull,
  title: textOrNull,
  description: textOrNull,
  fields: listOf({ ...anyObject, description: 'A field, tagged by `$type`.' }),
  initial_content: anyObjectOrNull,
  layout: { type: ['array', 'null'] },
  strict: flagOrNull,
  publishable: flagOrNull,
  ...schemaStamps,
} as const;

const nodeChange: JsonSchema = {
  type: 'object',
  properties: {
    node_id: text,
    workspace: text,
    operation: { type: 'string', enum: ['added', 'modified', 'deleted', 'reordered'] },
    node_type: text,
    path: text,
    translation_locale: text,
  },
};

const definitionChange: JsonSchema = {
  type: 'object',
  properties: { name: text, operation: { type: 'string', enum: ['added', 'modified', 'deleted'] } },
};

const revisionRecord: JsonSchema = {
  type: 'object',
  properties: {
    revision,
    parent: revisionOrNull,
    merge_parent: revisionOrNull,
    branch: text,
    timestamp: time,
    actor: text,
    message: text,
    is_system: { type: 'boolean' },
    changed_nodes: listOf(nodeChange),
    changed_node_types: listOf(definitionChange),
    changed_archetypes: listOf(definitionChange),
    changed_element_types: listOf(definitionChange),
  },
};

/** Named schemas of content, for the components of the description. */
export const contentSchemas: Readonly<Record<string, JsonSchema>> = {
  Commit: commitSchema,
  Node: node,
  NewNode: newNode,
  NodeWritten: {
    type: 'object',
    required: ['node', 'revision', 'committed'],
    properties: { node: ref('Node'), revision, committed: { const: true } },
  },
  NodeTree: {
    type: 'object',
    description: 'By name of the child.',
    additionalProperties: {
      type: 'object',
      required: ['node', 'children'],
      properties: { node: ref('Node'), children: ref('NodeTree') },
    },
  },
  NodePage: {
    type: 'object',
    required: ['items', 'next_cursor', 'total'],
    properties: { items: listOf(ref('Node')), next_cursor: textOrNull, total: { type: 'null' } },
  },
  QueryAnswer: {
    type: 'object',
    required: ['items', 'page'],
    properties: { items: listOf(ref('Node')), page },
  },
  NodeType: nodeType,
  Archetype: {
    type: 'object',
    required: ['name'],
    properties: { ...fieldHolder, base_node_type: textOrNull },
  },
  ElementType: { type: 'object', required: ['name'], properties: fieldHolder },
  Validation: {
    type: 'object',
    required: ['valid', 'errors'],
    properties: { valid: { type: 'boolean' }, errors: listOf(text) },
  },
  NodeChange: nodeChange,
  Revision: revisionRecord,
  RevisionList: {
    type: 'object',
    required: ['revisions', 'total', 'has_more'],
    properties: {
      revisions: listOf(ref('Revision')),
      total: { type: 'integer' },
      has_more: { type: 'boolean' },
    },
  },
  BranchComparison: {
    type: 'object',
    required: ['ahead', 'behind', 'common_ancestor'],
    properties: {
      ahead: { type: 'integer', minimum: 0, description: 'Revisions only the branch has.' },
      behind: { type: 'integer', minimum: 0, description: 'Revisions only the base has.' },
      common_ancestor: { ...revision, description: 'Greatest revision both have; `0-0` without one.' },
    },
  },
  DiffEntry: {
    type: 'object',
    required: ['node_id', 'workspace', 'path', 'operation'],
    properties: {
      node_id: text,
      workspace: text,
      path: { ...text, description: 'Where the node is on the branch; of a deleted one, where it was.' },
      operation: { type: 'string', enum: ['added', 'modified', 'deleted'] },
    },
  },
  BranchDifference: {
    type: 'object',
    required: ['common_ancestor', 'added', 'modified', 'deleted'],
    properties: {
      common_ancestor: revision,
      added: listOf(ref('DiffEntry')),
      modified: listOf(ref('DiffEntry')),
      deleted: listOf(ref('DiffEntry')),
    },
  },
  MergeConflict: {
    type: 'object',
    required: [
      'node_id',
      'workspace',
      'path',
      'conflict_type',
      'base_properties',
      'target_properties',
      'source_properties',
    ],
    properties: {
      node_id: { ...text, description: 'Of a schema definition its kind and name, `node_type:site:Page`.' },
      workspace: { type: ['string', 'null'], description: 'Null for a schema definition.' },
      path: { ...text, description: 'Where the node is on the target, or else on the source.' },
      conflict_type: {
        type: 'string',
        enum: [
          'BothModified',
          'BothAdded',
          'DeletedBySourceModifiedByTarget',
          'ModifiedBySourceDeletedByTarget',
        ],
      },
      base_properties: { type: ['object', 'null'], description: 'As of the common ancestor.' },
      target_properties: { type: ['object', 'null'], description: 'Null on a side that deleted it.' },
      source_properties: { type: ['object', 'null'], description: 'Null on a side that deleted it.' },
      translation_locale: {
        ...text,
        description: 'The properties are the translated values of this locale, by JSON pointer.',
      },
    },
  },
  ConflictList: {
    type: 'object',
    required: ['target_head', 'source_head', 'common_ancestor', 'conflicts'],
    properties: {
      target_head: revision,
      source_head: revision,
      common_ancestor: revision,
      conflicts: listOf(ref('MergeConflict')),
    },
  },
  MergeResult: {
    type: 'object',
    required: ['success', 'revision', 'head', 'conflicts', 'fast_forward', 'nodes_changed'],
    properties: {
      success: { type: 'boolean', description: 'False when there are conflicts; nothing was written then.' },
      revision: { type: 'integer', description: 'Millisecond part of `head`.' },
      head: { ...revision, description: 'Where the branch stands now.' },
      conflicts: listOf(ref('MergeConflict')),
      fast_forward: { type: 'boolean' },
      nodes_changed: { type: 'integer', minimum: 0, description: 'Nodes the merge commit changed.' },
      target_head: { ...revision, description: 'Where the branch stood.' },
      source_head: revision,
    },
  },
  RevertResult: {
    type: 'object',
    required: ['success', 'revision', 'head', 'conflicts', 'fast_forward', 'nodes_changed'],
    properties: {
      success: { type: 'boolean', description: 'False when there are conflicts; nothing was written then.' },
      revision: { type: 'integer', description: 'Millisecond part of `head`.' },
      head: {
        ...revision,
        description: 'Where the branch stands now; as before when there was nothing left to undo.',
      },
      conflicts: listOf(ref('MergeConflict')),
      fast_forward: { type: 'boolean', const: false },
      nodes_changed: { type: 'integer', minimum: 0, description: 'Nodes the new revision changed.' },
    },
  },
  HistoryEntry: {
    type: 'object',
    properties: {
      revision,
      updated_at: time,
      updated_by: text,
      deleted: { type: 'boolean' },
      message: text,
      is_system: { type: 'boolean' },
    },
  },
  AuditEntry: {
    type: 'object',
    properties: {
      id: text,
      node_id: text,
      path: text,
      workspace: text,
      user_id: text,
      action: text,
      timestamp: time,
      details: anyObjectOrNull,
    },
  },
};

/** A reference to one of {@link contentSchemas}. */
export function contentSchema(name: string): JsonSchema {
  return ref(name);
}

/** An array of one of {@link contentSchemas}. */
export function contentList(name: string): JsonSchema {
  return listOf(ref(name));
}
