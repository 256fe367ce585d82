import type {
  AlterDefinitionStatement,
  CreateDefinitionStatement,
  DefinitionAction,
  DefinitionClause,
  PropertyIndex,
  PropertyNode,
  PropertyTypeNode,
  SchemaStatement,
} from './nodes/schema-nodes.ts';
import { printClause, printGiven, printName, type PrintersOf, printTexts, quoteText } from './print-words.ts';
import { printExpression } from './printer.ts';
import { hasFields } from './schema-parts.ts';

/** The texts of statements about the schema. */
export const schemaPrinters: PrintersOf<SchemaStatement['kind']> = {
  'create-definition': (node) =>
    [
      `CREATE ${node.target.toUpperCase()} ${printGiven(node.name)}`,
      ...node.clauses.map((clause) => printDefinitionClause(clause, node.target)),
    ].join(' '),
  'alter-definition': (node) =>
    [
      `ALTER ${node.target.toUpperCase()} ${printGiven(node.name)}`,
      ...node.actions.map((action) => printAction(action, node.target)),
    ].join(' '),
  'drop-definition': (node) => {
    const ifExists = node.ifExists ? ' IF EXISTS' : '';
    const cascade = node.isCascade ? ' CASCADE' : '';
    return `DROP ${node.target.toUpperCase()}${ifExists} ${printGiven(node.name)}${cascade}`;
  },
};

/** The keyword of a kind of clause or of a field of an ALTER. */
function wordOf(kind: string): string {
  return kind.toUpperCase().split('-').join('_');
}

function printDefinitionClause(
  clause: DefinitionClause,
  target: CreateDefinitionStatement['target'],
): string {
  switch (clause.kind) {
    case 'extends':
    case 'base-node-type':
      return `${wordOf(clause.kind)} ${printGiven(clause.name)}`;
    case 'mixins':
    case 'allowed-children':
    case 'required-nodes':
      return `${wordOf(clause.kind)} ${printTexts(clause.names)}`;
    case 'title':
    case 'description':
    case 'icon':
      return `${wordOf(clause.kind)} ${printGiven(clause.text)}`;
    case 'properties':
      return `${hasFields(target) ? 'FIELDS' : 'PROPERTIES'} (${printProperties(clause.properties)})`;
    case 'compound-index': {
      const columns = clause.columns.map(
        (column) => `${printName(column.name)}${column.isDescending ? ' DESC' : ''}`,
      );
      return `COMPOUND_INDEX ${printGiven(clause.name)} ON (${columns.join(', ')})`;
    }
    case 'flag':
      return clause.flag.toUpperCase();
  }
}

function printAction(action: DefinitionAction, target: AlterDefinitionStatement['target']): string {
  const word = hasFields(target) ? 'FIELD' : 'PROPERTY';
  switch (action.kind) {
    case 'add-property':
      return `ADD ${word} ${printProperty(action.property)}`;
    case 'modify-property':
      return `MODIFY ${word} ${printProperty(action.property)}`;
    case 'drop-property':
      return `DROP ${word} ${printPath(action.path)}`;
    case 'set-text':
      return `SET ${wordOf(action.field)} = ${printGiven(action.text)}`;
    case 'set-name':
      return `SET ${wordOf(action.field)} = ${action.name === undefined ? 'NULL' : printGiven(action.name)}`;
    case 'set-names':
      return `SET ${wordOf(action.field)} = ${printTexts(action.names)}`;
    case 'add-mixin':
      return `ADD MIXIN ${printGiven(action.name)}`;
    case 'drop-mixin':
      return `DROP MIXIN ${printGiven(action.name)}`;
    case 'set-flag':
      return `SET ${wordOf(action.flag)} = ${action.isOn ? 'TRUE' : 'FALSE'}`;
  }
}

function printProperties(properties: readonly PropertyNode[]): string {
  return properties.map(printProperty).join(', ');
}

function printPath(path: readonly string[]): string {
  const [first] = path;
  return path.length === 1 && first !== undefined ? printName(first) : quoteText(path.join('.'));
}

const indexWords: Readonly<Record<PropertyIndex, string>> = {
  fulltext: 'FULLTEXT',
  vector: 'VECTOR',
  property: 'PROPERTY_INDEX',
};

function printProperty(node: PropertyNode): string {
  const parts = [printPath(node.path), printType(node.type)];
  if (node.isRequired) parts.push('REQUIRED');
  if (node.isUnique) parts.push('UNIQUE');
  parts.push(...node.indexes.map((index) => indexWords[index]));
  if (node.isTranslatable) parts.push('TRANSLATABLE');
  if (node.defaultValue !== undefined) parts.push(`DEFAULT ${printExpression(node.defaultValue)}`);
  if (node.order !== undefined) parts.push(`ORDER ${node.order}`);
  if (node.allowsAdditional) parts.push('ALLOW_ADDITIONAL_PROPERTIES');
  return `${parts.join(' ')}${printClause(' LABEL ', node.label)}${printClause(' DESCRIPTION ', node.description)}`;
}

function printType(type: PropertyTypeNode): string {
  switch (type.kind) {
    case 'named-type':
      return type.name.toUpperCase() === 'ARRAY' ? type.name : printName(type.name);
    case 'array-type':
      return `Array OF ${printType(type.of)}`;
    case 'object-type':
      return `Object { ${printProperties(type.properties)} }`;
  }
}
