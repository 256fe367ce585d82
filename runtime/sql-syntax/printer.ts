import type {
  BinaryNode,
  CallNode,
  CommonTable,
  Expression,
  FrameBound,
  Query,
  QueryBody,
  SelectItem,
  SelectNode,
  SortItem,
  Source,
  WindowClause,
} from './nodes/syntax-nodes.ts';
import { binaryPrecedence, Precedence } from './precedence.ts';
import { printGiven, printName, type PrintersOf, quoteName, quoteText } from './print-words.ts';
import { isBareCall } from './tokens.ts';

/** The text of an expression, without parentheses around it. */
export function printExpression(node: Expression): string {
  return printers[node.kind](node as never);
}

const printers: PrintersOf<Expression['kind']> = {
  literal: printGiven,
  interval: (node) => `INTERVAL ${quoteText(node.text)}`,
  parameter: printGiven,
  column: (node) =>
    node.table === undefined ? printName(node.name) : `${printName(node.table)}.${printName(node.name)}`,
  'property-path': (node) =>
    `$${node.steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${printName(step)}`)).join('')}`,
  unary: (node) => {
    if (node.operator === 'NOT') return `NOT ${within(node.operand, Precedence.not)}`;
    const operand = within(node.operand, Precedence.sign);
    // Two dashes would begin a comment.
    return operand.startsWith(node.operator) ? `${node.operator} ${operand}` : `${node.operator}${operand}`;
  },
  binary: (node) => {
    const precedence = binaryPrecedence[node.operator];
    return `${within(node.left, precedence)} ${node.operator} ${printRight(node, precedence)}`;
  },
  like: (node) =>
    `${within(node.operand, Precedence.predicate)} ${not(node)}${node.ignoresCase ? 'ILIKE' : 'LIKE'} ${above(node.pattern)}`,
  between: (node) =>
    `${within(node.operand, Precedence.predicate)} ${not(node)}BETWEEN ${above(node.low)} AND ${above(node.high)}`,
  'in-list': (node) => `${within(node.operand, Precedence.predicate)} ${not(node)}IN (${list(node.items)})`,
  'in-query': (node) =>
    `${within(node.operand, Precedence.predicate)} ${not(node)}IN (${printQuery(node.query)})`,
  quantified: (node) => {
    const right = node.right.kind === 'query' ? printQuery(node.right) : printExpression(node.right);
    const quantifier = node.quantifier === 'any' ? 'ANY' : 'ALL';
    return `${within(node.left, Precedence.comparison)} ${node.operator} ${quantifier} (${right})`;
  },
  is: (node) => `${within(node.operand, Precedence.predicate)} IS ${not(node)}${node.test.toUpperCase()}`,
  'distinct-from': (node) =>
    `${within(node.left, Precedence.predicate)} IS ${not(node)}DISTINCT FROM ${above(node.right)}`,
  cast: (node) =>
    `${within(node.operand, Precedence.cast)}::${node.type.name}${node.type.isArray ? '[]' : ''}`,
  case: (node) => {
    const branches = node.branches.map(
      ({ when, then }) => ` WHEN ${printExpression(when)} THEN ${printExpression(then)}`,
    );
    return `CASE${optional(' ', node.operand)}${branches.join('')}${optional(' ELSE ', node.otherwise)} END`;
  },
  array: (node) => `ARRAY[${list(node.items)}]`,
  subscript: (node) => {
    // A bracket behind a type or a path of properties would be read as a part of it.
    const isOpen = node.operand.kind === 'cast' || node.operand.kind === 'property-path';
    const operand = within(node.operand, isOpen ? Precedence.primary + 1 : Precedence.subscript);
    return `${operand}[${printExpression(node.index)}]`;
  },
  call: printCall,
  row: (node) => `(${list(node.items)})`,
  subquery: (node) => `(${printQuery(node.query)})`,
  exists: (node) => `EXISTS (${printQuery(node.query)})`,
};

/** How tightly the operator on top of an expression binds. */
function precedenceOf(node: Expression): number {
  switch (node.kind) {
    case 'binary':
      return binaryPrecedence[node.operator];
    case 'unary':
      return node.operator === 'NOT' ? Precedence.not : Precedence.sign;
    case 'like':
    case 'between':
    case 'in-list':
    case 'in-query':
    case 'is':
    case 'distinct-from':
      return Precedence.predicate;
    case 'quantified':
      return Precedence.comparison;
    case 'cast':
      return Precedence.cast;
    case 'subscript':
      return Precedence.subscript;
    case 'literal':
      // The least BIGINT has a sign.
      return typeof node.value === 'bigint' && node.value < 0n ? Precedence.sign : Precedence.primary;
    default:
      return Precedence.primary;
  }
}

/** An operand, in parentheses when it binds less tightly than its place asks for. */
function within(node: Expression, precedence: number): string {
  const printed = printExpression(node);
  return precedenceOf(node) < precedence ? `(${printed})` : printed;
}

/** A right operand of LIKE and its like. */
function above(node: Expression): string {
  return within(node, Precedence.predicate + 1);
}

function printRight(node: BinaryNode, precedence: number): string {
  // Without parentheses a cast of the key would be read as one of what is extracted.
  const isLifted = (node.operator === '->' || node.operator === '->>') && node.right.kind === 'cast';
  return isLifted ? `(${printExpression(node.right)})` : within(node.right, precedence + 1);
}

function not(node: { readonly isNegated: boolean }): string {
  return node.isNegated ? 'NOT ' : '';
}

function list(items: readonly Expression[]): string {
  return items.map(printExpression).join(', ');
}

function optional(before: string, node: Expression | undefined): string {
  return node === undefined ? '' : `${before}${printExpression(node)}`;
}

function printCall(node: CallNode): string {
  const hasTail = node.filter !== undefined || node.over !== undefined;
  const isPlain = !hasTail && !node.isStar && !node.isDistinct && node.orderBy.length === 0;
  if (isBareCall(node.name) && isPlain && node.args.length === 0) return node.name;
  const special = isPlain ? printSpecialCall(node) : undefined;
  if (special !== undefined) return special;
  const inside = node.isStar
    ? '*'
    : `${node.isDistinct ? 'DISTINCT ' : ''}${list(node.args)}${printOrderBy(node.orderBy)}`;
  const filter = node.filter === undefined ? '' : ` FILTER (WHERE ${printExpression(node.filter)})`;
  const over = node.over === undefined ? '' : ` OVER (${printWindow(node.over)})`;
  return `${isJoinWord(node.name) ? node.name : printName(node.name)}(${inside})${filter}${over}`;
}

/** Whether a name is reserved for joins and that of a function too. */
function isJoinWord(text: string): boolean {
  return text === 'LEFT' || text === 'RIGHT';
}

/** Calls that are read with words between their arguments, as far as they can be written so. */
function printSpecialCall(node: CallNode): string | undefined {
  const [first, second] = node.args;
  if (first === undefined) return undefined;
  if (node.name === 'SUBSTRING' || node.name === 'TRIM') return `${node.name}(${list(node.args)})`;
  if (second === undefined || node.args.length > 2) return undefined;
  if (node.name === 'POSITION') return `POSITION(${above(first)} IN ${printExpression(second)})`;
  const isField = first.kind === 'literal' && first.type === 'text';
  if (node.name === 'EXTRACT' && isField)
    return `EXTRACT(${printExpression(first)} FROM ${printExpression(second)})`;
  return undefined;
}

function printWindow(window: WindowClause): string {
  const parts: string[] = [];
  if (window.partitionBy.length > 0) parts.push(`PARTITION BY ${list(window.partitionBy)}`);
  if (window.orderBy.length > 0) parts.push(printOrderBy(window.orderBy).trimStart());
  if (window.frame !== undefined) {
    const { unit, start, end } = window.frame;
    parts.push(`${unit.toUpperCase()} BETWEEN ${printBound(start)} AND ${printBound(end)}`);
  }
  return parts.join(' ');
}

function printBound(bound: FrameBound): string {
  return 'distance' in bound
    ? // AND ends a bound, as it ends a part of BETWEEN.
      `${above(bound.distance)} ${bound.kind.toUpperCase()}`
    : bound.kind.replace('-', ' ').toUpperCase();
}

function printOrderBy(items: readonly SortItem[]): string {
  if (items.length === 0) return '';
  const printed = items.map(({ expression, isDescending, nullsFirst }) => {
    const nulls = nullsFirst === undefined ? '' : nullsFirst ? ' NULLS FIRST' : ' NULLS LAST';
    return `${printExpression(expression)}${isDescending ? ' DESC' : ''}${nulls}`;
  });
  return ` ORDER BY ${printed.join(', ')}`;
}

/** The text of a query, without parentheses around it. */
export function printQuery(query: Query): string {
  const tables = query.commonTables.map(printCommonTable).join(', ');
  const withTables = tables === '' ? '' : `WITH ${query.isRecursive ? 'RECURSIVE ' : ''}${tables} `;
  const limit = optional(' LIMIT ', query.limit);
  const offset = optional(' OFFSET ', query.offset);
  return `${withTables}${printBody(query.body)}${printOrderBy(query.orderBy)}${limit}${offset}`;
}

function printCommonTable(table: CommonTable): string {
  return `${printName(table.name)}${printColumns(table.columns)} AS (${printQuery(table.query)})`;
}

function printColumns(columns: readonly string[]): string {
  return columns.length === 0 ? '' : ` (${columns.map(printName).join(', ')})`;
}

function printBody(body: QueryBody): string {
  switch (body.kind) {
    case 'query':
      return `(${printQuery(body)})`;
    case 'select':
      return printSelect(body);
    case 'values':
      return `VALUES ${body.rows.map((row) => `(${list(row)})`).join(', ')}`;
    case 'set-operation': {
      const level = setLevel(body);
      const left = bodyWithin(body.left, level);
      const right = bodyWithin(body.right, level + 1);
      return `${left} ${body.operator.toUpperCase()}${body.isAll ? ' ALL' : ''} ${right}`;
    }
  }
}

function setLevel(body: QueryBody): number {
  if (body.kind !== 'set-operation') return 3;
  return body.operator === 'intersect' ? 2 : 1;
}

function bodyWithin(body: QueryBody, level: number): string {
  return setLevel(body) < level ? `(${printBody(body)})` : printBody(body);
}

function printSelect(select: SelectNode): string {
  const { distinct, groupBy } = select;
  const on = typeof distinct === 'object' ? ` ON (${list(distinct)})` : '';
  const items = select.items.map(printItem).join(', ');
  const from = select.from.length === 0 ? '' : ` FROM ${select.from.map(printSource).join(', ')}`;
  const group = groupBy.length === 0 ? '' : ` GROUP BY ${list(groupBy)}`;
  const conditions = `${optional(' WHERE ', select.where)}${group}${optional(' HAVING ', select.having)}`;
  return `SELECT ${distinct === undefined ? '' : `DISTINCT${on} `}${items}${from}${conditions}`;
}

/** An entry of a select list. */
export function printItem(item: SelectItem): string {
  if (item.kind === 'star') return item.table === undefined ? '*' : `${printName(item.table)}.*`;
  return `${printExpression(item.expression)}${item.alias === undefined ? '' : ` AS ${printName(item.alias)}`}`;
}

function printSource(source: Source): string {
  switch (source.kind) {
    case 'table':
      return `${source.isBare ? source.name : quoteName(source.name)}${printAlias(source)}`;
    case 'derived-table':
      return `${lateral(source)}(${printQuery(source.query)})${printAlias(source)}`;
    case 'function-table':
      return `${lateral(source)}${printName(source.name)}(${list(source.args)})${printAlias(source)}`;
    case 'join': {
      const type = source.type === 'inner' ? '' : `${source.type.toUpperCase()} `;
      const right =
        source.right.kind === 'join' ? `(${printSource(source.right)})` : printSource(source.right);
      return `${printSource(source.left)} ${type}JOIN ${right}${optional(' ON ', source.on)}`;
    }
  }
}

function lateral(source: { readonly isLateral: boolean }): string {
  return source.isLateral ? 'LATERAL ' : '';
}

function printAlias(source: {
  readonly alias: string | undefined;
  readonly columnAliases: readonly string[];
}): string {
  return source.alias === undefined
    ? ''
    : ` AS ${printName(source.alias)}${printColumns(source.columnAliases)}`;
}
