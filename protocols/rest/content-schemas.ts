import type { JsonSchema } from '#protocols/http/route.ts';
import { readOnly } from '#protocols/http/requests/body-shape.ts';
import { commitSchema } from './commit-info.ts';
import { definitionSchemas } from './schema/definition-schemas.ts';

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

const leftOut = { type: 'integer', minimum: 1 } as const;

/** Additional properties of a difference entry with `detail=properties`. */
const diffDetails: Readonly<Record<string, JsonSchema>> = {
  changes: { ...listOf(ref('DiffChange')), description: 'What differs; with `detail=properties` only.' },
  truncated: { const: true, description: 'The entry has changes that are not listed.' },
};

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

/** Properties of a node that the server sets. Clients may send them without effect. */
const fixedNodeProperties = readOnly({
  path: text,
  parent: text,
  order_key: text,
  has_children: { type: 'boolean' },
  version: { type: 'integer' },
  created_at: time,
  updated_at: time,
  created_by: text,
  updated_by: text,
  published_at: timeOrNull,
  published_by: textOrNull,
  workspace: text,
  relations: listOf(anyObject),
});

/** Properties of a new node. */
export const newNodeProperties: Readonly<Record<string, JsonSchema>> = {
  name: { ...text, description: 'Made into the last segment of the path.' },
  node_type: text,
  properties: anyObject,
  id: { ...text, description: 'Default: made by the server.' },
  archetype: textOrNull,
  translations: anyObjectOrNull,
  owner_id: textOrNull,
  ...fixedNodeProperties,
};

const newNode: JsonSchema = {
  type: 'object',
  required: ['name', 'node_type'],
  properties: newNodeProperties,
  additionalProperties: false,
};

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
    author: {
      ...text,
      description: 'Who made it, where `actor` was given and is another one; otherwise absent.',
    },
    message: text,
    is_system: { type: 'boolean' },
    changed_nodes: listOf(nodeChange),
    changed_node_types: listOf(definitionChange),
    changed_archetypes: listOf(definitionChange),
    changed_element_types: listOf(definitionChange),
  },
};

/** Properties of a merge conflict. */
export const conflictProperties: Readonly<Record<string, JsonSchema>> = {
  node_id: { ...text, description: 'Of a schema definition its kind and name, `node_type:site:Page`.' },
  workspace: { type: ['string', 'null'], description: 'Null for a schema definition.' },
  path: { ...text, description: 'Where the node is on the target, or else on the source.' },
  conflict_type: {
    type: 'string',
    enum: ['BothModified', 'BothAdded', 'DeletedBySourceModifiedByTarget', 'ModifiedBySourceDeletedByTarget'],
  },
  base_properties: { type: ['object', 'null'], description: 'As of the common ancestor.' },
  target_properties: { type: ['object', 'null'], description: 'Null on a side that deleted it.' },
  source_properties: { type: ['object', 'null'], description: 'Null on a side that deleted it.' },
  base_path: {
    ...textOrNull,
    description: 'The path of the node in this state; null where it is not there. Only for a node itself.',
  },
  target_path: textOrNull,
  source_path: textOrNull,
  base_published: {
    ...flagOrNull,
    description: 'Whether the node is published in this state; null where it is not there. As the paths.',
  },
  target_published: flagOrNull,
  source_published: flagOrNull,
  translation_locale: {
    ...text,
    description: 'The properties are the translated values of this locale, by JSON pointer.',
  },
  violations: {
    ...listOf(ref('MergeViolation')),
    description:
      'What would be invalid in the merged state, and which other nodes and definitions take part. Such a conflict can arise although only one side changed the node.',
  },
};

/** Named content schemas, for the components of the description. */
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
  IncomingReference: {
    type: 'object',
    required: ['kind', 'source'],
    properties: {
      kind: { type: 'string', enum: ['property', 'relation'] },
      source: {
        type: 'object',
        description: 'The node that links.',
        required: ['id', 'workspace', 'path', 'name', 'node_type'],
        properties: { id: text, workspace: text, path: text, name: text, node_type: text },
      },
      pointer: {
        ...text,
        description: 'Of a `property`: JSON pointer to the reference within the properties, `/hero/link`.',
      },
      relation_type: { ...text, description: 'Of a `relation`.' },
      weight: { type: ['number', 'null'], description: 'Of a `relation`.' },
    },
  },
  IncomingReferencePage: {
    type: 'object',
    required: ['items', 'next_cursor', 'total'],
    properties: {
      items: listOf(ref('IncomingReference')),
      next_cursor: textOrNull,
      total: { type: 'null' },
    },
  },
  QueryAnswer: {
    type: 'object',
    required: ['items', 'page'],
    properties: { items: listOf(ref('Node')), page },
  },
  SqlAnswer: {
    type: 'object',
    required: ['columns', 'rows', 'row_count', 'execution_time_ms'],
    properties: {
      columns: listOf(text),
      rows: {
        type: 'array',
        items: { type: 'object' },
        description: 'One object for each row; its keys are the columns.',
      },
      row_count: { type: 'integer' },
      execution_time_ms: { type: 'number', description: 'Time that the statements took, in milliseconds.' },
      explain_plan: { type: 'string', description: 'The plan, where the last statement is an EXPLAIN.' },
    },
  },
  ...definitionSchemas,
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
  DiffChange: {
    type: 'object',
    required: ['path'],
    description: 'A side without a value has neither of its two fields.',
    properties: {
      path: {
        ...text,
        description:
          'JSON pointer into the node object or the definition. `/relations` is that of each single relation.',
      },
      before: { description: 'The value that was there; any JSON value.' },
      after: { description: 'The value that is there; any JSON value.' },
      before_bytes: {
        ...leftOut,
        description: 'Bytes of the JSON of the value that was there and is left out.',
      },
      after_bytes: {
        ...leftOut,
        description: 'Bytes of the JSON of the value that is there and is left out.',
      },
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
      ...diffDetails,
    },
  },
  DefinitionDiffEntry: {
    type: 'object',
    required: ['node_id', 'workspace', 'path', 'operation', 'kind', 'name'],
    properties: {
      node_id: { ...text, description: 'Kind and name, `node_type:site:Page`, as in conflicts.' },
      workspace: { type: 'null' },
      path: text,
      operation: { type: 'string', enum: ['added', 'modified', 'deleted'] },
      kind: {
        type: 'string',
        enum: ['node_type', 'archetype', 'element_type'],
        description: 'A mixin is a `node_type`.',
      },
      name: text,
      ...diffDetails,
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
      definitions: {
        ...listOf(ref('DefinitionDiffEntry')),
        description: 'Schema definitions the branch changed: node types, mixins, archetypes, element types.',
      },
      truncated: {
        type: 'boolean',
        description: 'Whether an entry does not have all of its changes; with `detail=properties` only.',
      },
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
    properties: conflictProperties,
  },
  MergeViolation: {
    type: 'object',
    required: ['violation_type', 'message', 'with'],
    properties: {
      violation_type: {
        type: 'string',
        enum: [
          'InvalidContent',
          'MissingDefinition',
          'InvalidDefinition',
          'DuplicateValue',
          'ChildNotAllowed',
          'TypeNotAllowed',
          'PathTooLong',
        ],
      },
      message: { ...text, description: 'What is wrong, for a person.' },
      property: { ...text, description: 'The property it is about.' },
      with: {
        ...listOf({
          type: 'object',
          required: ['node_id', 'workspace', 'path'],
          properties: { node_id: text, workspace: textOrNull, path: text },
        }),
        description: 'The others that take part, named as conflicts are; the first ten.',
      },
      count: {
        type: 'integer',
        minimum: 1,
        description: 'How many nodes and definitions become invalid by this one.',
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
      definitions_changed: {
        type: 'integer',
        minimum: 0,
        description: 'Schema definitions the merge commit changed.',
      },
      access_changes: {
        type: 'integer',
        minimum: 0,
        description:
          'Users, roles, groups and security settings that the merge changes: nodes that decide who may do what. Of a fast-forward those that differ afterwards.',
      },
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
      definitions_changed: {
        type: 'integer',
        minimum: 0,
        description: 'Schema definitions the new revision changed.',
      },
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
