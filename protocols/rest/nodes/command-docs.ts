import type { FurtherOperation, JsonSchema, ParameterDocs, ResponseDocs } from '#protocols/http/route.ts';
import { AUDIT_LIMIT_MAX, commitFields } from './command-schemas.ts';
import { contentList, contentSchema } from '../content-schemas.ts';
import { lockSchema } from '../lock-precondition.ts';
import { preconditionParameters, versionSchema } from './conditions.ts';
import { pageParameters } from '../reads/read-parameters.ts';

const tag = 'Node commands';
const text = { type: 'string' } as const;
const locale = { ...text, description: 'Such as `de` or `pt-BR`.' } as const;
const targetWorkspace = { ...text, description: 'Workspace of the target.' } as const;
const targetNode = { ...text, description: 'Path of the target, `/a/b`.' } as const;
const weight = { type: ['number', 'null'] } as const;

const workspaceBase = '/api/repository/{repo}/{branch}/head/{workspace}';
const revisionBase = '/api/repository/{repo}/{branch}/rev/{revision}/{workspace}';

const nodePath: ParameterDocs = {
  name: 'path',
  in: 'path',
  description:
    'Path of the node, percent-encoded segment by segment, with the slashes between them as they are; or `$ref/{id}`.',
};

const badValue: ResponseDocs = { description: 'A value is not allowed; the message names it.' };
const missing: ResponseDocs = { description: 'There is no such repository, branch, workspace or node.' };
const readOnly: ResponseDocs = { description: '`{branch}` is a tag; or `?revision=` was sent.' };
const conflict: ResponseDocs = {
  description: 'A node is there already, or the lock that the request names is not held.',
};

const preconditionFailed: ResponseDocs = {
  description: 'The node is not what the request expects (`PRECONDITION_FAILED`); nothing was done.',
};

const done: ResponseDocs = { description: 'Done.', schema: contentSchema('CommandDone') };
const empty: ResponseDocs = { description: 'Done.', schema: { type: 'object' } };
const noBody: ResponseDocs = { description: 'Done.' };
const node: ResponseDocs = { description: 'The node.', schema: contentSchema('Node') };
const copied: ResponseDocs = {
  description: 'The copy; with `message` and `actor` its revision instead.',
  schema: { anyOf: [contentSchema('Node'), contentSchema('CommandDone')] },
};
const relations: ResponseDocs = {
  description: 'Relations from the node and to it.',
  schema: contentSchema('RelationList'),
};
const locales: ResponseDocs = {
  description: 'The locales it is translated to.',
  schema: contentSchema('TranslationList'),
};
const localeChanged: ResponseDocs = {
  description: 'The revision it made.',
  schema: contentSchema('LocaleChanged'),
};
const committed: ResponseDocs = {
  description: 'All of it is one revision.',
  schema: contentSchema('CommitDone'),
};
const versionsAreKept: ResponseDocs = { description: 'Always: manual versions cannot be changed.' };

/** The description of one command. */
interface CommandDocs {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: JsonSchema;
  /** Whether it takes neither a commit nor a lock. */
  readonly isRead?: true;
  /** Whether it applies to the workspace rather than to a node. */
  readonly isAtRoot?: true;
  readonly parameters?: readonly ParameterDocs[];
  readonly answers: Readonly<Record<number, ResponseDocs>>;
}

const copyFields = {
  targetPath: {
    ...text,
    description: 'With `newName` the path of the parent, without it the whole path of the copy.',
  },
  newName: { ...text, description: 'Name of the copy.' },
} as const;

const operationsField = {
  type: 'array',
  minItems: 1,
  items: contentSchema('CommitOperation'),
} as const;
const oneOperation = { ...operationsField, maxItems: 1 } as const;
const messageField = { message: { ...text, description: 'Of the revision.' } } as const;

/** By name, in the spelling of the interface. */
const docs: Readonly<Record<string, CommandDocs>> = {
  rename: {
    operationId: 'renameNode',
    summary: 'Give a node another name',
    description:
      'The last segment of the path is made from the name. The paths of nodes below change with it. If the node already has this name, nothing changes.',
    required: ['newName'],
    properties: { newName: text },
    answers: { 200: done },
  },
  move: {
    operationId: 'moveNode',
    summary: 'Move a node, with everything below it',
    description: 'The path it has changes nothing.',
    required: ['targetPath'],
    properties: { targetPath: { ...text, description: 'The whole new path, its name included.' } },
    answers: { 200: done },
  },
  copy: {
    operationId: 'copyNode',
    summary: 'Copy a node without what is below it',
    required: ['targetPath'],
    properties: copyFields,
    answers: { 200: copied },
  },
  copy_tree: {
    operationId: 'copyNodeTree',
    summary: 'Copy a node with everything below it',
    required: ['targetPath'],
    properties: copyFields,
    answers: { 200: copied },
  },
  reorder: {
    operationId: 'reorderNode',
    summary: 'Put a node before or behind a sibling',
    required: ['targetPath'],
    properties: {
      targetPath: { ...text, description: 'Path of the sibling.' },
      movePosition: { type: 'string', enum: ['before', 'after'], default: 'after' },
    },
    answers: { 200: empty },
  },
  publish: {
    operationId: 'publishNode',
    summary: 'Publish a node',
    description: 'Keeps a manual version of it. `actor` becomes `published_by`.',
    answers: { 200: empty },
  },
  publish_tree: {
    operationId: 'publishNodeTree',
    summary: 'Publish a node and everything below it',
    answers: { 200: empty },
  },
  unpublish: { operationId: 'unpublishNode', summary: 'Unpublish a node', answers: { 200: empty } },
  unpublish_tree: {
    operationId: 'unpublishNodeTree',
    summary: 'Unpublish a node and everything below it',
    answers: { 200: empty },
  },
  create_version: {
    operationId: 'createNodeVersion',
    summary: 'Keep the node as it is as a manual version',
    properties: { note: text },
    answers: {
      200: {
        description: 'The number of the version, from 1 on.',
        schema: {
          type: 'object',
          required: ['version'],
          properties: { version: { type: 'integer', minimum: 1 } },
        },
      },
    },
  },
  restore_version: {
    operationId: 'restoreNodeVersion',
    summary: 'Make a manual version the present state again',
    description: 'Restores properties, translations, type and archetype, as a new revision.',
    required: ['version'],
    properties: { version: { type: 'integer', minimum: 1 } },
    answers: { 200: node },
  },
  delete_version: {
    operationId: 'deleteNodeVersion',
    summary: 'Refused: manual versions are immutable',
    answers: { 400: versionsAreKept },
  },
  update_version_note: {
    operationId: 'updateNodeVersionNote',
    summary: 'Refused: manual versions are immutable',
    answers: { 400: versionsAreKept },
  },
  'add-relation': {
    operationId: 'addNodeRelation',
    summary: 'Relate a node to another one',
    description: 'Source, target and type are unique together: once more changes the weight.',
    required: ['targetWorkspace', 'targetPath'],
    properties: {
      targetWorkspace,
      targetPath: targetNode,
      relationType: { ...text, default: 'references' },
      weight,
    },
    answers: { 200: empty },
  },
  'remove-relation': {
    operationId: 'removeNodeRelation',
    summary: 'Take relations to another node away',
    required: ['targetWorkspace', 'targetPath'],
    properties: {
      targetWorkspace,
      targetPath: targetNode,
      relationType: { ...text, description: 'Default: every type.' },
    },
    answers: {
      200: {
        description: '`removed` is false when there was none.',
        schema: { type: 'object', required: ['removed'], properties: { removed: { type: 'boolean' } } },
      },
    },
  },
  relations: {
    operationId: 'postNodeRelations',
    summary: 'The relations of a node, as GET answers them',
    isRead: true,
    answers: { 200: relations },
  },
  translate: {
    operationId: 'translateNode',
    summary: 'Translate values of a node',
    description:
      'Existing values of the locale that are not named are kept. Each value must be valid for the property, and the language must be supported.',
    required: ['locale', 'translations'],
    properties: {
      locale,
      translations: {
        type: 'object',
        minProperties: 1,
        additionalProperties: true,
        description: 'Values by JSON pointer into the properties, `/title`.',
      },
    },
    answers: { 200: localeChanged },
  },
  'delete-translation': {
    operationId: 'deleteNodeTranslation',
    summary: 'Delete a translation of a node',
    required: ['locale'],
    properties: { locale },
    answers: { 204: noBody },
  },
  'hide-in-locale': {
    operationId: 'hideNodeInLocale',
    summary: 'Hide a node from reads in a locale',
    required: ['locale'],
    properties: { locale },
    answers: { 200: localeChanged },
  },
  'unhide-in-locale': {
    operationId: 'unhideNodeInLocale',
    summary: 'Show a hidden node in a locale again',
    required: ['locale'],
    properties: { locale },
    answers: { 204: noBody },
  },
  'list-translations': {
    operationId: 'postNodeTranslations',
    summary: 'The locales of a node, as GET answers them',
    isRead: true,
    answers: { 200: locales },
  },
  'translation-staleness': {
    operationId: 'readTranslationStaleness',
    summary: 'Which translated values are behind their originals',
    isRead: true,
    required: ['locale'],
    properties: { locale },
    answers: {
      200: { description: 'Pointers by how they compare.', schema: contentSchema('Staleness') },
    },
  },
  'acknowledge-staleness': {
    operationId: 'acknowledgeStaleness',
    summary: 'Say that a translated value fits its changed original',
    required: ['locale', 'pointer'],
    properties: { locale, pointer: { ...text, description: 'JSON pointer of the value.' } },
    answers: {
      200: {
        description: 'It is fresh now.',
        schema: {
          type: 'object',
          required: ['acknowledged', 'pointer', 'locale'],
          properties: { acknowledged: { type: 'boolean', const: true }, pointer: text, locale: text },
        },
      },
    },
  },
  audit_log: {
    operationId: 'readNodeAuditLog',
    summary: 'The audit entries of a node, newest first',
    isRead: true,
    parameters: [
      {
        name: 'limit',
        in: 'query',
        schema: { type: 'integer', minimum: 1, maximum: AUDIT_LIMIT_MAX },
        description: `Entries at most; default ${AUDIT_LIMIT_MAX}.`,
      },
    ],
    answers: {
      200: {
        description: 'Empty unless the type of the node is auditable.',
        schema: contentList('AuditEntry'),
      },
    },
  },
  commit: {
    operationId: 'commitOperations',
    summary: 'Carry out several operations as one revision, or none of them',
    description:
      'A node that is created without a parent is placed below the addressed node, here the root. Unique values are compared after the last operation, so two nodes can swap values.',
    isAtRoot: true,
    required: ['message', 'operations'],
    properties: { ...messageField, operations: operationsField },
    answers: { 200: committed },
  },
  save: {
    operationId: 'saveNode',
    summary: 'A commit of exactly one operation',
    required: ['message', 'operations'],
    properties: { ...messageField, operations: oneOperation },
    answers: { 200: committed },
  },
  create: {
    operationId: 'createNodeByCommand',
    summary: 'A commit of exactly one operation, which creates a node',
    required: ['message', 'operations'],
    properties: { ...messageField, operations: oneOperation },
    answers: { 200: committed },
  },
  delete: {
    operationId: 'deleteNodeByCommand',
    summary: 'Delete a node with everything below it, with a message',
    required: ['message'],
    properties: messageField,
    answers: { 200: committed },
  },
};

function bodyOf({ answers, isRead, properties, required }: CommandDocs): JsonSchema {
  const own = properties ?? {};
  // A command with operations is itself a commit, so it takes no `commit` field.
  const commit = 'operations' in own ? {} : { commit: contentSchema('Commit') };
  const fields = isRead
    ? own
    : { ...commitFields, version: versionSchema, ...own, ...commit, lock: lockSchema };
  return {
    type: 'object',
    ...(required === undefined ? {} : { required }),
    properties: fields,
    // A command that is always refused accepts any body.
    additionalProperties: !(200 in answers || 204 in answers),
  };
}

/** Body schemas of the commands, by name. */
export const commandBodies: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  Object.entries(docs).map(([name, command]) => [name, bodyOf(command)]),
);

function responsesOf({ answers, isRead }: CommandDocs): Readonly<Record<number, ResponseDocs>> {
  const refusals = { 400: badValue, 404: missing, 405: readOnly };
  return isRead
    ? { ...refusals, ...answers }
    : { ...refusals, 409: conflict, 412: preconditionFailed, ...answers };
}

/** The commands on nodes, each as an operation at the address `…/svc:{command}`. */
export const commandOperations: readonly FurtherOperation[] = Object.entries(docs).map(
  ([name, command]): FurtherOperation => ({
    pattern: command.isAtRoot ? `${workspaceBase}/svc:${name}` : `${workspaceBase}/{path}/svc:${name}`,
    operationId: command.operationId,
    // If no field is required, an empty body means `{}`.
    body: command.required === undefined ? 'optional-json' : 'json',
    docs: {
      summary: command.summary,
      ...(command.description === undefined ? {} : { description: command.description }),
      tag,
      parameters: [
        ...(command.isAtRoot ? [] : [nodePath]),
        ...(command.parameters ?? []),
        ...(command.isRead ? [] : preconditionParameters),
      ],
      requestSchema: commandBodies[name] as JsonSchema,
      responses: responsesOf(command),
    },
  }),
);

/** The description of one readable part of a node. */
interface PartDocs {
  readonly suffix: string;
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly ParameterDocs[];
  readonly answer: ResponseDocs;
}

const parts: readonly PartDocs[] = [
  {
    suffix: 'svc:relations',
    operationId: 'readNodeRelations',
    summary: 'The relations of a node',
    answer: relations,
  },
  {
    suffix: 'svc:list-translations',
    operationId: 'listNodeTranslations',
    summary: 'The locales that a node is translated to',
    answer: locales,
  },
  {
    suffix: 'svc:incoming-references',
    operationId: 'listIncomingReferences',
    summary: 'What links to a node: references in properties of nodes, and relations',
    parameters: pageParameters,
    answer: {
      description:
        'One page of references from all workspaces, sorted by source. Sources that the caller may not read are left out, so a page may be shorter than `limit` although `next_cursor` is not null.',
      schema: contentSchema('IncomingReferencePage'),
    },
  },
  {
    suffix: 'svc:version',
    operationId: 'listNodeVersions',
    summary: 'The manual versions of a node, newest first',
    answer: { description: 'The versions.', schema: contentList('NodeVersion') },
  },
  {
    suffix: 'svc:version/{version}',
    operationId: 'readNodeVersion',
    summary: 'One manual version of a node',
    parameters: [{ name: 'version', in: 'path', schema: { type: 'integer', minimum: 1 } }],
    answer: { description: 'The version.', schema: contentSchema('NodeVersion') },
  },
];

function partsBelow(
  base: string,
  ending: string,
  asOf: string,
  common: readonly ParameterDocs[],
): readonly FurtherOperation[] {
  return parts.map(
    (part): FurtherOperation => ({
      pattern: `${base}/{path}/${part.suffix}`,
      operationId: `${part.operationId}${ending}`,
      body: 'none',
      docs: {
        summary: `${part.summary}${asOf}`,
        tag: 'Nodes',
        parameters: [nodePath, ...(part.parameters ?? []), ...common],
        responses: { 200: part.answer, 400: badValue, 404: missing },
      },
    }),
  );
}

/** The parts of a node that can be read at the head. @param common parameters of reads at the head */
export function partsAtHead(common: readonly ParameterDocs[]): readonly FurtherOperation[] {
  return partsBelow(workspaceBase, '', '', common);
}

/** The parts of a node that can be read at a revision. */
export const partsAtRevision: readonly FurtherOperation[] = partsBelow(
  revisionBase,
  'AtRevision',
  ', as they were at a revision',
  [],
);
