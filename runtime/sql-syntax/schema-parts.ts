import type { DefinitionTarget } from './nodes/schema-nodes.ts';

/** The flags of a definition. */
const flags = ['VERSIONABLE', 'PUBLISHABLE', 'AUDITABLE', 'INDEXABLE', 'STRICT'] as const;

/** The clauses of CREATE, for each target. */
const created: Readonly<Record<DefinitionTarget, ReadonlySet<string>>> = {
  nodetype: new Set([
    'EXTENDS',
    'MIXINS',
    'DESCRIPTION',
    'ICON',
    'PROPERTIES',
    'ALLOWED_CHILDREN',
    'REQUIRED_NODES',
    'COMPOUND_INDEX',
    ...flags,
  ]),
  mixin: new Set(['DESCRIPTION', 'ICON', 'PROPERTIES']),
  archetype: new Set(['EXTENDS', 'BASE_NODE_TYPE', 'TITLE', 'DESCRIPTION', 'ICON', 'FIELDS', 'PUBLISHABLE']),
  elementtype: new Set(['EXTENDS', 'TITLE', 'DESCRIPTION', 'ICON', 'FIELDS', 'PUBLISHABLE']),
};

const alteredNodeType: ReadonlySet<string> = new Set([
  'PROPERTY',
  'MIXIN',
  'DESCRIPTION',
  'ICON',
  'EXTENDS',
  'ALLOWED_CHILDREN',
  'REQUIRED_NODES',
  ...flags,
]);

/** What ALTER adds, modifies, drops and sets, for each target. */
const altered: Readonly<Record<DefinitionTarget, ReadonlySet<string>>> = {
  nodetype: alteredNodeType,
  mixin: alteredNodeType,
  archetype: new Set(['FIELD', 'TITLE', 'DESCRIPTION', 'ICON', 'BASE_NODE_TYPE', 'EXTENDS', 'PUBLISHABLE']),
  elementtype: new Set(['FIELD', 'TITLE', 'DESCRIPTION', 'ICON', 'EXTENDS', 'PUBLISHABLE']),
};

/**
 * Whether a clause of CREATE, or what an ALTER is about, belongs to a target.
 *
 * @param word its keyword, in upper case
 */
export function hasPart(verb: 'CREATE' | 'ALTER', target: DefinitionTarget, word: string): boolean {
  return (verb === 'CREATE' ? created : altered)[target].has(word);
}

/** Whether a target has fields, which other definitions call properties. */
export function hasFields(target: DefinitionTarget): boolean {
  return target === 'archetype' || target === 'elementtype';
}
