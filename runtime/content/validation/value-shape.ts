import { isNumber } from '#runtime/base/text/exact-number.ts';
import { isDateText } from '../values/date-text.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from '../values/json-value.ts';
import type { PropertyType } from '../definitions/property-schema.ts';
import { isNodeTypeName } from '../definitions/type-name.ts';

/** The check of the JSON shape of a type, with the name of that shape. */
export interface ValueShape {
  readonly accepts: (value: JsonValue) => boolean;
  /** Completes "must be …". */
  readonly text: string;
}

/** A URL without spaces and control characters; relative ones are links within a site. */
function isUrlText(text: string): boolean {
  return !/[\s\u0000-\u001f\u007f]/.test(text);
}

function isOptional(value: JsonValue | undefined, type: 'string' | 'number'): boolean {
  return value === undefined || value === null || typeof value === type;
}

function isUrl(value: JsonValue): boolean {
  if (typeof value === 'string') return isUrlText(value);
  if (!isJsonObject(value)) return false;
  const url = ownValue(value, 'svc:url');
  return typeof url === 'string' && isUrlText(url);
}

/** Whether a value is a reference: `{"svc:ref": "<id or /path>", "svc:workspace"?, "svc:path"?}`. */
export function isReference(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const target = ownValue(value, 'svc:ref');
  return (
    typeof target === 'string' &&
    target !== '' &&
    isOptional(ownValue(value, 'svc:workspace'), 'string') &&
    isOptional(ownValue(value, 'svc:path'), 'string')
  );
}

/** A file descriptor; a plain string is text that was uploaded inline. */
export function isResource(value: JsonValue): boolean {
  if (typeof value === 'string') return true;
  if (!isJsonObject(value)) return false;
  return (
    ['uuid', 'name', 'mime_type', 'url', 'created_at', 'updated_at'].every((key) =>
      isOptional(ownValue(value, key), 'string'),
    ) && isOptional(ownValue(value, 'size'), 'number')
  );
}

/**
 * The shapes of all property types except Element, Composite and Geometry, whose checks report details.
 *
 * @see docs/interface/nodes.md#property-values
 */
export const valueShapes: Readonly<
  Record<Exclude<PropertyType, 'Element' | 'Composite' | 'Geometry'>, ValueShape>
> = {
  String: { accepts: (value) => typeof value === 'string', text: 'a string' },
  Number: { accepts: isNumber, text: 'a number' },
  Boolean: { accepts: (value) => typeof value === 'boolean', text: 'a boolean' },
  Array: { accepts: isJsonArray, text: 'an array' },
  Object: { accepts: isJsonObject, text: 'an object' },
  Date: {
    accepts: (value) => typeof value === 'string' && isDateText(value),
    text: 'an RFC 3339 date (2024-01-31 or 2024-01-31T12:00:00Z)',
  },
  URL: { accepts: isUrl, text: 'a URL (a string without spaces, or an object with svc:url)' },
  Reference: { accepts: isReference, text: 'a reference (an object with svc:ref)' },
  NodeType: {
    accepts: (value) => typeof value === 'string' && isNodeTypeName(value),
    text: 'the name of a node type',
  },
  Resource: { accepts: isResource, text: 'a file (an object with uuid, name, size, mime_type, url)' },
};
