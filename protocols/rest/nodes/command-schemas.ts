import type { JsonSchema } from '#protocols/http/route.ts';
import { newNodeProperties } from '../content-schemas.ts';
import { versionSchema } from './conditions.ts';

/** Maximum audit entries in a response. */
export const AUDIT_LIMIT_MAX = 1_000;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const anyObject = { type: 'object', additionalProperties: true } as const;
const revisionOrNull = {
  type: ['string', 'null'],
  pattern: '^\\d+-\\d+$',
  description: 'The revision it made; null when it changed nothing.',
} as const;
const path = { ...text, description: 'Path of a node in the workspace, `/a/b`.' } as const;
const parent = { ...text, description: 'Path of the node it goes below; `/` for the root.' } as const;
const pointers = { type: 'array', items: { ...text, description: 'JSON pointer of a property.' } } as const;

function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** One operation of a commit, distinguished by `type`. */
function operation(type: string, required: readonly string[], properties: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['type', ...required],
    properties: { type: { type: 'string', enum: [type] }, ...properties },
    additionalProperties: false,
  };
}

const copyProperties = {
  version: versionSchema,
  source_path: path,
  target_parent: parent,
  new_name: { ...text, description: 'Default: the name of the source.' },
} as const;

const operations = {
  create: 'CreateOperation',
  update: 'UpdateOperation',
  delete: 'DeleteOperation',
  move: 'MoveOperation',
  rename: 'RenameOperation',
  copy: 'CopyOperation',
  copy_tree: 'CopyTreeOperation',
} as const;

/** Named schemas of node commands, for the components of the description. */
export const commandSchemas: Readonly<Record<string, JsonSchema>> = {
  CommandDone: {
    type: 'object',
    description: 'Empty, unless the body had both `message` and `actor`.',
    properties: { revision: revisionOrNull, committed: { type: 'boolean', const: true } },
  },
  LocaleChanged: {
    type: 'object',
    required: ['node_id', 'locale', 'revision', 'timestamp'],
    properties: {
      node_id: text,
      locale: text,
      revision: revisionOrNull,
      timestamp: { type: 'string', format: 'date-time' },
    },
  },
  TranslationList: {
    type: 'object',
    required: ['node_id', 'node_path', 'locales'],
    properties: { node_id: text, node_path: text, locales: { type: 'array', items: text } },
  },
  Staleness: {
    type: 'object',
    required: ['stale', 'missing', 'fresh', 'unknown'],
    properties: {
      stale: {
        type: 'array',
        description: 'Translated values whose original was changed since.',
        items: {
          type: 'object',
          required: ['pointer', 'original_hash_at_translation', 'current_original_hash', 'translated_at'],
          properties: {
            pointer: text,
            original_hash_at_translation: text,
            current_original_hash: text,
            translated_at: { type: 'string', format: 'date-time' },
          },
        },
      },
      missing: {
        type: 'array',
        description: 'Originals that have no translation.',
        items: {
          type: 'object',
          required: ['pointer', 'current_original_hash'],
          properties: { pointer: text, current_original_hash: text },
        },
      },
      fresh: { ...pointers, description: 'Translated values whose original is as it was.' },
      unknown: { ...pointers, description: 'Translated values that have no original.' },
    },
  },
  Relation: {
    type: 'object',
    required: ['target', 'workspace', 'relation_type', 'weight'],
    properties: {
      target: { ...text, description: 'Id of the target.' },
      workspace: { ...text, description: 'Workspace of the target.' },
      target_node_type: text,
      relation_type: text,
      weight: { type: ['number', 'null'] },
    },
  },
  RelationList: {
    type: 'object',
    required: ['outgoing', 'incoming'],
    properties: {
      outgoing: { type: 'array', items: ref('Relation') },
      incoming: {
        type: 'array',
        items: {
          type: 'object',
          required: ['source_workspace', 'source_node_id', 'relation'],
          properties: { source_workspace: text, source_node_id: text, relation: ref('Relation') },
        },
      },
    },
  },
  NodeVersion: {
    type: 'object',
    required: ['id', 'node_id', 'version', 'node_data', 'created_at', 'updated_at'],
    properties: {
      id: { ...text, description: '`<id of the node>:<version>`' },
      node_id: text,
      version: { type: 'integer', minimum: 1 },
      node_data: { ...anyObject, description: 'The node as it was.' },
      note: text,
      created_at: { type: 'string', format: 'date-time' },
      updated_at: { type: 'string', format: 'date-time' },
      created_by: text,
    },
  },
  CommitOperation: {
    oneOf: Object.values(operations).map(ref),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(
        Object.entries(operations).map(([type, name]) => [type, `#/components/schemas/${name}`]),
      ),
    },
  },
  CreateOperation: operation('create', ['node'], {
    node: {
      type: 'object',
      required: ['node_type'],
      properties: {
        ...newNodeProperties,
        name: { ...text, description: 'Default: the last segment of `path`.' },
        path: { ...text, description: 'Path of the new node.' },
        parent_path: parent,
        parent: { ...text, description: 'As `parent_path` where it is a path; else it changes nothing.' },
      },
      additionalProperties: false,
    },
    parent_path: { ...text, description: 'Default: the parent in `path`, or else the addressed node.' },
  }),
  UpdateOperation: operation('update', ['node_id', 'properties'], {
    node_id: text,
    properties: { ...anyObject, description: 'Merged by key into the stored set.' },
    version: versionSchema,
  }),
  DeleteOperation: operation('delete', ['node_id'], { node_id: text, version: versionSchema }),
  MoveOperation: operation('move', ['node_id', 'new_path'], {
    node_id: text,
    new_path: { ...text, description: 'The whole new path, its name included.' },
    version: versionSchema,
  }),
  RenameOperation: operation('rename', ['node_id', 'new_name'], {
    node_id: text,
    new_name: text,
    version: versionSchema,
  }),
  CopyOperation: operation('copy', ['source_path', 'target_parent'], copyProperties),
  CopyTreeOperation: operation('copy_tree', ['source_path', 'target_parent'], copyProperties),
  CommitDone: {
    type: 'object',
    required: ['revision', 'operations_count'],
    properties: {
      revision: revisionOrNull,
      operations_count: { type: 'integer', minimum: 1 },
    },
  },
};

/** Fields that every command takes besides its own. */
export const commitFields = {
  message: { ...text, description: 'Of the revision. Default: made by the server.' },
  actor: { ...text, description: 'Of the revision. Default: the caller.' },
  is_system: { ...flag, description: 'Marks the revision as one of the system. Default: false.' },
} as const;
