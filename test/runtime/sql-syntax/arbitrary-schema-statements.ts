import fc from 'fast-check';
import type {
  DefinitionAction,
  DefinitionClause,
  DefinitionFlag,
  DefinitionTarget,
  PropertyNode,
  PropertyTypeNode,
  SchemaStatement,
} from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import type { Expression } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { hasFields, hasPart } from '#runtime/sql-syntax/schema-parts.ts';
import { arbitraryName, arbitraryText, perhaps } from './arbitrary-given.ts';

const span = { start: 0, end: 0 };
const place = fc.constant(span);
const texts = fc.array(arbitraryText, { minLength: 1, maxLength: 3 });
const flag = fc.constantFrom<DefinitionFlag[]>(
  'versionable',
  'publishable',
  'auditable',
  'indexable',
  'strict',
);

const path: fc.Arbitrary<string[]> = fc.oneof(
  fc.oneof(arbitraryName, fc.constantFrom('a.b', 'required', 'PROPERTIES', 'Order')).map((name) => [name]),
  fc.array(fc.constantFrom('a', 'b c', "it's", '"', 'order'), { minLength: 2, maxLength: 4 }),
);

function properties(expression: fc.Arbitrary<Expression>): fc.Arbitrary<PropertyNode> {
  const bounded = { depthIdentifier: fc.createDepthIdentifier(), maxDepth: 3 };
  return fc.letrec<{ property: PropertyNode; type: PropertyTypeNode }>((tie) => ({
    type: fc.oneof(
      bounded,
      fc
        .constantFrom('String', 'Number', 'ARRAY', 'Object', 'Nothing', 'a b', 'select', 'required')
        .map((name): PropertyTypeNode => ({ kind: 'named-type', name, span })),
      tie('type').map((of): PropertyTypeNode => ({ kind: 'array-type', of, span })),
      fc
        .array(tie('property'), { minLength: 1, maxLength: 3 })
        .map((inner): PropertyTypeNode => ({ kind: 'object-type', properties: inner, span })),
    ),
    property: fc.record({
      kind: fc.constant('property' as const),
      path,
      type: tie('type'),
      isRequired: fc.boolean(),
      isUnique: fc.boolean(),
      indexes: fc.uniqueArray(fc.constantFrom('fulltext' as const, 'vector' as const, 'property' as const)),
      isTranslatable: fc.boolean(),
      defaultValue: perhaps(expression),
      label: perhaps(arbitraryText),
      description: perhaps(arbitraryText),
      order: perhaps(
        fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
      ),
      allowsAdditional: fc.boolean(),
      span: place,
    }),
  })).property;
}

/** The word of a clause, by which it may stand once. */
function wordOf(clause: DefinitionClause, target: DefinitionTarget): string {
  if (clause.kind === 'flag') return clause.flag.toUpperCase();
  if (clause.kind === 'properties' && hasFields(target)) return 'FIELDS';
  return clause.kind.toUpperCase().replaceAll('-', '_');
}

function clausesOf(property: fc.Arbitrary<PropertyNode>): fc.Arbitrary<DefinitionClause> {
  const column = fc.record({ name: arbitraryName, isDescending: fc.boolean() });
  return fc.oneof<fc.Arbitrary<DefinitionClause>[]>(
    fc.record({ kind: fc.constantFrom('extends' as const, 'base-node-type' as const), name: arbitraryText }),
    fc.record({
      kind: fc.constantFrom('mixins' as const, 'allowed-children' as const, 'required-nodes' as const),
      names: texts,
    }) as fc.Arbitrary<DefinitionClause>,
    fc.record({
      kind: fc.constantFrom('title' as const, 'description' as const, 'icon' as const),
      text: arbitraryText,
    }),
    fc.record({
      kind: fc.constant('properties' as const),
      properties: fc.array(property, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('compound-index' as const),
      name: arbitraryText,
      columns: fc.array(column, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('flag' as const), flag }),
  );
}

/** What an action is about, by the word that tells whether its target has it. */
function partOf(action: DefinitionAction, target: DefinitionTarget): string {
  switch (action.kind) {
    case 'add-property':
    case 'modify-property':
    case 'drop-property':
      return hasFields(target) ? 'FIELD' : 'PROPERTY';
    case 'add-mixin':
    case 'drop-mixin':
      return 'MIXIN';
    case 'set-flag':
      return action.flag.toUpperCase();
    default:
      return action.field.toUpperCase().replaceAll('-', '_');
  }
}

function actionsOf(property: fc.Arbitrary<PropertyNode>): fc.Arbitrary<DefinitionAction> {
  return fc.oneof<fc.Arbitrary<DefinitionAction>[]>(
    fc.record({ kind: fc.constantFrom('add-property' as const, 'modify-property' as const), property }),
    fc.record({ kind: fc.constant('drop-property' as const), path }),
    fc.record({
      kind: fc.constant('set-text' as const),
      field: fc.constantFrom('title' as const, 'description' as const, 'icon' as const),
      text: arbitraryText,
    }),
    fc.record({
      kind: fc.constant('set-name' as const),
      field: fc.constantFrom('extends' as const, 'base-node-type' as const),
      name: perhaps(arbitraryText),
    }),
    fc.record({
      kind: fc.constant('set-names' as const),
      field: fc.constantFrom('allowed-children' as const, 'required-nodes' as const),
      names: fc.array(arbitraryText, { maxLength: 2 }),
    }),
    fc.record({ kind: fc.constantFrom('add-mixin' as const, 'drop-mixin' as const), name: arbitraryText }),
    fc.record({ kind: fc.constant('set-flag' as const), flag, isOn: fc.boolean() }),
  );
}

/** Any statement about the schema. */
export function arbitrarySchemaStatement(
  expression: fc.Arbitrary<Expression>,
): fc.Arbitrary<SchemaStatement> {
  const property = properties(expression);
  const target = fc.constantFrom<DefinitionTarget[]>('nodetype', 'mixin', 'archetype', 'elementtype');
  const created = fc.tuple(target, arbitraryText, fc.array(clausesOf(property), { maxLength: 5 }));
  const altered = fc.tuple(
    target,
    arbitraryText,
    fc.array(actionsOf(property), { minLength: 1, maxLength: 4 }),
  );
  return fc.oneof<fc.Arbitrary<SchemaStatement>[]>(
    created.map(([each, name, clauses]): SchemaStatement => {
      const written = new Set<string>();
      const kept = clauses.filter((clause) => {
        const word = wordOf(clause, each);
        const isFree = clause.kind === 'compound-index' || !written.has(word);
        written.add(word);
        return isFree && hasPart('CREATE', each, word);
      });
      return { kind: 'create-definition', target: each, name, clauses: kept, span };
    }),
    altered.map(([each, name, actions]): SchemaStatement => {
      const kept = actions.filter((action) => hasPart('ALTER', each, partOf(action, each)));
      const some: DefinitionAction[] =
        kept.length > 0 ? kept : [{ kind: 'set-text', field: 'icon', text: name }];
      return { kind: 'alter-definition', target: each, name, actions: some, span };
    }),
    fc.record({
      kind: fc.constant('drop-definition' as const),
      target,
      name: arbitraryText,
      ifExists: fc.boolean(),
      isCascade: fc.boolean(),
      span: place,
    }),
  );
}
