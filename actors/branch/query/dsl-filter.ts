import { type ExactNumber, isNumber } from '#runtime/base/text/exact-number.ts';
import { nearestName } from '#runtime/base/text/nearest-name.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from '#runtime/content/values/json-value.ts';
import { parsePropertyPath } from '#runtime/content/values/property-path.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import { type QueryWindow, queryWindow } from './query-page.ts';

/** Greatest nesting depth of combinators. */
const DEPTH_MAX = 32;

/** Most comparisons in one filter. */
const TERMS_MAX = 1000;

/** Longest text that `like` and `contains` look for, in characters. */
export const SEARCHED_CHARACTERS_MAX = 65_536;

/** Most values of one `in`. */
const IN_VALUES_MAX = 1000;

/** Most fields of one `order_by`. */
const ORDER_FIELDS_MAX = 8;

/** The columns of a node that a filter may name, in both spellings. */
const columns = {
  id: 'id',
  name: 'name',
  path: 'path',
  node_type: 'node_type',
  nodeType: 'node_type',
  parent: 'parent',
  archetype: 'archetype',
  version: 'version',
  order_key: 'order_key',
  orderKey: 'order_key',
  owner_id: 'owner_id',
  ownerId: 'owner_id',
  created_at: 'created_at',
  createdAt: 'created_at',
  created_by: 'created_by',
  createdBy: 'created_by',
  updated_at: 'updated_at',
  updatedAt: 'updated_at',
  updated_by: 'updated_by',
  updatedBy: 'updated_by',
  published_at: 'published_at',
  publishedAt: 'published_at',
  published_by: 'published_by',
  publishedBy: 'published_by',
} as const;

/** A column of a node. */
export type Column = (typeof columns)[keyof typeof columns];

/** The operand of a comparison. */
export type Field =
  | { readonly kind: 'column'; readonly name: Column }
  | { readonly kind: 'property'; readonly keys: readonly string[] };

/** One comparison. */
export type Term = { readonly kind: 'term'; readonly field: Field } & (
  | { readonly operator: 'eq' | 'ne' | 'contains'; readonly value: JsonValue }
  | { readonly operator: 'like'; readonly value: string }
  | {
      readonly operator: 'in';
      /** The members that are texts, numbers, booleans or null. */
      readonly scalars: ReadonlySet<JsonValue>;
      /** The members that are arrays or objects. */
      readonly others: readonly JsonValue[];
    }
  | { readonly operator: 'exists'; readonly value: boolean }
  | { readonly operator: 'gt' | 'gte' | 'lt' | 'lte'; readonly value: string | ExactNumber }
);

/** A checked filter. An empty `and` holds for every node, an empty `or` for none. */
export type Condition =
  | Term
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition };

/** One field to sort by. */
export interface OrderTerm {
  readonly field: Field;
  readonly descending: boolean;
}

/** A checked DSL query. */
export interface DslQuery {
  readonly filter: Condition;
  readonly order: readonly OrderTerm[];
  readonly window: QueryWindow;
}

/** Names of the top-level properties that a query may read: of `a.b` these are `a` and `a.b`. */
export function propertiesNamed({ filter, order }: Pick<DslQuery, 'filter' | 'order'>): readonly string[] {
  return [...fieldsOf(filter), ...order.map(({ field }) => field)].flatMap((field) =>
    field.kind === 'property' ? [field.keys[0] as string, field.keys.join('.')] : [],
  );
}

function fieldsOf(condition: Condition): readonly Field[] {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.parts.flatMap(fieldsOf);
    case 'not':
      return fieldsOf(condition.part);
    case 'term':
      return [condition.field];
  }
}

/** Keys of the body that are not part of the filter. */
const pagingKeys: ReadonlySet<string> = new Set(['order_by', 'limit', 'offset']);

const operators = ['eq', 'ne', 'like', 'contains', 'in', 'exists', 'gt', 'gte', 'lt', 'lte'];

/**
 * Reads the body of a DSL query. Conditions on the same level must all hold: several combinators, several fields,
 * several operators of a field.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`, with the error and its position
 * @see docs/interface/queries.md#boolean-query
 */
export function parseDslQuery(body: JsonObject): DslQuery {
  const own = Object.entries(body).filter(([key]) => !pagingKeys.has(key));
  return {
    filter: new FilterReader().object(Object.fromEntries(own), 0),
    order: parseOrder(ownValue(body, 'order_by')),
    window: queryWindow(ownValue(body, 'limit'), ownValue(body, 'offset')),
  };
}

function parseOrder(json: JsonValue | undefined): readonly OrderTerm[] {
  if (json === undefined || json === null) return [];
  if (!isJsonObject(json)) throw refuse("'order_by' must be an object of field and 'asc' or 'desc'");
  const entries = Object.entries(json);
  if (entries.length > ORDER_FIELDS_MAX) throw refuse(`'order_by' takes at most ${ORDER_FIELDS_MAX} fields`);
  return entries.map(([name, direction]) => {
    const wanted = typeof direction === 'string' && direction.length <= 4 ? direction.toLowerCase() : '';
    if (wanted !== 'asc' && wanted !== 'desc')
      throw refuse(`'order_by' of '${shown(name)}' must be 'asc' or 'desc'`);
    return { field: parseField(name), descending: wanted === 'desc' };
  });
}

function parseField(name: string): Field {
  if (Object.hasOwn(columns, name)) return { kind: 'column', name: columns[name as keyof typeof columns] };
  if (name.startsWith('properties.')) {
    return { kind: 'property', keys: parsePropertyPath(name.slice('properties.'.length)) };
  }
  const message = `'${shown(name)}' is neither 'and', 'or', 'not' nor a field (a node column or 'properties.<key>')`;
  throw refuse(message + suggestion(name, keyNames));
}

/** The keys allowed where a field is allowed. */
const keyNames: readonly string[] = [...Object.keys(columns), 'and', 'or', 'not', ...pagingKeys];

function suggestion(name: string, names: readonly string[]): string {
  const nearest = nearestName(name, names);
  return nearest === undefined ? '' : `; did you mean '${nearest}'?`;
}

const tooMany = `A filter has at most ${TERMS_MAX} comparisons, and as many filters in 'and' and 'or'`;

/** Counts what it reads, so that the size of a filter is bounded. */
class FilterReader {
  #terms = 0;
  #filters = 0;

  object(json: JsonValue, depth: number): Condition {
    if (!isJsonObject(json)) throw refuse('A filter must be an object');
    if (depth > DEPTH_MAX) throw refuse(`A filter is at most ${DEPTH_MAX} levels deep`);
    const parts: Condition[] = [];
    for (const [key, value] of Object.entries(json)) {
      if (key === 'and' || key === 'or') parts.push({ kind: key, parts: this.#list(key, value, depth) });
      else if (key === 'not') parts.push({ kind: 'not', part: this.object(value, depth + 1) });
      else this.#field(key, value, parts);
    }
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind: 'and', parts };
  }

  #list(key: string, json: JsonValue, depth: number): readonly Condition[] {
    if (!isJsonArray(json)) throw refuse(`'${key}' must be an array of filters`);
    this.#filters += json.length;
    if (this.#filters > TERMS_MAX) throw refuse(tooMany);
    return json.map((item) => this.object(item, depth + 1));
  }

  #field(name: string, json: JsonValue, parts: Condition[]): void {
    const field = parseField(name);
    if (!isJsonObject(json)) {
      throw refuse(`'${shown(name)}' must be an object of operator and value, such as {"eq": …}`);
    }
    const entries = Object.entries(json);
    if (entries.length === 0) throw refuse(`'${shown(name)}' has no operator`);
    for (const [operator, value] of entries) {
      this.#terms += 1;
      if (this.#terms > TERMS_MAX) throw refuse(tooMany);
      parts.push(parseTerm(name, field, operator, value));
    }
  }
}

/** Bounds a search text before it is compared: for each node, the search builds a table as long as the text. */
function requireShortText(text: string, expects: (what: string) => ServiceError): void {
  if (text.length > SEARCHED_CHARACTERS_MAX) {
    throw expects(`a string of at most ${SEARCHED_CHARACTERS_MAX} characters`);
  }
}

function parseTerm(name: string, field: Field, operator: string, value: JsonValue): Term {
  const expects = (what: string): ServiceError => refuse(`'${operator}' of '${shown(name)}' must be ${what}`);
  switch (operator) {
    case 'contains':
      if (typeof value === 'string') requireShortText(value, expects);
      return { kind: 'term', field, operator, value };
    case 'eq':
    case 'ne':
      return { kind: 'term', field, operator, value };
    case 'like':
      if (typeof value !== 'string') throw expects('a string');
      requireShortText(value, expects);
      return { kind: 'term', field, operator, value };
    case 'in':
      if (!isJsonArray(value)) throw expects('an array');
      if (value.length > IN_VALUES_MAX) throw expects(`an array of at most ${IN_VALUES_MAX} values`);
      return {
        kind: 'term',
        field,
        operator,
        scalars: new Set(value.filter(isScalar)),
        others: value.filter((item) => !isScalar(item)),
      };
    case 'exists':
      if (typeof value !== 'boolean') throw expects('true or false');
      return { kind: 'term', field, operator, value };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      if (!isNumber(value) && typeof value !== 'string') throw expects('a number or a string');
      return { kind: 'term', field, operator, value };
    default:
      throw refuse(
        `'${shown(operator)}' is not an operator; use one of ${operators.join(', ')}${suggestion(operator, operators)}`,
      );
  }
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value === null;
}

function shown(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function refuse(message: string): ServiceError {
  return invalid(message, { field: 'filter' });
}
