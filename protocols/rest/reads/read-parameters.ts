import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { ParameterDocs, QueryParameters } from '#protocols/http/route.ts';
import { expandParameter, fieldsParameter } from './property-names.ts';

/** Maximum items of a listing page. */
export const PAGE_LIMIT_MAX = 1_000;

/** Default items of a listing page. */
const PAGE_LIMIT_DEFAULT = 100;

/** Maximum of `level`. */
export const LEVEL_MAX = 10;

/** Maximum levels of `deep` and `flatten`. */
export const DEEP_LEVELS_MAX = 100;

/** Shape of a tree read. */
export type TreeForm = 'flat' | 'array' | 'map';

/** The kind of response that the parameters of a node read select. */
export type ReadShape =
  | { readonly kind: 'node' }
  /** Every direct child as one array. */
  | { readonly kind: 'children' }
  | { readonly kind: 'page'; readonly limit: number; readonly cursor: string | undefined }
  | { readonly kind: 'tree'; readonly levels: number; readonly form: TreeForm };

const forms: Readonly<Record<string, TreeForm>> = { flat: 'flat', array: 'array', map: 'map', nested: 'map' };
const nodeShape: ReadShape = { kind: 'node' };
const childrenShape: ReadShape = { kind: 'children' };

/**
 * An integer from the query string, clamped to bounds: a page of a million items is cut to the largest page, but a
 * page of `ten` is an error.
 *
 * @param name camelCase; the snake_case spelling counts as well
 * @throws {ServiceError} `VALIDATION_FAILED` unless it is an integer
 */
export function clampedInteger(
  query: QueryParameters,
  name: string,
  bounds: { readonly min: number; readonly max: number },
): number | undefined {
  const text = query.either(name);
  if (text === undefined) return undefined;
  if (!/^[+-]?\d{1,300}$/.test(text)) {
    const field = query.spelling(name);
    throw invalid(`The query parameter '${field}' must be a whole number`, { field });
  }
  return Math.min(Math.max(Number(text), bounds.min), bounds.max);
}

/**
 * The kind of response of a node read. `level`, `deep`, `flatten` and `format` select a tree, `cursor` and `limit` a
 * page of the children, on an address with or without its trailing slash; otherwise the slash decides. `flatten` wins
 * over `format`, and `deep` over `level`. A tree and a page exclude each other, except that `format=array` is allowed
 * with a page, whose items are an array.
 *
 * @param isListing whether the address ends in a slash or is the root
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/reading.md#parameters-of-reads
 */
export function readShapeOf(query: QueryParameters, isListing: boolean): ReadShape {
  const level = clampedInteger(query, 'level', { min: 1, max: LEVEL_MAX });
  const isDeep = query.flag('deep') === true;
  const isFlat = query.flag('flatten') === true;
  const form = formOf(query);
  const { cursor, limit } = pageParametersOf(query);
  const isPaged = query.get('cursor') !== undefined || limit !== undefined;
  const isTree = level !== undefined || isDeep || isFlat || (form !== undefined && form !== 'array');
  if (isTree && isPaged) {
    const field = limit === undefined ? 'cursor' : 'limit';
    throw invalid(`The query parameter '${field}' is for the pages of a listing; a tree is answered whole`, {
      field,
    });
  }
  if (isTree || (form !== undefined && !isPaged)) {
    const whole = isDeep || (level === undefined && (isFlat || form === 'flat'));
    return {
      kind: 'tree',
      levels: whole ? DEEP_LEVELS_MAX : (level ?? 1),
      form: isFlat ? 'flat' : (form ?? 'map'),
    };
  }
  if (isPaged) {
    return { kind: 'page', limit: limit ?? PAGE_LIMIT_DEFAULT, cursor };
  }
  return isListing ? childrenShape : nodeShape;
}

/** The values of `limit` and `cursor`; an empty cursor counts as absent. */
function pageParametersOf(query: QueryParameters): {
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
} {
  const limit = clampedInteger(query, 'limit', { min: 1, max: PAGE_LIMIT_MAX });
  const cursor = query.get('cursor');
  return { limit, cursor: cursor === '' ? undefined : cursor };
}

/**
 * The page parameters of a list that is always paged.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/reading.md#pages
 */
export function pageOf(query: QueryParameters): { readonly limit: number; readonly cursor?: string } {
  const { cursor, limit = PAGE_LIMIT_DEFAULT } = pageParametersOf(query);
  return cursor === undefined ? { limit } : { limit, cursor };
}

function formOf(query: QueryParameters): TreeForm | undefined {
  const text = query.get('format');
  if (text === undefined) return undefined;
  if (Object.hasOwn(forms, text)) return forms[text];
  throw invalid(`The query parameter 'format' must be one of ${Object.keys(forms).join(', ')}`, {
    field: 'format',
  });
}

/**
 * A revision to read at. A bare integer means counter 0, as in SQL.
 *
 * @throws {ServiceError} `INVALID_REVISION_NUMBER`
 */
export function parseReadRevision(text: string): Revision {
  return parseRevision(/^\d+$/.test(text) ? `${text}-0` : text);
}

/** Read parameters that also apply to a property. */
export const propertyParameters: readonly string[] = ['lang', 'revision'];

/** Read parameters that also apply to manual versions, relations and translations of a node. */
export const historyParameters: readonly string[] = ['revision'];

/** Parameters of lists of a node's manual versions, relations and translations. */
export const listParameters: readonly string[] = ['limit', 'cursor', ...historyParameters];

const isFor = 'a node and the nodes below it';
const isForLists = 'lists of nodes and of incoming references';

/** The parameter that continues a list. */
const cursorParameter: ParameterDocs = {
  name: 'cursor',
  in: 'query',
  description: '`next_cursor` of the page before, unchanged. Only good for the listing that made it.',
};

/** The parameters of lists that are always paged. */
export const pageParameters: readonly ParameterDocs[] = [
  {
    name: 'limit',
    in: 'query',
    schema: { type: 'integer', minimum: 1, maximum: PAGE_LIMIT_MAX, default: PAGE_LIMIT_DEFAULT },
    description: 'Entries on a page. Values beyond are clamped.',
  },
  cursorParameter,
];

/** The read parameters. */
export const readParameters: readonly ParameterDocs[] = [
  {
    name: 'level',
    in: 'query',
    schema: { type: 'integer', minimum: 1, maximum: LEVEL_MAX },
    description: 'The descendants down to this depth, as a tree.',
    isFor,
  },
  {
    name: 'deep',
    in: 'query',
    schema: { type: 'boolean' },
    description: `The whole subtree, at most ${DEEP_LEVELS_MAX} levels of it.`,
    isFor,
  },
  {
    name: 'flatten',
    in: 'query',
    schema: { type: 'boolean' },
    description: 'The subtree as an array in tree order. Alone: the whole subtree. Wins over `format`.',
    isFor,
  },
  {
    name: 'format',
    in: 'query',
    schema: { type: 'string', enum: Object.keys(forms), default: 'map' },
    description:
      'Shape of a tree: a map `{name: {node, children}}`, an array of nodes with nested `children`, or flat.',
    isFor,
  },
  {
    name: 'limit',
    in: 'query',
    schema: { type: 'integer', minimum: 1, maximum: PAGE_LIMIT_MAX, default: PAGE_LIMIT_DEFAULT },
    description:
      'Answers one page of the children as `{items, next_cursor, total}`. Values beyond are clamped.',
    isFor: isForLists,
  },
  { ...cursorParameter, isFor: isForLists },
  {
    name: 'lang',
    in: 'query',
    description: 'Resolves translations for this locale. A node that is hidden in it is missing.',
    isFor: 'a node, the nodes below it and a property',
  },
  fieldsParameter,
  expandParameter,
];

/** The parameter of head reads that selects an earlier revision. */
export const revisionParameter: ParameterDocs = {
  name: 'revision',
  in: 'query',
  description:
    'Reads at this revision, `<milliseconds>-<counter>`, or at the one before that moment. A bare integer stands for counter 0.',
};
