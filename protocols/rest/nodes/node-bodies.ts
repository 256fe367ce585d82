import type { NewNode, PatchNode, UpdateNode } from '#actors/branch/messages.ts';
import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import { optionalCommit } from '../commit-info.ts';
import { createShape, updateShape, wrappedCreateShape } from './node-shapes.ts';

/** The body of a create. */
export interface CreateBody {
  readonly node: NewNode;
  readonly commit: CommitInfo | undefined;
}

/**
 * Reads the body of a create: the fields of the node with an optional `commit` beside them, or
 * `{node: {...}, commit: {...}}`. Fields that the server sets (path, version, stamps) are ignored.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`; `VALIDATION_FAILED` for an unknown field
 * @see docs/interface/nodes.md#creating-a-node
 */
export function parseCreateBody(body: unknown): CreateBody {
  const fields = bodyFields(body);
  const isWrapped = fields.has('node') && !fields.has('name');
  (isWrapped ? wrappedCreateShape : createShape).refuseUnknown(body);
  return {
    node: parseNewNode(isWrapped ? fields.fields('node') : fields),
    commit: optionalCommit(fields),
  };
}

/**
 * Reads the fields of a new node.
 *
 * @param name default name
 * @throws {ServiceError} `UNPROCESSABLE_BODY`
 */
export function parseNewNode(fields: BodyFields, name?: string): NewNode {
  const id = fields.optionalString('id');
  const archetype = nullableString(fields, 'archetype');
  const translations = nullableObject(fields, 'translations');
  const ownerId = nullableString(fields, 'owner_id');
  return {
    name: name !== undefined && !fields.has('name') ? name : fields.string('name'),
    nodeType: fields.string('node_type'),
    properties: (fields.optionalObject('properties') ?? {}) as JsonObject,
    ...(id === undefined ? {} : { id }),
    ...(archetype === undefined ? {} : { archetype }),
    ...(translations === undefined ? {} : { translations }),
    ...(ownerId === undefined ? {} : { ownerId }),
  };
}

/** The change of a node by a PUT. */
export type NodeChange = Omit<UpdateNode, 'type' | 'workspace' | 'place'>;

/**
 * Reads the body of a PUT. A node that was read can be sent back: immutable fields are ignored, except `node_type`,
 * where the branch refuses a value other than the stored one.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`; `VALIDATION_FAILED` for an unknown field
 */
export function parseUpdateBody(body: unknown): NodeChange {
  const fields = bodyFields(body);
  updateShape.refuseUnknown(body);
  const archetype = nullableString(fields, 'archetype');
  const translations = nullableObject(fields, 'translations');
  const ownerId = nullableString(fields, 'owner_id');
  const nodeType = fields.optionalString('node_type');
  const commit = optionalCommit(fields);
  return {
    properties: fields.object('properties') as JsonObject,
    ...(archetype === undefined ? {} : { archetype }),
    ...(translations === undefined ? {} : { translations }),
    ...(ownerId === undefined ? {} : { ownerId }),
    ...(nodeType === undefined ? {} : { nodeType }),
    ...(commit === undefined ? {} : { commit }),
  };
}

/** The change of a node by a PATCH. */
export type NodePatch = Omit<PatchNode, 'type' | 'workspace' | 'place'>;

/**
 * Reads the body of a PATCH, a merge patch of the node object. The body's schema refuses immutable fields, because a
 * patch that names them means to change them.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`
 * @see docs/interface/nodes.md#changing-a-node-in-part
 */
export function parsePatchBody(body: unknown): NodePatch {
  const fields = bodyFields(body);
  const archetype = nullableString(fields, 'archetype');
  const translations = nullableObject(fields, 'translations');
  const ownerId = nullableString(fields, 'owner_id');
  const commit = optionalCommit(fields);
  return {
    // A node always has properties, so null cannot remove them.
    ...(fields.optionalValue('properties') === undefined
      ? {}
      : { properties: fields.object('properties') as JsonObject }),
    ...(archetype === undefined ? {} : { archetype }),
    ...(translations === undefined ? {} : { translations }),
    ...(ownerId === undefined ? {} : { ownerId }),
    ...(commit === undefined ? {} : { commit }),
  };
}

/** Null removes the value, an absent field keeps it. */
function nullableString(fields: BodyFields, name: string): string | null | undefined {
  return fields.optionalValue(name) === null ? null : fields.optionalString(name);
}

function nullableObject(fields: BodyFields, name: string): JsonObject | null | undefined {
  return fields.optionalValue(name) === null ? null : (fields.optionalObject(name) as JsonObject | undefined);
}
