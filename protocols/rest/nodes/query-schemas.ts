import type { JsonSchema } from '#protocols/http/route.ts';

const text = { type: 'string' } as const;
const ordered = {
  type: ['number', 'string'],
  description: 'Numbers compare with numbers, texts with texts.',
};

/** Columns of a node that a condition may name. */
export const conditionColumns = [
  ...['id', 'name', 'path', 'node_type', 'parent', 'archetype', 'version', 'order_key', 'owner_id'],
  ...['created_at', 'created_by', 'updated_at', 'updated_by', 'published_at', 'published_by'],
] as const;

const comparison: JsonSchema = { $ref: '#/components/schemas/Comparison' };
const condition: JsonSchema = { $ref: '#/components/schemas/Condition' };

/** Named schemas of the boolean query, for the components of the description. */
export const querySchemas: Readonly<Record<string, JsonSchema>> = {
  Comparison: {
    type: 'object',
    minProperties: 1,
    description: 'What a column or a property is compared with; all of it must hold.',
    properties: {
      eq: { description: 'Any JSON.' },
      ne: { description: 'Any JSON; a value that is missing is not equal to it.' },
      like: { ...text, description: 'A text that is in the text.' },
      contains: { description: 'A text that is in the text, or a value that is in the list.' },
      in: { type: 'array', items: {}, description: 'Values, one of which it is.' },
      exists: { type: 'boolean' },
      gt: ordered,
      gte: ordered,
      lt: ordered,
      lte: ordered,
    },
  },
  Condition: {
    description: 'What stands side by side must all hold.',
    allOf: [
      {
        type: 'object',
        properties: {
          and: { type: 'array', items: condition },
          or: { type: 'array', items: condition },
          not: condition,
          ...Object.fromEntries(conditionColumns.map((column) => [column, comparison])),
        },
      },
      {
        type: 'object',
        patternProperties: { '^properties\\.': comparison },
        additionalProperties: true,
        description: '`properties.<key>`, dots stepping into objects, is compared too.',
      },
    ],
  },
};
