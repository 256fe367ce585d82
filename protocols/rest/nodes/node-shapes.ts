import { type BodyShape, bodyShape, readOnly } from '#protocols/http/requests/body-shape.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import { contentSchema, contentSchemas, newNodeProperties } from '../content-schemas.ts';
import { lockSchema } from '../lock-precondition.ts';
import { commandBodies } from './command-docs.ts';
import { commandSchemas } from './command-schemas.ts';
import { versionSchema } from './conditions.ts';

const schemas = { ...contentSchemas, ...commandSchemas };

const besideNode = { commit: contentSchema('Commit'), lock: lockSchema } as const;

/** The body of a create: the fields of the node, with a commit and a lock. */
export const createSchema: JsonSchema = {
  type: 'object',
  required: ['name', 'node_type'],
  properties: { ...newNodeProperties, ...besideNode },
  additionalProperties: false,
};

/** The wrapped form of a create. */
export const wrappedCreateSchema: JsonSchema = {
  type: 'object',
  required: ['node'],
  properties: { node: contentSchema('NewNode'), ...besideNode },
  additionalProperties: false,
};

/** The body of a PUT of a node. A node that was read as a tree has `children`. */
export const updateSchema: JsonSchema = {
  type: 'object',
  required: ['properties'],
  properties: {
    ...newNodeProperties,
    ...readOnly({ id: { type: 'string' }, name: { type: 'string' }, children: {} }),
    node_type: { type: 'string', description: 'That of the node; another one is refused.' },
    version: versionSchema,
    ...besideNode,
  },
  additionalProperties: false,
};

function shapeOf(schema: JsonSchema): BodyShape {
  return bodyShape(schema, schemas) as BodyShape;
}

/** The shape of {@link createSchema}. */
export const createShape: BodyShape = shapeOf(createSchema);

/** The shape of {@link wrappedCreateSchema}. */
export const wrappedCreateShape: BodyShape = shapeOf(wrappedCreateSchema);

/** The shape of {@link updateSchema}. */
export const updateShape: BodyShape = shapeOf(updateSchema);

/** The shapes of command bodies, by name; commands that are always refused have none. */
export const commandShapes: Readonly<Record<string, BodyShape | undefined>> = Object.fromEntries(
  Object.entries(commandBodies).map(([name, schema]) => [name, bodyShape(schema, schemas)]),
);
