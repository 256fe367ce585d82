import { isJsonArray, isJsonObject, type JsonValue, ownValue } from './json-value.ts';

/** Limit of nested geometry collections. */
const COLLECTION_DEPTH_MAX = 8;

function isPosition(value: JsonValue): boolean {
  if (!isJsonArray(value) || value.length < 2 || value.length > 4) return false;
  if (!value.every((part) => typeof part === 'number')) return false;
  const [lon, lat] = value as readonly number[];
  return lon! >= -180 && lon! <= 180 && lat! >= -90 && lat! <= 90;
}

function isListOf(value: JsonValue, test: (item: JsonValue) => boolean, least = 0): boolean {
  return isJsonArray(value) && value.length >= least && value.every(test);
}

function isLine(value: JsonValue): boolean {
  return isListOf(value, isPosition, 2);
}

function isRing(value: JsonValue): boolean {
  if (!isListOf(value, isPosition, 4)) return false;
  const ring = value as readonly (readonly number[])[];
  const first = ring[0]!;
  const last = ring[ring.length - 1]!;
  return first.length === last.length && first.every((part, index) => part === last[index]);
}

function isPolygon(value: JsonValue): boolean {
  return isListOf(value, isRing, 1);
}

const coordinateTests = new Map<string, (value: JsonValue) => boolean>([
  ['Point', isPosition],
  ['MultiPoint', (value) => isListOf(value, isPosition)],
  ['LineString', isLine],
  ['MultiLineString', (value) => isListOf(value, isLine)],
  ['Polygon', isPolygon],
  ['MultiPolygon', (value) => isListOf(value, isPolygon)],
]);

/**
 * Checks a GeoJSON geometry; coordinates are `[lon, lat, altitude?]` in degrees.
 *
 * @returns an error text that completes "must be …", null when it is valid
 * @see docs/interface/nodes.md#locations-and-geometries; RFC 7946 section 3.1
 */
export function geometryComplaint(value: JsonValue, depth = 1): string | null {
  const kinds = 'a GeoJSON geometry';
  if (!isJsonObject(value)) return kinds;
  const type = ownValue(value, 'type');
  if (type === 'GeometryCollection') {
    const parts = ownValue(value, 'geometries');
    if (!isJsonArray(parts)) return 'a GeometryCollection with a list of geometries';
    if (depth >= COLLECTION_DEPTH_MAX)
      return `a GeometryCollection of at most ${COLLECTION_DEPTH_MAX} levels`;
    for (const part of parts) {
      const complaint = geometryComplaint(part, depth + 1);
      if (complaint !== null) return complaint;
    }
    return null;
  }
  const test = typeof type === 'string' ? coordinateTests.get(type) : undefined;
  if (test === undefined) return kinds;
  const coordinates = ownValue(value, 'coordinates');
  if (coordinates !== undefined && test(coordinates)) return null;
  return `a ${type} with coordinates [longitude -180..180, latitude -90..90]${type === 'Polygon' ? ' in closed rings' : ''}`;
}

/** Whether a value is a GeoJSON Point within range. */
export function isPoint(value: JsonValue): boolean {
  return isJsonObject(value) && ownValue(value, 'type') === 'Point' && geometryComplaint(value) === null;
}

/**
 * Converts a location written as `{lat, lng}` or `{latitude, longitude}` to a GeoJSON Point.
 *
 * @returns the value itself when it is neither, or out of range, so that the check reports it
 * @see docs/interface/nodes.md#locations-and-geometries
 */
export function locationToPoint(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const lat = ownValue(value, 'lat') ?? ownValue(value, 'latitude');
  const lon = ownValue(value, 'lng') ?? ownValue(value, 'longitude');
  if (typeof lat !== 'number' || typeof lon !== 'number') return value;
  const point: JsonValue = { type: 'Point', coordinates: [lon, lat] };
  return isPoint(point) ? point : value;
}
