import { parsePropertyPath } from '#runtime/content/values/property-path.ts';
import { PARTS_SINCE } from '#runtime/actor/message-version.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { ParameterDocs } from '#protocols/http/route.ts';
import type { RestRequest } from '../rest-route.ts';

/** Maximum number of properties that one read may select. */
const FIELDS_MAX = 64;

/** Maximum number of properties whose references one read may expand. */
const EXPAND_MAX = 16;

/** Longest name of a selected property, in UTF-16 units. */
const NAME_LENGTH_MAX = 1_024;

/** The parameter of reads that selects properties. */
export const fieldsParameter: ParameterDocs = {
  name: 'fields',
  in: 'query',
  schema: { type: 'string' },
  description: `Answers only these properties, at most ${FIELDS_MAX}, separated by commas: \`title,hero.image\`. Dots step into objects, and into each item of a list. Besides, a node then has its columns but for \`translations\` and \`relations\`. Empty: no properties.`,
  isRepeatable: true,
  isFor: 'nodes',
};

/** The parameter of reads that expands references. */
export const expandParameter: ParameterDocs = {
  name: 'expand',
  in: 'query',
  schema: { type: 'string' },
  description: `Shows the node that a reference leads to in its key \`svc:node\`, for references in these properties, at most ${EXPAND_MAX}, separated by commas. At most 1,000 references of an answer are expanded; further ones, and those to nodes that are missing, hidden or too long, stay as they are stored.`,
  isRepeatable: true,
  isFor: 'nodes',
};

/** The part of a read's query that selects properties and expands references. */
export interface Part {
  readonly fields?: readonly string[];
  readonly expand?: readonly string[];
  readonly since?: number;
}

const everything: Part = Object.freeze({});

/**
 * The properties a request selects and the references it expands.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for an invalid property path, and for too many
 * @see docs/interface/reading.md#parts-of-nodes
 */
export function partOf(request: RestRequest): Part {
  if (request.queryString === '') return everything;
  const fields = namesIn(request, 'fields', FIELDS_MAX);
  const expand = namesIn(request, 'expand', EXPAND_MAX);
  const isExpanded = expand !== undefined && expand.length > 0;
  if (fields === undefined && !isExpanded) return everything;
  return {
    ...(fields === undefined ? {} : { fields }),
    ...(isExpanded ? { expand } : {}),
    since: PARTS_SINCE,
  };
}

/** The names in all occurrences of a parameter; undefined when it is absent. */
function namesIn(request: RestRequest, parameter: string, most: number): readonly string[] | undefined {
  const lists = request.query.all(parameter);
  if (lists.length === 0) return undefined;
  const names = lists.flatMap((list) => (list.trim() === '' ? [] : list.split(',')));
  if (names.length > most) {
    throw invalid(`The query parameter '${parameter}' has at most ${most} names`, { field: parameter });
  }
  return names.map((name) => propertyName(name.replace(/^ +| +$/g, ''), parameter));
}

function propertyName(name: string, field: string): string {
  if (name.length > NAME_LENGTH_MAX) {
    throw invalid(`A name in '${field}' has at most ${NAME_LENGTH_MAX} characters`, { field });
  }
  parsePropertyPath(name, field);
  return name;
}
